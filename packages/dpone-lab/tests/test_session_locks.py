"""Locks between sessions: who waits for whom, lock timeouts, deadlocks, application locks and cancelled waits."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pyodbc
import pytest

from dpone_lab.sqlserver.server import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Sql = Callable[..., list[list[tuple[Any, ...]]]]
    ErrorOf = Callable[[Callable[[], object]], tuple[str, int]]
    Connect = Callable[..., pyodbc.Connection]

pytestmark = pytest.mark.engine

GET_LOCK = "DECLARE @rc int; EXEC @rc = sp_getapplock @Resource = N'{}', @LockMode = '{}', @LockOwner = '{}', @LockTimeout = {}; SELECT @rc AS rc"


@pytest.fixture
def first(connect: Connect, sql: Sql) -> pyodbc.Connection:
    connection = connect()
    sql(
        connection,
        "DROP TABLE IF EXISTS dbo.lk; DROP TABLE IF EXISTS dbo.lk2; DROP TABLE IF EXISTS dbo.made;"
        " CREATE TABLE dbo.lk (id int NOT NULL PRIMARY KEY, v int); INSERT dbo.lk VALUES (1, 10);"
        " CREATE TABLE dbo.lk2 (id int NOT NULL PRIMARY KEY, v int)",
    )
    return connection


@pytest.fixture
def second(connect: Connect) -> pyodbc.Connection:
    return connect()


def session_of(connection: pyodbc.Connection) -> int:
    row = connection.execute("SELECT @@SPID AS id").fetchone()
    assert row is not None
    return int(row[0])


def in_background(work: Callable[[], Any]) -> Future[Any]:
    """Run in a thread of its own."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except pyodbc.Error as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def until_waiting(endpoint: Endpoint, session: int, future: Future[Any]) -> None:
    """Return once the session waits for a lock."""
    while session not in endpoint.shared.locks.blockers():
        assert not future.done(), f"it did not wait: {future.result()}"
        # The endpoint's threads are of this process: leave them the interpreter.
        time.sleep(0.001)


def blocked(second: pyodbc.Connection, sql: Sql, error: ErrorOf, statement: str) -> bool:
    """Tell whether a statement would have to wait now."""
    sql(second, "SET LOCK_TIMEOUT 0")
    try:
        sql(second, statement)
    except pyodbc.Error:
        assert error(lambda: sql(second, statement)) == ("42000", 1222)
        return True
    finally:
        sql(second, "SET LOCK_TIMEOUT -1")
    return False


@pytest.mark.parametrize(
    ("held", "asked", "waits"),
    [
        ("UPDATE dbo.lk SET v = 11", "SELECT v FROM dbo.lk", True),
        ("UPDATE dbo.lk SET v = 11", "SELECT v FROM dbo.lk2", False),
        ("SELECT v FROM dbo.lk", "UPDATE dbo.lk SET v = 12", False),
        ("SELECT v FROM dbo.lk WITH (HOLDLOCK)", "UPDATE dbo.lk SET v = 12", True),
        ("SELECT v FROM dbo.lk WITH (HOLDLOCK) WHERE id = 99", "INSERT dbo.lk VALUES (99, 1)", True),
        ("SELECT v FROM dbo.lk WITH (HOLDLOCK)", "SELECT v FROM dbo.lk WITH (HOLDLOCK)", False),
        ("SELECT v FROM dbo.lk WITH (UPDLOCK, HOLDLOCK)", "SELECT v FROM dbo.lk", False),
        ("SELECT v FROM dbo.lk WITH (UPDLOCK, HOLDLOCK)", "SELECT v FROM dbo.lk WITH (UPDLOCK)", True),
        ("SELECT v FROM dbo.lk WITH (TABLOCKX, HOLDLOCK)", "SELECT v FROM dbo.lk", True),
        (
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT v FROM dbo.lk",
            "INSERT dbo.lk VALUES (7, 7)",
            True,
        ),
        ("CREATE TABLE dbo.made (i int)", "SELECT name FROM sys.tables", True),
        ("SELECT 1 AS i INTO dbo.made", "SELECT OBJECT_ID(N'dbo.made') AS i", True),
        ("CREATE TABLE dbo.made (i int)", "SELECT i FROM dbo.made", True),
        ("DROP TABLE dbo.lk2", "SELECT v FROM dbo.lk2", True),
        ("ALTER TABLE dbo.lk2 ADD w int", "SELECT v FROM dbo.lk2", True),
    ],
)
def test_who_waits_for_whom(
    first: pyodbc.Connection,
    second: pyodbc.Connection,
    sql: Sql,
    error: ErrorOf,
    held: str,
    asked: str,
    waits: bool,  # noqa: FBT001
) -> None:
    sql(first, f"BEGIN TRAN; {held}")
    assert blocked(second, sql, error, asked) is waits
    sql(first, "ROLLBACK")
    assert not blocked(second, sql, error, "SELECT v FROM dbo.lk")


