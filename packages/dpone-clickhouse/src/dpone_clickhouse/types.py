"""Which ClickHouse column types carry a SQL Server column exactly, and what a target column must look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from dpone_contracts.row_encoding import FieldKind, FieldType, field_type

_INTEGERS = {(8, False): "UInt8", (16, True): "Int16", (32, True): "Int32", (64, True): "Int64"}
_FIXED_BYTES = {"Bool": 1, "UInt8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "Date": 2, "Date32": 4, "UUID": 16}
_DECIMAL_BYTES = ((9, 4), (18, 8), (38, 16))


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """One business column of a target: its name, SQL Server type as plans spell it, and nullability."""

    name: str
    source_type: str
    nullable: bool

    @property
    def field(self) -> FieldType:
        """The field type that its row text follows from."""
        return field_type(self.source_type)


def admitted_types(column: TargetColumn) -> tuple[str, ...]:
    """Every ClickHouse type, as `system.columns` prints it, that holds the column exactly; the first is the usual one.

    A `date` outside 1970-01-01..2149-06-06 needs Date32: the domain is gated in SQL Server before the mutation.
    """
    types = _bare_types(column.field)
    return tuple(f"Nullable({name})" for name in types) if column.nullable else types


def fixed_width(column: TargetColumn) -> int | None:
    """Return the bytes of one value of a fixed-width, non-nullable column; None for text and nullable columns."""
    if column.nullable:
        return None
    field = column.field
    match field.kind:
        case FieldKind.DECIMAL:
            return next(size for digits, size in _DECIMAL_BYTES if field.precision <= digits)
        case FieldKind.DATETIME:
            return 8
        case FieldKind.TEXT:
            return None
        case FieldKind.BIT | FieldKind.INTEGER | FieldKind.DATE | FieldKind.UUID:
            return max(_FIXED_BYTES[name] for name in _bare_types(field))
        case _ as never:
            assert_never(never)


def _bare_types(field: FieldType) -> tuple[str, ...]:
    match field.kind:
        case FieldKind.BIT:
            return ("Bool",)
        case FieldKind.INTEGER:
            return (_INTEGERS[field.bits, field.signed],)
        case FieldKind.DECIMAL:
            return (f"Decimal({field.precision}, {field.scale})",)
        case FieldKind.DATE:
            return ("Date", "Date32")
        case FieldKind.DATETIME:
            return (f"DateTime64({field.scale}, 'UTC')",)
        case FieldKind.UUID:
            return ("UUID",)
        case FieldKind.TEXT:
            return ("String",)
        case _ as never:
            assert_never(never)
