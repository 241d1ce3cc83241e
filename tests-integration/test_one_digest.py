"""One number: SQL Server's image, the sealed chunk and ClickHouse's table have one content digest, whatever the values.

Values that engines like to change: edges of every type, instants before 1970 and in 2299, 38 digits, blanks, case twins,
line ends, combining marks, characters beyond the BMP, thousands of characters, empty beside NULL. The expectation is
the reference implementation's over the Python values.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4

import clickhouse_connect
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from dpone_clickhouse.connection import Connection, Endpoint
from dpone_clickhouse.relation_observer import ClickHouseRelationObserver
from dpone_contracts.row_encoding import content_digest, field_type, image_digest, raw_digest
from dpone_contracts.testing.plan_example import ExampleModel
from dpone_mssql.connection import SqlServerError
from dpone_mssql.control_schema import ControlNames
from dpone_mssql.image_reader import MssqlImageReader
from dpone_mssql.testing.refreshed import refreshed
from dpone_seal.parquet_chunks import ParquetChunkEncoder

if TYPE_CHECKING:
    from dpone_contracts.row_encoding import RowValue
    from dpone_mssql.connection import SqlServerConfig
    from dpone_mssql.testing.refreshed import Refreshed

pytestmark = pytest.mark.engine

START = dt.datetime(2026, 8, 8)  # noqa: DTZ001 - datetime2 has no zone
FIRST, LAST = dt.datetime(1900, 1, 1), dt.datetime(2299, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001
LONG: Final = 8_500
PAYLOAD: Final = (
    "bit",
    "tinyint",
    "smallint",
    "bigint",
    "decimal(38,0)",
    "decimal(38,38)",
    "decimal(9,2)",
    "date",
    "datetime2(0)",
    "datetime2(3)",
    "datetime2(6)",
    "uniqueidentifier",
    "nvarchar(40)",
    "nvarchar(max)",
    "varbinary(max)",
)
MODEL = ExampleModel(
    "extreme",
    (
        ("at", "datetime2(6)", False),
        ("id", "int", False),
        *((f"c{number}", kind, True) for number, kind in enumerate(PAYLOAD)),
    ),
    ("at", "id"),
)
TEXTS: Final = (
    "",
    " ",
    "x",
    "x ",
    " x",
    "X",
    "strasse",
    "straße",
    "a\nb\r\nc\rd",
    "\u2028\u2029\u0085",
    "é",
    "e\u0301",
    "Å\u212b",
    "\U0001f6eb",
    "\U0010ffff",
    "N",
    "2:é|",
    "\t|\\|'\"",
    "\u200d\u202e",
    "\ufeffx",
)


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    return st.sampled_from((low, low + 1, -1 if low < 0 else 1, 0, high - 1, high)) | st.integers(low, high)


def exact(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    # Built from digits: arithmetic would round to the context's 28.
    return whole(-most, most).map(
        lambda digits: (
            Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale)) if digits else Decimal(0)
        )
    )


def instants(step: int) -> st.SearchStrategy[dt.datetime]:
    edges = (FIRST, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1), LAST)  # noqa: DTZ001
    found = st.sampled_from(edges) | st.datetimes(FIRST, LAST)
    return found.map(lambda at: at.replace(microsecond=at.microsecond // step * step))


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
VALUES: Final[tuple[st.SearchStrategy[Any], ...]] = (
    st.booleans(),
    whole(0, 255),
    whole(-(2**15), 2**15 - 1),
    whole(-(2**63), 2**63 - 1),
    exact(38, 0),
    exact(38, 38),
    exact(9, 2),
    st.sampled_from((dt.date(1970, 1, 1), dt.date(2149, 6, 6)))
    | st.dates(dt.date(1970, 1, 1), dt.date(2149, 6, 6)),
    instants(1_000_000),
    instants(1_000),
    instants(1),
    st.uuids(),
    st.sampled_from(TEXTS) | st.text(LETTERS, max_size=20),
    st.sampled_from((*TEXTS, "é" * LONG, "\U0001f6eb" * LONG)) | st.text(LETTERS, max_size=60),
    st.sampled_from((b"", b"\0", b"\xff" * LONG)) | st.binary(max_size=40),
)
PAYLOADS = st.tuples(*(st.none() | values for values in VALUES))


def literal(value: RowValue, kind: str) -> str:
    """A value as T-SQL of exactly the column's type."""
    match value:
        case None:
            word = "NULL"
        case bool():
            word = str(int(value))
        case bytes():
            word = f"0x{value.hex()}"
        case str():
            word = "N'" + value.replace("'", "''") + "'"
        case dt.datetime():
            word = f"'{value.isoformat(timespec='microseconds')}'"
        case Decimal():
            word = f"'{value:f}'"
        case _:
            word = f"'{value}'"
    return f"CAST({word} AS {kind})"


def model_sql(rows: list[tuple[RowValue, ...]]) -> str:
    names, kinds = [name for name, _, _ in MODEL.columns], [kind for _, kind, _ in MODEL.columns]
    selects = (
        ", ".join(
            f"{literal(value, kind)} AS [{name}]" for value, kind, name in zip(row, kinds, names, strict=True)
        )
        for row in rows
    )
    return " UNION ALL ".join(f"SELECT {select}" for select in selects)


