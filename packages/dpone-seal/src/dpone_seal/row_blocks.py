"""`dpone_row_v1` over Arrow: whole columns at a time, SHA-256 straight over the joined rows."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from dpone_contracts.row_encoding import FIELD_END, NULL_MARKER, ROW_END, ROWS_PER_BLOCK, FieldKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpone_seal.physical_types import PhysicalColumn

# Arrow prints a decimal with an exponent once it has more than six zeros behind the point.
_PLAIN_SCALE = 6


def block_digests(columns: Sequence[PhysicalColumn], wire: pa.RecordBatch) -> Iterator[bytes]:
    """The raw digest of each block of 8,192 rows of a batch that begins at a block's start."""
    for start in range(0, wire.num_rows, ROWS_PER_BLOCK):
        yield sha256(row_bytes(columns, wire.slice(start, ROWS_PER_BLOCK))).digest()


def row_bytes(columns: Sequence[PhysicalColumn], wire: pa.RecordBatch) -> memoryview:
    """The bytes of all rows, in order, one behind the other."""
    texts = [_texts(column, values) for column, values in zip(columns, wire.columns, strict=True)]
    end = pa.scalar(ROW_END, pa.large_binary())
    rows = pc.binary_join_element_wise(*texts, end, pa.scalar(FIELD_END, pa.large_binary()))
    offsets = memoryview(rows.buffers()[1]).cast("q")
    first, last = offsets[rows.offset], offsets[rows.offset + len(rows)]
    return memoryview(rows.buffers()[2])[first:last]


def _texts(column: PhysicalColumn, values: pa.Array) -> pa.Array:
    marker = pa.scalar(NULL_MARKER, pa.large_binary())
    texts = pc.cast(_canonical(column, values), pa.large_binary())
    return pc.fill_null(texts, marker) if texts.null_count else texts


def _canonical(column: PhysicalColumn, values: pa.Array) -> pa.Array:
    field = column.field
    match field.kind:
        case FieldKind.BIT:
            return pc.if_else(values, "1", "0")
        case FieldKind.INTEGER | FieldKind.DATE:
            return pc.cast(values, pa.string())
        case FieldKind.DECIMAL:
            return _decimals(values, field.precision, field.scale)
        case FieldKind.DATETIME:
            return pc.cast(pc.cast(values, pa.timestamp("us")), pa.string())
        case FieldKind.UUID:
            return values
        case FieldKind.TEXT:
            data = pc.cast(values, pa.large_binary())
            lengths = pc.cast(pc.cast(pc.binary_length(data), pa.string()), pa.large_binary())
            return pc.binary_join_element_wise(lengths, data, pa.scalar(b":", pa.large_binary()))
        case FieldKind.BINARY:
            return _hex(values)


def _decimals(values: pa.Array, precision: int, scale: int) -> pa.Array:
    if scale <= _PLAIN_SCALE:
        return pc.cast(values, pa.string())
    # The same 128-bit integers without a scale print all their digits; the point is put in by hand.
    unscaled = pa.Array.from_buffers(
        pa.decimal128(precision, 0), len(values), values.buffers(), values.null_count, values.offset
    )
    digits = pc.cast(unscaled, pa.string())
    sign = pc.if_else(pc.starts_with(digits, "-"), "-", "")
    padded = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    whole = pc.utf8_slice_codeunits(padded, 0, -scale)
    fraction = pc.utf8_slice_codeunits(padded, -scale, 2**31 - 1)
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, whole, ""), fraction, ".")


def _hex(values: pa.Array) -> pa.Array:
    """Two upper-case digits a byte: one encoding of the whole data buffer, offsets doubled."""
    wide = pc.cast(values, pa.large_binary())
    if not len(wide):
        return wide
    offsets = memoryview(wide.buffers()[1]).cast("q")
    first, last = offsets[wide.offset], offsets[wide.offset + len(wide)]
    data = wide.buffers()[2]
    text = memoryview(data)[first:last].hex().upper().encode("ascii") if data is not None else b""
    starts = pa.array(offsets[wide.offset : wide.offset + len(wide) + 1].tolist(), pa.int64())
    doubled = pc.multiply(pc.subtract(starts, first), 2)
    validity = pc.is_valid(wide).buffers()[1] if wide.null_count else None
    return pa.Array.from_buffers(
        pa.large_binary(), len(wide), [validity, doubled.buffers()[1], pa.py_buffer(text)]
    )
