"""Collations the lab can honour: binary code point order only."""

from __future__ import annotations

from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.types import DATABASE_COLLATION

_INHERITED = frozenset({"database_default", "catalog_default", DATABASE_COLLATION.lower()})


def accepted_collation(name: str) -> str | None:
    """Return a collation's name, or None for the database's own; anything not BIN2 is error 448.

    The lab compares text by code point, as ``*_BIN2`` and ``*_BIN2_UTF8`` do. A collation that SQL Server knows and
    that compares otherwise is refused rather than approximated.
    """
    lowered = name.lower()
    if lowered in _INHERITED:
        return None
    if lowered.endswith(("_bin2", "_bin2_utf8")):
        return name
    raise SqlServerError(Number.INVALID_COLLATION, f"Invalid collation '{name}'.")
