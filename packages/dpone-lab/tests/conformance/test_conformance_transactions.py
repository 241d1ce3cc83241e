"""Transactions, XACT_ABORT and batch continuation, as SQL Server documents them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.odbc import SqlClient


pytestmark = pytest.mark.engine


def table(sql: SqlClient, schema: str) -> str:
    sql.run(f"CREATE TABLE {schema}.t (id int NOT NULL PRIMARY KEY, n int NOT NULL CHECK (n >= 0))")
    return f"{schema}.t"


def ids(sql: SqlClient, name: str) -> list[int]:
    return [row[0] for row in sql.rows(f"SELECT id FROM {name} ORDER BY id")]


def test_begin_counts_and_only_the_outermost_commit_commits(
    sql: SqlClient, schema: str, connect: Callable[..., SqlClient]
) -> None:
    t = table(sql, schema)
    sql.run("BEGIN TRANSACTION; BEGIN TRANSACTION")
    assert sql.one("SELECT @@TRANCOUNT") == 2
    sql.run(f"INSERT {t} VALUES (1, 0); COMMIT")
    assert sql.one("SELECT @@TRANCOUNT") == 1
    sql.run("ROLLBACK")
    assert ids(connect(), t) == []


def test_rollback_ends_all_levels(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"BEGIN TRAN; BEGIN TRAN; INSERT {t} VALUES (1, 0); ROLLBACK TRAN")
    assert sql.one("SELECT @@TRANCOUNT") == 0
    assert ids(sql, t) == []


def test_rollback_to_a_savepoint_keeps_the_transaction(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(
        f"BEGIN TRAN; INSERT {t} VALUES (1, 0); SAVE TRAN s; INSERT {t} VALUES (2, 0); ROLLBACK TRAN s; COMMIT"
    )
    assert ids(sql, t) == [1]


def test_commit_and_rollback_without_a_transaction_are_3902_and_3903(sql: SqlClient) -> None:
    assert sql.error("COMMIT TRANSACTION") == 3902
    assert sql.error("ROLLBACK TRANSACTION") == 3903


def test_transaction_count_outside_is_zero_and_xact_state_too(sql: SqlClient) -> None:
    assert sql.rows("SELECT @@TRANCOUNT, XACT_STATE()") == [(0, 0)]
    sql.run("BEGIN TRAN")
    assert sql.rows("SELECT @@TRANCOUNT, XACT_STATE()") == [(1, 1)]
    sql.run("ROLLBACK")


@pytest.mark.parametrize(
    ("fault", "number"),
    [("(1, 0)", 2627), ("(3, NULL)", 515), ("(3, -1)", 547)],
    ids=["duplicate", "null", "check"],
)
def test_with_xact_abort_off_a_failed_statement_alone_is_undone(
    sql: SqlClient, schema: str, fault: str, number: int
) -> None:
    t = table(sql, schema)
    sql.run(f"SET XACT_ABORT OFF; BEGIN TRAN; INSERT {t} VALUES (1, 0)")
    assert sql.error(f"INSERT {t} VALUES {fault}; INSERT {t} VALUES (2, 0)") == number
    assert sql.rows("SELECT @@TRANCOUNT, XACT_STATE()") == [(1, 1)]
    sql.run("COMMIT")
    assert ids(sql, t) == [1, 2]


@pytest.mark.parametrize("fault", ["(1, 0)", "(3, NULL)", "(3, -1)"], ids=["duplicate", "null", "check"])
def test_with_xact_abort_on_a_failed_statement_ends_batch_and_transaction(
    sql: SqlClient, schema: str, fault: str
) -> None:
    t = table(sql, schema)
    sql.run(f"SET XACT_ABORT ON; BEGIN TRAN; INSERT {t} VALUES (1, 0)")
    sql.error(f"INSERT {t} VALUES {fault}; INSERT {t} VALUES (2, 0)")
    assert sql.one("SELECT @@TRANCOUNT") == 0
    assert ids(sql, t) == []


def test_throw_outside_try_ends_the_batch(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    assert sql.error(f"INSERT {t} VALUES (1, 0); THROW 51000, N'no', 1; INSERT {t} VALUES (2, 0)") == 51000
    assert ids(sql, t) == [1]


def test_throw_keeps_the_transaction_open_unless_xact_abort_is_on(sql: SqlClient, schema: str) -> None:
    sql.run("SET XACT_ABORT OFF; BEGIN TRAN")
    assert sql.error("THROW 51000, N'no', 1") == 51000
    assert sql.one("SELECT @@TRANCOUNT") == 1
    sql.run("SET XACT_ABORT ON")
    assert sql.error("THROW 51001, N'no', 1") == 51001
    assert sql.one("SELECT @@TRANCOUNT") == 0


def test_catch_sees_number_and_message_and_the_batch_goes_on(sql: SqlClient) -> None:
    found = sql.rows(
        "BEGIN TRY THROW 51007, N'seven', 3; END TRY "
        "BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE(), ERROR_STATE(), ERROR_SEVERITY(); END CATCH"
    )
    assert found == [(51007, "seven", 3, 16)]


def test_throw_without_arguments_raises_again(sql: SqlClient) -> None:
    assert sql.error("BEGIN TRY THROW 51008, N'x', 1; END TRY BEGIN CATCH THROW; END CATCH") == 51008


def test_with_xact_abort_on_catch_finds_a_doomed_transaction(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    states = sql.rows(
        f"SET XACT_ABORT ON; BEGIN TRAN; INSERT {t} VALUES (1, 0); "
        f"BEGIN TRY INSERT {t} VALUES (1, 0); END TRY "
        "BEGIN CATCH SELECT XACT_STATE(), @@TRANCOUNT; ROLLBACK; END CATCH"
    )
    assert states == [(-1, 1)]
    assert ids(sql, t) == []


def test_a_doomed_transaction_refuses_writes_with_3930(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    number = sql.error(
        f"SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY INSERT {t} VALUES (1, NULL); END TRY "
        f"BEGIN CATCH INSERT {t} VALUES (2, 0); END CATCH"
    )
    assert number == 3930
    assert sql.one("SELECT @@TRANCOUNT") == 0


def test_a_doomed_transaction_at_the_end_of_a_batch_is_3998(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    number = sql.error(
        f"SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY INSERT {t} VALUES (1, NULL); END TRY "
        "BEGIN CATCH DECLARE @n int = ERROR_NUMBER(); END CATCH"
    )
    assert number == 3998
    assert sql.one("SELECT @@TRANCOUNT") == 0


def test_with_xact_abort_off_catch_finds_a_committable_transaction(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(
        f"SET XACT_ABORT OFF; BEGIN TRAN; INSERT {t} VALUES (1, 0); "
        f"BEGIN TRY INSERT {t} VALUES (1, 0); END TRY BEGIN CATCH IF XACT_STATE() = 1 COMMIT; END CATCH"
    )
    assert ids(sql, t) == [1]


def test_definitions_roll_back(sql: SqlClient, schema: str) -> None:
    sql.run(f"BEGIN TRAN; CREATE TABLE {schema}.made (a int); INSERT {schema}.made VALUES (1); ROLLBACK")
    assert sql.one(f"SELECT OBJECT_ID('{schema}.made')") is None


def test_a_connection_that_ends_leaves_nothing(
    sql: SqlClient, schema: str, connect: Callable[..., SqlClient]
) -> None:
    t = table(sql, schema)
    other = connect()
    other.run(f"BEGIN TRAN; INSERT {t} VALUES (1, 0)")
    other.close()
    assert sql.rows(f"SET LOCK_TIMEOUT 10000; SELECT id FROM {t}") == []


def test_rowcount_is_that_of_the_last_statement(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    found = sql.rows(
        f"SET NOCOUNT ON; DECLARE @i int, @u int; INSERT {t} VALUES (1, 0), (2, 0), (3, 0); SET @i = @@ROWCOUNT; "
        f"UPDATE {t} SET n = 1 WHERE id > 1; SET @u = @@ROWCOUNT; SELECT @i, @u"
    )
    assert found == [(3, 2)]


def test_error_variable_is_reset_by_the_next_statement(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"CREATE TABLE {schema}.seen (first int, second int); INSERT {t} VALUES (1, 0)")
    sql.error(
        f"DECLARE @first int, @second int; INSERT {t} VALUES (1, 0); SET @first = @@ERROR; SET @second = @@ERROR; "
        f"INSERT {schema}.seen VALUES (@first, @second)"
    )
    assert sql.rows(f"SELECT first, second FROM {schema}.seen") == [(2627, 0)]