def refreshed_with(config: SqlServerConfig, sql: str) -> tuple[Refreshed, Any]:
    found = refreshed(config, ControlNames(), (MODEL,))
    operation = found.started()
    found.run_batch(operation, sql)
    return found, found.evidence(operation).after_image


def in_clickhouse(endpoint: Endpoint, found: Refreshed, chunks: list[bytes]) -> str:
    """The content digest that ClickHouse computes of a table which the chunks were sent to as they are."""
    client = clickhouse_connect.get_client(
        host=endpoint.host, port=endpoint.port, username=endpoint.user, password=endpoint.password
    )
    database = f"one_digest_{uuid4().hex[:8]}"
    columns = found.target.writable_columns
    declared = ", ".join(f"{column.name} {column.target_type}" for column in columns)
    connection = Connection(endpoint)
    try:
        client.command(f"CREATE DATABASE {database} ENGINE = Atomic")
        client.command(f"CREATE TABLE {database}.t ({declared}) ENGINE = MergeTree ORDER BY (at, id)")
        for data in chunks:
            client.raw_insert(f"{database}.t", insert_block=data, fmt="Parquet")
        observer = ClickHouseRelationObserver(connection, policies_from_plan=True)
        return observer.observe(f"{database}.t", columns, MODEL.key, "at").content_sha256
    finally:
        connection.close()
        client.command(f"DROP DATABASE IF EXISTS {database} SYNC")


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(payloads=st.lists(PAYLOADS, min_size=1, max_size=12))
@example(payloads=[(*([None] * 12), text, text, text.encode()) for text in TEXTS])
@example(payloads=[(*([None] * 12), None, mark * LONG, b"\xff" * LONG) for mark in ("é", "\U0001f6eb")])
def test_image_chunk_and_table_have_the_reference_digest(
    sql_server: SqlServerConfig, endpoint: Endpoint, payloads: list[tuple[RowValue, ...]]
) -> None:
    rows: list[tuple[RowValue, ...]] = [
        (START + dt.timedelta(microseconds=number), number, *payload)
        for number, payload in enumerate(payloads)
    ]
    expected = image_digest([field_type(kind) for _, kind, _ in MODEL.columns], (0, 1), rows)
    found, image = refreshed_with(sql_server, model_sql(rows))
    assert (image.row_count, image.content_sha256) == (len(rows), expected)
    batches = MssqlImageReader(sql_server).batches(found.plan, found.target, image.relation, 8_192)
    chunks = list(ParquetChunkEncoder(8_192, 1 << 26, 8_192, 1).encode(found.target, batches))
    assert content_digest(raw_digest(block) for chunk in chunks for block in chunk.block_sha256) == expected
    assert in_clickhouse(endpoint, found, [chunk.data for chunk in chunks]) == expected


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("c7", "CAST('1969-12-31' AS date)"),
        ("c7", "CAST('2149-06-07' AS date)"),
        ("c10", "CAST('1899-12-31T23:59:59.999999' AS datetime2(6))"),
        ("c10", "CAST('2300-01-01T00:00:00' AS datetime2(6))"),
    ],
)
def test_what_cannot_be_carried_exactly_is_refused_and_nothing_is_mutated(
    sql_server: SqlServerConfig, column: str, value: str
) -> None:
    row: list[tuple[RowValue, ...]] = [(START, 1, *([None] * len(PAYLOAD)))]
    position = int(column[1:])
    kind = PAYLOAD[position]
    sql = model_sql(row).replace(f"CAST(NULL AS {kind}) AS [{column}]", f"{value} AS [{column}]")
    assert value in sql
    found = refreshed(sql_server, ControlNames(), (MODEL,))
    operation = found.started()
    with pytest.raises(SqlServerError) as refused:
        found.run_batch(operation, sql)
    assert (refused.value.name or "").startswith("DPONE_MUTATION_")
    assert found.sql(f"SELECT COUNT(*) FROM {found.table};")[0][0] == 0


def test_the_uuid_order_of_no_engine_decides(sql_server: SqlServerConfig, endpoint: Endpoint) -> None:
    ids = [UUID(int=number << shift) for number in (1, 0xFF) for shift in (0, 32, 64, 96)]
    rows: list[tuple[RowValue, ...]] = [
        (START, number, *([None] * 11), each, None, None, None) for number, each in enumerate(ids)
    ]
    expected = image_digest([field_type(kind) for _, kind, _ in MODEL.columns], (0, 1), rows)
    found, image = refreshed_with(sql_server, model_sql(rows))
    batches = MssqlImageReader(sql_server).batches(found.plan, found.target, image.relation, 8_192)
    chunks = [
        chunk.data for chunk in ParquetChunkEncoder(8_192, 1 << 26, 8_192, 1).encode(found.target, batches)
    ]
    assert image.content_sha256 == in_clickhouse(endpoint, found, chunks) == expected
