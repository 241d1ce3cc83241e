"""`dpone_row_v1`: one row text in every engine; this is the reference implementation of docs/reference/row-encoding.md.

It is written to be read, one value at a time. The SQL Server, Arrow and ClickHouse implementations are held
against it by the golden vectors of its tests.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, assert_never
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ROW_ENCODING = "dpone_row_v1"
ROWS_PER_BLOCK = 8_192
NULL_MARKER = b"N"
FIELD_END = b"|"
ROW_END = b"\n"

RowValue = bool | int | Decimal | dt.date | dt.datetime | UUID | str | bytes | None

_DECIMAL_DIGITS = 38
_DATETIME_DIGITS = 6


class RowEncodingError(ValueError):
    """A type that has no row text, or a value outside its type; the message never holds the value."""


class FieldKind(StrEnum):
    """Kinds of fields, each with one canonical text."""

    BIT = "bit"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    DATETIME = "datetime2"
    UUID = "uniqueidentifier"
    TEXT = "text"
    BINARY = "varbinary"


@dataclass(frozen=True, slots=True)
class FieldType:
    """The part of a SQL Server column type that decides about the text of its values.

    `bits` and `signed` belong to integers, `precision` to decimals, `scale` to decimals (digits after the
    point) and to datetime2 (0 to 6 fractional digits).
    """

    kind: FieldKind
    precision: int = 0
    scale: int = 0
    bits: int = 0
    signed: bool = True


_SIMPLE_TYPES = {
    "bit": FieldType(FieldKind.BIT),
    "tinyint": FieldType(FieldKind.INTEGER, bits=8, signed=False),
    "smallint": FieldType(FieldKind.INTEGER, bits=16),
    "int": FieldType(FieldKind.INTEGER, bits=32),
    "bigint": FieldType(FieldKind.INTEGER, bits=64),
    "date": FieldType(FieldKind.DATE),
    "uniqueidentifier": FieldType(FieldKind.UUID),
}
_DECIMAL = re.compile(r"decimal\(([1-9][0-9]?),(0|[1-9][0-9]?)\)")
_DATETIME = re.compile(r"datetime2\(([0-6])\)")
_TEXT = re.compile(r"n?varchar\(([1-9][0-9]{0,3}|max)\)")
_BINARY = re.compile(r"varbinary\(([1-9][0-9]{0,3}|max)\)")


def field_type(source_type: str) -> FieldType:
    """The field type of a SQL Server type as plans spell it: `int`, `decimal(18,4)`, `datetime2(6)`, `nvarchar(50)`.

    Raises `RowEncodingError` for every other type or spelling.
    """
    if source_type in _SIMPLE_TYPES:
        return _SIMPLE_TYPES[source_type]
    if match := _DECIMAL.fullmatch(source_type):
        precision, scale = int(match[1]), int(match[2])
        if scale <= precision <= _DECIMAL_DIGITS:
            return FieldType(FieldKind.DECIMAL, precision=precision, scale=scale)
    elif match := _DATETIME.fullmatch(source_type):
        return FieldType(FieldKind.DATETIME, scale=int(match[1]))
    elif _TEXT.fullmatch(source_type):
        return FieldType(FieldKind.TEXT)
    elif _BINARY.fullmatch(source_type):
        return FieldType(FieldKind.BINARY)
    raise RowEncodingError(f"{source_type!r} has no dpone_row_v1 text")


def encode_field(field: FieldType, value: RowValue) -> bytes:
    """The text of one value without the field's end; `RowEncodingError` where the value is not of the type."""
    if value is None:
        return NULL_MARKER
    return _ENCODERS[field.kind](field, value)


def encode_row(fields: Sequence[FieldType], row: Sequence[RowValue]) -> bytes:
    """The bytes of one row: each field's text and its end, then the row's end."""
    if not fields or len(fields) != len(row):
        raise RowEncodingError(f"{len(row)} values for {len(fields)} fields")
    texts = (encode_field(field, value) + FIELD_END for field, value in zip(fields, row, strict=True))
    return b"".join(texts) + ROW_END


def block_digests(encoded_rows: Iterable[bytes]) -> Iterator[bytes]:
    """The raw SHA-256 of each block of 8,192 consecutive rows (the last block may be shorter)."""
    rows = iter(encoded_rows)
    while block := tuple(islice(rows, ROWS_PER_BLOCK)):
        yield sha256(b"".join(block)).digest()


def content_digest(blocks: Iterable[bytes]) -> str:
    """The digest of an image from the raw digests of its blocks; for no block the SHA-256 of nothing."""
    return digest_text(sha256(b"".join(blocks)).digest())


def digest_text(raw: bytes) -> str:
    """`sha256:` and 64 lower-case hex digits."""
    return f"sha256:{raw.hex()}"


