"""ClickHouse takes a chunk exactly: its own `dpone_row_v1` over the loaded rows gives the sealed digest."""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from typing import TYPE_CHECKING, cast
from uuid import UUID

import pyarrow as pa
import pytest

from dpone_contracts.payload_types import WritableColumn, payload_type
from dpone_contracts.ports.image_reader import ImageBatch
from dpone_contracts.row_encoding import content_digest, raw_digest
from dpone_seal.parquet_chunks import ParquetChunkEncoder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from dpone_contracts.plan_bundle import PlanTarget

LOWEST, HIGHEST = dt.datetime(1900, 1, 1), dt.datetime(2299, 12, 31, 23, 59, 59, 999999)
TEXT = "N|1:\n\u2028e\u0301\U0001f6eb " + "x" * 9_000
EDGES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bit": (pa.bool_(), [True, False]),
    "tinyint": (pa.uint8(), [0, 255]),
    "smallint": (pa.int16(), [-32768, 32767]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1]),
    "bigint": (pa.int64(), [-(2**63), 2**63 - 1]),
    "decimal(9,2)": (pa.decimal128(9, 2), [Decimal("-0.50"), Decimal("9999999.99")]),
    "decimal(18,4)": (pa.decimal128(18, 4), [Decimal("-99999999999999.9999"), Decimal(0)]),
    "decimal(38,0)": (pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38)]),
    "decimal(38,38)": (pa.decimal128(38, 38), [Decimal("1E-38"), Decimal("-1E-38")]),
    "date": (pa.date32(), [dt.date(1970, 1, 1), dt.date(2149, 6, 6)]),
    "datetime2(0)": (pa.timestamp("s"), [LOWEST, dt.datetime(1969, 12, 31, 23, 59, 59)]),
    "datetime2(2)": (pa.timestamp("ms"), [dt.datetime(1969, 12, 31, 23, 59, 59, 990000), LOWEST]),
    "datetime2(3)": (pa.timestamp("ms"), [LOWEST, dt.datetime(1969, 12, 31, 23, 59, 59, 999000)]),
    "datetime2(5)": (pa.timestamp("us"), [LOWEST, dt.datetime(1969, 12, 31, 23, 59, 59, 999990)]),
    "datetime2(6)": (pa.timestamp("us"), [LOWEST, HIGHEST]),
    "uniqueidentifier": (pa.string(), [str(UUID(int=2**128 - 1)).upper(), str(UUID(int=1))]),
    "nvarchar(max)": (pa.string(), ["", TEXT]),
    "nvarchar(5)": (pa.string(), ["\x00", "N"]),
    "varbinary(max)": (pa.binary(), [b"", b"\x00|\xff"]),
}


def text_sql(name: str, source_type: str) -> str:
    """The field's expression, by the table of the row encoding's specification."""
    if source_type.startswith("decimal"):
        text = f"toDecimalString({name}, {source_type[:-1].split(',')[1]})"
    elif source_type.startswith("datetime2"):
        text = f"toString(toDateTime64({name}, 6, 'UTC'))"
    elif source_type == "bit":
        text = f"toString(toUInt8({name}))"
    elif source_type.startswith("nvarchar"):
        text = f"concat(toString(length({name})), ':', {name})"
    elif source_type.startswith("varbinary"):
        text = f"hex({name})"
    else:
        text = f"toString({name})"
    return f"ifNull({text}, 'N')"


@pytest.fixture
def engine() -> Iterator[Any]:
    session = pytest.importorskip("chdb.session")
    with tempfile.TemporaryDirectory() as directory:
        opened = session.Session(directory)
        yield opened
        opened.close()


@pytest.mark.engine
def test_the_digest_of_loaded_rows_is_the_sealed_one(engine: Any, tmp_path: Path) -> None:
    names = [f"c{index}" for index in range(len(EDGES))]
    source_types = list(EDGES)
    arrays = [pa.array([*values, None], kind) for kind, values in EDGES.values()]
    data = pa.RecordBatch.from_pydict(
        {"k": pa.array([0, 1, 2], pa.int32()), **dict(zip(names, arrays, strict=True))}
    )
    columns = [
        WritableColumn.model_construct(name=name, source_type=source_type, nullable=name != "k")
        for name, source_type in zip(["k", *names], ["int", *source_types], strict=True)
    ]
    target = cast("PlanTarget", type("Target", (), {"writable_columns": columns}))
    (chunk,) = ParquetChunkEncoder(8_192, 10**7, 8_192, 1).encode(target, [ImageBatch(0, 3, data)])
    (tmp_path / "chunk.parquet").write_bytes(chunk.data)

    kinds = [payload_type(name) for name in source_types]
    declared = ", ".join(
        f"{name} {kind.target_type(nullable=True)}" for name, kind in zip(names, kinds, strict=True) if kind
    )
    engine.query("CREATE DATABASE d ENGINE = Atomic")
    engine.query(f"CREATE TABLE d.staging (k Int32, {declared}) ENGINE = MergeTree ORDER BY k")
    engine.query(
        f"INSERT INTO d.staging SELECT * FROM file('{tmp_path}/chunk.parquet', Parquet) "
        "SETTINGS input_format_null_as_default = 0"
    )
    fields = [text_sql(name, kind) for name, kind in zip(["k", *names], ["int", *source_types], strict=True)]
    row = f"concat({', '.join(f'{field}, {chr(39)}|{chr(39)}' for field in fields)}, '\\n')"
    digest = engine.query(
        f"SELECT lower(hex(SHA256(arrayStringConcat(arrayMap(x -> x.2, arraySort(x -> x.1, groupArray((k, {row}))))))))"
        " FROM d.staging",
        "TabSeparatedRaw",
    )
    assert f"sha256:{str(digest).strip()}" == chunk.block_sha256[0]
    assert content_digest([raw_digest(chunk.block_sha256[0])]).startswith("sha256:")
