"""RPC requests: procedure names or numbers and typed parameters, several calls in one message (MS-TDS 2.2.6.6)."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.language.errors import SqlServerError, unsupported
from dpone_lab.sqlserver.language.types import (
    BIGINT,
    BIT,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    MAX,
    REAL,
    SMALLINT,
    TINYINT,
    UNIQUEIDENTIFIER,
    SqlType,
)
from dpone_lab.sqlserver.wire.packets import MalformedMessageError

if TYPE_CHECKING:
    from collections.abc import Callable

_WELL_KNOWN = {
    1: "sp_cursor",
    2: "sp_cursoropen",
    3: "sp_cursorprepare",
    4: "sp_cursorexecute",
    5: "sp_cursorprepexec",
    6: "sp_cursorunprepare",
    7: "sp_cursorfetch",
    8: "sp_cursoroption",
    9: "sp_cursorclose",
    10: "sp_executesql",
    11: "sp_prepare",
    12: "sp_execute",
    13: "sp_prepexec",
    14: "sp_prepexecrpc",
    15: "sp_unprepare",
}
_BATCH_FLAGS = (0x80, 0xFE, 0xFF)
_BY_REFERENCE = 0x01
_DEFAULT_VALUE = 0x02
_NO_VALUE_SHORT = 0xFFFF
_NO_VALUE_LONG = 0xFFFF_FFFF_FFFF_FFFF
_INTEGERS = {1: TINYINT, 2: SMALLINT, 4: INT, 8: BIGINT}
_FLOATS = {4: REAL, 8: FLOAT}
_FIXED_INTEGERS = {0x30: 1, 0x34: 2, 0x38: 4, 0x7F: 8}
_FIXED_FLOATS = {0x3B: 4, 0x3E: 8}
_LONG_TYPES = {
    0xE7: "nvarchar",
    0xEF: "nchar",
    0xA7: "varchar",
    0xAF: "char",
    0xA5: "varbinary",
    0xAD: "binary",
}
_LOB_TYPES = {0x63: "nvarchar", 0x23: "varchar", 0x22: "varbinary"}
_EPOCH = dt.date(1, 1, 1).toordinal()
_DATETIME_EPOCH = dt.datetime(1900, 1, 1)  # noqa: DTZ001 - SQL Server's datetime has no zone
_UTF8_FLAG = 0x0400_0000


@dataclass(frozen=True, slots=True)
class RpcParameter:
    """One parameter: its name (empty when positional), declared type and value."""

    name: str
    type: SqlType
    value: Any
    output: bool
    default: bool


@dataclass(frozen=True, slots=True)
class RpcCall:
    """One procedure call of an RPC message; the procedure is named in lower case without its schema."""

    procedure: str
    parameters: tuple[RpcParameter, ...]


def skip_headers(payload: bytes) -> bytes:
    """Cut off ALL_HEADERS, which opens every batch, RPC and transaction request of TDS 7.2 and later."""
    try:
        (length,) = struct.unpack_from("<I", payload)
    except struct.error as error:
        raise MalformedMessageError("ALL_HEADERS is missing") from error
    if not 4 <= length <= len(payload):
        raise MalformedMessageError("ALL_HEADERS is longer than its message")
    return payload[length:]


def parse_calls(payload: bytes) -> list[RpcCall]:
    """Decode an RPC message without its ALL_HEADERS; MalformedMessageError or SqlServerError."""
    reader = _Reader(payload)
    calls = []
    try:
        while not reader.at_end():
            calls.append(_call(reader))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedMessageError("an RPC request doesn't parse") from error
    return calls


def _call(reader: _Reader) -> RpcCall:
    length = reader.number("<H")
    if length == _NO_VALUE_SHORT:
        number = reader.number("<H")
        name = _WELL_KNOWN.get(number, f"procedure {number}")
    else:
        name = reader.text(length)
    reader.number("<H")  # option flags: recompile, no metadata: nothing to do
    parameters: list[RpcParameter] = []
    while not reader.at_end() and reader.peek() not in _BATCH_FLAGS:
        parameters.append(_parameter(reader, len(parameters) + 1))
    if not reader.at_end():
        reader.number("<B")
    return RpcCall(name.replace("[", "").replace("]", "").lower().rpartition(".")[2], tuple(parameters))


def _parameter(reader: _Reader, position: int) -> RpcParameter:
    name = reader.text(reader.number("<B"))
    status = reader.number("<B")
    try:
        sql_type, value = _typed_value(reader)
    except (ValueError, OverflowError) as error:
        raise SqlServerError(
            8023,
            "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. "
            f'Parameter {position} ("{name}"): The supplied value is not a valid instance of its data type.',
        ) from error
    return RpcParameter(name, sql_type, value, bool(status & _BY_REFERENCE), bool(status & _DEFAULT_VALUE))


class _Reader:
    """A cursor over the bytes of a message; reading past the end raises struct.error or IndexError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def at_end(self) -> bool:
        return self._position >= len(self._data)

    def peek(self) -> int:
        return self._data[self._position]

    def number(self, layout: str) -> int:
        (value,) = struct.unpack_from(layout, self._data, self._position)
        self._position += struct.calcsize(layout)
        return int(value)

    def take(self, size: int) -> bytes:
        end = self._position + size
        if end > len(self._data):
            raise IndexError(size)
        value = self._data[self._position : end]
        self._position = end
        return value

    def text(self, units: int) -> str:
        return self.take(2 * units).decode("utf-16-le", "surrogatepass")

    def short_value(self) -> bytes | None:
        """Bytes behind a one-byte length; none when it is 0."""
        size = self.number("<B")
        return self.take(size) if size else None

    def chunks(self) -> bytes | None:
        """Read a partially length-prefixed value."""
        total = self.number("<Q")
        if total == _NO_VALUE_LONG:
            return None
        parts = []
        while size := self.number("<I"):
            parts.append(self.take(size))
        return b"".join(parts)


