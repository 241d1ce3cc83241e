"""A translated scalar: its PostgreSQL text and its T-SQL type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import unsupported
from dpone_lab.sqlserver.language.types import SqlType, base_type

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.expressions import Literal


@dataclass(frozen=True, slots=True)
class Value:
    """``sql`` is atomic: it can stand beside any operator. ``literal`` is set when it is a bare constant."""

    sql: str
    type: SqlType
    literal: Literal | None = None
    is_identity: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it is the untyped constant NULL."""
        return self.type.name == "null"


def text_literal(text: str) -> str:
    """Return a PostgreSQL string constant typed as text."""
    if "\x00" in text:
        # PostgreSQL has no NUL character; the lab refuses it where SQL Server stores it.
        raise unsupported("NUL character")
    quoted = text.replace("'", "''")
    return f"'{quoted}'::text"


def quote_name(name: str) -> str:
    """Return a PostgreSQL identifier that keeps its spelling."""
    return '"' + name.replace('"', '""') + '"'


def cast(sql: str, sql_type: SqlType) -> str:
    """Return an explicit PostgreSQL cast of an atomic text to the type's base, once."""
    base = base_type(sql_type)
    if sql.startswith("CAST(") and sql.endswith(f" AS {base})"):
        return sql
    return f"CAST({sql} AS {base})"
