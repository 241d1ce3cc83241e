"""The admitted payload types: SQL Server, Parquet and ClickHouse type of a column that is not a key.

A payload column is exact in all three or it is refused: no widening, no rescaling, no binary floating point (see the
record on payload types). Text is Unicode of a BIN2 collation or of a UTF-8 one; lone surrogates are refused by the
domain gate before the mutation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from dpone_contracts.canonical import digest_checked
from dpone_contracts.document import Fault, Part, lax
from dpone_contracts.effective_key import decimal_of, key_pair
from dpone_contracts.scalars import Identifier

WRITABLE_SCHEMA: Final = "dpone.dbt-semantic-refresh-writable-schema.v1"


@dataclass(frozen=True, slots=True)
class PayloadType:
    """One admitted payload type.

    `sql_server` is the type as the catalog spells it, `parquet` the pinned physical and logical type, `clickhouse` the
    type of a column that is not nullable, `family` names the row encoding's canonical text. `domain` is the inclusive
    range of values that all three engines hold, as canonical text; None when it is the type's own.
    """

    sql_server: str
    parquet: str
    clickhouse: str
    family: Literal["bool", "integer", "decimal", "date", "timestamp", "uuid", "text", "binary"]
    domain: tuple[str, str] | None = None
    needs_collation: bool = False

    def target_type(self, *, nullable: bool) -> str:
        """Return the ClickHouse type of a column."""
        return f"Nullable({self.clickhouse})" if nullable else self.clickhouse


_DATE_DOMAIN = ("1970-01-01", "2149-06-06")
_EXACT: Final[Mapping[str, PayloadType]] = {
    kind.sql_server: kind
    for kind in (
        PayloadType("bit", "BOOLEAN", "Bool", "bool"),
        PayloadType("tinyint", "INT32 (INT 8 unsigned)", "UInt8", "integer"),
        PayloadType("smallint", "INT32 (INT 16 signed)", "Int16", "integer"),
        PayloadType("int", "INT32 (INT 32 signed)", "Int32", "integer"),
        PayloadType("bigint", "INT64 (INT 64 signed)", "Int64", "integer"),
        PayloadType("date", "INT32 (DATE)", "Date", "date", _DATE_DOMAIN),
        PayloadType("uniqueidentifier", "FIXED_LEN_BYTE_ARRAY(16) (UUID)", "UUID", "uuid"),
    )
}
_DATETIME2: Final = re.compile(r"datetime2\(([0-6])\)")
_TEXT: Final = re.compile(r"(n?varchar)\((max|[1-9]\d{0,3})\)")
_BINARY: Final = re.compile(r"varbinary\((max|[1-9]\d{0,3})\)")
_LONGEST: Final = {"nvarchar": 4000, "varchar": 8000, "varbinary": 8000}
_COLLATIONS: Final = re.compile(r"\w+_BIN2(?:_UTF8)?|\w+_UTF8", re.ASCII)


def payload_type(sql_server: str) -> PayloadType | None:
    """Return the admitted payload type of a SQL Server type, None for everything else (floats included)."""
    if (exact := _EXACT.get(sql_server)) is not None:
        return exact
    if (decimal := decimal_of(sql_server)) is not None:
        precision, scale = decimal
        width = -(-_bits(precision) // 8)
        return PayloadType(
            sql_server,
            f"FIXED_LEN_BYTE_ARRAY({width}) (DECIMAL({precision},{scale}))",
            f"Decimal({precision},{scale})",
            "decimal",
        )
    if found := _DATETIME2.fullmatch(sql_server):
        return _timestamp(sql_server, int(found[1]))
    if (found := _TEXT.fullmatch(sql_server)) and _fits(found[2], _LONGEST[found[1]]):
        return PayloadType(sql_server, "BYTE_ARRAY (STRING)", "String", "text", needs_collation=True)
    if (found := _BINARY.fullmatch(sql_server)) and _fits(found[1], _LONGEST["varbinary"]):
        return PayloadType(sql_server, "BYTE_ARRAY", "String", "binary")
    return None


def collation_admitted(sql_server: str, collation: str) -> bool:
    """Tell whether text of a collation reaches ClickHouse as the bytes that SQL Server compares.

    nvarchar is UTF-16 whatever its collation, so a BIN2 or UTF-8 one is only needed for varchar bytes to be known.
    """
    if sql_server.startswith("nvarchar"):
        return True
    return collation.endswith("_UTF8") and _COLLATIONS.fullmatch(collation) is not None


def _timestamp(sql_server: str, scale: int) -> PayloadType:
    fraction = f".{'9' * scale}" if scale else ""
    zeros = f".{'0' * scale}" if scale else ""
    unit = "MILLIS" if scale <= 3 else "MICROS"
    return PayloadType(
        sql_server,
        f"INT64 (TIMESTAMP {unit} UTC)",
        f"DateTime64({scale},'UTC')",
        "timestamp",
        (f"1900-01-01T00:00:00{zeros}Z", f"2299-12-31T23:59:59{fraction}Z"),
    )


def _bits(precision: int) -> int:
    """Return the bits of a signed integer of so many decimal digits."""
    return int(10**precision - 1).bit_length() + 1


def _fits(length: str, longest: int) -> bool:
    return length == "max" or int(length) <= longest


class WritableColumn(Part):
    """One column of a target in table order: its pair of types and whether it is key, event time or value."""

    name: Identifier
    source_type: Identifier
    target_type: Identifier
    nullable: bool
    writable_role: Literal["EFFECTIVE_KEY", "EFFECTIVE_KEY_EVENT_TIME", "MUTABLE_VALUE"]

    def _rules(self) -> Iterator[Fault]:
        wanted = self._target_type()
        if self.writable_role != "MUTABLE_VALUE" and self.nullable:
            yield lax("admitted-pair", "a key column is nullable", "nullable")
        if wanted is None:
            yield lax("admitted-pair", "not an admitted type of this role", "source_type")
        elif self.target_type != wanted:
            yield lax("admitted-pair", f"{self.source_type} is admitted as {wanted} only", "target_type")

    def _target_type(self) -> str | None:
        if self.writable_role == "MUTABLE_VALUE":
            kind = payload_type(self.source_type)
            return None if kind is None else kind.target_type(nullable=self.nullable)
        pair = key_pair(self.source_type)
        return None if pair is None else pair.target_type


def writable_schema_digest(columns: Sequence[Mapping[str, Any]]) -> str:
    """Digest the writable columns in table order."""
    return digest_checked({"schema": WRITABLE_SCHEMA, "writable_columns": list(columns)})
