"""sp_getapplock and sp_releaseapplock: their parameters and return codes; the lock table does the locking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.procedure_call import ProcedureOutcome
from dpone_lab.sqlserver.procedures.binding import REQUIRED, bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureSession

_MODES = {mode.lower(): mode for mode in ("Shared", "Update", "IntentShared", "IntentExclusive", "Exclusive")}
_INVALID = -999
_LONGEST_RESOURCE = 255


def _owner(text: str | None) -> Literal["Transaction", "Session"] | None:
    match (text or "").lower():
        case "transaction":
            return "Transaction"
        case "session":
            return "Session"
        case _:
            return None


def _may_lock_as(session: ProcedureSession, principal: str) -> bool:
    """Tell whether the caller is a member of the principal, as sp_getapplock demands."""
    row = session.connection.execute(
        "SELECT _lab.user_id() = 1 OR EXISTS (SELECT FROM _lab.users u JOIN _lab.identities(_lab.user_id()) i"
        " ON i.principal_id = u.principal_id WHERE lower(u.name) = lower(%s))",
        (principal,),
    ).fetchone()
    return row is not None and bool(row[0])


def sp_getapplock(session: ProcedureSession, arguments: Sequence[ProcedureArgument]) -> ProcedureOutcome:
    """Lock a resource of the application: 0 granted, 1 after waiting, -1, -2, -3, or -999 for a bad call."""
    bound = bind(
        "sp_getapplock",
        arguments,
        {
            "resource": REQUIRED,
            "lockmode": REQUIRED,
            "lockowner": "Transaction",
            "locktimeout": None,
            "dbprincipal": "public",
        },
    )
    resource, mode = bound.text("resource"), _MODES.get((bound.text("lockmode") or "").lower())
    owner, timeout = _owner(bound.text("lockowner")), bound.number("locktimeout")
    principal = bound.text("dbprincipal") or "public"
    usable = (
        resource is not None and len(resource) <= _LONGEST_RESOURCE and (timeout is None or timeout >= -1)
    )
    if resource is None or not usable or mode is None or owner is None:
        return ProcedureOutcome(_INVALID)
    if not _may_lock_as(session, principal) or (owner == "Transaction" and not session.in_transaction):
        return ProcedureOutcome(_INVALID)
    return ProcedureOutcome(session.application_lock(resource, mode, owner, timeout, principal))


def sp_releaseapplock(session: ProcedureSession, arguments: Sequence[ProcedureArgument]) -> ProcedureOutcome:
    """Release a lock once; error 1223 when the session doesn't hold it."""
    bound = bind(
        "sp_releaseapplock",
        arguments,
        {"resource": REQUIRED, "lockowner": "Transaction", "dbprincipal": "public"},
    )
    resource, owner = bound.text("resource"), _owner(bound.text("lockowner"))
    principal = bound.text("dbprincipal") or "public"
    if resource is None or owner is None:
        return ProcedureOutcome(_INVALID)
    status = session.application_unlock(resource, owner, principal)
    if status == _INVALID:
        raise SqlServerError(
            1223,
            f"Cannot release the application lock (Database Principal: '{principal}', Resource: '{resource}')"
            " because it is not currently held.",
        )
    return ProcedureOutcome(status)
