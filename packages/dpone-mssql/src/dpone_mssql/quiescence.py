"""Whether anything of an attempt still runs in SQL Server, with the permission to see it asserted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.scope_mutation import SessionEvidence
from dpone_mssql.batches import Statements
from dpone_mssql.connection import LOCK_TIMEOUT, SqlServerError, read_consistently
from dpone_mssql.literals import digest_bytes, quote_name
from dpone_mssql.names import operation_lock

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames


@dataclass(frozen=True, slots=True)
class Activity:
    """What was seen of one attempt: sessions that carry its mark (None: not visible), and whether its lock is free."""

    sessions: int | None
    lock_free: bool

    @property
    def evidence(self) -> SessionEvidence:
        """The three-valued answer; a free lock alone doesn't prove that no session is left."""
        if not self.lock_free or (self.sessions or 0) > 0:
            return SessionEvidence.LIVE
        return SessionEvidence.NOT_VISIBLE if self.sessions is None else SessionEvidence.GONE


def evidence_statements(names: ControlNames) -> Statements:
    """Load the statements that evidence is read with."""
    return Statements("state/evidence.sql", control=names.schema, images=quote_name(names.images))


def activity_of(tx: Transaction, sql: Statements, operation_id: str, attempt_binding_sha256: str) -> Activity:
    """Observe one attempt; the permission to see others' sessions is read in the same batch as the sessions."""
    server_state, performance_state, count = tx.rows(sql["sessions"], digest_bytes(attempt_binding_sha256))[0]
    visible = 1 in (server_state, performance_state)
    granted = tx.rows(sql["operation_lock_free"], operation_lock(operation_id))[0][0]
    return Activity(int(count) if visible else None, granted is not None and int(granted) >= 0)


def quiescence_of(
    config: SqlServerConfig, names: ControlNames, admitted: AdmittedOperation
) -> tuple[int, bool] | None:
    """Return (active sessions of the attempt, guard row lockable), or None where sessions aren't visible."""
    sql = evidence_statements(names)
    attempt = admitted.attempt

    def observe(tx: Transaction) -> Activity:
        seen = activity_of(tx, sql, attempt.operation_id, attempt.digest)
        try:
            key = (admitted.guard_resource_id, digest_bytes(attempt.operation_id), attempt.fencing_epoch)
            held = int(tx.rows(sql["guard_free"], *key)[0][0])
        except SqlServerError as error:
            if error.number != LOCK_TIMEOUT:
                raise
            held = 0
        return Activity(seen.sessions, seen.lock_free and held == 1)

    try:
        seen = read_consistently(config, observe)
    except DponeError as error:
        if not unreadable(error):
            raise
        return None
    return None if seen.sessions is None else (seen.sessions, seen.lock_free)


def unreadable(error: DponeError) -> bool:
    """Tell whether a read failed for lack of an answer rather than for what it found."""
    return error.code.startswith("DPONE_MSSQL_")
