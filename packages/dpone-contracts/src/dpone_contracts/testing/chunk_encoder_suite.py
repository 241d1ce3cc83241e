"""What every `ChunkEncoder` must do; an adapter's tests subclass this.

Fixtures: `encoder`, whose chunks hold at most a few blocks, and `wire`, how rows of MODEL go in and come out.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.canonical import sha256_text
from dpone_contracts.row_encoding import ROWS_PER_BLOCK, content_digest, raw_digest
from dpone_contracts.testing.memory_rows import TargetRows
from dpone_contracts.testing.plan_example import example_bundle
from dpone_contracts.testing.publisher_suite import MODEL
from dpone_contracts.testing.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpone_contracts.ports.artifact_store import ChunkEncoder, EncodedChunk
    from dpone_contracts.ports.image_reader import ImageBatch
    from dpone_contracts.testing.memory_rows import Row

EXAMPLE = example_bundle([MODEL], database="memory").bundle
PLAN, TARGET = EXAMPLE.operation_plans[0], EXAMPLE.targets[0]
SIZES = (1, ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1, 5 * ROWS_PER_BLOCK + 1)


@dataclass(frozen=True, slots=True)
class Wire:
    """How an adapter's batches hold rows, and how its chunks are read."""

    batch: Callable[[int, list[Row]], ImageBatch]
    rows_in: Callable[[bytes], list[Row]]


def image(count: int) -> list[Row]:
    """Rows in the order of the key, texts absent and present."""
    start = dt.datetime(2026, 8, 8)  # noqa: DTZ001 - datetime2 has no zone
    return [
        (number, start + dt.timedelta(seconds=number), f"né{number}" if number % 3 else None)
        for number in range(count)
    ]


def batches(wire: Wire, rows: list[Row], size: int) -> Iterator[ImageBatch]:
    """An image's batches."""
    for first in range(0, len(rows), size):
        yield wire.batch(first, rows[first : first + size])


def encoded(encoder: ChunkEncoder, wire: Wire, rows: list[Row], size: int = 10_000) -> list[EncodedChunk]:
    """All chunks of an image."""
    return list(encoder.encode(TARGET, batches(wire, rows, size)))


class ChunkEncoderSuite:
    """Every encoder passes all of these."""

    def test_an_empty_image_has_no_chunk(self, encoder: ChunkEncoder, wire: Wire) -> None:
        assert encoded(encoder, wire, []) == []

    def test_chunks_are_counted_digested_and_hold_all_rows_in_order(
        self, encoder: ChunkEncoder, wire: Wire
    ) -> None:
        for count in SIZES:
            rows = image(count)
            chunks = encoded(encoder, wire, rows)
            assert [chunk.ordinal for chunk in chunks] == list(range(1, len(chunks) + 1))
            assert all(chunk.sha256 == sha256_text(chunk.data) for chunk in chunks)
            held = [wire.rows_in(chunk.data) for chunk in chunks]
            assert [chunk.row_count for chunk in chunks] == [len(part) for part in held]
            assert [row for part in held for row in part] == rows

    def test_block_digests_give_the_content_digest_and_blocks_are_whole(
        self, encoder: ChunkEncoder, wire: Wire
    ) -> None:
        reference = TargetRows.of(TARGET, PLAN)
        for count in SIZES:
            rows = image(count)
            chunks = encoded(encoder, wire, rows)
            blocks = [block for chunk in chunks for block in chunk.block_sha256]
            assert content_digest(raw_digest(block) for block in blocks) == reference.digest(rows)
            assert all(chunk.row_count % ROWS_PER_BLOCK == 0 for chunk in chunks[:-1])
            assert [len(chunk.block_sha256) for chunk in chunks] == [
                -(-chunk.row_count // ROWS_PER_BLOCK) for chunk in chunks
            ]

    def test_chunks_do_not_depend_on_the_sizes_of_batches(self, encoder: ChunkEncoder, wire: Wire) -> None:
        rows = image(2 * ROWS_PER_BLOCK + 1)
        first, *others = (
            encoded(encoder, wire, rows, size) for size in (1_000, ROWS_PER_BLOCK, 10_000, 50_000)
        )
        assert all(other == first for other in others)

    def test_the_first_chunk_leaves_before_the_last_batch_is_taken(
        self, encoder: ChunkEncoder, wire: Wire
    ) -> None:
        taken: list[int] = []

        def watched() -> Iterator[ImageBatch]:
            for batch in batches(wire, image(20 * ROWS_PER_BLOCK), ROWS_PER_BLOCK):
                taken.append(batch.first_row)
                yield batch

        next(iter(encoder.encode(TARGET, watched())))
        assert len(taken) < 20

    def test_batches_that_do_not_follow_each_other_are_refused(
        self, encoder: ChunkEncoder, wire: Wire
    ) -> None:
        first, second = batches(wire, image(20), 10)
        for wrong in ([second], [first, first], [second, first]):
            with refused("DPONE_ROW_BATCH_UNEXPECTED"):
                list(encoder.encode(TARGET, wrong))

    def test_the_written_form_is_pinned(self, encoder: ChunkEncoder) -> None:
        options = encoder.writer_options()
        assert options
        assert options == encoder.writer_options()
