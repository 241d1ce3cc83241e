"""System procedures that drivers and dbt call, and parameterised statements."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine


def moment(microsecond: int) -> dt.datetime:
    """A datetime2 value, which has no zone."""
    return dt.datetime(2021, 1, 1, 0, 0, 0, microsecond, tzinfo=dt.UTC).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("code", "first", "precision", "scales"),
    [(12, "varchar", 8000, (None, None)), (-9, "nvarchar", 4000, (None, None)), (-3, "varbinary", 8000, (None, None)),
     (93, "datetime2", 27, (0, 7)), (3, "decimal", 38, (0, 38)), (4, "int", 10, (0, 0))],
)  # fmt: skip
def test_sp_datatype_info_answers_with_twenty_columns(
    sql: SqlClient, code: int, first: str, precision: int, scales: tuple[int | None, int | None]
) -> None:
    cursor = sql.connection.cursor()
    cursor.execute(f"EXEC sp_datatype_info_100 {code}, @ODBCVer = 3")
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert len(names) == 20
    found = rows[0]
    assert (found["TYPE_NAME"], found["PRECISION"]) == (first, precision)
    assert (found["MINIMUM_SCALE"], found["MAXIMUM_SCALE"]) == scales
    assert {row["DATA_TYPE"] for row in rows} == {code}


def test_undeclared_parameters_get_the_types_of_their_columns(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int, b decimal(9, 2), c nvarchar(20))")
    cursor = sql.connection.cursor()
    cursor.execute(
        f"EXEC sp_describe_undeclared_parameters @tsql = N'INSERT {schema}.t (a, b, c) VALUES (@P1, @P2, @P3)'"
    )
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert [(row["parameter_ordinal"], row["name"], row["suggested_system_type_name"]) for row in rows] == [
        (1, "@P1", "int"),
        (2, "@P2", "decimal(9,2)"),
        (3, "@P3", "nvarchar(20)"),
    ]


def test_the_first_result_set_is_described_without_running(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int NOT NULL, b nvarchar(20) NULL)")
    cursor = sql.connection.cursor()
    cursor.execute(f"EXEC sp_describe_first_result_set @tsql = N'SELECT b, a FROM {schema}.t'")
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert [(row["name"], row["system_type_name"], row["is_nullable"]) for row in rows] == [
        ("b", "nvarchar(20)", True),
        ("a", "int", False),
    ]


def test_sp_executesql_takes_parameters_and_gives_outputs(sql: SqlClient) -> None:
    assert sql.rows(
        "DECLARE @sum int; EXEC sp_executesql N'SET @s = @a + @b', N'@a int, @b int, @s int OUTPUT', "
        "@a = 2, @b = 3, @s = @sum OUTPUT; SELECT @sum"
    ) == [(5,)]


def test_a_string_batch_has_variables_of_its_own(sql: SqlClient) -> None:
    assert sql.error("DECLARE @x int = 1; EXEC('SELECT @x')") == 137


def test_unknown_parameters_and_missing_ones(sql: SqlClient) -> None:
    assert sql.error("EXEC sp_getapplock @Nonsense = 1") in (201, 8145)
    assert sql.error("EXEC sp_rename") == 201


def test_a_statement_runs_again_with_other_parameters(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int, b datetime2(6), c decimal(18, 4), d nvarchar(50))")
    cursor = sql.connection.cursor()
    rows = [(n, moment(n), Decimal(n) / 10000, f"row {n}") for n in range(5)]
    for row in rows:
        cursor.execute(f"INSERT {schema}.t VALUES (?, ?, ?, ?)", row)
    assert sql.rows(f"SELECT * FROM {schema}.t ORDER BY a") == rows


def test_executemany_inserts_up_to_the_fault(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int PRIMARY KEY)")
    cursor = sql.connection.cursor()
    cursor.executemany(f"INSERT {schema}.t VALUES (?)", [(n,) for n in range(10)])
    with pytest.raises(Exception, match="2627"):
        cursor.executemany(f"INSERT {schema}.t VALUES (?)", [(10,), (1,), (11,)])
    cursor.close()
    assert sql.one(f"SELECT COUNT(*) FROM {schema}.t") == 11


@pytest.fixture
def cancelled(sql: SqlClient) -> Iterator[None]:
    """A statement that the driver's timeout cancelled, before and after which nothing else is wrong."""
    sql.run("SET XACT_ABORT OFF; BEGIN TRAN")
    sql.connection.timeout = 1
    found = sql.fault("WAITFOR DELAY '00:00:30'")
    sql.connection.timeout = 0
    assert found is not None
    assert found.state == "HYT00"
    yield
    sql.run("ROLLBACK")


@pytest.mark.usefixtures("cancelled")
def test_a_timeout_cancels_and_leaves_connection_and_transaction(sql: SqlClient) -> None:
    assert sql.one("SELECT @@TRANCOUNT") == 1