def _typed_value(reader: _Reader) -> tuple[SqlType, Any]:
    token = reader.number("<B")
    if token in _LONG_TYPES:
        return _long_value(reader, _LONG_TYPES[token])
    if token in _LOB_TYPES:
        return _lob_value(reader, _LOB_TYPES[token])
    if token in _FIXED_INTEGERS:
        size = _FIXED_INTEGERS[token]
        return _INTEGERS[size], _integer(reader.take(size))
    if token in _FIXED_FLOATS:
        size = _FIXED_FLOATS[token]
        return _FLOATS[size], _real(reader.take(size))
    decode = _DECODERS.get(token)
    if decode is None:
        raise unsupported(f"parameter type token 0x{token:02x}")
    return decode(reader)


def _nullable_integer(reader: _Reader) -> tuple[SqlType, int | None]:
    sql_type = _INTEGERS[reader.number("<B")]
    raw = reader.short_value()
    return sql_type, None if raw is None else _integer(raw)


def _nullable_bit(reader: _Reader) -> tuple[SqlType, bool | None]:
    reader.number("<B")
    raw = reader.short_value()
    return BIT, None if raw is None else bool(raw[0])


def _nullable_float(reader: _Reader) -> tuple[SqlType, float | None]:
    sql_type = _FLOATS[reader.number("<B")]
    raw = reader.short_value()
    return sql_type, None if raw is None else _real(raw)


def _guid(reader: _Reader) -> tuple[SqlType, uuid.UUID | None]:
    reader.number("<B")
    raw = reader.short_value()
    return UNIQUEIDENTIFIER, None if raw is None else uuid.UUID(bytes_le=raw)


def _nullable_date(reader: _Reader) -> tuple[SqlType, dt.date | None]:
    raw = reader.short_value()
    return DATE, None if raw is None else _date(raw)


def _nullable_time(reader: _Reader) -> tuple[SqlType, dt.time | None]:
    scale = reader.number("<B")
    raw = reader.short_value()
    return SqlType("time", scale=scale), None if raw is None else _time_of_day(raw, scale)


def _nullable_datetime(reader: _Reader) -> tuple[SqlType, dt.datetime | None]:
    if reader.number("<B") != 8:
        raise unsupported("parameter type smalldatetime")
    raw = reader.short_value()
    return DATETIME, None if raw is None else _datetime(raw)


def _integer(raw: bytes) -> int:
    return int.from_bytes(raw, "little", signed=len(raw) > 1)


