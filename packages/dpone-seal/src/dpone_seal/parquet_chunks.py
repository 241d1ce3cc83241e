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
    from dpone_contracts.policies import SealPolicy
    from dpone_contracts.ports.image_reader import ImageBatch
    from dpone_seal.physical_types import PhysicalColumn

ARTIFACT_FORMAT = "dpone_parquet_v1"

WRITER_OPTIONS: dict[str, str | int | bool] = {
    "version": "2.6",
    "data_page_version": "1.0",
    "compression": "zstd",
    "use_dictionary": False,
    "write_statistics": False,
    "store_schema": False,
    "store_decimal_as_integer": False,
    "write_page_index": False,
}
"""What decides about the written form and is no policy's choice."""


@dataclass(frozen=True, slots=True)
class ParquetChunkEncoder:
    """Encodes an image with memory bounded by two chunks, whatever the image's size.

    The limits are the seal policy's. A chunk holds whole blocks of 8,192 rows, but for the image's last, at
    most `max_chunk_rows` of them, and at most `max_chunk_bytes` both as Arrow and as Parquet; one block beyond
    that is refused with the figure.
    """

    max_chunk_rows: int
    max_chunk_bytes: int
    row_group_rows: int
    compression_level: int

    @classmethod
    def of(cls, policy: SealPolicy) -> ParquetChunkEncoder:
        """The encoder that a seal policy asks for; raises DPONE_SEAL_POLICY_UNFIT for other blocks than 8,192 rows."""
        if policy.content_chunk_rows != ROWS_PER_BLOCK:
            raise DponeError("DPONE_SEAL_POLICY_UNFIT", f"content chunks of {policy.content_chunk_rows} rows")
        return cls(
            policy.max_chunk_rows, policy.max_chunk_bytes, policy.row_group_rows, policy.compression_level
        )

    def writer_options(self) -> dict[str, str | int | bool]:
        """The pinned options of the Parquet writer, and those that the policy chose."""
        return {
            **WRITER_OPTIONS,
            "compression_level": self.compression_level,
            "row_group_rows": self.row_group_rows,
        }

    def encode(self, target: PlanTarget, batches: Iterable[ImageBatch]) -> Iterator[EncodedChunk]:
        """Chunks in row order, ordinals from 1; nothing for an empty image."""
        columns = physical_columns(target.writable_columns)
        blocks = _blocks(columns, batches)
        for ordinal, rows in enumerate(self._bounded(blocks), start=1):
            yield self._encode(columns, ordinal, rows)

    def _bounded(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        """Blocks in groups within the limits."""
        group: list[pa.RecordBatch] = []
        size = rows = 0
        for batch in batches:
            for start in range(0, batch.num_rows, ROWS_PER_BLOCK):
                block = batch.slice(start, ROWS_PER_BLOCK)
                self._require_within(block.nbytes, block.num_rows)
                if group and (
                    size + block.nbytes > self.max_chunk_bytes or rows + block.num_rows > self.max_chunk_rows
                ):
                    yield group
                    group, size, rows = [], 0, 0
                group.append(block)
                size, rows = size + block.nbytes, rows + block.num_rows
        if group:
            yield group

    def _encode(
        self, columns: Sequence[PhysicalColumn], ordinal: int, rows: list[pa.RecordBatch]
    ) -> EncodedChunk:
        digests = tuple(digest_text(raw) for block in rows for raw in block_digests(columns, block))
        table = parquet_table(columns, pa.Table.from_batches(rows, wire_schema(columns)))
        sink = pa.BufferOutputStream()
        level = self.compression_level
        with pq.ParquetWriter(sink, table.schema, compression_level=level, **WRITER_OPTIONS) as writer:
            writer.write_table(table, row_group_size=self.row_group_rows)
        data = sink.getvalue().to_pybytes()
        self._require_within(len(data), table.num_rows)
        return EncodedChunk(ordinal, data, digest_text(sha256(data).digest()), table.num_rows, digests)

    def _require_within(self, size: int, rows: int) -> None:
        if size > self.max_chunk_bytes:
            observed = f"{size} bytes in {rows} rows, {self.max_chunk_bytes} allowed a chunk"
            evidence = {"bytes": str(size), "max_chunk_bytes": str(self.max_chunk_bytes)}
            raise DponeError("DPONE_ARTIFACT_CHUNK_OVER_BUDGET", observed, evidence)


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
