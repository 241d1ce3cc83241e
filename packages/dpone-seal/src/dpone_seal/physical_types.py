"""The pinned Arrow type of every admitted column, and the exact way there from what a reader delivers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from dpone_contracts.errors import DponeError
from dpone_contracts.payload_types import payload_type
from dpone_contracts.row_encoding import FieldKind, FieldType, RowEncodingError, field_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpone_contracts.payload_types import WritableColumn

TRANSPORT_PREFIX = "__dpone_seal_"
_INTEGERS = {"tinyint": pa.uint8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
_MILLISECOND_DIGITS = 3
_NO_UUID = "00000000-0000-0000-0000-000000000000"
_DASHES = (8, 13, 18, 23)


@dataclass(frozen=True, slots=True)
class PhysicalColumn:
    """One column of an artifact: its row text, Arrow type and nullability.

    `wire` is the type that rows are encoded from: uuids stay lower-case text there, and are 16 bytes in Parquet.
    """

    name: str
    source_type: str
    field: FieldType
    arrow: pa.DataType
    wire: pa.DataType
    nullable: bool


def physical_columns(columns: Sequence[WritableColumn]) -> tuple[PhysicalColumn, ...]:
    """The physical columns in the order of the writable schema; refuses what has no exact form."""
    return tuple(
        _physical_column(column.name, column.source_type, nullable=column.nullable) for column in columns
    )


def parquet_schema(columns: Sequence[PhysicalColumn]) -> pa.Schema:
    """The Arrow schema that is written as Parquet; REQUIRED where a column is not nullable."""
    return pa.schema([pa.field(column.name, column.arrow, column.nullable) for column in columns])


def wire_schema(columns: Sequence[PhysicalColumn]) -> pa.Schema:
    """The Arrow schema that rows are encoded from."""
    return pa.schema([pa.field(column.name, column.wire, column.nullable) for column in columns])


def wire_batch(columns: Sequence[PhysicalColumn], data: Any, *, first_row: int) -> pa.RecordBatch:
    """One reader's batch, columns by name, cast exactly; `data` speaks the Arrow C interface.

    Raises DPONE_ROW_BATCH_UNEXPECTED for missing, extra or doubled columns and for types that don't fit, and
    DPONE_ROW_VALUE_REFUSED for values outside their type; never shows a value.
    """
    batch = pa.record_batch(data)
    names = [column.name for column in columns]
    if sorted(batch.schema.names) != sorted(names):
        raise _unexpected("columns", f"{len(batch.schema.names)} columns, not those of the plan", first_row)
    arrays = [_exact(column, batch.column(column.name), first_row) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=wire_schema(columns))


def parquet_table(columns: Sequence[PhysicalColumn], wire: pa.Table) -> pa.Table:
    """The table as it is written: uuid text becomes 16 bytes, everything else is as it was."""
    arrays = [
        pa.chunked_array([_uuid_bytes(chunk) for chunk in values.chunks], type=column.arrow)
        if column.field.kind is FieldKind.UUID
        else values
        for column, values in zip(columns, wire.columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=parquet_schema(columns))


def _physical_column(name: str, source_type: str, *, nullable: bool) -> PhysicalColumn:
    if name.startswith(TRANSPORT_PREFIX):
        raise DponeError(
            "DPONE_ROW_BATCH_UNEXPECTED", f"{TRANSPORT_PREFIX}* never leaves transport", {"column": name}
        )
    try:
        field = field_type(source_type)
    except RowEncodingError as error:
        raise DponeError("DPONE_ROW_BATCH_UNEXPECTED", str(error), {"column": name}) from None
    arrow = _arrow_type(source_type, field)
    wire = pa.string() if field.kind is FieldKind.UUID else arrow
    return PhysicalColumn(name, source_type, field, arrow, wire, nullable)


def _arrow_type(source_type: str, field: FieldType) -> pa.DataType:
    match field.kind:
        case FieldKind.BIT:
            return pa.bool_()
        case FieldKind.INTEGER:
            return _INTEGERS[source_type]
        case FieldKind.DECIMAL:
            return pa.decimal128(field.precision, field.scale)
        case FieldKind.DATE:
            return pa.date32()
        case FieldKind.DATETIME:
            return pa.timestamp("ms" if field.scale <= _MILLISECOND_DIGITS else "us", "UTC")
        case FieldKind.UUID:
            return pa.uuid()
        case FieldKind.TEXT:
            return pa.string()
        case FieldKind.BINARY:
            return pa.binary()


def _exact(column: PhysicalColumn, values: pa.Array, first_row: int) -> pa.Array:
    if not any(admits(values.type) for admits in _COMES_AS[column.field.kind]):
        raise _unexpected(column.name, f"{values.type} for {column.source_type}", first_row)
    if values.null_count and not column.nullable:
        raise _refused(column, "a NULL in a column that has none", first_row)
    try:
        cast = _cast(column, values)
    except pa.ArrowInvalid:
        # From None: Arrow's message shows the value.
        raise _refused(column, f"a value is no {column.source_type}", first_row) from None
    if not _in_domain(column, cast):
        raise _refused(column, "a value is outside the domain that all engines hold", first_row)
    return cast


def _is_utc_or_naive(given: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(given) and given.tz in (None, "UTC"))


_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_COMES_AS: dict[FieldKind, tuple[Callable[[pa.DataType], bool], ...]] = {
    FieldKind.BIT: (pa.types.is_boolean,),
    FieldKind.INTEGER: (pa.types.is_integer,),
    FieldKind.DECIMAL: (pa.types.is_decimal,),
    FieldKind.DATE: (pa.types.is_date32,),
    FieldKind.DATETIME: (_is_utc_or_naive,),
    FieldKind.UUID: _STRINGS,
    FieldKind.TEXT: _STRINGS,
    FieldKind.BINARY: (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
}


def _cast(column: PhysicalColumn, values: pa.Array) -> pa.Array:
    """A safe cast: Arrow raises where it would lose anything; text is checked to be UTF-8."""
    kind = column.field.kind
    if kind in (FieldKind.TEXT, FieldKind.UUID):
        values.validate(full=True)
    if kind is FieldKind.DATETIME:
        # A datetime2 has no zone; its instants are UTC by the attested assurance, so only the label is added.
        values = pc.cast(values, pa.timestamp(values.type.unit))
    cast = pc.cast(values, column.wire)
    if kind is FieldKind.UUID:
        cast = pc.ascii_lower(cast)
        if not _are_uuids(cast):
            raise pa.ArrowInvalid
    if kind is FieldKind.DATETIME and not _has_only_digits(cast, column.field.scale):
        raise pa.ArrowInvalid
    return cast


def _are_uuids(values: pa.Array) -> bool:
    filled = pc.fill_null(values, _NO_UUID)
    if not _all(pc.equal(pc.binary_length(filled), len(_NO_UUID))):
        return False
    data, dashes = _data_bytes(filled), b"-" * len(filled)
    if any(data[position :: len(_NO_UUID)] != dashes for position in _DASHES):
        return False
    try:
        # A blank is skipped by fromhex, a further dash was removed: the length shows both.
        return len(bytes.fromhex(data.replace(b"-", b"").decode("ascii"))) == 16 * len(filled)
    except ValueError:
        return False


def _has_only_digits(values: pa.Array, scale: int) -> bool:
    """Whether instants have no more fractional digits than their type."""
    held = _MILLISECOND_DIGITS if values.type.unit == "ms" else 6
    if held == scale:
        return True
    step = 10 ** (held - scale)
    ticks = pc.cast(values, pa.int64())
    return _all(pc.equal(pc.multiply(pc.divide(ticks, step), step), ticks))


def _in_domain(column: PhysicalColumn, values: pa.Array) -> bool:
    kind = payload_type(column.source_type)
    if kind is None or kind.domain is None or len(values) == values.null_count:
        return True
    lowest, highest = (
        pc.cast(pa.scalar(bound.rstrip("Z").replace("T", " ")), _naive(column)) for bound in kind.domain
    )
    found = pc.min_max(pc.cast(values, _naive(column)))
    return bool(found["min"].as_py() >= lowest.as_py() and found["max"].as_py() <= highest.as_py())


def _naive(column: PhysicalColumn) -> pa.DataType:
    return pa.timestamp(column.arrow.unit) if column.field.kind is FieldKind.DATETIME else column.arrow


def _uuid_bytes(values: pa.Array) -> pa.Array:
    """Lower-case uuid text as 16 bytes each: one hex decoding for the whole array."""
    raw = bytes.fromhex(_data_bytes(pc.fill_null(values, _NO_UUID)).replace(b"-", b"").decode("ascii"))
    validity = None if not values.null_count else pc.is_valid(values).buffers()[1]
    storage = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(values), [validity, pa.py_buffer(raw)])
    return pa.ExtensionArray.from_storage(pa.uuid(), storage)


def _data_bytes(values: pa.Array) -> bytes:
    """The bytes of all values of a string array, one behind the other."""
    offsets = values.buffers()[1]
    data = values.buffers()[2]
    if data is None or not len(values):
        return b""
    at = memoryview(offsets).cast("i")
    return bytes(memoryview(data)[at[values.offset] : at[values.offset + len(values)]])


def _all(flags: pa.Array) -> bool:
    """Whether no flag is false; nulls don't count."""
    return pc.all(flags, skip_nulls=True, min_count=0).as_py() is not False


def _unexpected(column: str, observed: str, first_row: int) -> DponeError:
    return DponeError("DPONE_ROW_BATCH_UNEXPECTED", observed, {"column": column, "first_row": str(first_row)})


def _refused(column: PhysicalColumn, observed: str, first_row: int) -> DponeError:
    return DponeError(
        "DPONE_ROW_VALUE_REFUSED", observed, {"column": column.name, "first_row": str(first_row)}
    )
