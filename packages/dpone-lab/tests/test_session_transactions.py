"""Transactions and errors in a session, as SQL Server documents them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyodbc

    Sql = Callable[..., list[list[tuple[Any, ...]]]]
    ErrorOf = Callable[[Callable[[], object]], tuple[str, int]]
    Connect = Callable[..., pyodbc.Connection]

pytestmark = pytest.mark.engine


@pytest.fixture
def db(connect: Connect, sql: Sql) -> pyodbc.Connection:
    connection = connect()
    sql(
        connection,
        "DROP TABLE IF EXISTS dbo.tx; CREATE TABLE dbo.tx (id int NOT NULL PRIMARY KEY, v nvarchar(10))",
    )
    return connection


def ids(db: pyodbc.Connection, sql: Sql) -> list[int]:
    return [row[0] for row in sql(db, "SELECT id FROM dbo.tx ORDER BY id")[-1]]


def state(db: pyodbc.Connection, sql: Sql) -> tuple[int, int]:
    return sql(db, "SELECT @@TRANCOUNT AS n, XACT_STATE() AS s")[-1][0]


def test_only_the_outermost_commit_makes_durable(db: pyodbc.Connection, sql: Sql) -> None:
    sql(db, "BEGIN TRAN; BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL); COMMIT")
    assert state(db, sql) == (1, 1)
    sql(db, "ROLLBACK")
    assert state(db, sql) == (0, 0)
    assert ids(db, sql) == []


def test_rollback_ends_every_level(db: pyodbc.Connection, sql: Sql) -> None:
    sql(db, "BEGIN TRAN; BEGIN TRAN; BEGIN TRAN; ROLLBACK")
    assert state(db, sql) == (0, 0)


def test_commit_and_rollback_without_begin_are_3902_and_3903(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    assert error(lambda: sql(db, "COMMIT"))[1] == 3902
    assert error(lambda: sql(db, "ROLLBACK"))[1] == 3903


def test_with_xact_abort_off_a_duplicate_ends_its_statement_only(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    batch = "BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL); INSERT dbo.tx VALUES (1, NULL); INSERT dbo.tx VALUES (2, NULL)"
    assert error(lambda: sql(db, batch)) == ("23000", 2627)
    assert state(db, sql) == (1, 1)
    sql(db, "COMMIT")
    assert ids(db, sql) == [1, 2]


def test_with_xact_abort_on_a_duplicate_rolls_back_and_ends_the_batch(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    batch = "SET XACT_ABORT ON; BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL); INSERT dbo.tx VALUES (1, NULL); COMMIT"
    assert error(lambda: sql(db, batch))[1] == 2627
    assert state(db, sql) == (0, 0)
    assert ids(db, sql) == []


def test_null_into_not_null_and_division_end_the_statement_only(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    assert error(lambda: sql(db, "INSERT dbo.tx VALUES (NULL, NULL); INSERT dbo.tx VALUES (3, NULL)")) == (
        "23000",
        515,
    )
    assert (
        error(lambda: sql(db, "DECLARE @z int = 0; SELECT 1 / @z AS q; INSERT dbo.tx VALUES (4, NULL)"))[1]
        == 8134
    )
    assert ids(db, sql) == [3, 4]


def test_a_failed_conversion_ends_batch_and_transaction(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    batch = "BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL); SELECT CAST(N'x' AS int) AS n; INSERT dbo.tx VALUES (2, NULL)"
    assert error(lambda: sql(db, batch))[1] == 245
    assert state(db, sql) == (0, 0)
    assert ids(db, sql) == []


def test_throw_ends_the_batch_but_not_the_transaction(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    batch = (
        "BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL); THROW 51002, N'stop', 7; INSERT dbo.tx VALUES (2, NULL)"
    )
    assert error(lambda: sql(db, batch)) == ("42000", 51002)
    assert state(db, sql) == (1, 1)
    sql(db, "COMMIT")
    assert ids(db, sql) == [1]


def test_catch_sees_number_message_severity_and_state(db: pyodbc.Connection, sql: Sql) -> None:
    batch = """BEGIN TRY
        THROW 51007, N'why', 9;
    END TRY
    BEGIN CATCH
        SELECT ERROR_NUMBER() AS n, ERROR_MESSAGE() AS m, ERROR_SEVERITY() AS s, ERROR_STATE() AS t, ERROR_LINE() AS l;
    END CATCH"""
    assert sql(db, batch)[-1] == [(51007, "why", 16, 9, 2)]


def test_catch_takes_a_duplicate_and_the_transaction_can_commit(db: pyodbc.Connection, sql: Sql) -> None:
    batch = """BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL);
    BEGIN TRY INSERT dbo.tx VALUES (1, NULL) END TRY BEGIN CATCH SELECT ERROR_NUMBER() AS n, XACT_STATE() AS s END CATCH
    COMMIT"""
    assert sql(db, batch)[-1] == [(2627, 1)]
    assert ids(db, sql) == [1]


def test_with_xact_abort_on_catch_finds_a_doomed_transaction(db: pyodbc.Connection, sql: Sql) -> None:
    batch = """SET XACT_ABORT ON; BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL);
    BEGIN TRY INSERT dbo.tx VALUES (1, NULL) END TRY
    BEGIN CATCH SELECT XACT_STATE() AS s, @@TRANCOUNT AS n; ROLLBACK END CATCH"""
    assert sql(db, batch)[-1] == [(-1, 1)]
    assert ids(db, sql) == []


def test_a_doomed_transaction_refuses_writes_and_commit_with_3930(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    doomed = """SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY SELECT 1 / 0 AS q END TRY BEGIN CATCH {} END CATCH"""
    assert error(lambda: sql(db, doomed.format("INSERT dbo.tx VALUES (1, NULL)")))[1] == 3930
    assert state(db, sql) == (0, 0)
    assert error(lambda: sql(db, doomed.format("COMMIT")))[1] == 3930
    assert ids(db, sql) == []


def test_a_batch_that_leaves_a_doomed_transaction_ends_with_3998(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    batch = (
        "SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY SELECT 1 / 0 AS q END TRY BEGIN CATCH PRINT N'no' END CATCH"
    )
    assert error(lambda: sql(db, batch))[1] == 3998
    assert state(db, sql) == (0, 0)


def test_savepoints_undo_what_came_after_them(db: pyodbc.Connection, sql: Sql, error: ErrorOf) -> None:
    sql(
        db,
        "BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL); SAVE TRAN a; INSERT dbo.tx VALUES (2, NULL); ROLLBACK TRAN a",
    )
    assert state(db, sql) == (1, 1)
    assert error(lambda: sql(db, "ROLLBACK TRAN nowhere"))[1] == 6401
    sql(db, "INSERT dbo.tx VALUES (3, NULL); COMMIT")
    assert ids(db, sql) == [1, 3]


def test_begin_without_commit_in_dynamic_text_is_266(db: pyodbc.Connection, sql: Sql, error: ErrorOf) -> None:
    assert error(lambda: sql(db, "EXEC(N'BEGIN TRAN')"))[1] == 266
    assert state(db, sql) == (1, 1)
    sql(db, "ROLLBACK")


def test_set_options_of_dynamic_text_end_with_it(db: pyodbc.Connection, sql: Sql) -> None:
    sql(db, "EXEC(N'SET XACT_ABORT ON; SET LOCK_TIMEOUT 5')")
    assert sql(db, "SELECT @@LOCK_TIMEOUT AS t, @@OPTIONS & 16384 AS x")[-1] == [(-1, 0)]


def test_lock_timeout_stays_with_the_session(db: pyodbc.Connection, sql: Sql) -> None:
    sql(db, "SET LOCK_TIMEOUT 1234")
    assert sql(db, "SELECT @@LOCK_TIMEOUT AS t")[-1] == [(1234,)]


def test_a_missing_table_ends_its_scope_and_is_caught_outside_only(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    same = "BEGIN TRY SELECT * FROM dbo.nowhere END TRY BEGIN CATCH SELECT 1 AS caught END CATCH"
    assert error(lambda: sql(db, same)) == ("42S02", 208)
    inner = "BEGIN TRY EXEC(N'SELECT * FROM dbo.nowhere') END TRY BEGIN CATCH SELECT ERROR_NUMBER() AS n END CATCH"
    assert sql(db, inner)[-1] == [(208,)]


def test_a_syntax_error_has_no_effect_at_all(db: pyodbc.Connection, sql: Sql, error: ErrorOf) -> None:
    assert error(lambda: sql(db, "INSERT dbo.tx VALUES (1, NULL); SELEC 1"))[0] == "42000"
    assert ids(db, sql) == []


def test_implicit_transactions_begin_with_the_first_statement(
    db: pyodbc.Connection, connect: Connect, sql: Sql
) -> None:
    manual = connect(autocommit=False)
    sql(manual, "INSERT dbo.tx VALUES (1, NULL)")
    assert sql(manual, "SELECT @@TRANCOUNT AS n")[-1] == [(1,)]
    manual.rollback()
    sql(manual, "INSERT dbo.tx VALUES (2, NULL)")
    manual.commit()
    assert ids(db, sql) == [2]


def test_an_inner_temporary_table_ends_with_its_scope(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    sql(db, "CREATE TABLE #outer (i int); EXEC(N'INSERT #outer VALUES (1); SELECT 1 AS i INTO #inner')")
    assert sql(db, "SELECT i FROM #outer")[-1] == [(1,)]
    assert error(lambda: sql(db, "SELECT i FROM #inner"))[1] == 208


def test_temporary_tables_belong_to_their_session(
    db: pyodbc.Connection, connect: Connect, sql: Sql, error: ErrorOf
) -> None:
    sql(db, "CREATE TABLE #mine (i int)")
    assert error(lambda: sql(connect(), "SELECT i FROM #mine"))[1] == 208


def test_variables_of_dynamic_text_are_its_own(db: pyodbc.Connection, sql: Sql, error: ErrorOf) -> None:
    assert error(lambda: sql(db, "DECLARE @x int = 1; EXEC(N'SELECT @x AS x')"))[1] == 137


def test_sp_executesql_takes_and_gives_parameters(db: pyodbc.Connection, sql: Sql) -> None:
    batch = """DECLARE @out int, @rc int;
    EXEC @rc = sp_executesql N'SET @o = @i * 2; RETURN 4', N'@i int, @o int OUTPUT', @i = 21, @o = @out OUTPUT;
    SELECT @out AS o, @rc AS rc"""
    assert sql(db, batch)[-1] == [(42, 4)]


def test_control_flow_runs_as_written(db: pyodbc.Connection, sql: Sql) -> None:
    batch = """DECLARE @i int = 0, @n int = 0;
    WHILE 1 = 1
    BEGIN
        SET @i += 1;
        IF @i > 10 BREAK;
        IF @i % 2 = 0 CONTINUE;
        SET @n += @i;
    END;
    IF @n = 25 SELECT N'yes' AS a ELSE SELECT N'no' AS a"""
    assert sql(db, batch)[-1] == [("yes",)]


def test_rowcount_and_error_follow_the_last_statement(db: pyodbc.Connection, sql: Sql) -> None:
    batch = """DECLARE @n int, @e int;
    INSERT dbo.tx VALUES (1, NULL), (2, NULL); SET @n = @@ROWCOUNT;
    BEGIN TRY INSERT dbo.tx VALUES (1, NULL) END TRY BEGIN CATCH SET @e = @@ERROR END CATCH;
    SELECT @n AS n, @e AS e"""
    assert sql(db, batch)[-1] == [(2, 2627)]


def test_text_that_utf8_cannot_hold_is_refused_and_the_session_goes_on(
    db: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    sql(db, "BEGIN TRAN; INSERT dbo.tx VALUES (1, NULL)")
    assert error(lambda: sql(db, "INSERT dbo.tx VALUES (2, NCHAR(55296))"))[1] != 0
    assert state(db, sql) == (1, 1)
    sql(db, "COMMIT")
    assert ids(db, sql) == [1]