def raw_digest(text: str) -> bytes:
    """The 32 bytes of a digest text."""
    return bytes.fromhex(text.removeprefix("sha256:"))


def image_digest(fields: Sequence[FieldType], key: Sequence[int], rows: Iterable[Sequence[RowValue]]) -> str:
    """The content digest of an image whose rows come in any order.

    `key` holds the positions of the effective key's columns in plan order. Sorts in memory: the engines'
    implementations stream.
    """
    ordered = sorted(rows, key=lambda row: order_key(fields, key, row))
    return content_digest(block_digests(encode_row(fields, row) for row in ordered))


def order_key(
    fields: Sequence[FieldType], key: Sequence[int], row: Sequence[RowValue]
) -> tuple[RowValue, ...]:
    """What rows are ordered by: the key in typed order, uniqueidentifier by its lower-case text."""
    return tuple(_order_value(fields[position], row[position]) for position in key)


def _order_value(field: FieldType, value: RowValue) -> RowValue:
    match field.kind:
        case FieldKind.BIT | FieldKind.INTEGER | FieldKind.DECIMAL | FieldKind.DATE | FieldKind.DATETIME:
            if value is None:
                raise RowEncodingError("a key value is NULL")
            return value
        case FieldKind.UUID:
            return encode_field(field, value).decode("ascii")
        case FieldKind.TEXT | FieldKind.BINARY:
            raise RowEncodingError("text and varbinary are no keys")
        case _ as never:
            assert_never(never)


def _bit(_: FieldType, value: RowValue) -> bytes:
    if not isinstance(value, bool):
        raise RowEncodingError("a bit is a bool")
    return b"1" if value else b"0"


def _integer(field: FieldType, value: RowValue) -> bytes:
    low = -(1 << field.bits - 1) if field.signed else 0
    high = (1 << field.bits - 1) - 1 if field.signed else (1 << field.bits) - 1
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RowEncodingError(f"an integer of {field.bits} bits is an int in its domain")
    return b"%d" % value


def _decimal(field: FieldType, value: RowValue) -> bytes:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise RowEncodingError("a decimal is a finite Decimal")
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # pragma: no cover - a finite Decimal has a number here
        raise RowEncodingError("a decimal is a finite Decimal")
    # Integer arithmetic: the decimal context would round 38 digits to 28.
    unscaled = int("".join(map(str, digits)))
    shift = exponent + field.scale
    quotient, lost = (unscaled * 10**shift, 0) if shift >= 0 else divmod(unscaled, 10**-shift)
    if lost or quotient >= 10**field.precision:
        raise RowEncodingError(f"a decimal({field.precision},{field.scale}) holds no such value")
    text = str(quotient).rjust(field.scale + 1, "0")
    whole, fraction = text[: len(text) - field.scale], text[len(text) - field.scale :]
    minus = "-" if sign and quotient else ""
    return f"{minus}{whole}.{fraction}".encode() if field.scale else f"{minus}{whole}".encode()


def _date(_: FieldType, value: RowValue) -> bytes:
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        raise RowEncodingError("a date is a date")
    return value.isoformat().encode("ascii")


def _datetime(field: FieldType, value: RowValue) -> bytes:
    if not isinstance(value, dt.datetime) or value.tzinfo is not None:
        raise RowEncodingError("a datetime2 is a datetime without time zone")
    if value.microsecond % 10 ** (_DATETIME_DIGITS - field.scale):
        raise RowEncodingError(f"a datetime2({field.scale}) has no more fractional digits")
    return value.isoformat(sep=" ", timespec="microseconds").encode("ascii")


def _uuid(_: FieldType, value: RowValue) -> bytes:
    if not isinstance(value, UUID):
        raise RowEncodingError("a uniqueidentifier is a UUID")
    return str(value).encode("ascii")


def _text(_: FieldType, value: RowValue) -> bytes:
    if not isinstance(value, str):
        raise RowEncodingError("a text is a str")
    try:
        data = value.encode("utf-8")
    except UnicodeEncodeError:
        # From None: the original error holds the text.
        raise RowEncodingError("a text has a lone surrogate") from None
    return b"%d:%b" % (len(data), data)


def _binary(_: FieldType, value: RowValue) -> bytes:
    if not isinstance(value, bytes):
        raise RowEncodingError("a varbinary is bytes")
    return value.hex().upper().encode("ascii")


_ENCODERS: dict[FieldKind, Callable[[FieldType, RowValue], bytes]] = {
    FieldKind.BIT: _bit,
    FieldKind.INTEGER: _integer,
    FieldKind.DECIMAL: _decimal,
    FieldKind.DATE: _date,
    FieldKind.DATETIME: _datetime,
    FieldKind.UUID: _uuid,
    FieldKind.TEXT: _text,
    FieldKind.BINARY: _binary,
}
