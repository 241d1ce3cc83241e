"""Measures image to Parquet against the straightforward form (rows into lists), as ratios within one run.

Both forms begin with the same Arrow data, which stands for what the wire delivers. The straightforward one makes a
Python object of every value, as a row fetch does, collects columns as lists and writes one Parquet file, without
row digests in `image_to_parquet` and with them, row by row, in `image_to_parquet_with_digests`. Ours streams batches
into chunks and digests every block in both. Each form runs in a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import argparse
import datetime as dt
import io
import multiprocessing
import resource
import time
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from dpone_contracts.payload_types import WritableColumn
from dpone_contracts.ports.image_reader import ImageBatch
from dpone_contracts.row_encoding import block_digests, encode_row, field_type
from dpone_seal.parquet_chunks import ParquetChunkEncoder
from measurements import Comparison, keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpone_contracts.plan_bundle import PlanTarget

TYPES = {
    "time_hour": "datetime2(6)",
    "carrier": "tinyint",
    "flight": "int",
    "distance": "decimal(18,4)",
    "tail": "nvarchar(20)",
    "delayed": "bit",
    "flight_date": "date",
    "total": "bigint",
}
ROWS_PER_BATCH = 65_536


def wire(rows: int) -> Iterator[pa.RecordBatch]:
    """What a reader delivers, batch by batch."""
    start = int(dt.datetime(2013, 1, 1, tzinfo=dt.UTC).timestamp() * 1_000_000)
    for first in range(0, rows, ROWS_PER_BATCH):
        numbers = pa.array(range(first, min(first + ROWS_PER_BATCH, rows)), pa.int64())
        values = numbers.to_pylist()
        yield pa.RecordBatch.from_pydict(
            {
                "time_hour": pa.array([start + n * 1_000_003 for n in values], pa.timestamp("us")),
                "carrier": pa.array([n % 16 for n in values], pa.uint8()),
                "flight": pa.array([n % 9_999 for n in values], pa.int32()),
                "distance": numbers.cast(pa.decimal128(19, 0))
                .cast(pa.decimal128(23, 4))
                .cast(pa.decimal128(18, 4)),
                "tail": pa.array([f"N{n % 5_000:05}" for n in values]),
                "delayed": pa.array([n % 3 == 0 for n in values]),
                "flight_date": pa.array([n % 365 for n in values], pa.int32()).cast(pa.date32()),
                "total": numbers,
            }
        )


def ours(batches: list[pa.RecordBatch]) -> None:
    """Stream into chunks with digests; a chunk is gone once it is made, as after its upload."""
    columns = [
        WritableColumn.model_construct(name=name, source_type=source_type, nullable=False)
        for name, source_type in TYPES.items()
    ]
    target = cast("PlanTarget", type("Target", (), {"writable_columns": columns}))

    def images() -> Iterator[ImageBatch]:
        first = 0
        for batch in batches:
            yield ImageBatch(first, batch.num_rows, batch)
            first += batch.num_rows

    for _ in ParquetChunkEncoder(524_288, 64 << 20, 131_072, 1).encode(target, images()):
        pass


def straightforward(batches: list[pa.RecordBatch]) -> None:
    """Fetch rows, columns into lists, one file."""
    written(fetched(batches), batches[0].schema)


def straightforward_with_digests(batches: list[pa.RecordBatch]) -> None:
    """The same, with the row digests that sealing needs."""
    rows = fetched(batches)
    fields = [field_type(source_type) for source_type in TYPES.values()]
    list(block_digests(encode_row(fields, row) for row in rows))
    written(rows, batches[0].schema)


def fetched(batches: list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    """All rows as a driver's fetchall gives them."""
    return [
        row
        for batch in batches
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


def written(rows: list[tuple[Any, ...]], schema: pa.Schema) -> None:
    """One Parquet file of all rows."""
    columns = [list(values) for values in zip(*rows, strict=True)]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=schema), io.BytesIO(), compression="zstd", compression_level=1
    )


def measured(form: Callable[[list[pa.RecordBatch]], None], rows: int) -> tuple[float, float]:
    """(seconds, growth of peak memory in MB) of one form, best of two in one fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (form, rows))


def _measure(form: Callable[[list[pa.RecordBatch]], None], rows: int) -> tuple[float, float]:
    batches = list(wire(rows))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(2):
        began = time.perf_counter()
        form(batches)
        times.append(time.perf_counter() - began)
    return min(times), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    """Measure, print, and keep the results beside those of the other sessions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=500_000)
    rows = parser.parse_args().rows
    own = measured(ours, rows)
    keep(
        [
            Comparison.of("image_to_parquet", own, measured(straightforward, rows), rows),
            Comparison.of(
                "image_to_parquet_with_digests", own, measured(straightforward_with_digests, rows), rows
            ),
        ]
    )


if __name__ == "__main__":
    main()
