"""Writes what sessions and locks there are where the DMV views read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    import psycopg

    from dpone_lab.sqlserver.locks import LockRow
    from dpone_lab.sqlserver.sessions import SessionFacts
    from dpone_lab.sqlserver.shared import Shared

_SESSIONS = (
    "INSERT INTO _lab.sessions (session_id, login_name, login_id, host_name, host_process_id, program_name,"
    " connection_id, login_time, last_request_start_time, status, open_transaction_count, transaction_id,"
    " transaction_begin_time, context_info, lock_timeout, isolation_level, blocking_session_id, wait_type,"
    " wait_time, backend_pid, last_batch, user_id) VALUES (" + ", ".join(["%s"] * 22) + ")"
)
_LOCKS = (
    "INSERT INTO _lab.locks (session_id, resource_type, schema_name, resource_name, resource_description,"
    " request_mode, request_status, request_owner_type) VALUES (" + ", ".join(["%s"] * 8) + ")"
)


_WELL_KNOWN_PRINCIPALS = {"public": "0", "dbo": "1"}


def publish(shared: Shared) -> None:
    """Replace the rows that the DMVs show, committed at once on the lab's own connection."""
    locks = shared.locks.rows()
    blockers = shared.locks.blockers()
    sessions = [_session_row(facts, blockers) for facts in shared.sessions.rows()]
    rows = [_lock_row(lock) for lock in locks]

    def write(admin: psycopg.Connection[Any]) -> None:
        with admin.transaction(), admin.cursor() as cursor:
            cursor.execute("DELETE FROM _lab.sessions")
            cursor.execute("DELETE FROM _lab.locks")
            cursor.executemany(_SESSIONS, sessions)
            cursor.executemany(_LOCKS, rows)

    shared.administer(write)


def _session_row(facts: SessionFacts, blockers: dict[int, tuple[int, str, float]]) -> tuple[Any, ...]:
    transaction = facts.transaction
    blocker, wait_type, waited = blockers.get(facts.session_id, (0, None, 0.0))
    return (
        facts.session_id,
        facts.login,
        facts.login_id,
        facts.host_name,
        facts.host_process_id,
        facts.program_name,
        facts.connection_id,
        facts.login_time,
        facts.last_request_start,
        "running" if facts.running else "sleeping",
        0 if transaction is None else transaction.count,
        facts.transaction_id,
        facts.transaction_begin,
        facts.context_info or None,
        -1
        if transaction is None or transaction.settings.lock_timeout_ms is None
        else transaction.settings.lock_timeout_ms,
        2 if transaction is None else transaction.isolation_code,
        blocker,
        wait_type,
        int(waited * 1000),
        facts.backend_pid,
        facts.last_batch,
        facts.user_id,
    )


def _lock_row(lock: LockRow) -> tuple[Any, ...]:
    kind, name = lock.resource
    description = ""
    if kind == "APPLICATION":
        principal, resource = name
        holder = _WELL_KNOWN_PRINCIPALS.get(principal, principal)
        description = f"{holder}:[{resource[:32]}]:({crc32(resource.encode()):08x})"
    return (
        lock.owner.session,
        kind,
        name[0] if kind != "APPLICATION" else None,
        name[-1],
        description,
        lock.mode.value,
        lock.status,
        lock.owner.scope,
    )
