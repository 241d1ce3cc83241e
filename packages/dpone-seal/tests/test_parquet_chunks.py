"""Chunks hold whole blocks within their bound, with pinned physical types and the image's content digest."""

from __future__ import annotations

import io
import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpone_contracts.errors import DponeError
from dpone_contracts.payload_types import WritableColumn, payload_type
from dpone_contracts.policies import SealPolicy
from dpone_contracts.ports.image_reader import ImageBatch
from dpone_contracts.row_encoding import (
    ROWS_PER_BLOCK,
    block_digests,
    content_digest,
    encode_row,
    field_type,
    raw_digest,
)
from dpone_contracts.testing.chunk_encoder_suite import ChunkEncoderSuite, Wire
from dpone_seal.parquet_chunks import ParquetChunkEncoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.ports.artifact_store import EncodedChunk
    from dpone_contracts.testing.memory_rows import Row

TYPES = {"number": "int", "text": "nvarchar(20)"}
ALL_TYPES = (
    "bit",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "decimal(9,2)",
    "decimal(18,4)",
    "decimal(38,38)",
    "date",
    "datetime2(0)",
    "datetime2(3)",
    "datetime2(6)",
    "uniqueidentifier",
    "nvarchar(max)",
    "varchar(10)",
    "varbinary(8)",
)


class Target:
    """The part of a plan target that an encoder reads."""

    def __init__(self, types: dict[str, str], *, nullable: bool = False) -> None:
        self.writable_columns = [
            WritableColumn.model_construct(name=name, source_type=source_type, nullable=nullable)
            for name, source_type in types.items()
        ]


def target(types: dict[str, str], *, nullable: bool = False) -> PlanTarget:
    return cast("PlanTarget", Target(types, nullable=nullable))


def image(rows: int, batch_rows: int, width: int = 4) -> Iterator[ImageBatch]:
    """Rows (n, text of n) in batches of `batch_rows`."""
    for first in range(0, rows, batch_rows):
        numbers = range(first, min(first + batch_rows, rows))
        data = pa.record_batch(
            {"number": pa.array(numbers, pa.int32()), "text": [f"{n:0{width}}" for n in numbers]}
        )
        yield ImageBatch(first, len(numbers), data)


def encoder(max_bytes: int, max_rows: int = 100 * ROWS_PER_BLOCK) -> ParquetChunkEncoder:
    return ParquetChunkEncoder(max_rows, max_bytes, row_group_rows=16_384, compression_level=1)


def chunks(rows: int, batch_rows: int, max_bytes: int) -> list[EncodedChunk]:
    return list(encoder(max_bytes).encode(target(TYPES), image(rows, batch_rows)))


def content(encoded: list[EncodedChunk]) -> str:
    return content_digest(raw_digest(block) for chunk in encoded for block in chunk.block_sha256)


def reference(rows: int) -> str:
    fields = [field_type(name) for name in TYPES.values()]
    return content_digest(block_digests(encode_row(fields, (n, f"{n:04}")) for n in range(rows)))


@pytest.mark.parametrize(
    "rows", [1, ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1, 3 * ROWS_PER_BLOCK]
)
@pytest.mark.parametrize("batch_rows", [1_000, ROWS_PER_BLOCK, 10_000, 50_000])
def test_the_content_digest_depends_on_rows_alone(rows: int, batch_rows: int) -> None:
    for max_bytes in (200_000, 10**8):
        encoded = chunks(rows, batch_rows, max_bytes)
        assert content(encoded) == reference(rows)
        assert [chunk.ordinal for chunk in encoded] == list(range(1, len(encoded) + 1))
        assert sum(chunk.row_count for chunk in encoded) == rows
        assert all(chunk.row_count % ROWS_PER_BLOCK == 0 for chunk in encoded[:-1])


def test_chunks_stay_within_their_bound() -> None:
    assert [chunk.row_count for chunk in chunks(40_000, 7_000, 200_000)] == [ROWS_PER_BLOCK] * 4 + [7_232]
    assert [chunk.row_count for chunk in chunks(40_000, 7_000, 300_000)] == [2 * ROWS_PER_BLOCK] * 2 + [7_232]


def test_chunks_have_no_more_rows_than_allowed() -> None:
    encoded = encoder(10**8, 2 * ROWS_PER_BLOCK).encode(target(TYPES), image(40_000, 50_000))
    assert [chunk.row_count for chunk in encoded] == [2 * ROWS_PER_BLOCK] * 2 + [7_232]


def test_a_policy_with_other_blocks_is_refused() -> None:
    policy = SealPolicy.model_construct(content_chunk_rows=4_096)
    with pytest.raises(DponeError, match="DPONE_SEAL_POLICY_UNFIT"):
        ParquetChunkEncoder.of(policy)


