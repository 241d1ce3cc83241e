"""What a business column of a target is: SQL Server type, ClickHouse type, and how its values are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpone_contracts.row_encoding import FieldType, field_type

_FIXED_BYTES = {
    "Bool": 1, "UInt8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "Date": 2, "Date32": 4, "UUID": 16,
}  # fmt: skip
_DECIMAL_BYTES = ((9, 4), (18, 8), (38, 16))
_DECIMAL = re.compile(r"Decimal\((\d+),\d+\)")
_INSTANT_BYTES = 8


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """One business column as plans spell it: `int` and `Int32`, `decimal(18,4)` and `Nullable(Decimal(18,4))`."""

    name: str
    source_type: str
    target_type: str
    nullable: bool

    @property
    def field(self) -> FieldType:
        """The field type that its row text follows from; `RowEncodingError` for a type that has none."""
        return field_type(self.source_type)

    @property
    def fixed_bytes(self) -> int | None:
        """Bytes of one value of a fixed-width column that isn't nullable; None for text and nullable columns."""
        if self.target_type in _FIXED_BYTES:
            return _FIXED_BYTES[self.target_type]
        if self.target_type.startswith("DateTime64("):
            return _INSTANT_BYTES
        if found := _DECIMAL.fullmatch(self.target_type):
            return next(size for digits, size in _DECIMAL_BYTES if int(found[1]) <= digits)
        return None


def spelled_as_planned(type_name: str) -> str:
    """A type as the server prints it, in the spelling of plans: without blanks."""
    return type_name.replace(" ", "")
