"""Two-phase locking as SQL Server does it, on tables, schemas of the catalog and application resources.

One mutex guards the whole table of locks and each waiter sleeps on its own condition. Requests are
granted in order of arrival, conversions of an own lock first. A request that would close a cycle of
waits is refused at once: the requester is the victim. PostgreSQL below never waits for these locks.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple


class Mode(Enum):
    """Lock modes; SCH_M excludes even readers that take no other lock."""

    IS = "IS"
    S = "S"
    U = "U"
    IX = "IX"
    SIX = "SIX"
    X = "X"
    SCH_S = "Sch-S"
    SCH_M = "Sch-M"


# Which mode may be granted while another owner holds the key (SQL Server's compatibility matrix).
_COMPATIBLE: dict[Mode, frozenset[Mode]] = {
    Mode.SCH_S: frozenset({Mode.SCH_S, Mode.IS, Mode.S, Mode.U, Mode.IX, Mode.SIX, Mode.X}),
    Mode.IS: frozenset({Mode.SCH_S, Mode.IS, Mode.S, Mode.U, Mode.IX, Mode.SIX}),
    Mode.S: frozenset({Mode.SCH_S, Mode.IS, Mode.S, Mode.U}),
    Mode.U: frozenset({Mode.SCH_S, Mode.IS, Mode.S}),
    Mode.IX: frozenset({Mode.SCH_S, Mode.IS, Mode.IX}),
    Mode.SIX: frozenset({Mode.SCH_S, Mode.IS}),
    Mode.X: frozenset({Mode.SCH_S}),
    Mode.SCH_M: frozenset(),
}
# What a mode already includes: asking for any of these again changes nothing.
_INCLUDES: dict[Mode, frozenset[Mode]] = {
    Mode.SCH_S: frozenset({Mode.SCH_S}),
    Mode.IS: frozenset({Mode.SCH_S, Mode.IS}),
    Mode.S: frozenset({Mode.SCH_S, Mode.IS, Mode.S}),
    Mode.U: frozenset({Mode.SCH_S, Mode.IS, Mode.S, Mode.U}),
    Mode.IX: frozenset({Mode.SCH_S, Mode.IS, Mode.IX}),
    Mode.SIX: frozenset({Mode.SCH_S, Mode.IS, Mode.S, Mode.IX, Mode.SIX}),
    Mode.X: frozenset(set(Mode) - {Mode.SCH_M}),
    Mode.SCH_M: frozenset(Mode),
}


def combined(held: Mode, asked: Mode) -> Mode:
    """Return the weakest single mode that includes both."""
    if asked in _INCLUDES[held]:
        return held
    if held in _INCLUDES[asked]:
        return asked
    if {held, asked} == {Mode.S, Mode.IX}:
        return Mode.SIX
    return Mode.X


class Resource(NamedTuple):
    """What is locked: a table, a schema's part of the catalog, or an application resource."""

    kind: Literal["OBJECT", "METADATA", "APPLICATION", "DATABASE"]
    name: tuple[str, ...]


class Owner(NamedTuple):
    """Who holds a lock: a session, for its transaction or for itself. Owners of one session never conflict."""

    session: int
    scope: Literal["TRANSACTION", "SESSION"]


class LockTimeout(Exception):  # noqa: N818 - an answer, not a fault
    """The lock was not granted in time (1222, or -1 of sp_getapplock)."""


class DeadlockVictim(Exception):  # noqa: N818
    """Waiting would have closed a cycle (1205, or -3 of sp_getapplock)."""


class WaitCancelled(Exception):  # noqa: N818
    """The wait ended because its session was cancelled or closed."""


class LockRow(NamedTuple):
    """One row of `sys.dm_tran_locks`."""

    owner: Owner
    resource: Resource
    mode: Mode
    status: Literal["GRANT", "CONVERT", "WAIT"]


@dataclass(eq=False, slots=True)
class _Waiter:
    owner: Owner
    resource: Resource
    mode: Mode
    conversion: bool
    wake: threading.Condition
    cancelled: bool = False
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class _Entry:
    granted: dict[Owner, Mode] = field(default_factory=dict)
    queue: list[_Waiter] = field(default_factory=list)