def test_a_waiting_reader_sees_what_was_committed(
    endpoint: Endpoint, first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql
) -> None:
    sql(first, "BEGIN TRAN; UPDATE dbo.lk SET v = 11")
    session = session_of(second)
    reading = in_background(lambda: sql(second, "SELECT v FROM dbo.lk"))
    until_waiting(endpoint, session, reading)
    sql(first, "COMMIT")
    assert reading.result(20)[-1] == [(11,)]


def test_a_table_dropped_while_waiting_is_missing(
    endpoint: Endpoint, first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    sql(first, "BEGIN TRAN; DROP TABLE dbo.lk2")
    session = session_of(second)
    reading = in_background(lambda: sql(second, "SELECT v FROM dbo.lk2"))
    until_waiting(endpoint, session, reading)
    sql(first, "COMMIT")
    assert error(lambda: reading.result(20)) == ("42S02", 208)


def test_an_insert_waits_for_an_uncommitted_duplicate(
    endpoint: Endpoint, first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    sql(first, "BEGIN TRAN; INSERT dbo.lk VALUES (5, 5)")
    session = session_of(second)
    inserting = in_background(lambda: sql(second, "INSERT dbo.lk VALUES (5, 6)"))
    until_waiting(endpoint, session, inserting)
    sql(first, "COMMIT")
    assert error(lambda: inserting.result(20)) == ("23000", 2627)


def test_a_statement_that_fails_keeps_its_locks(
    first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    sql(first, "BEGIN TRAN")
    assert error(lambda: sql(first, "INSERT dbo.lk VALUES (1, 1)"))[1] == 2627
    assert blocked(second, sql, error, "SELECT v FROM dbo.lk")
    sql(first, "ROLLBACK")


def test_a_lock_timeout_ends_the_statement_and_keeps_the_transaction(
    first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    sql(first, "BEGIN TRAN; UPDATE dbo.lk SET v = 11")
    sql(second, "SET LOCK_TIMEOUT 10; BEGIN TRAN; INSERT dbo.lk2 VALUES (1, 1)")
    assert error(lambda: sql(second, "SELECT v FROM dbo.lk")) == ("42000", 1222)
    assert sql(second, "SELECT XACT_STATE() AS s")[-1] == [(1,)]
    sql(second, "COMMIT")
    assert sql(second, "SELECT id FROM dbo.lk2")[-1] == [(1,)]
    sql(first, "ROLLBACK")


def test_the_session_that_closes_a_cycle_is_the_victim(
    endpoint: Endpoint, first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql, error: ErrorOf
) -> None:
    sql(first, "BEGIN TRAN; UPDATE dbo.lk SET v = 11")
    sql(second, "BEGIN TRAN; INSERT dbo.lk2 VALUES (1, 1)")
    session = session_of(first)
    waiting = in_background(lambda: sql(first, "SELECT v FROM dbo.lk2"))
    until_waiting(endpoint, session, waiting)
    assert error(lambda: sql(second, "SELECT v FROM dbo.lk"))[1] == 1205
    assert sql(second, "SELECT @@TRANCOUNT AS n")[-1] == [(0,)]
    assert waiting.result(20)[-1] == []
    sql(first, "COMMIT")


@pytest.mark.parametrize("owner", ["Transaction", "Session"])
@pytest.mark.parametrize(
    ("held", "asked", "code"),
    [
        ("Exclusive", "Exclusive", -1),
        ("Exclusive", "Shared", -1),
        ("Shared", "Shared", 0),
        ("Shared", "Update", 0),
        ("Update", "Update", -1),
        ("Shared", "Exclusive", -1),
        ("IntentExclusive", "IntentExclusive", 0),
        ("IntentExclusive", "Shared", -1),
        ("IntentShared", "Update", 0),
    ],
)
def test_application_locks_are_granted_by_the_documented_matrix(
    first: pyodbc.Connection,
    second: pyodbc.Connection,
    sql: Sql,
    owner: str,
    held: str,
    asked: str,
    code: int,
) -> None:
    begin = "BEGIN TRAN; " if owner == "Transaction" else ""
    assert sql(first, begin + GET_LOCK.format("r", held, owner, 0))[-1] == [(0,)]
    assert sql(second, begin + GET_LOCK.format("r", asked, owner, 0))[-1] == [(code,)]


def test_an_application_lock_after_a_wait_is_1(
    endpoint: Endpoint, first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql
) -> None:
    sql(first, "BEGIN TRAN; " + GET_LOCK.format("r", "Exclusive", "Transaction", 0))
    session = session_of(second)
    waiting = in_background(
        lambda: sql(second, "BEGIN TRAN; " + GET_LOCK.format("r", "Shared", "Transaction", -1))
    )
    until_waiting(endpoint, session, waiting)
    sql(first, "COMMIT")
    assert waiting.result(20)[-1] == [(1,)]


def test_refused_application_locks_leave_the_transaction_alive(
    endpoint: Endpoint, first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql
) -> None:
    for connection, name in ((first, "a"), (second, "b")):
        sql(
            connection,
            "SET XACT_ABORT ON; BEGIN TRAN; " + GET_LOCK.format(name, "Exclusive", "Transaction", 0),
        )
    assert sql(second, GET_LOCK.format("a", "Exclusive", "Transaction", 0))[-1] == [(-1,)]
    session = session_of(first)
    waiting = in_background(lambda: sql(first, GET_LOCK.format("b", "Exclusive", "Transaction", -1)))
    until_waiting(endpoint, session, waiting)
    assert sql(second, GET_LOCK.format("a", "Exclusive", "Transaction", -1))[-1] == [(-3,)]
    assert sql(second, "SELECT XACT_STATE() AS s")[-1] == [(1,)]
    sql(second, "COMMIT")
    assert waiting.result(20)[-1] == [(1,)]


def test_a_session_lock_outlives_the_transaction_and_is_released_by_name(
    first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql
) -> None:
    release = "DECLARE @rc int; EXEC @rc = sp_releaseapplock @Resource = N's', @LockOwner = 'Session'; SELECT @rc AS rc"
    sql(first, "BEGIN TRAN; " + GET_LOCK.format("s", "Exclusive", "Session", 0) + "; COMMIT")
    assert sql(second, GET_LOCK.format("s", "Exclusive", "Session", 0))[-1] == [(-1,)]
    assert sql(first, release)[-1] == [(0,)]
    assert sql(second, GET_LOCK.format("s", "Exclusive", "Session", 0))[-1] == [(0,)]
    sql(second, release)


def test_a_closed_connection_gives_back_its_locks(
    endpoint: Endpoint, first: pyodbc.Connection, second: pyodbc.Connection, sql: Sql
) -> None:
    sql(first, "BEGIN TRAN; UPDATE dbo.lk SET v = 11")
    session = session_of(second)
    reading = in_background(lambda: sql(second, "SELECT v FROM dbo.lk"))
    until_waiting(endpoint, session, reading)
    first.close()
    assert reading.result(20)[-1] == [(10,)]


@pytest.mark.parametrize(("abort", "left"), [("OFF", (1, 1)), ("ON", (0, 0))])
def test_a_query_timeout_cancels_the_wait_and_the_transaction_only_with_xact_abort(
    connect_any: Connect,
    first: pyodbc.Connection,
    sql: Sql,
    error: ErrorOf,
    abort: str,
    left: tuple[int, int],
) -> None:
    sql(first, "BEGIN TRAN; UPDATE dbo.lk SET v = 11")
    impatient = connect_any()
    sql(impatient, f"SET XACT_ABORT {abort}; BEGIN TRAN; INSERT dbo.lk2 VALUES (1, 1)")
    impatient.timeout = 1
    assert error(lambda: sql(impatient, "SELECT v FROM dbo.lk"))[0] in ("HYT00", "HY008")
    impatient.timeout = 0
    assert sql(impatient, "SELECT @@TRANCOUNT AS n, XACT_STATE() AS s")[-1] == [left]
    sql(first, "ROLLBACK")


@pytest.mark.parametrize(("abort", "left"), [("OFF", (1, 1)), ("ON", (0, 0))])
def test_a_query_timeout_stops_the_running_statement(
    connect_any: Connect,
    first: pyodbc.Connection,
    sql: Sql,
    error: ErrorOf,
    abort: str,
    left: tuple[int, int],
) -> None:
    for doubled in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
        sql(first, f"INSERT dbo.lk SELECT id + {doubled}, v FROM dbo.lk")
    impatient = connect_any()
    sql(impatient, f"SET XACT_ABORT {abort}; BEGIN TRAN; INSERT dbo.lk2 VALUES (1, 1)")
    impatient.timeout = 1
    endless = (
        "SELECT COUNT_BIG(*) AS n FROM dbo.lk a CROSS JOIN dbo.lk b CROSS JOIN dbo.lk c CROSS JOIN dbo.lk d"
    )
    assert error(lambda: sql(impatient, endless))[0] in ("HYT00", "HY008")
    impatient.timeout = 0
    assert sql(impatient, "SELECT @@TRANCOUNT AS n, XACT_STATE() AS s")[-1] == [left]
    if abort == "OFF":
        sql(impatient, "COMMIT")
        assert sql(first, "SELECT id FROM dbo.lk2")[-1] == [(1,)]


@pytest.fixture
def versioned(driver: str, data_directory: Path, password: str, dsn: Callable[..., str]) -> Iterator[Connect]:
    opened: list[pyodbc.Connection] = []
    with Endpoint(data_directory, password, row_versioning=True) as running:

        def connect() -> pyodbc.Connection:
            opened.append(pyodbc.connect(dsn(driver, running.port), autocommit=True))
            return opened[-1]

        yield connect
        for connection in opened:
            connection.close()


def test_with_row_versioning_readers_see_the_last_commit_and_do_not_wait(
    versioned: Connect, sql: Sql
) -> None:
    writer, reader = versioned(), versioned()
    sql(writer, "CREATE TABLE dbo.v (i int); INSERT dbo.v VALUES (1); BEGIN TRAN; UPDATE dbo.v SET i = 2")
    sql(reader, "SET LOCK_TIMEOUT 0")
    assert sql(reader, "SELECT i FROM dbo.v")[-1] == [(1,)]
    with pytest.raises(pyodbc.Error, match="1222"):
        sql(reader, "SELECT i FROM dbo.v WITH (UPDLOCK)")
    with pytest.raises(pyodbc.Error, match="1222"):
        sql(reader, "UPDATE dbo.v SET i = 3")
    sql(writer, "COMMIT")
    assert sql(reader, "SELECT i FROM dbo.v")[-1] == [(2,)]
