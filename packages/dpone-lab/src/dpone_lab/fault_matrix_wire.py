"""Faults on the wire between dbt and SQL Server: the n-th message of dbt's sessions, inside the running endpoint."""

from __future__ import annotations

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, assert_never

import psutil

from dpone_lab.sqlserver.faults import Fault, FaultKind, FaultPlan, SessionFaults

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.sqlserver.server import Endpoint
    from dpone_lab.sqlserver.session import Session

_COMMIT: Final = re.compile(r"COMMIT TRANSACTION|COMMIT TRAN\b", re.IGNORECASE)
_STRATEGY: Final = "[attempt_fates]"
_WAIT_SECONDS: Final = 600


class WireFault(StrEnum):
    """What happens at a message.

    A zombie is a session whose client was killed and whose message takes effect late, or (`zombie_lost`) never.
    """

    CUT_BEFORE = "cut_before"
    CUT_AFTER = "cut_after"
    SERVER_KILLED_BEFORE = "server_killed_before"
    SERVER_KILLED_AFTER = "server_killed_after"
    ZOMBIE = "zombie"
    ZOMBIE_LOST = "zombie_lost"


class Kind(StrEnum):
    """What a message of dbt's is, as far as the matrix treats it differently: a mutation, its commit, anything else."""

    COMMIT = "commit"
    STRATEGY = "strategy"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the golden run: its number over all of dbt's sessions, and what it is."""

    number: int
    kind: Kind

    @property
    def name(self) -> str:
        """The boundary as an id of one word."""
        return f"dbt/{self.number}/{self.kind}"


class Wire(FaultPlan):
    """Numbers the messages of all sessions that another process opened, and breaks the one that is armed."""

    def __init__(self, endpoint: Callable[[], Endpoint]) -> None:
        super().__init__(None)
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self.messages: list[Message] = []
        self.hit = False
        self._armed: tuple[int, WireFault] | None = None
        self._released = threading.Event()
        self._waiting = threading.Event()
        self._operator = ThreadPoolExecutor(max_workers=1)

    def arm(self, number: int | None, fault: WireFault = WireFault.CUT_BEFORE) -> None:
        """Count from 1 again; without a number nothing will be broken."""
        self.messages, self.hit = [], False
        self._armed = None if number is None else (number, fault)
        self._released.clear()
        self._waiting.clear()

    def watch(self, session: Session) -> SessionFaults:
        """Sessions of this process are the product's own and never broken here."""
        return _DbtSession(self, session)

    @property
    def zombie_waits(self) -> bool:
        """Whether a zombie holds its session open now."""
        return self._waiting.is_set() and not self._released.is_set()

    def release_zombie(self) -> None:
        """Let the zombie go on, and wait until its session is gone."""
        self._released.set()
        shared = self._endpoint().shared
        pause = threading.Event()
        for _ in range(_WAIT_SECONDS * 100):
            if all(facts.host_process_id == os.getpid() for facts in shared.sessions.rows()):
                return
            pause.wait(0.01)
        raise AssertionError("the zombie's session does not end")

    def of_message(self, session: Session, kind: Kind) -> Fault | None:
        """Count one message; the fault that it meets."""
        with self._lock:
            message = Message(len(self.messages) + 1, kind)
            self.messages.append(message)
            if self._armed is None or self._armed[0] != message.number or self.hit:
                return None
            self.hit = True
        return self._break(session, message, self._armed[1])

    def _break(self, session: Session, message: Message, fault: WireFault) -> Fault | None:
        before, after = Fault(message.name, FaultKind.DROP_BEFORE), Fault(message.name, FaultKind.DROP_AFTER)
        match fault:
            case WireFault.CUT_BEFORE:
                return before
            case WireFault.CUT_AFTER | WireFault.SERVER_KILLED_AFTER:
                return after
            case WireFault.SERVER_KILLED_BEFORE:
                self.kill_server()
                return before
            case WireFault.ZOMBIE | WireFault.ZOMBIE_LOST:
                _kill(session.facts.host_process_id)
                self._waiting.set()
                self._released.wait(_WAIT_SECONDS)
                # The client's end has asked the session to stop; this request was on its way already.
                session.attention.clear()
                return None if fault is WireFault.ZOMBIE else before
            case _:
                assert_never(fault)

    def handled(self) -> None:
        """The armed message took effect and its answer is about to be lost."""
        if self._armed is not None and self._armed[1] is WireFault.SERVER_KILLED_AFTER:
            self.kill_server()

    def kill_server(self) -> None:
        """PostgreSQL dies as in a power cut, every session with it, and comes back."""
        # It ends together with the thread that started it: that must not be a session's.
        self._operator.submit(self._restart).result()

    def _restart(self) -> None:
        cluster = self._endpoint().cluster
        cluster.crash()
        cluster.restart()


def _kill(client: int) -> None:
    """SIGKILL dbt, which descends from this process."""
    process = psutil.Process(client)
    assert os.getpid() in (parent.pid for parent in process.parents()), "not a process of this matrix"
    process.kill()


class _DbtSession(SessionFaults):
    """One session under the wire's eyes."""

    def __init__(self, wire: Wire, session: Session) -> None:
        super().__init__(wire, session.facts.program_name)
        self._wire = wire
        self._session = session
        self._mutating = False

    def of_message(self, text: Callable[[], str]) -> Fault | None:
        if self._session.facts.host_process_id == os.getpid():
            return None
        return self._wire.of_message(self._session, self._kind(text()))

    def _kind(self, text: str) -> Kind:
        """What a message is; only the commit that ends a mutation's transaction counts as one."""
        if _STRATEGY in text:
            self._mutating = True
            return Kind.STRATEGY
        if self._mutating and _COMMIT.search(text):
            self._mutating = False
            return Kind.COMMIT
        return Kind.OTHER

    def handled(self, fault: Fault) -> None:  # noqa: ARG002 - the wire knows which
        self._wire.handled()
