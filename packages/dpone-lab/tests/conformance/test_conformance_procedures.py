"""System procedures that drivers and dbt call, and parameterised statements."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("code", "first", "precision", "scales"),
    [(12, "varchar", 8000, (None, None)), (-9, "nvarchar", 4000, (None, None)), (-3, "varbinary", 8000, (None, None)),
     (93, "datetime2", 27, (0, 7)), (3, "decimal", 38, (0, 38)), (4, "int", 10, (0, 0))],
)  # fmt: skip
def test_sp_datatype_info_answers_with_twenty_columns(
    sql, code: int, first: str, precision: int, scales
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


def test_undeclared_parameters_get_the_types_of_their_columns(sql, schema) -> None:
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


def test_the_first_result_set_is_described_without_running(sql, schema) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int NOT NULL, b nvarchar(20) NULL)")
    cursor = sql.connection.cursor()
    cursor.execute(f"EXEC sp_describe_first_result_set @tsql = N'SELECT b, a FROM {schema}.t'")
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert [(row["name"], row["system_type_name"], row["is_nullable"]) for row in rows] == [
        ("b", "nvarchar(20)", True),
        ("a", "int", False),
    ]


def test_sp_executesql_takes_parameters_and_gives_outputs(sql) -> None:
    assert sql.rows(
        "DECLARE @sum int; EXEC sp_executesql N'SET @s = @a + @b', N'@a int, @b int, @s int OUTPUT', "
        "@a = 2, @b = 3, @s = @sum OUTPUT; SELECT @sum"
    ) == [(5,)]


def test_a_string_batch_has_variables_of_its_own(sql) -> None:
    assert sql.error("DECLARE @x int = 1; EXEC('SELECT @x')") == 137


def test_unknown_parameters_and_missing_ones(sql) -> None:
    assert sql.error("EXEC sp_getapplock @Nonsense = 1") in (201, 8145)
    assert sql.error("EXEC sp_rename") == 201


def test_a_statement_runs_again_with_other_parameters(sql, schema) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int, b datetime2(6), c decimal(18, 4), d nvarchar(50))")
    cursor = sql.connection.cursor()
    rows = [(n, dt.datetime(2021, 1, 1, 0, 0, 0, n), Decimal(n) / 10000, f"row {n}") for n in range(5)]
    for row in rows:
        cursor.execute(f"INSERT {schema}.t VALUES (?, ?, ?, ?)", row)
    assert sql.rows(f"SELECT * FROM {schema}.t ORDER BY a") == rows


def test_executemany_inserts_all_or_stops_at_the_fault(sql, schema) -> None:
    import pyodbc

    sql.run(f"CREATE TABLE {schema}.t (a int PRIMARY KEY)")
    cursor = sql.connection.cursor()
    cursor.executemany(f"INSERT {schema}.t VALUES (?)", [(n,) for n in range(10)])
    with pytest.raises(pyodbc.IntegrityError):
        cursor.executemany(f"INSERT {schema}.t VALUES (?)", [(10,), (1,), (11,)])
    assert sql.one(f"SELECT COUNT(*) FROM {schema}.t") == 11


def test_a_query_timeout_cancels_and_leaves_the_connection_usable(sql) -> None:
    import pyodbc

    sql.connection.timeout = 1
    with pytest.raises(pyodbc.Error):
        sql.run("WAITFOR DELAY '00:00:30'")
    sql.connection.timeout = 0
    assert sql.one("SELECT 1") == 1


def test_a_timeout_with_xact_abort_off_leaves_the_transaction_open(sql, schema) -> None:
    import pyodbc

    sql.run(f"CREATE TABLE {schema}.t (a int)")
    sql.run(f"SET XACT_ABORT OFF; BEGIN TRAN; INSERT {schema}.t VALUES (1)")
    sql.connection.timeout = 1
    with pytest.raises(pyodbc.Error):
        sql.run("WAITFOR DELAY '00:00:30'")
    sql.connection.timeout = 0
    assert sql.one("SELECT @@TRANCOUNT") == 1