def test_a_block_beyond_the_bound_is_refused_with_the_figure() -> None:
    with pytest.raises(
        DponeError, match=r"DPONE_ARTIFACT_CHUNK_OVER_BUDGET: [0-9]+ bytes in 8192 rows, 9999 allowed"
    ):
        chunks(ROWS_PER_BLOCK, 1_000, 9_999)


def test_an_empty_image_has_no_chunk() -> None:
    assert chunks(0, 1_000, 10**6) == []


def test_encoding_streams() -> None:
    taken = []

    def watched() -> Iterator[ImageBatch]:
        for batch in image(80_000, 8_000):
            taken.append(batch.first_row)
            yield batch

    next(encoder(200_000).encode(target(TYPES), watched()))
    assert len(taken) <= 4


def test_a_batch_out_of_order_is_refused() -> None:
    batches = list(image(2_000, 1_000))
    with pytest.raises(DponeError, match="row 1000 comes where 0 follows"):
        list(encoder(10**6).encode(target(TYPES), reversed(batches)))


def test_a_chunk_reads_back_and_has_its_digest() -> None:
    (chunk,) = chunks(3, 1_000, 10**6)
    assert chunk.sha256 == "sha256:" + sha256(chunk.data).hexdigest()
    assert pq.read_table(io.BytesIO(chunk.data)).to_pylist() == [
        {"number": 0, "text": "0000"},
        {"number": 1, "text": "0001"},
        {"number": 2, "text": "0002"},
    ]


def test_equal_rows_give_equal_bytes() -> None:
    assert chunks(10_000, 1_000, 10**6)[0].data == chunks(10_000, 9_000, 10**6)[0].data


@pytest.mark.parametrize("source_type", ALL_TYPES)
def test_physical_types_are_those_of_the_payload_table(source_type: str) -> None:
    kind = payload_type(source_type)
    assert kind is not None
    assert described(source_type) == kind.parquet


def described(source_type: str) -> str:
    """The Parquet type of a column of nulls, in the words of the payload table."""
    nulls = pa.record_batch({"c": pa.nulls(1, delivered_type(source_type))})
    (chunk,) = encoder(10**6).encode(target({"c": source_type}, nullable=True), [ImageBatch(0, 1, nulls)])
    column: Any = pq.read_metadata(io.BytesIO(chunk.data)).schema.column(0)
    physical, logical = column.physical_type, json.loads(column.logical_type.to_json())
    if physical == "FIXED_LEN_BYTE_ARRAY":
        physical += f"({column.length})"
    match logical["Type"]:
        case "None":
            # The format's default: an integer without annotation is signed and as wide as it is stored.
            return f"{physical} (INT {physical[3:]} signed)" if physical.startswith("INT") else physical
        case "Int":
            return f"{physical} (INT {logical['bitWidth']} {'signed' if logical['isSigned'] else 'unsigned'})"
        case "Decimal":
            return f"{physical} (DECIMAL({logical['precision']},{logical['scale']}))"
        case "Timestamp":
            unit = {"milliseconds": "MILLIS", "microseconds": "MICROS"}[logical["timeUnit"]]
            return f"{physical} (TIMESTAMP {unit} {'UTC' if logical['isAdjustedToUTC'] else 'local'})"
        case other:
            return f"{physical} ({other.upper()})"


def delivered_type(source_type: str) -> pa.DataType:
    return {
        "bit": pa.bool_(),
        "date": pa.date32(),
        "datetime2": pa.timestamp("us"),
        "text": pa.string(),
        "varbinary": pa.binary(),
        "integer": pa.int64(),
        "decimal": pa.decimal128(38, field_type(source_type).scale),
        "uniqueidentifier": pa.string(),
    }[field_type(source_type).kind]


def delivered(first: int, rows: list[Row]) -> ImageBatch:
    """Rows of the suite's model as a reader delivers them."""
    ids, instants, notes = zip(*rows, strict=True)
    columns = {
        "id": pa.array(ids, pa.int32()),
        "at": pa.array(instants, pa.timestamp("us")),
        "note": pa.array(notes, pa.string()),
    }
    return ImageBatch(first, len(rows), pa.RecordBatch.from_pydict(columns))


def read_back(data: bytes) -> list[Row]:
    table = pq.read_table(io.BytesIO(data))
    instants = table.column("at").cast(pa.timestamp("us"))
    return list(zip(*(c.to_pylist() for c in (table["id"], instants, table["note"])), strict=True))


class TestParquetChunkEncoder(ChunkEncoderSuite):
    @pytest.fixture
    def encoder(self) -> ParquetChunkEncoder:
        return encoder(10**8, 2 * ROWS_PER_BLOCK)

    @pytest.fixture
    def wire(self) -> Wire:
        return Wire(delivered, read_back)
