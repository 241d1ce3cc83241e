from __future__ import annotations

import pyarrow as pa
import pytest

from dpone_mssql.image_reader import rebatched


@pytest.mark.parametrize(
    ("pieces", "batches"),
    [
        ([], []),
        ([4, 4], [4, 4]),
        ([4, 2], [4, 2]),
        ([1, 1, 1, 1, 1], [4, 1]),
        ([3, 3, 3], [4, 4, 1]),
        ([9], [4, 4, 1]),
        ([0, 4, 0], [4]),
    ],
)
def test_batches_have_the_asked_size_but_for_the_last(pieces: list[int], batches: list[int]) -> None:
    numbers = iter(range(100))
    read = [pa.record_batch({"n": [next(numbers) for _ in range(size)]}, _SCHEMA) for size in pieces]
    found = list(rebatched(read, 4))
    assert [batch.num_rows for batch in found] == batches
    assert [n for batch in found for n in batch.column("n").to_pylist()] == list(range(sum(pieces)))


_SCHEMA = pa.schema([pa.field("n", pa.int64())])
