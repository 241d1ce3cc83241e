"""The row text and content digest that ClickHouse computes are those of the reference implementation."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from dpone_clickhouse import preparation
from dpone_clickhouse.connection import Connection, Tag
from dpone_clickhouse.preparation import content
from dpone_clickhouse.row_text import field_sql, row_sql
from dpone_clickhouse.target import TargetTable
from dpone_clickhouse.types import TargetColumn
from dpone_contracts.payload_types import payload_type
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.row_encoding import field_type, image_digest
from dpone_contracts.testing.row_vectors import FIELD_VECTORS, ROW, ROW_BYTES, ROW_TYPES

if TYPE_CHECKING:
    from dpone_contracts.row_encoding import RowValue

pytestmark = pytest.mark.engine

TAG = Tag("dpone-test-", "row-text")


def _column(name: str, source_type: str, *, nullable: bool) -> TargetColumn:
    kind = payload_type(source_type)
    assert kind is not None
    return TargetColumn(name, source_type, kind.target_type(nullable=nullable), nullable)


def _literal(value: RowValue, target_type: str) -> str:
    if value is None:
        return f"CAST(NULL, '{target_type}')".replace("'UTC'", "\\'UTC\\'")
    text = "".join(f"\\x{byte:02x}" for byte in (value if isinstance(value, bytes) else str(value).encode()))
    bare = target_type.removeprefix("Nullable(")
    if isinstance(value, bool):
        return f"CAST({int(value)}, '{target_type}')"
    if isinstance(value, Decimal):
        text = f"{value:f}"
    if isinstance(value, dt.datetime):
        return f"parseDateTime64BestEffort('{value.isoformat(sep=' ', timespec='microseconds')}', {bare[11]}, 'UTC')"
    return f"CAST('{text}', '{target_type}')"


@pytest.mark.parametrize(("source_type", "value", "expected"), FIELD_VECTORS)
def test_every_field_vector_has_its_text(
    connection: Connection, source_type: str, value: RowValue, expected: bytes
) -> None:
    column = _column("c", source_type, nullable=value is None)
    query = f"SELECT hex({field_sql(column)}) FROM (SELECT {_literal(value, column.target_type)} AS c)"
    assert bytes.fromhex(connection.scalar(query, TAG)) == expected


def test_a_row_is_its_fields_and_ends(connection: Connection) -> None:
    columns = [
        _column(f"c{place}", source_type, nullable=value is None)
        for place, (source_type, value) in enumerate(zip(ROW_TYPES, ROW, strict=True))
    ]
    values = ", ".join(
        f"{_literal(value, column.target_type)} AS {column.name}"
        for column, value in zip(columns, ROW, strict=True)
    )
    assert (
        bytes.fromhex(connection.scalar(f"SELECT hex({row_sql(columns)}) FROM (SELECT {values})", TAG))
        == ROW_BYTES
    )


@pytest.mark.parametrize("page_bytes", [1, 1 << 20, 1 << 30], ids=["block", "some", "whole"])
def test_an_image_of_several_blocks_has_the_reference_digest_whatever_the_page(
    case: Any, connection: Connection, page_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "_PAGE_BYTES", page_bytes)
    rows = 3 * 8192 + 5
    case.run(
        f"""
        CREATE TABLE db.image (at DateTime64(6, 'UTC'), u UUID, d Nullable(Decimal(20, 7)), s String)
        ENGINE = MergeTree PARTITION BY u ORDER BY s AS
        SELECT toDateTime64('1969-12-31 23:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 4)),
               toUUID(arrayElement(['ffffffff-0000-0000-0000-000000000000', '00000000-0000-0000-ffff-000000000000',
                      '00000000-ffff-0000-0000-000000000001', '7fffffff-0000-0000-0000-00000000000a'], number % 4 + 1)),
               if(number % 3 = 0, NULL, toDecimal128(number, 7) / -8), repeat('é|', number % 3)
        FROM numbers({rows})
        """,
        max_partitions_per_insert_block=0,
    )
    columns = (
        TargetColumn("at", "datetime2(6)", "DateTime64(6,'UTC')", nullable=False),
        TargetColumn("u", "uniqueidentifier", "UUID", nullable=False),
        TargetColumn("d", "decimal(20,7)", "Nullable(Decimal(20,7))", nullable=True),
        TargetColumn("s", "nvarchar(20)", "String", nullable=False),
    )
    table = TargetTable(ClickHouseRelation(case.database, "image"), columns, ("at", "u"), "at")
    uuids = [
        UUID("ffffffff-0000-0000-0000-000000000000"),
        UUID("00000000-0000-0000-ffff-000000000000"),
        UUID("00000000-ffff-0000-0000-000000000001"),
        UUID("7fffffff-0000-0000-0000-00000000000a"),
    ]
    start = dt.datetime(1969, 12, 31, 23)  # noqa: DTZ001 - datetime2 has no zone
    image = [
        (
            start + dt.timedelta(seconds=n // 4),
            uuids[n % 4],
            None if n % 3 == 0 else Decimal(-n) / 8,
            "é|" * (n % 3),
        )
        for n in range(rows)
    ]
    expected = image_digest([field_type(column.source_type) for column in columns], (0, 1), image)
    assert content(connection, table, table.relation, TAG) == (rows, expected)


@pytest.mark.parametrize("rows", [8192, 3 * 8192], ids=["one block", "three blocks"])
def test_pages_that_end_with_the_table_are_the_whole_of_it_in_every_kind_of_key(
    case: Any, connection: Connection, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.run(
        f"""
        CREATE TABLE db.image (b Bool, i Int64, day Date, p Decimal(38, 4)) ENGINE = MergeTree ORDER BY (p, i) AS
        SELECT number % 2, -toInt64(number), toDate('1970-01-01') + number % 60000, toDecimal128(number, 4) / -7
        FROM numbers({rows})
        """
    )
    columns = (
        TargetColumn("b", "bit", "Bool", nullable=False),
        TargetColumn("i", "bigint", "Int64", nullable=False),
        TargetColumn("day", "date", "Date", nullable=False),
        TargetColumn("p", "decimal(38,4)", "Decimal(38,4)", nullable=False),
    )
    table = TargetTable(ClickHouseRelation(case.database, "image"), columns, ("b", "day", "p", "i"), "day")
    whole = content(connection, table, table.relation, TAG)
    monkeypatch.setattr(preparation, "_PAGE_BYTES", 1)
    assert content(connection, table, table.relation, TAG) == whole
    assert whole[0] == rows


def test_a_second_row_of_a_key_at_the_end_of_a_page_is_counted(
    case: Any, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "_PAGE_BYTES", 1)
    case.run(
        "CREATE TABLE db.image (i Int32) ENGINE = MergeTree ORDER BY i AS SELECT number FROM numbers(8192)"
    )
    table = TargetTable(
        ClickHouseRelation(case.database, "image"),
        (TargetColumn("i", "int", "Int32", nullable=False),),
        ("i",),
        "i",
    )
    rows, digest = content(connection, table, table.relation, TAG)
    case.run("INSERT INTO db.image VALUES (8191)")
    assert content(connection, table, table.relation, TAG) == (rows + 1, digest)


def test_an_empty_table_has_the_digest_of_nothing(case: Any, connection: Connection) -> None:
    case.create_target()
    columns = tuple(TargetColumn(n, s, t, nullable) for n, s, t, nullable, _ in case.columns)
    table = TargetTable(case.relation, columns, ("at", "carrier", "flight"), "at")
    nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert content(connection, table, table.relation, TAG) == (0, nothing)
