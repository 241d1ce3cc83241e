"""Transactions as SQL Server counts them, over PostgreSQL transactions and savepoints and the lab's lock table.

Only the outermost BEGIN and COMMIT reach PostgreSQL. With XACT_ABORT OFF each statement stands behind a
savepoint, so that an error undoes the statement alone; its locks stay. A doomed transaction is already
rolled back in PostgreSQL, but keeps its locks and its count until ROLLBACK; reads see the state before it.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from dpone_lab.sqlserver.backend import Backend, BackendLostError
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.translation import LockRequest
from dpone_lab.sqlserver.locks import (
    DeadlockVictim,
    LockTable,
    LockTimeout,
    Mode,
    Owner,
    Resource,
    WaitCancelled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Plan(Protocol):
    """A plan of one statement as far as transactions see it."""

    @property
    def locks(self) -> Sequence[LockRequest]:
        """Return the locks to take, in order."""
        ...

    @property
    def writes(self) -> bool:
        """Return whether a doomed transaction must refuse it."""
        ...

    @property
    def compound(self) -> bool:
        """Return whether it is several statements for PostgreSQL, which must stand or fall together."""
        ...


T = TypeVar("T")
P = TypeVar("P", bound=Plan)

Change = Literal["begun", "committed", "rolled back"]
_MODES = {"S": Mode.S, "U": Mode.U, "X": Mode.X, "SCH-M": Mode.SCH_M}
_ISOLATION_CODES = {"READ COMMITTED": 2, "REPEATABLE READ": 3, "SERIALIZABLE": 4}
_SAVEPOINT = "statement"
WHOLE_CATALOG = "*"
_MISSING = frozenset({Number.INVALID_OBJECT, Number.DROP_MISSING, Number.OBJECT_MISSING_FOR_ALTER})
_transaction_ids = itertools.count(1000)


class AttentionError(Exception):
    """The client asked to stop, or went away."""


def locks_of(request: LockRequest) -> list[tuple[Resource, Mode]]:
    """Return what to take for a lock that a plan asks for, in order.

    A schema's metadata lies under the catalog as a whole: an intent lock there makes both conflict.
    """
    mode = _MODES[request.mode]
    place, name = request.resource
    if place != "#catalog":
        return [(Resource("OBJECT", request.resource), mode)]
    if name == WHOLE_CATALOG:
        return [(Resource("METADATA", (WHOLE_CATALOG,)), mode)]
    intent = Mode.IS if mode is Mode.S else Mode.IX
    return [(Resource("METADATA", (WHOLE_CATALOG,)), intent), (Resource("METADATA", (name,)), mode)]


@dataclass(slots=True)
class Settings:
    """The SET options that decide about transactions; EXEC('…') and procedures give them back as they found them."""

    xact_abort: bool = False
    implicit_transactions: bool = False
    nocount: bool = False
    lock_timeout_ms: int | None = None
    isolation: str = "READ COMMITTED"


class Transaction:
    """The one transaction context of a session."""

    def __init__(
        self,
        backend: Backend,
        locks: LockTable,
        session_id: int,
        announce: Callable[[Change, int, bool], None],
        *,
        row_versioning: bool,
    ) -> None:
        self.settings = Settings()
        self.count = 0
        self.doomed = False
        self.identity = 0
        self._backend = backend
        self._locks = locks
        self._owner = Owner(session_id, "TRANSACTION")
        self._announce = announce
        self._row_versioning = row_versioning
        self._name: str | None = None
        self._announced = True
        self._savepoints: list[str] = []
        self._behind_savepoint = False

    @property
    def owner(self) -> Owner:
        """Return the owner of the transaction's locks."""
        return self._owner

    @property
    def state(self) -> int:
        """Return XACT_STATE(): 1 active, 0 none, -1 can only be rolled back."""
        return -1 if self.doomed else int(self.count > 0)

    @property
    def current_id(self) -> int:
        """Return CURRENT_TRANSACTION_ID(); outside a transaction each call is a transaction of its own."""
        return self.identity if self.count else next(_transaction_ids)

    @property
    def isolation_code(self) -> int:
        """Return the isolation level as `sys.dm_exec_sessions` numbers it."""
        return _ISOLATION_CODES[self.settings.isolation]

    def set_isolation(self, level: str) -> None:
        """SET TRANSACTION ISOLATION LEVEL; levels without locks are refused."""
        if level not in _ISOLATION_CODES:
            raise unsupported(f"TRANSACTION ISOLATION LEVEL {level}")
        self.settings.isolation = level

    def begin(self, name: str | None = None, *, announced: bool = True) -> None:
        """BEGIN TRANSACTION; the transaction of an autocommitted statement isn't announced."""
        if self.count == 0:
            self._backend.script("BEGIN")
            self.identity = next(_transaction_ids)
            self._name = name
            self._announced = announced
            self._change("begun")
        self.count += 1

    def _change(self, change: Change) -> None:
        self._announce(change, self.identity, self._announced)

    def begin_implicitly(self) -> None:
        """Begin when IMPLICIT_TRANSACTIONS asks for it and nothing is open."""
        if self.settings.implicit_transactions and self.count == 0:
            self.begin()

    def commit(self) -> None:
        """COMMIT TRANSACTION; only the outermost makes durable."""
        if self.count == 0:
            raise SqlServerError(
                Number.NO_MATCHING_COMMIT,
                "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.",
            )
        if self.doomed:
            raise doomed_error()
        if self.count > 1:
            self.count -= 1
            return
        try:
            self._backend.script("COMMIT")
        except psycopg.Error as error:
            # Deferred work failed: PostgreSQL has rolled back, and says why.
            self._ended("rolled back")
            raise self._backend.translate(error) from error
        self._ended("committed")

    def save(self, name: str) -> None:
        """SAVE TRANSACTION."""
        if self.count == 0:
            raise SqlServerError(628, "Cannot issue SAVE TRANSACTION when there is no active transaction.")
        if self.doomed:
            raise SqlServerError(
                3931,
                "The current transaction cannot be committed and cannot be rolled back to a savepoint. "
                "Roll back the entire transaction.",
            )
        self._backend.script(f'SAVEPOINT "user_{len(self._savepoints)}"')
        self._savepoints.append(name.lower())
        self._behind_savepoint = False

    def rollback(self, name: str | None = None) -> None:
        """ROLLBACK of everything, or to a savepoint, which keeps the count and the locks."""
        if self.count == 0:
            raise SqlServerError(
                Number.NO_MATCHING_ROLLBACK,
                "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.",
            )
        if name is None or (self._name is not None and name.lower() == self._name.lower()):
            self.abandon()
            return
        if name.lower() not in self._savepoints:
            raise SqlServerError(
                6401, f"Cannot roll back {name}. No transaction or savepoint of that name was found."
            )
        if self.doomed:
            raise SqlServerError(
                3931,
                "The current transaction cannot be committed and cannot be rolled back to a savepoint. "
                "Roll back the entire transaction.",
            )
        index = len(self._savepoints) - 1 - self._savepoints[::-1].index(name.lower())
        self._backend.recover(f'ROLLBACK TO SAVEPOINT "user_{index}"')
        del self._savepoints[index + 1 :]
        self._behind_savepoint = False

    def abandon(self) -> None:
        """Roll back all levels and free the locks, whatever the state."""
        if self._backend.status != TransactionStatus.IDLE:
            self._backend.recover("ROLLBACK")
        if self.count:
            self._ended("rolled back")
        else:
            self._locks.release(self._owner)

    def doom(self) -> None:
        """Make the transaction uncommittable: PostgreSQL rolls back now, count and locks wait for ROLLBACK."""
        if self._backend.status != TransactionStatus.IDLE:
            self._backend.recover("ROLLBACK")
        self._savepoints.clear()
        self._behind_savepoint = False
        self.doomed = True

    def _ended(self, change: Change) -> None:
        self.count = 0
        self.doomed = False
        self._name = None
        self._savepoints.clear()
        self._behind_savepoint = False
        self._locks.release(self._owner)
        self._change(change)

    def statement(self, prepare: Callable[[], P], work: Callable[[P], T]) -> T:
        """Plan one statement, take its locks and do its work, so that a failure undoes the statement alone.

        After a wait the statement is planned again: names may mean something else by then. Raises
        SqlServerError, AttentionError or BackendLostError; with XACT_ABORT ON the caller must then end
        the transaction.
        """
        short: list[tuple[Resource, Mode | None]] = []
        try:
            plan = self._planned(prepare)
            if self.doomed and plan.writes:
                raise doomed_error()
            while self._take(plan.locks, short):
                plan = self._planned(prepare)
            return self._guarded(plan, work)
        finally:
            if self.count == 0:
                self._locks.release(self._owner)
            else:
                self._give_back(short)

    def _planned(self, prepare: Callable[[], P]) -> P:
        """Plan; a name that isn't found may be another session's uncommitted object, so wait for those first."""
        try:
            return prepare()
        except psycopg.OperationalError as error:
            if self._backend.connection.closed:
                raise BackendLostError("the connection to the storage engine was lost") from error
            raise
        except SqlServerError as error:
            if error.number not in _MISSING or not self._await_metadata(error.missing):
                raise
        return prepare()

    def _await_metadata(self, missing: tuple[str, str] | None) -> bool:
        """Wait for other sessions' uncommitted definitions in the schema of a missing name; return whether it had to."""
        place = WHOLE_CATALOG if missing is None else missing[0]
        short: list[tuple[Resource, Mode | None]] = []
        try:
            return self._take([LockRequest(("#catalog", place), "S", hold_to_end=False)], short)
        finally:
            self._give_back(short)

    def _take(self, locks: Iterable[LockRequest], short: list[tuple[Resource, Mode | None]]) -> bool:
        waited = False
        for request in locks:
            hold = request.hold_to_end or self.settings.isolation != "READ COMMITTED"
            if (
                self._row_versioning
                and request.mode == "S"
                and not hold
                and request.resource[0] != "#catalog"
            ):
                continue
            for resource, mode in locks_of(request):
                before = self._locks.held(self._owner, resource)
                waited |= self.acquire(resource, mode, self._owner, self.settings.lock_timeout_ms)
                if not hold:
                    short.append((resource, before))
        return waited

    def _skips(self, request: LockRequest) -> bool:
        """Tell whether row versioning spares a reader this lock; READCOMMITTEDLOCK asks for it all the same."""
        return (
            self._row_versioning
            and request.mode == "S"
            and request.resource[0] != "#catalog"
            and not getattr(request, "always", False)
        )

    def _give_back(self, short: list[tuple[Resource, Mode | None]]) -> None:
        for resource, before in reversed(short):
            self._locks.restore(self._owner, resource, before)

    def acquire(self, resource: Resource, mode: Mode, owner: Owner, timeout_ms: int | None) -> bool:
        """Take a lock and return whether it had to wait, or raise 1222, 1205 or AttentionError."""
        try:
            return self._locks.acquire(
                owner, resource, mode, None if timeout_ms is None else timeout_ms / 1000
            )
        except LockTimeout as error:
            raise SqlServerError(
                Number.LOCK_TIMEOUT, "Lock request time out period exceeded.", state=51
            ) from error
        except DeadlockVictim as error:
            raise SqlServerError(
                Number.DEADLOCK_VICTIM,
                f"Transaction (Process ID {owner.session}) was deadlocked on lock resources with another "
                "process and has been chosen as the deadlock victim. Rerun the transaction.",
                state=51,
            ) from error
        except WaitCancelled as error:
            raise AttentionError from error

    def _guarded(self, plan: P, work: Callable[[P], T]) -> T:
        in_transaction = self.count > 0 and not self.doomed
        if in_transaction and not self.settings.xact_abort:
            release = f"RELEASE SAVEPOINT {_SAVEPOINT}; " if self._behind_savepoint else ""
            self._backend.script(f"{release}SAVEPOINT {_SAVEPOINT}")
            self._behind_savepoint = True
        elif plan.compound and not in_transaction:
            self._backend.script("BEGIN")
        try:
            result = work(plan)
            if self._backend.status == TransactionStatus.INTRANS and not in_transaction:
                self._backend.script("COMMIT")
        except psycopg.Error as error:
            self._undo(in_transaction=in_transaction)
            if isinstance(error, psycopg.errors.QueryCanceled):
                raise AttentionError from error
            raise self._backend.translate(error) from error
        except BackendLostError:
            raise
        except BaseException:
            with suppress(psycopg.Error):
                self._undo(in_transaction=in_transaction)
            raise
        return result

    def _undo(self, *, in_transaction: bool) -> None:
        if self._backend.connection.closed:
            raise BackendLostError("the connection to the storage engine was lost")
        if not in_transaction:
            if self._backend.status != TransactionStatus.IDLE:
                self._backend.recover("ROLLBACK")
        elif not self.settings.xact_abort:
            self._backend.recover(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")

    @property
    def must_end(self) -> bool:
        """Return whether PostgreSQL can't go on with the open transaction: a failure had no savepoint behind it."""
        return self.count > 0 and self._backend.status == TransactionStatus.INERROR


def doomed_error() -> SqlServerError:
    """Return error 3930."""
    return SqlServerError(
        Number.DOOMED_TRANSACTION,
        "The current transaction cannot be committed and cannot support operations that write to the log file. "
        "Roll back the transaction.",
    )
