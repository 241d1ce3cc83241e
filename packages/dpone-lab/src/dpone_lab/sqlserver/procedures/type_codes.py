"""Numbers that catalogs and drivers know T-SQL types by: system type ids, ODBC codes, TDS types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.types import DATABASE_COLLATION, MAX

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.types import SqlType

_SYSTEM_TYPES = {
    "uniqueidentifier": 36,
    "date": 40,
    "time": 41,
    "datetime2": 42,
    "tinyint": 48,
    "smallint": 52,
    "int": 56,
    "real": 59,
    "datetime": 61,
    "float": 62,
    "bit": 104,
    "decimal": 106,
    "numeric": 108,
    "bigint": 127,
    "varbinary": 165,
    "varchar": 167,
    "binary": 173,
    "char": 175,
    "nvarchar": 231,
    "nchar": 239,
}
_TDS_TYPES = {
    "tinyint": 38,
    "smallint": 38,
    "int": 38,
    "bigint": 38,
    "real": 109,
    "float": 109,
    "datetime": 111,
}
"""Types that TDS sends by their nullable form; the others go by their system type id."""
_PRECISIONS = {
    "tinyint": (3, 0),
    "smallint": (5, 0),
    "int": (10, 0),
    "bigint": (19, 0),
    "bit": (1, 0),
    "real": (24, 0),
    "float": (53, 0),
    "date": (10, 0),
    "datetime": (23, 3),
}
_LONGEST = 65535


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """What the describing procedures tell of a type."""

    system_type_id: int
    precision: int
    scale: int
    collation: str | None
    tds_type: int
    tds_length: int


def facts_of(kind: SqlType) -> TypeFacts:
    """Return the numbers of a type; an untyped NULL is described as int, as SQL Server does."""
    name = "int" if kind.name == "null" else kind.name
    code = _SYSTEM_TYPES[name]
    precision, scale = _PRECISIONS.get(name, (0, 0))
    if kind.precision is not None:
        precision, scale = kind.precision, kind.scale or 0
    elif name in ("datetime2", "time"):
        scale = 7 if kind.scale is None else kind.scale
        whole = 19 if name == "datetime2" else 8
        precision = whole if scale == 0 else whole + 1 + scale
    collation = (kind.collation or DATABASE_COLLATION) if kind.is_character else None
    length = _LONGEST if kind.max_length == MAX else kind.max_length
    return TypeFacts(code, precision, scale, collation, _TDS_TYPES.get(name, code), length)
