"""Dynamic management views: sessions, transactions and locks as other sessions see them."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine

_PATIENCE_SECONDS = 120


def spid(client: SqlClient) -> int:
    return int(client.one("SELECT @@SPID"))


def until(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, for as long as a slow machine may need; tell whether it does."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_a_session_is_known_by_login_process_and_context(
    sql: SqlClient, connect: Callable[..., SqlClient]
) -> None:
    other = connect()
    other.run("SET CONTEXT_INFO 0x0102AB; BEGIN TRAN")
    ((login, process, context, count),) = sql.rows(
        "SELECT login_name, host_process_id, SUBSTRING(context_info, 1, 3), open_transaction_count "
        f"FROM sys.dm_exec_sessions WHERE session_id = {spid(other)}"
    )
    assert (login, process, context, count) == (
        sql.one("SELECT SUSER_SNAME()"),
        os.getpid(),
        b"\x01\x02\xab",
        1,
    )
    assert other.one("SELECT SUBSTRING(CONTEXT_INFO(), 1, 3)") == b"\x01\x02\xab"


def test_a_session_that_ended_is_gone(sql: SqlClient, connect: Callable[..., SqlClient]) -> None:
    other = connect()
    number = spid(other)
    connection = sql.one(f"SELECT connection_id FROM sys.dm_exec_connections WHERE session_id = {number}")
    other.close()
    query = f"SELECT COUNT(*) FROM sys.dm_exec_connections WHERE CONVERT(nvarchar(36), connection_id) = '{connection}'"
    # The server notices the end by itself.
    assert until(lambda: sql.rows(query) == [(0,)])


def test_a_transaction_is_listed_under_its_own_number(
    sql: SqlClient, connect: Callable[..., SqlClient], schema: str
) -> None:
    other = connect()
    other.run(f"BEGIN TRAN; CREATE TABLE {schema}.t (a int)")
    number = other.one("SELECT CURRENT_TRANSACTION_ID()")
    query = f"SELECT transaction_id FROM sys.dm_tran_session_transactions WHERE session_id = {spid(other)}"
    assert sql.rows(query) == [(number,)]
    assert (
        sql.one(f"SELECT COUNT(*) FROM sys.dm_tran_active_transactions WHERE transaction_id = {number}") == 1
    )
    other.run("ROLLBACK")
    assert sql.rows(query) == []


def test_locks_name_their_object_mode_and_owner(
    sql: SqlClient, connect: Callable[..., SqlClient], schema: str
) -> None:
    other = connect()
    other.run(f"CREATE TABLE {schema}.t (a int)")
    other.run(f"BEGIN TRAN; SELECT COUNT(*) FROM {schema}.t WITH (TABLOCKX, HOLDLOCK)")
    assert sql.rows(
        "SELECT request_mode, request_status, request_owner_type FROM sys.dm_tran_locks "
        f"WHERE resource_type = 'OBJECT' AND request_session_id = {spid(other)} "
        f"AND resource_associated_entity_id = OBJECT_ID('{schema}.t')"
    ) == [("X", "GRANT", "TRANSACTION")]


def test_an_application_lock_shows_its_resource(
    sql: SqlClient, connect: Callable[..., SqlClient], schema: str
) -> None:
    other = connect()
    other.run(f"BEGIN TRAN; EXEC sp_getapplock N'{schema}', 'Exclusive'")
    ((description, mode),) = sql.rows(
        "SELECT resource_description, request_mode FROM sys.dm_tran_locks "
        f"WHERE resource_type = 'APPLICATION' AND request_session_id = {spid(other)}"
    )
    assert description.startswith(f"0:[{schema}]:(")
    assert mode == "X"


def test_a_waiting_request_names_who_blocks_it(
    sql: SqlClient, connect: Callable[..., SqlClient], schema: str
) -> None:
    holder, waiter = connect(), connect()
    holder.run(f"CREATE TABLE {schema}.t (a int)")
    holder.run(f"BEGIN TRAN; INSERT {schema}.t VALUES (1)")
    number, blocker = spid(waiter), spid(holder)
    thread = threading.Thread(target=waiter.rows, args=(f"SET LOCK_TIMEOUT 60000; SELECT a FROM {schema}.t",))
    thread.start()
    query = f"SELECT blocking_session_id FROM sys.dm_exec_requests WHERE session_id = {number} AND blocking_session_id <> 0"
    waited = until(lambda: sql.rows(query) == [(blocker,)])
    holder.run("COMMIT")
    thread.join(60)
    assert waited


def test_the_start_of_the_server_does_not_move(sql: SqlClient) -> None:
    query = "SELECT sqlserver_start_time FROM sys.dm_os_sys_info"
    assert sql.one(query) == sql.one(query) is not None


def test_the_isolation_level_and_lock_timeout_of_a_session_are_shown(sql: SqlClient) -> None:
    query = (
        "SELECT transaction_isolation_level, lock_timeout FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
    )
    assert sql.rows(query) == [(2, -1)]
    sql.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET LOCK_TIMEOUT 5000")
    assert sql.rows(query) == [(4, 5000)]