def _real(raw: bytes) -> float:
    (value,) = struct.unpack("<d" if len(raw) == 8 else "<f", raw)
    return float(value)


def _decimal(reader: _Reader, name: str) -> tuple[SqlType, Decimal | None]:
    reader.number("<B")
    precision, scale = reader.number("<B"), reader.number("<B")
    sql_type = SqlType(name, precision=precision, scale=scale)
    raw = reader.short_value()
    if raw is None:
        return sql_type, None
    digits = tuple(int(digit) for digit in str(int.from_bytes(raw[1:], "little")))
    return sql_type, Decimal((0 if raw[0] else 1, digits, -scale))


def _date(raw: bytes) -> dt.date:
    return dt.date.fromordinal(_EPOCH + int.from_bytes(raw, "little"))


def _micros(raw: bytes, scale: int) -> int:
    """Microseconds since midnight; a seventh digit that isn't zero is refused, never dropped."""
    ticks = int.from_bytes(raw, "little")
    if scale <= 6:
        return int(ticks * 10 ** (6 - scale))
    if ticks % 10:
        raise unsupported("time of 100 ns precision")
    return ticks // 10


def _time_of_day(raw: bytes, scale: int) -> dt.time:
    return (_DATETIME_EPOCH + dt.timedelta(microseconds=_micros(raw, scale))).time()


def _datetime2(reader: _Reader) -> tuple[SqlType, dt.datetime | None]:
    scale = reader.number("<B")
    sql_type = SqlType("datetime2", scale=scale)
    raw = reader.short_value()
    if raw is None:
        return sql_type, None
    day = dt.datetime.combine(_date(raw[-3:]), dt.time())
    return sql_type, day + dt.timedelta(microseconds=_micros(raw[:-3], scale))


def _datetime(raw: bytes) -> dt.datetime:
    days, ticks = struct.unpack("<iI", raw)
    return _DATETIME_EPOCH + dt.timedelta(days=days, milliseconds=(ticks * 10 + 1) // 3)


def _long_value(reader: _Reader, name: str) -> tuple[SqlType, str | bytes | None]:
    size = reader.number("<H")
    is_binary = name in ("varbinary", "binary")
    collation = b"" if is_binary else reader.take(5)
    if size == _NO_VALUE_SHORT:
        sql_type = SqlType(name, length=MAX)
        raw = reader.chunks()
    else:
        sql_type = SqlType(name, length=max(size // 2 if name in ("nvarchar", "nchar") else size, 1))
        length = reader.number("<H")
        raw = None if length == _NO_VALUE_SHORT else reader.take(length)
    return sql_type, None if raw is None else _decoded(raw, name, collation)


def _lob_value(reader: _Reader, name: str) -> tuple[SqlType, str | bytes | None]:
    reader.number("<I")
    collation = b"" if name == "varbinary" else reader.take(5)
    length = reader.number("<i")
    raw = None if length < 0 else reader.take(length)
    return SqlType(name, length=MAX), None if raw is None else _decoded(raw, name, collation)


def _decoded(raw: bytes, name: str, collation: bytes) -> str | bytes:
    if name in ("nvarchar", "nchar"):
        return raw.decode("utf-16-le", "surrogatepass")
    if name in ("varchar", "char"):
        utf8 = int.from_bytes(collation[:4], "little") & _UTF8_FLAG
        return raw.decode("utf-8" if utf8 else "cp1252", "replace")
    return raw


_DECODERS: dict[int, Callable[[_Reader], tuple[SqlType, Any]]] = {
    0x1F: lambda _reader: (INT, None),
    0x24: _guid,
    0x26: _nullable_integer,
    0x28: _nullable_date,
    0x29: _nullable_time,
    0x2A: _datetime2,
    0x32: lambda reader: (BIT, bool(reader.number("<B"))),
    0x3D: lambda reader: (DATETIME, _datetime(reader.take(8))),
    0x68: _nullable_bit,
    0x6A: lambda reader: _decimal(reader, "decimal"),
    0x6C: lambda reader: _decimal(reader, "numeric"),
    0x6D: _nullable_float,
    0x6F: _nullable_datetime,
}
