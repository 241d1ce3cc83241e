"""Columns of an ordered writable schema: what the catalog must show of them, and predicates over their values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.payload_types import payload_type
from dpone_contracts.row_encoding import FieldKind, field_type
from dpone_mssql.literals import UTF8, quote_name, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.payload_types import WritableColumn
    from dpone_contracts.row_encoding import FieldType

_MAX = -1
_FIXED = {
    "bit": ("bit", 1, 1, 0),
    "tinyint": ("tinyint", 1, 3, 0),
    "smallint": ("smallint", 2, 5, 0),
    "int": ("int", 4, 10, 0),
    "bigint": ("bigint", 8, 19, 0),
    "date": ("date", 3, 10, 0),
    "uniqueidentifier": ("uniqueidentifier", 16, 0, 0),
}
_SIZED = re.compile(r"(decimal|datetime2|n?varchar|varbinary)\((max|\d+)(?:,(\d+))?\)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column as T-SQL needs it: name, type as plans spell it, nullability."""

    name: str
    source_type: str
    nullable: bool

    @classmethod
    def of(cls, column: WritableColumn) -> Column:
        """Take a plan's column; raises RowEncodingError for a type without row text."""
        field_type(column.source_type)
        return cls(column.name, column.source_type, column.nullable)

    @property
    def quoted(self) -> str:
        """The name in brackets."""
        return quote_name(self.name)

    @property
    def field(self) -> FieldType:
        """The type's row text; raises RowEncodingError for a type that has none."""
        return field_type(self.source_type)

    @property
    def catalog_type(self) -> tuple[str, int, int, int]:
        """(type name, max_length in bytes, precision, scale) as `sys.columns` must show them."""
        if self.source_type in _FIXED:
            return _FIXED[self.source_type]
        found = _SIZED.fullmatch(self.source_type)
        assert found is not None, "every type with row text is fixed or sized"
        name, size, scale = found.groups()
        match name:
            case "decimal":
                return name, _decimal_bytes(int(size)), int(size), int(scale)
            case "datetime2":
                digits = int(size)
                return name, 6 + (digits > 2) + (digits > 4), 19 + (digits + 1 if digits else 0), digits
            case _:
                length = _MAX if size == "max" else int(size) * (2 if name == "nvarchar" else 1)
                return name, length, 0, 0


def _decimal_bytes(precision: int) -> int:
    return next(size for limit, size in ((9, 5), (19, 9), (28, 13), (38, 17)) if precision <= limit)


def planned_rows(columns: Sequence[Column]) -> str:
    """Write the VALUES rows (name, type, max_length, precision, scale, nullable) of a planned schema."""
    rows = []
    for column in columns:
        name, length, precision, scale = column.catalog_type
        shown = f"{text(column.name)} COLLATE Latin1_General_100_BIN2, {text(name)} COLLATE Latin1_General_100_BIN2"
        rows.append(f"({shown}, {length}, {precision}, {scale}, {int(column.nullable)})")
    return ", ".join(rows)


def is_null(columns: Sequence[Column], alias: str) -> str:
    """Write the predicate that a column which must hold a value is NULL."""
    terms = [f"{alias}.{column.quoted} IS NULL" for column in columns if not column.nullable]
    return " OR ".join(terms)


def out_of_domain(columns: Sequence[Column], alias: str) -> str:
    """Write the predicate that a value has no equal in ClickHouse, or a text no UTF-8; `1 = 0` where none can."""
    terms = [term for column in columns if (term := _outside(column, f"{alias}.{column.quoted}"))]
    return " OR ".join(terms) if terms else "1 = 0"


def _outside(column: Column, value: str) -> str | None:
    match column.field.kind:
        case FieldKind.DATE | FieldKind.DATETIME:
            payload = payload_type(column.source_type)
            if payload is None or payload.domain is None:
                return None
            least, greatest = (
                f"CAST('{end.removesuffix('Z')}' AS {column.source_type})" for end in payload.domain
            )
            return f"{value} < {least} OR {value} > {greatest}"
        case FieldKind.TEXT if column.source_type.startswith("nvarchar"):
            # Half of a surrogate pair becomes U+FFFD on the way through UTF-8.
            there = f"CONVERT(nvarchar(max), CONVERT(varchar(max), {value} COLLATE {UTF8}))"
            return (
                f"DATALENGTH({there}) <> DATALENGTH({value})"
                f" OR CONVERT(varbinary(max), {there}) <> CONVERT(varbinary(max), {value})"
            )
        case _:
            return None


def same_key(key: Sequence[Column]) -> str:
    """Write the equality of target `t` and source `s` on the effective key; keys are never NULL and never text."""
    return " AND ".join(f"t.{column.quoted} = s.{column.quoted}" for column in key)


def same_bytes(columns: Sequence[Column]) -> str:
    """Write the predicate that each payload column of `t` and `s` is the same to the byte, or NULL in both."""
    return " AND ".join(_same(column) for column in columns) or "1 = 1"


def _same(column: Column) -> str:
    target, source = f"t.{column.quoted}", f"s.{column.quoted}"
    if column.field.kind in (FieldKind.TEXT, FieldKind.BINARY):
        # Binary comparison ignores trailing zero bytes: the lengths are compared as well.
        equal = (
            f"(CONVERT(varbinary(max), {target}) = CONVERT(varbinary(max), {source})"
            f" AND DATALENGTH({target}) = DATALENGTH({source}))"
        )
    else:
        equal = f"{target} = {source}"
    return f"({equal} OR ({target} IS NULL AND {source} IS NULL))" if column.nullable else equal


def row_bytes(columns: Sequence[Column], alias: str) -> str:
    """Write the bigint sum of the stored bytes of one row's values."""
    return " + ".join(f"CAST(ISNULL(DATALENGTH({alias}.{column.quoted}), 0) AS bigint)" for column in columns)


def column_list(columns: Sequence[Column], alias: str | None = None) -> str:
    """Write the quoted names, each behind an alias where one is given."""
    return ", ".join(column.quoted if alias is None else f"{alias}.{column.quoted}" for column in columns)