class LockTable:
    """All locks of one server. A session waits for one lock at a time: its worker thread sleeps here."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._entries: dict[Resource, _Entry] = {}
        self._waits: dict[int, _Waiter] = {}

    def acquire(self, owner: Owner, resource: Resource, mode: Mode, timeout: float | None) -> bool:
        """Grant `mode` on `resource` to `owner`; `timeout` in seconds, None waits, 0 doesn't.

        Returns whether it had to wait. LockTimeout, DeadlockVictim or WaitCancelled leave what the owner
        held before unchanged.
        """
        with self._mutex:
            entry = self._entries.setdefault(resource, _Entry())
            held = entry.granted.get(owner)
            wanted = mode if held is None else combined(held, mode)
            if wanted == held:
                return False
            waiter = _Waiter(owner, resource, wanted, held is not None, threading.Condition(self._mutex))
            if not self._blockers(entry, waiter):
                entry.granted[owner] = wanted
                return False
            if timeout == 0:
                self._drop_if_empty(resource)
                raise LockTimeout(resource)
            self._enqueue(entry, waiter)
            try:
                if self._closes_cycle(owner.session):
                    raise DeadlockVictim(resource)
                self._wait(entry, waiter, timeout)
            finally:
                entry.queue.remove(waiter)
                del self._waits[owner.session]
                self._wake(entry)
                self._drop_if_empty(resource)
            return True

    def _wait(self, entry: _Entry, waiter: _Waiter, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            if waiter.cancelled:
                raise WaitCancelled(waiter.resource)
            if not self._blockers(entry, waiter):
                entry.granted[waiter.owner] = waiter.mode
                return
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise LockTimeout(waiter.resource)
            waiter.wake.wait(left)

    def _enqueue(self, entry: _Entry, waiter: _Waiter) -> None:
        conversions = sum(1 for other in entry.queue if other.conversion)
        entry.queue.insert(conversions if waiter.conversion else len(entry.queue), waiter)
        self._waits[waiter.owner.session] = waiter

    def _blockers(self, entry: _Entry, waiter: _Waiter) -> set[int]:
        """Other sessions that `waiter` waits for: holders, and those ahead of it in the queue."""
        allowed = _COMPATIBLE[waiter.mode]
        own = waiter.owner.session
        blockers = {owner.session for owner, mode in entry.granted.items() if mode not in allowed}
        for other in entry.queue:
            if other is waiter:
                break
            if other.mode not in allowed and (other.conversion or not waiter.conversion):
                blockers.add(other.owner.session)
        blockers.discard(own)
        return blockers

    def _closes_cycle(self, start: int) -> bool:
        """Whether `start`, just enqueued, now waits for itself through others."""
        seen: set[int] = set()
        unexplored = [start]
        while unexplored:
            waiter = self._waits.get(unexplored.pop())
            if waiter is None:
                continue
            blockers = self._blockers(self._entries[waiter.resource], waiter)
            if start in blockers:
                return True
            unexplored.extend(blockers - seen)
            seen |= blockers
        return False

    def _wake(self, entry: _Entry) -> None:
        for waiter in entry.queue:
            waiter.wake.notify()

    def _drop_if_empty(self, resource: Resource) -> None:
        entry = self._entries.get(resource)
        if entry is not None and not entry.granted and not entry.queue:
            del self._entries[resource]

    def cancel(self, session: int) -> None:
        """End the wait of `session`, if it waits."""
        with self._mutex:
            waiter = self._waits.get(session)
            if waiter is not None:
                waiter.cancelled = True
                waiter.wake.notify()

    def release(self, owner: Owner) -> None:
        """Give back every lock of `owner`."""
        with self._mutex:
            for resource in [key for key, entry in self._entries.items() if owner in entry.granted]:
                self._restore(owner, resource, None)

    def restore(self, owner: Owner, resource: Resource, mode: Mode | None) -> None:
        """Put back what `owner` held on `resource` before a short lock; None gives it back."""
        with self._mutex:
            self._restore(owner, resource, mode)

    def _restore(self, owner: Owner, resource: Resource, mode: Mode | None) -> None:
        entry = self._entries.get(resource)
        if entry is None or owner not in entry.granted:
            return
        if mode is None:
            del entry.granted[owner]
        else:
            entry.granted[owner] = mode
        self._wake(entry)
        self._drop_if_empty(resource)

    def held(self, owner: Owner, resource: Resource) -> Mode | None:
        """Return the mode that `owner` holds on `resource`, if any."""
        with self._mutex:
            entry = self._entries.get(resource)
            return None if entry is None else entry.granted.get(owner)

    def blockers(self) -> dict[int, tuple[int, str, float]]:
        """Return for each waiting session one that blocks it, SQL Server's name of the wait, and its seconds."""
        with self._mutex:
            answer = {}
            for session, waiter in self._waits.items():
                blocking = self._blockers(self._entries[waiter.resource], waiter)
                wait_type = f"LCK_M_{waiter.mode.value.upper().replace('-', '_')}"
                answer[session] = (min(blocking, default=0), wait_type, time.monotonic() - waiter.since)
            return answer

    def rows(self) -> list[LockRow]:
        """Every grant and wait, for `sys.dm_tran_locks`."""
        with self._mutex:
            rows: list[LockRow] = []
            for resource, entry in self._entries.items():
                rows.extend(LockRow(owner, resource, mode, "GRANT") for owner, mode in entry.granted.items())
                rows.extend(
                    LockRow(waiter.owner, resource, waiter.mode, "CONVERT" if waiter.conversion else "WAIT")
                    for waiter in entry.queue
                )
            return rows
