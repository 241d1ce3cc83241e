"""`dpone_parquet_v1`: ordered image batches become Parquet chunks of whole row blocks, streaming."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.artifact_store import EncodedChunk
from dpone_contracts.row_encoding import ROWS_PER_BLOCK, digest_text
from dpone_seal.physical_types import parquet_table, physical_columns, wire_batch, wire_schema
from dpone_seal.row_blocks import block_digests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.ports.image_reader import ImageBatch
    from dpone_seal.physical_types import PhysicalColumn

ARTIFACT_FORMAT = "dpone_parquet_v1"

WRITER_OPTIONS: dict[str, str | int | bool] = {
    "version": "2.6",
    "data_page_version": "1.0",
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": False,
    "write_statistics": False,
    "store_schema": False,
    "store_decimal_as_integer": False,
    "write_page_index": False,
    "row_group_size": 16 * ROWS_PER_BLOCK,
}
"""Everything that decides about the written form, pinned; part of the serializer's digest."""


@dataclass(frozen=True, slots=True)
class ParquetChunkEncoder:
    """Encodes an image with memory bounded by two chunks, whatever the image's size.

    `max_chunk_bytes` bounds the Arrow bytes of a chunk's rows (the seal policy's limit). A chunk holds whole
    blocks of 8,192 rows, but for the image's last; one block beyond the bound is refused with the figure.
    """

    max_chunk_bytes: int

    def writer_options(self) -> dict[str, str | int | bool]:
        """The pinned options of the Parquet writer."""
        return dict(WRITER_OPTIONS)

    def encode(self, target: PlanTarget, batches: Iterable[ImageBatch]) -> Iterator[EncodedChunk]:
        """Chunks in row order, ordinals from 1; nothing for an empty image."""
        columns = physical_columns(target.writable_columns)
        blocks = _blocks(columns, batches)
        for ordinal, rows in enumerate(_bounded(blocks, self.max_chunk_bytes), start=1):
            yield _encode(columns, ordinal, rows)


@dataclass(slots=True)
class _Pending:
    """Rows that wait for their block to be full."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0


def _blocks(columns: Sequence[PhysicalColumn], batches: Iterable[ImageBatch]) -> Iterator[pa.RecordBatch]:
    """The image's rows in whole blocks (a batch may hold several), the last one as long as it is."""
    pending, next_row = _Pending(), 0
    for batch in batches:
        if batch.first_row != next_row:
            raise DponeError(
                "DPONE_ROW_BATCH_UNEXPECTED", f"row {batch.first_row} comes where {next_row} follows", {}
            )
        wire = wire_batch(columns, batch.data, first_row=batch.first_row)
        if wire.num_rows != batch.row_count:
            raise DponeError("DPONE_ROW_BATCH_UNEXPECTED", f"{wire.num_rows} rows for {batch.row_count}", {})
        next_row += wire.num_rows
        pending.batches.append(wire)
        pending.rows += wire.num_rows
        if pending.rows >= ROWS_PER_BLOCK:
            joined = _joined(pending.batches)
            whole = joined.num_rows - joined.num_rows % ROWS_PER_BLOCK
            yield joined.slice(0, whole)
            rest = joined.slice(whole)
            pending = _Pending([rest] if rest.num_rows else [], rest.num_rows)
    if pending.rows:
        yield _joined(pending.batches)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _bounded(blocks: Iterable[pa.RecordBatch], max_bytes: int) -> Iterator[list[pa.RecordBatch]]:
    """Blocks in groups of at most `max_bytes`."""
    group: list[pa.RecordBatch] = []
    size = 0
    for batch in blocks:
        for start in range(0, batch.num_rows, ROWS_PER_BLOCK):
            block = batch.slice(start, ROWS_PER_BLOCK)
            if block.nbytes > max_bytes:
                raise DponeError(
                    "DPONE_ARTIFACT_CHUNK_OVER_BUDGET",
                    f"{block.nbytes} bytes in {block.num_rows} rows, {max_bytes} allowed a chunk",
                    {"max_chunk_bytes": str(max_bytes)},
                )
            if group and size + block.nbytes > max_bytes:
                yield group
                group, size = [], 0
            group.append(block)
            size += block.nbytes
    if group:
        yield group


def _encode(columns: Sequence[PhysicalColumn], ordinal: int, rows: list[pa.RecordBatch]) -> EncodedChunk:
    digests = tuple(digest_text(raw) for block in rows for raw in block_digests(columns, block))
    table = parquet_table(columns, pa.Table.from_batches(rows, wire_schema(columns)))
    sink = pa.BufferOutputStream()
    options = {name: value for name, value in WRITER_OPTIONS.items() if name != "row_group_size"}
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        writer.write_table(table, row_group_size=WRITER_OPTIONS["row_group_size"])
    data = sink.getvalue().to_pybytes()
    return EncodedChunk(ordinal, data, digest_text(sha256(data).digest()), table.num_rows, digests)
