"""One session: its backend, transaction, options and facts, and what procedures may do with its locks."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from psycopg.pq import TransactionStatus

from dpone_lab.sqlserver.catalog import PostgresCatalog, Principal
from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.plan_cache import PlanCache
from dpone_lab.sqlserver.language.translation import LockRequest
from dpone_lab.sqlserver.locks import Mode, Owner, Resource
from dpone_lab.sqlserver.parameter_types import suggest_types
from dpone_lab.sqlserver.sessions import now
from dpone_lab.sqlserver.transactions import AttentionError, Change, Settings, Transaction, locks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from dpone_lab.sqlserver.backend import Backend
    from dpone_lab.sqlserver.language.types import SqlType
    from dpone_lab.sqlserver.sessions import SessionFacts
    from dpone_lab.sqlserver.shared import Shared
    from dpone_lab.sqlserver.wire.response import Response

VERSION_TEXT = "Microsoft SQL Server 2022 (dpone lab) - 16.0.1000.6"
_APPLICATION_MODES = {
    "Shared": Mode.S,
    "Update": Mode.U,
    "Exclusive": Mode.X,
    "IntentShared": Mode.IS,
    "IntentExclusive": Mode.IX,
}
_MODE_NAMES = {mode: name for name, mode in _APPLICATION_MODES.items()} | {Mode.SIX: "SharedIntentExclusive"}
_OWNERS: dict[str, Literal["TRANSACTION", "SESSION"]] = {"Transaction": "TRANSACTION", "Session": "SESSION"}
# @@OPTIONS of a driver's connection: ANSI_WARNINGS, ANSI_PADDING, ANSI_NULLS, ARITHABORT, QUOTED_IDENTIFIER,
# ANSI_NULL_DFLT_ON, CONCAT_NULL_YIELDS_NULL.
_OPTIONS = 8 | 16 | 32 | 64 | 256 | 1024 | 4096
_NOCOUNT_OPTION, _XACT_ABORT_OPTION, _IMPLICIT_OPTION = 512, 16384, 2


class Session:
    """State of one logged-in connection; used by its worker thread, cancelled by its reader thread."""

    def __init__(self, shared: Shared, backend: Backend, principal: Principal, facts: SessionFacts) -> None:
        self.shared = shared
        self.backend = backend
        self.principal = principal
        self.facts = facts
        self.transaction = Transaction(
            backend,
            shared.locks,
            facts.session_id,
            self._transaction_changed,
            row_versioning=shared.row_versioning,
        )
        facts.transaction = self.transaction
        self.plans = PlanCache()
        self.catalog = PostgresCatalog(backend.connection, shared.database, principal, shared.generation)
        self.row_count = 0
        self.last_error = 0
        self.event_data: dict[str, str | None] = {}
        self.prepared: dict[int, tuple[str, str]] = {}
        self.response: Response | None = None
        self.attention = threading.Event()
        self.defined = False
        self._application_locks: Counter[tuple[Owner, Resource]] = Counter()

    @property
    def session_id(self) -> int:
        """Return @@SPID."""
        return self.facts.session_id

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """Return the backend connection: what runs there is part of the session's transaction."""
        return self.backend.connection

    @property
    def in_transaction(self) -> bool:
        """Return whether @@TRANCOUNT is above 0."""
        return self.transaction.count > 0

    @property
    def session_owner(self) -> Owner:
        """Return the owner of locks that outlive the transaction."""
        return Owner(self.session_id, "SESSION")

    def interrupt(self) -> None:
        """Stop what the worker does now, from another thread: a wait for a lock or a running statement."""
        self.attention.set()
        self.shared.locks.cancel(self.session_id)
        self.backend.cancel()

    def check_attention(self) -> None:
        """Raise AttentionError when the client asked to stop."""
        if self.attention.is_set():
            raise AttentionError

    def reset(self, *, keep_transaction: bool) -> None:
        """Give the session back its state after login, as a connection pool asks for."""
        if not keep_transaction:
            self.transaction.abandon()
        self.shared.locks.release(self.session_owner)
        self._application_locks.clear()
        self.transaction.settings = Settings()
        self.row_count = 0
        self.last_error = 0
        self.facts.context_info = b""
        self.prepared.clear()
        if not keep_transaction:
            self.backend.script("DISCARD TEMP")
        self.shared.generation.advance()

    def close(self) -> None:
        """End the session: PostgreSQL rolls back, then the locks go."""
        self.backend.close()
        self.shared.locks.release(self.transaction.owner)
        self.shared.locks.release(self.session_owner)

    @contextmanager
    def acting_as(self, principal: Principal | None) -> Iterator[None]:
        """Let EXECUTE AS change who permissions are checked for; None changes nothing."""
        if principal is None:
            yield
            return
        caller = self.principal
        self._become(principal)
        try:
            yield
        finally:
            self._become(caller)

    def _become(self, principal: Principal) -> None:
        self.principal = principal
        # In an error state the coming rollback undoes the setting by itself.
        if self.backend.status in (TransactionStatus.IDLE, TransactionStatus.INTRANS):
            self.backend.run(
                "SELECT set_config('dpone.login_id', $1, false), set_config('dpone.user_id', $2, false)",
                [str(principal.login_id), str(principal.user_id)],
            )

    def settings_snapshot(self) -> Settings:
        """Return the options to give back at the end of a scope."""
        return replace(self.transaction.settings)

    def _transaction_changed(self, change: Change, identity: int, announced: bool) -> None:  # noqa: FBT001
        if change == "begun":
            self.facts.transaction_id, self.facts.transaction_begin = identity, now()
        else:
            self.facts.transaction_id = self.facts.transaction_begin = None
            for holder, key in [
                each for each in self._application_locks if each[0] == self.transaction.owner
            ]:
                del self._application_locks[holder, key]
            if self.defined:
                self.defined = False
                self.catalog.forget()
                self.shared.generation.advance()
        if self.response is not None and announced:
            self.response.transaction_changed(change, identity)

    def value(self, name: str) -> Any:
        """Return a session value by the name that plans use for it."""
        if name.startswith("eventdata:"):
            return self.event_data.get(name)
        return self._values().get(name)

    def _values(self) -> dict[str, Any]:
        transaction, settings, facts = self.transaction, self.transaction.settings, self.facts
        options = (
            _OPTIONS
            | (_NOCOUNT_OPTION if settings.nocount else 0)
            | (_XACT_ABORT_OPTION if settings.xact_abort else 0)
            | (_IMPLICIT_OPTION if settings.implicit_transactions else 0)
        )
        return {
            "@@rowcount": self.row_count,
            "rowcount_big()": self.row_count,
            "@@trancount": transaction.count,
            "@@error": self.last_error,
            "@@spid": self.session_id,
            "@@version": VERSION_TEXT,
            "@@options": options,
            "@@lock_timeout": -1 if settings.lock_timeout_ms is None else settings.lock_timeout_ms,
            "@@servername": self.shared.server_name,
            "@@microsoftversion": 0x10000000,
            "@@datefirst": 7,
            "@@language": "us_english",
            "@@max_precision": 38,
            "@@textsize": -1,
            "@@procid": 0,
            "@@dbts": b"\0" * 8,
            "xact_state()": transaction.state,
            "suser_sname()": self.principal.login,
            "suser_name()": self.principal.login,
            "original_login()": self.principal.login,
            "system_user": self.principal.login,
            "session_user": self.principal.user,
            "current_user": self.principal.user,
            "user_name()": self.principal.user,
            "app_name()": facts.program_name,
            "host_name()": facts.host_name,
            "host_id()": f"{facts.host_process_id:<10}",
            "db_name()": self.shared.database,
            "schema_name()": self.principal.default_schema,
            "current_transaction_id()": transaction.current_id,
            "context_info()": facts.context_info or None,
        }

    def application_lock(
        self, resource: str, mode: str, owner: str, timeout_ms: int | None, principal: str
    ) -> int:
        """Take an application lock; return 0, 1 after a wait, -1 on timeout, -3 for a deadlock victim.

        Neither refusal touches the transaction. `timeout_ms` None is @@LOCK_TIMEOUT, -1 waits.
        """
        if timeout_ms is None:
            timeout_ms = self.transaction.settings.lock_timeout_ms
        wait = None if timeout_ms is None or timeout_ms < 0 else timeout_ms
        key = Resource("APPLICATION", (principal, resource))
        holder = self._owner(owner)
        try:
            waited = self.transaction.acquire(key, _APPLICATION_MODES[mode], holder, wait)
        except SqlServerError as error:
            return -3 if error.number == Number.DEADLOCK_VICTIM else -1
        self._application_locks[holder, key] += 1
        return int(waited)

    def application_unlock(self, resource: str, owner: str, principal: str) -> int:
        """Release an application lock once, as often as it was taken; -999 when this owner doesn't hold it."""
        key = Resource("APPLICATION", (principal, resource))
        holder = self._owner(owner)
        if self.shared.locks.held(holder, key) is None:
            return -999
        self._application_locks[holder, key] -= 1
        if self._application_locks[holder, key] <= 0:
            del self._application_locks[holder, key]
            self.shared.locks.restore(holder, key, None)
        return 0

    def application_mode(self, resource: str, owner: str, principal: str) -> str:
        """Return the mode that this owner holds, as APPLOCK_MODE names it."""
        held = self.shared.locks.held(self._owner(owner), Resource("APPLICATION", (principal, resource)))
        return "NoLock" if held is None else _MODE_NAMES[held]

    def _owner(self, owner: str) -> Owner:
        return Owner(self.session_id, _OWNERS[owner])

    def lock_object(self, schema: str, name: str) -> None:
        """Take the locks of DDL on an object, to the end of the transaction."""
        timeout = self.transaction.settings.lock_timeout_ms
        for request in (
            LockRequest(("#catalog", schema), "X", hold_to_end=True),
            LockRequest((schema, name), "SCH-M", hold_to_end=True),
        ):
            for resource, mode in locks_of(request):
                self.transaction.acquire(resource, mode, self.transaction.owner, timeout)

    def describe_parameters(self, text: str, declarations: str) -> list[tuple[str, SqlType]]:
        """Return the undeclared parameters of a batch with suggested types, in order of appearance."""
        return suggest_types(text, declarations, self.catalog)
