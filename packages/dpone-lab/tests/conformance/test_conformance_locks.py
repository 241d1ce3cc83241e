"""Locks as SQL Server's two-phase locking has them: who waits, what 1222 and 1205 leave, application locks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine

NOW = "SET LOCK_TIMEOUT 0;"


@pytest.fixture
def two(schema: str, connect: Callable[..., SqlClient]) -> tuple[SqlClient, SqlClient, str]:
    """Two clients, and a table with the row (1, 0)."""
    first, second = connect(), connect()
    first.run(f"CREATE TABLE {schema}.t (id int PRIMARY KEY, n int); INSERT {schema}.t VALUES (1, 0)")
    return first, second, f"{schema}.t"


def test_a_reader_waits_for_a_writer(two: tuple[SqlClient, SqlClient, str]) -> None:
    writer, reader, t = two
    writer.run(f"BEGIN TRAN; UPDATE {t} SET n = 1")
    assert reader.error(f"{NOW} SELECT n FROM {t}") == 1222
    writer.run("COMMIT")
    assert reader.rows(f"SELECT n FROM {t}") == [(1,)]


def test_a_read_lock_ends_with_the_statement_under_read_committed(
    two: tuple[SqlClient, SqlClient, str],
) -> None:
    reader, writer, t = two
    reader.run(f"BEGIN TRAN; SELECT n FROM {t}")
    writer.run(f"{NOW} UPDATE {t} SET n = 1")


@pytest.mark.parametrize("hint", ["HOLDLOCK", "REPEATABLEREAD", "SERIALIZABLE"])
def test_a_held_read_lock_stops_a_writer(two: tuple[SqlClient, SqlClient, str], hint: str) -> None:
    reader, writer, t = two
    reader.run(f"BEGIN TRAN; SELECT n FROM {t} WITH ({hint}) WHERE id = 1")
    assert writer.error(f"{NOW} UPDATE {t} SET n = 1 WHERE id = 1") == 1222


def test_holdlock_covers_a_key_that_is_not_there(two: tuple[SqlClient, SqlClient, str]) -> None:
    reader, writer, t = two
    reader.run(f"BEGIN TRAN; SELECT n FROM {t} WITH (HOLDLOCK) WHERE id = 2")
    assert writer.error(f"{NOW} INSERT {t} VALUES (2, 0)") == 1222


def test_serializable_isolation_holds_read_locks(two: tuple[SqlClient, SqlClient, str]) -> None:
    reader, writer, t = two
    reader.run(f"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; SELECT n FROM {t}")
    assert writer.error(f"{NOW} INSERT {t} VALUES (2, 0)") == 1222


def test_an_update_lock_admits_readers_and_no_second_update_lock(
    two: tuple[SqlClient, SqlClient, str],
) -> None:
    first, second, t = two
    first.run(f"BEGIN TRAN; SELECT n FROM {t} WITH (UPDLOCK) WHERE id = 1")
    assert second.rows(f"{NOW} SELECT n FROM {t}") == [(0,)]
    assert second.error(f"{NOW} SELECT n FROM {t} WITH (UPDLOCK) WHERE id = 1") == 1222


def test_tablockx_stops_readers(two: tuple[SqlClient, SqlClient, str]) -> None:
    first, second, t = two
    first.run(f"BEGIN TRAN; SELECT COUNT(*) FROM {t} WITH (TABLOCKX, HOLDLOCK)")
    assert second.error(f"{NOW} SELECT n FROM {t}") == 1222


def test_a_lock_timeout_leaves_the_transaction_alone(two: tuple[SqlClient, SqlClient, str]) -> None:
    writer, other, t = two
    writer.run(f"BEGIN TRAN; UPDATE {t} SET n = 1")
    other.run(f"SET XACT_ABORT OFF; {NOW} BEGIN TRAN")
    assert other.error(f"SELECT n FROM {t}") == 1222
    assert other.one("SELECT @@TRANCOUNT") == 1


def test_lock_timeout_belongs_to_the_session(two: tuple[SqlClient, SqlClient, str]) -> None:
    first, _second, _t = two
    first.run(NOW)
    assert first.one("SELECT @@LOCK_TIMEOUT") == 0
    first.run("SET LOCK_TIMEOUT -1")
    assert first.one("SELECT @@LOCK_TIMEOUT") == -1


def test_a_failed_statement_keeps_its_locks(two: tuple[SqlClient, SqlClient, str]) -> None:
    writer, reader, t = two
    writer.run("SET XACT_ABORT OFF; BEGIN TRAN")
    assert writer.error(f"INSERT {t} VALUES (1, 0)") == 2627
    assert reader.error(f"{NOW} SELECT n FROM {t} WITH (HOLDLOCK)") == 1222


def test_an_insert_waits_for_an_uncommitted_duplicate(two: tuple[SqlClient, SqlClient, str]) -> None:
    first, second, t = two
    first.run(f"BEGIN TRAN; INSERT {t} VALUES (2, 0)")
    assert second.error(f"{NOW} INSERT {t} VALUES (2, 0)") == 1222
    first.run("ROLLBACK")
    second.run(f"INSERT {t} VALUES (2, 0)")


def test_a_cycle_of_waits_ends_with_1205_for_one_and_success_for_the_other(
    schema: str, connect: Callable[..., SqlClient]
) -> None:
    first, second = connect(), connect()
    first.run(f"CREATE TABLE {schema}.a (n int); CREATE TABLE {schema}.b (n int)")
    first.run(f"BEGIN TRAN; INSERT {schema}.a VALUES (1)")
    second.run(f"BEGIN TRAN; INSERT {schema}.b VALUES (1)")
    outcomes: dict[str, int | None] = {}

    def cross(client: SqlClient, name: str, other: str) -> None:
        found = client.fault(f"SET LOCK_TIMEOUT 60000; INSERT {schema}.{other} VALUES (2)")
        outcomes[name] = 0 if found is None else found.number

    thread = threading.Thread(target=cross, args=(first, "first", "b"))
    thread.start()
    cross(second, "second", "a")
    if outcomes["second"] == 1205:
        assert second.one("SELECT @@TRANCOUNT") == 0
    thread.join(60)
    assert set(outcomes.values()) == {0, 1205}


def test_catalog_readers_wait_for_uncommitted_definitions(
    schema: str, connect: Callable[..., SqlClient]
) -> None:
    maker, reader = connect(), connect()
    maker.run(f"BEGIN TRAN; CREATE TABLE {schema}.made (a int)")
    assert reader.error(f"{NOW} SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID('{schema}')") == 1222
    maker.run("COMMIT")
    assert reader.rows(f"SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID('{schema}')") == [("made",)]


def test_definitions_wait_for_readers_that_hold_locks(two: tuple[SqlClient, SqlClient, str]) -> None:
    reader, definer, t = two
    reader.run(f"BEGIN TRAN; SELECT n FROM {t} WITH (HOLDLOCK)")
    assert definer.error(f"{NOW} ALTER TABLE {t} ADD extra int NULL") == 1222


# --- application locks --------------------------------------------------------------------------------------------

GET = "DECLARE @r int; EXEC @r = sys.sp_getapplock {}; SELECT @r"


def get(client: SqlClient, *parts: str) -> int:
    return int(client.one(GET.format(", ".join(parts))))


@pytest.fixture
def pair(connect: Callable[..., SqlClient]) -> tuple[SqlClient, SqlClient]:
    first, second = connect(), connect()
    first.run("BEGIN TRAN")
    second.run("BEGIN TRAN")
    return first, second


def test_an_exclusive_application_lock_stops_everybody_with_minus_one(
    pair: tuple[SqlClient, SqlClient], schema: str
) -> None:
    first, second = pair
    assert get(first, f"N'{schema}'", "'Exclusive'", "'Transaction'", "0") == 0
    for mode in ("Shared", "Update", "Exclusive", "IntentShared", "IntentExclusive"):
        assert get(second, f"N'{schema}'", f"'{mode}'", "'Transaction'", "0") == -1
    assert second.one("SELECT @@TRANCOUNT") == 1


def test_shared_application_locks_go_together(pair: tuple[SqlClient, SqlClient], schema: str) -> None:
    first, second = pair
    assert get(first, f"N'{schema}'", "'Shared'", "'Transaction'", "0") == 0
    assert get(second, f"N'{schema}'", "'Shared'", "'Transaction'", "0") == 0
    assert get(second, f"N'{schema}'", "'Exclusive'", "'Transaction'", "0") == -1


def test_an_application_lock_of_a_transaction_ends_with_it(
    pair: tuple[SqlClient, SqlClient], schema: str
) -> None:
    first, second = pair
    get(first, f"N'{schema}'", "'Exclusive'", "'Transaction'", "0")
    first.run("ROLLBACK")
    assert get(second, f"N'{schema}'", "'Exclusive'", "'Transaction'", "0") == 0


def test_an_application_lock_of_a_session_outlives_the_transaction(
    connect: Callable[..., SqlClient], schema: str
) -> None:
    first, second = connect(), connect()
    assert get(first, f"@Resource = N'{schema}'", "@LockMode = 'Exclusive'", "@LockOwner = 'Session'") == 0
    first.run("BEGIN TRAN; ROLLBACK")
    assert get(second, f"N'{schema}'", "'Exclusive'", "'Session'", "0") == -1
    first.run(f"EXEC sp_releaseapplock N'{schema}', 'Session'")
    assert get(second, f"N'{schema}'", "'Exclusive'", "'Session'", "0") == 0


def test_application_lock_names_differ_by_case_and_principal(
    pair: tuple[SqlClient, SqlClient], schema: str
) -> None:
    first, second = pair
    get(first, f"N'{schema}'", "'Exclusive'", "'Transaction'", "0")
    assert get(second, f"N'{schema.upper()}'", "'Exclusive'", "'Transaction'", "0") == 0
    assert get(second, f"N'{schema}'", "'Exclusive'", "'Transaction'", "0", "'dbo'") == 0


def test_an_invalid_call_returns_minus_999(connect: Callable[..., SqlClient], schema: str) -> None:
    client = connect()
    client.run("BEGIN TRAN")
    assert get(client, f"N'{schema}'", "'Sideways'") == -999
    assert get(client, f"N'{schema}'", "'Shared'", "'Nobody'") == -999


def test_releasing_what_is_not_held_is_1223(connect: Callable[..., SqlClient], schema: str) -> None:
    client = connect()
    client.run("BEGIN TRAN")
    assert client.error(f"EXEC sp_releaseapplock N'{schema}'") == 1223


def test_the_last_release_frees_and_a_failed_statement_keeps_an_application_lock(
    pair: tuple[SqlClient, SqlClient], schema: str
) -> None:
    first, second = pair
    first.run("SET XACT_ABORT OFF")
    for _ in range(2):
        get(first, f"N'{schema}'", "'Exclusive'", "'Transaction'", "0")
    first.run(f"EXEC sp_releaseapplock N'{schema}'")
    assert first.error("SELECT 1 / 0") == 8134
    assert get(second, f"N'{schema}'", "'Shared'", "'Transaction'", "0") == -1
    first.run(f"EXEC sp_releaseapplock N'{schema}'")
    assert get(second, f"N'{schema}'", "'Shared'", "'Transaction'", "0") == 0


def test_applock_mode_tells_what_is_held(pair: tuple[SqlClient, SqlClient], schema: str) -> None:
    first, _second = pair
    query = f"SELECT APPLOCK_MODE('public', N'{schema}', 'Transaction')"
    assert first.one(query) == "NoLock"
    get(first, f"N'{schema}'", "'Shared'", "'Transaction'", "0")
    assert first.one(query) == "Shared"
