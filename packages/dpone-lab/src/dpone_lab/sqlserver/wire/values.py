"""Result values on the wire: TYPE_INFO, COLMETADATA and a row encoder generated for each result's columns."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from dpone_lab.sqlserver.language.errors import unsupported
from dpone_lab.sqlserver.language.types import MAX, SqlType
from dpone_lab.sqlserver.wire.tokens import COLLATION, b_varchar

RowsEncoder = Callable[[Sequence[Sequence[Any]]], bytes]
"""Turns rows of Python values into ROW tokens."""

_NULL_SHORT = b"\xff\xff"
_NULL_LONG = b"\xff" * 8
_NULLABLE_FLAG = 0x0001
_UPDATABLE_UNKNOWN_FLAG = 0x0008
_IDENTITY_FLAG = 0x0010
_INTEGER_SIZES = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "null": 4}
_LONG_TOKENS = {
    "nvarchar": 0xE7,
    "nchar": 0xEF,
    "varchar": 0xA7,
    "char": 0xAF,
    "varbinary": 0xA5,
    "binary": 0xAD,
}
_PLAIN_TOKENS = {
    "bit": b"\x68\x01",
    "float": b"\x6d\x08",
    "real": b"\x6d\x04",
    "uniqueidentifier": b"\x24\x10",
    "date": b"\x28",
    "datetime": b"\x6f\x08",
}
_SCALED_TOKENS = {"time": 0x29, "datetime2": 0x2A}
_EXACT = Context(prec=60)
_DATETIME_EPOCH = dt.date(1900, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class WireColumn:
    """One column of a result set: its name, empty when it has none, and its type."""

    name: str
    type: SqlType
    identity: bool = False


def decimal_size(precision: int) -> int:
    """Return the bytes of a decimal value of the precision, sign included."""
    return 5 if precision <= 9 else 9 if precision <= 19 else 13 if precision <= 28 else 17


def time_size(scale: int) -> int:
    """Return the bytes of the time of day in TIME and DATETIME2 of the scale."""
    return 3 if scale <= 2 else 4 if scale <= 4 else 5


def type_info(sql_type: SqlType) -> bytes:
    """Return TYPE_INFO of a column or output parameter; SqlServerError for types outside the lab."""
    name = sql_type.name
    if name in _INTEGER_SIZES:
        return bytes([0x26, _INTEGER_SIZES[name]])
    if name in _LONG_TOKENS:
        size = 0xFFFF if sql_type.length == MAX else sql_type.max_length
        collation = b"" if sql_type.is_binary else COLLATION
        return struct.pack("<BH", _LONG_TOKENS[name], size) + collation
    if sql_type.is_decimal:
        precision, scale = _decimal_shape(sql_type)
        return bytes([0x6A if name == "decimal" else 0x6C, decimal_size(precision), precision, scale])
    if name in _PLAIN_TOKENS:
        return _PLAIN_TOKENS[name]
    if name in _SCALED_TOKENS:
        return bytes([_SCALED_TOKENS[name], _scale(sql_type)])
    raise unsupported(f"result type {sql_type}")


def column_metadata(columns: Sequence[WireColumn]) -> bytes:
    """Return COLMETADATA of a result set."""
    parts = [struct.pack("<BH", 0x81, len(columns))]
    for column in columns:
        flags = _UPDATABLE_UNKNOWN_FLAG
        if column.type.nullable:
            flags |= _NULLABLE_FLAG
        if column.identity:
            flags |= _IDENTITY_FLAG
        parts.append(struct.pack("<IH", 0, flags) + type_info(column.type) + b_varchar(column.name[:128]))
    return b"".join(parts)


def encode_value(sql_type: SqlType, value: object) -> bytes:
    """Return one value behind its length, as in an output parameter."""
    return rows_encoder([sql_type])([(value,)])[1:]


def rows_encoder(types: Sequence[SqlType]) -> RowsEncoder:
    """Generate the encoder of rows with these column types.

    Values are what psycopg loads from the types of `language.types.base_type`. One function for all columns
    with the cheap types spelled out costs a third of a call for each cell.
    """
    scope: dict[str, Any] = dict(_SCOPE)
    cells = []
    for index, sql_type in enumerate(types):
        cells.append(_cell(sql_type, f"v{index}", f"f{index}", scope))
    names = ", ".join(f"v{index}" for index in range(len(types)))
    source = (
        "def encode(rows):\n"
        f'    return b"".join([b"".join((b"\\xd1", {", ".join(cells)})) for {names}, in rows])\n'
    )
    exec(compile(source, "<row encoder>", "exec"), scope)  # noqa: S102 - generated from types, no text of a user
    encoder: RowsEncoder = scope["encode"]
    return encoder


_SCOPE: dict[str, Any] = {
    "I1": struct.Struct("<BB").pack,
    "I2": struct.Struct("<Bh").pack,
    "I4": struct.Struct("<Bi").pack,
    "I8": struct.Struct("<Bq").pack,
    "F4": struct.Struct("<Bf").pack,
    "F8": struct.Struct("<Bd").pack,
    "H": struct.Struct("<H").pack,
}


def _cell(sql_type: SqlType, value: str, function: str, scope: dict[str, Any]) -> str:
    """Return the expression that encodes one cell; puts what it calls into the scope."""
    name = sql_type.name
    if name in _INTEGER_SIZES:
        size = _INTEGER_SIZES[name]
        return f'(b"\\0" if {value} is None else I{size}({size}, {value}))'
    simple = {
        "bit": f'(b"\\0" if {value} is None else b"\\1\\1" if {value} else b"\\1\\0")',
        "float": f'(b"\\0" if {value} is None else F8(8, {value}))',
        "real": f'(b"\\0" if {value} is None else F4(4, {value}))',
        "uniqueidentifier": f'(b"\\0" if {value} is None else b"\\x10" + {value}.bytes_le)',
        "date": f'(b"\\0" if {value} is None else b"\\3" + ({value}.toordinal() - 1).to_bytes(3, "little"))',
    }
    if name in simple:
        return simple[name]
    if name in _LONG_TOKENS:
        if sql_type.length == MAX:
            scope[function] = _long_text_encoder(sql_type)
        elif sql_type.is_fixed:
            scope[function] = _padded_encoder(sql_type)
        else:
            codec = '"utf-16-le", "surrogatepass"' if sql_type.is_unicode else '"utf-8", "surrogatepass"'
            raw = value if sql_type.is_binary else f"{value}.encode({codec})"
            return f'(b"\\xff\\xff" if {value} is None else H(len(raw := {raw})) + raw)'
        return f"{function}({value})"
    if sql_type.is_decimal:
        scope[function] = _decimal_encoder(*_decimal_shape(sql_type))
    else:
        scope[function] = _clock_encoder(name, _scale(sql_type))
    return f'(b"\\0" if {value} is None else {function}({value}))'


def _scale(sql_type: SqlType) -> int:
    return 7 if sql_type.scale is None else sql_type.scale


def _decimal_shape(sql_type: SqlType) -> tuple[int, int]:
    return sql_type.precision or 18, sql_type.scale or 0


def _decimal_encoder(precision: int, scale: int) -> Callable[[Decimal], bytes]:
    size = decimal_size(precision)
    positive, negative = bytes([size, 1]), bytes([size, 0])
    factor = Decimal(10) ** scale

    def encode(value: Decimal) -> bytes:
        number = int(_EXACT.multiply(value, factor))
        if number >= 0:
            return positive + number.to_bytes(size - 1, "little")
        return negative + (-number).to_bytes(size - 1, "little")

    return encode


def _ticks(value: dt.datetime | dt.time, scale: int) -> int:
    """Return the time of day in units of 10**-scale seconds; digits beyond the scale were rounded before."""
    micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return micros * 10 if scale == 7 else int(micros // 10 ** (6 - scale))


def _datetime2_encoder(scale: int) -> Callable[[dt.datetime], bytes]:
    size = time_size(scale)
    head = bytes([size + 3])

    def encode(value: dt.datetime) -> bytes:
        return (
            head
            + _ticks(value, scale).to_bytes(size, "little")
            + (value.toordinal() - 1).to_bytes(3, "little")
        )

    return encode


def _clock_encoder(name: str, scale: int) -> Callable[[Any], bytes]:
    if name == "datetime2":
        return _datetime2_encoder(scale)
    return _time_encoder(scale) if name == "time" else _encode_datetime


def _time_encoder(scale: int) -> Callable[[dt.time], bytes]:
    size = time_size(scale)
    return lambda value: bytes([size]) + _ticks(value, scale).to_bytes(size, "little")


def _encode_datetime(value: dt.datetime) -> bytes:
    # Units of 1/300 s: milliseconds end in 0, 3 or 7.
    ticks = (_ticks(value, 6) * 3 + 5_000) // 10_000
    day, ticks = value.toordinal() - _DATETIME_EPOCH + ticks // 25_920_000, ticks % 25_920_000
    return struct.pack("<BiI", 8, day, ticks)


def _as_bytes(sql_type: SqlType, value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-16-le" if sql_type.is_unicode else "utf-8", "surrogatepass")
    return bytes(value)


def _long_text_encoder(sql_type: SqlType) -> Callable[[str | bytes | None], bytes]:
    def encode(value: str | bytes | None) -> bytes:
        if value is None:
            return _NULL_LONG
        raw = _as_bytes(sql_type, value)
        if not raw:
            return struct.pack("<QI", 0, 0)
        return struct.pack("<QI", len(raw), len(raw)) + raw + b"\0\0\0\0"

    return encode


def _padded_encoder(sql_type: SqlType) -> Callable[[str | bytes | None], bytes]:
    size = sql_type.max_length
    blank = b"\0" if sql_type.is_binary else b" \0" if sql_type.is_unicode else b" "

    def encode(value: str | bytes | None) -> bytes:
        if value is None:
            return _NULL_SHORT
        raw = _as_bytes(sql_type, value)
        padded = raw + blank * ((size - len(raw)) // len(blank))
        return struct.pack("<H", len(padded)) + padded

    return encode
