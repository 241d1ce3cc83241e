"""Who is connected: the facts that `sys.dm_exec_sessions` shows, kept apart from the sessions' threads."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.sqlserver.transactions import Transaction

_FIRST_SESSION = 51


def now() -> dt.datetime:
    """Return the time in UTC, without a zone, as the DMVs show it."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


@dataclass(slots=True)
class SessionFacts:
    """What is known about one connection; only its own worker thread writes to it."""

    session_id: int
    login: str
    login_id: int
    user_id: int
    host_name: str
    host_process_id: int
    program_name: str
    client_library: str
    backend_pid: int
    connection_id: uuid.UUID = field(default_factory=uuid.uuid4)
    login_time: dt.datetime = field(default_factory=now)
    last_request_start: dt.datetime = field(default_factory=now)
    last_request_end: dt.datetime = field(default_factory=now)
    running: bool = False
    transaction: Transaction | None = None
    transaction_id: int | None = None
    transaction_begin: dt.datetime | None = None
    context_info: bytes = b""
    last_batch: str = ""


class Sessions:
    """The sessions of one endpoint; numbers are reused as SQL Server reuses them, lowest first."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken: set[int] = set()
        self._facts: dict[int, SessionFacts] = {}
        self._enders: dict[int, Callable[[], None]] = {}

    def reserve(self, end: Callable[[], None]) -> int:
        """Return a free session number; `end` closes that session's connection from another thread."""
        with self._mutex:
            number = next(n for n in itertools.count(_FIRST_SESSION) if n not in self._taken)
            self._taken.add(number)
            self._enders[number] = end
            return number

    def enter(self, facts: SessionFacts) -> None:
        """Make a session visible after its login."""
        with self._mutex:
            self._facts[facts.session_id] = facts

    def leave(self, session_id: int) -> None:
        """Forget a session and free its number."""
        with self._mutex:
            self._facts.pop(session_id, None)
            self._enders.pop(session_id, None)
            self._taken.discard(session_id)

    def rows(self) -> list[SessionFacts]:
        """Return the sessions that are logged in, by number."""
        with self._mutex:
            return [self._facts[number] for number in sorted(self._facts)]

    def end(self, session_id: int) -> None:
        """Close one session's connection; nothing happens when it is gone already."""
        with self._mutex:
            end = self._enders.get(session_id)
        if end is not None:
            end()

    def end_all(self) -> None:
        """Close every connection."""
        with self._mutex:
            enders = list(self._enders.values())
        for end in enders:
            end()
