"""Faults put around ports from the outside: nothing in the product knows of them."""

from __future__ import annotations

import importlib
import pkgutil
import signal
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn, assert_never

import dpone_contracts.ports
from dpone.application.services import Services
from dpone_contracts.effects import EffectKind, Reason, Unknown, effect_of
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.model_build import BuildExit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

EFFECTS: Final = frozenset({EffectKind.WRITE, EffectKind.COMMIT, EffectKind.PUBLISH, EffectKind.DELETE})
LIMITS: Final = frozenset({"deadlines", "resources"})
"""What `Services` holds beside ports."""
LOCAL_PORTS: Final = frozenset({"clock", "progress", "encoder", "attestor", "guard"})
"""Ports that reach nothing outside the worker: they cannot be down or stale."""


class FaultKind(StrEnum):
    """What happens to one call (architecture, boundaries and effects)."""

    BEFORE = "before"
    AFTER = "after"
    ACK_LOST = "ack_lost"
    NOT_APPLIED = "not_applied"
    LATE = "late"
    TWICE = "twice"
    TWICE_LATE = "twice_late"
    TORN = "torn"
    STALE = "stale"
    DOWN = "down"


_LANDING: Final = (FaultKind.LATE, FaultKind.TWICE_LATE)


@dataclass(frozen=True, slots=True)
class Boundary:
    """One call of a run: the operation's stage and model, the port and its method, which call of these it is.

    `repeats`: the run asked the same before, so that an older answer exists.
    """

    stage: str
    model: str
    port: str
    method: str
    occurrence: int
    effect: EffectKind
    repeats: bool = False

    @property
    def name(self) -> str:
        """The boundary as an id of one word."""
        return f"{self.stage}/{self.model}/{self.port}.{self.method}/{self.occurrence}"


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault at one boundary; a late call lands before the `landing`-th boundary after it, 0: at the very end.

    `twice_late` is answered on time and delivered a second time at its landing.
    """

    boundary: str
    fault: FaultKind
    landing: int = 0

    @property
    def name(self) -> str:
        """The injection as an id of one word; `parse` reads it back."""
        late = f"@{self.landing}" if self.fault in _LANDING else ""
        return f"{self.boundary}:{self.fault}{late}"

    @classmethod
    def parse(cls, text: str) -> Injection:
        """Raises ValueError for anything that is no injection's name."""
        boundary, _, fault = text.rpartition(":")
        kind, _, landing = fault.partition("@")
        if boundary.count("/") != 3:
            raise ValueError(f"not a boundary: {boundary!r}")
        return cls(boundary, FaultKind(kind), int(landing or 0))


class WorkerKilled(BaseException):
    """SIGKILL, as one thread of a test sees it."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One call as the other side gets it: on time, a second time, late, or in part; `sender` is the try's number."""

    sender: int
    port: str
    method: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]

    def deliver(self) -> Any:
        """The port's own call."""
        return self.call(*self.arguments)


@dataclass(slots=True)
class Transport:
    """What carries calls over all tries of one case, and still holds the late ones.

    `again` is how a request that is already on the way takes effect (a second time, or late): without what the
    adapter looks at before it sends. `tear` makes a delivered multi-part write look as if it had landed in part.
    `beside` surrounds every landing of a late call.
    """

    again: Callable[[Delivery], object]
    tear: Callable[[Delivery], object]
    beside: Callable[[Delivery], AbstractContextManager[None]] = lambda _: nullcontext()
    held: list[tuple[int, Delivery]] = field(default_factory=list)

    def hold(self, delivery: Delivery, boundaries: int) -> None:
        """Keep a call until that many boundaries were passed; 0: until `land_all`."""
        self.held.append((boundaries, delivery))

    def pass_boundary(self) -> None:
        """One more boundary is reached: what is due lands before it."""
        due = [delivery for boundaries, delivery in self.held if boundaries == 1]
        self.held = [(max(boundaries - 1, 0), each) for boundaries, each in self.held if boundaries != 1]
        self._land(due)

    def land_all(self) -> None:
        """Whatever is still held lands now."""
        due, self.held = [delivery for _, delivery in self.held], []
        self._land(due)

    def _land(self, due: list[Delivery]) -> None:
        for delivery in due:
            # A refusal is as good as any answer: nobody listens any more.
            with self.beside(delivery), suppress(DponeError):
                self.again(delivery)


def _killed() -> NoReturn:
    raise WorkerKilled


@dataclass(slots=True)
class Injector:
    """Puts faults around all ports of one try, and records every boundary that it passes."""

    injections: tuple[Injection, ...]
    transport: Transport
    sender: int = 1
    kill: Callable[[], NoReturn] = _killed
    recorded: list[Boundary] = field(default_factory=list)
    fired: list[str] = field(default_factory=list)
    _place: tuple[str, str] = ("START", "workflow")
    _counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    _answers: dict[tuple[str, str], list[tuple[tuple[Any, ...], Any]]] = field(default_factory=dict)

    def around(self, services: Services) -> Services:
        """The same services, every marked call of theirs watched."""
        watched: dict[str, Any] = {
            name: WatchedPort(name, getattr(services, name), protocol, self._call)
            for name, protocol in port_protocols().items()
        }
        return replace(services, **watched)

    def _call(self, port: str, protocol: type, method: str, call: Callable[..., Any], *arguments: Any) -> Any:
        if (port, method) == ("progress", "stage"):
            stage, model, state = arguments
            if state == "started":
                self._place = (str(stage), model.rsplit(".", 1)[-1] if model else "workflow")
            return call(*arguments)
        answers = self._answers.setdefault((port, method), [])
        older = next((answer for asked, answer in reversed(answers) if asked == arguments), None)
        boundary = self._boundary(port, protocol, method, repeats=older is not None)
        self.transport.pass_boundary()
        self.recorded.append(boundary)
        injection = next((each for each in self.injections if each.boundary == boundary.name), None)
        delivery = Delivery(self.sender, port, method, call, arguments)
        if injection is None:
            answer = delivery.deliver()
        else:
            self.fired.append(injection.name)
            answer = self._faulty(injection, delivery, getattr(protocol, method), older)
        if boundary.effect is EffectKind.READ:
            answers.append((arguments, answer))
        return answer

    def _boundary(self, port: str, protocol: type, method: str, *, repeats: bool) -> Boundary:
        key = (*self._place, port, method)
        self._counts[key] += 1
        effect = effect_of(getattr(protocol, method))
        assert effect is not None
        return Boundary(*key, self._counts[key], effect, repeats)

    def _faulty(self, injection: Injection, delivery: Delivery, promise: object, older: Any) -> Any:
        match injection.fault:
            case FaultKind.BEFORE:
                return self.kill()
            case FaultKind.AFTER:
                delivery.deliver()
                return self.kill()
            case FaultKind.ACK_LOST:
                delivery.deliver()
                return _no_answer(delivery, promise)
            case FaultKind.NOT_APPLIED:
                return _no_answer(delivery, promise)
            case FaultKind.LATE:
                self.transport.hold(delivery, injection.landing)
                return _no_answer(delivery, promise)
            case FaultKind.TWICE:
                answer = delivery.deliver()
                self.transport.again(delivery)
                return answer
            case FaultKind.TWICE_LATE:
                answer = delivery.deliver()
                self.transport.hold(delivery, injection.landing)
                return answer
            case FaultKind.TORN:
                self.transport.tear(delivery)
                return _no_answer(delivery, promise)
            case FaultKind.STALE:
                return older
            case FaultKind.DOWN:
                raise DponeError(_down_code(delivery.port), f"{delivery.port} is down")
            case _:
                assert_never(injection.fault)


class WatchedPort:
    """A port whose marked methods go through `call`; everything else is the port's own."""

    def __init__(self, name: str, port: Any, protocol: type, call: Callable[..., Any]) -> None:
        self._name = name
        self._port = port
        self._protocol = protocol
        self._call = call

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if effect_of(getattr(self._protocol, name, None)) is None:
            return method

        def call(*arguments: Any) -> Any:
            return self._call(self._name, self._protocol, name, method, *arguments)

        return call


def port_protocols() -> dict[str, type]:
    """The protocol of every port that a run has, by its name in `Services`."""
    modules = [
        importlib.import_module(f"{dpone_contracts.ports.__name__}.{found.name}")
        for found in pkgutil.iter_modules(dpone_contracts.ports.__path__)
    ]
    return {
        port.name: next(
            vars(module)[str(port.type)]
            for module in modules
            if getattr(vars(module).get(str(port.type)), "__module__", None) == module.__name__
        )
        for port in fields(Services)
        if port.name not in LIMITS
    }


def faults_at(boundary: Boundary, landings: Iterable[int], torn: frozenset[str]) -> list[Injection]:
    """Every fault that can happen at a boundary; `torn` names the methods that write in parts."""
    if boundary.effect not in EFFECTS:
        if boundary.port in LOCAL_PORTS:
            return []
        kinds = [FaultKind.DOWN, *([FaultKind.STALE] if boundary.repeats else [])]
        return [Injection(boundary.name, kind) for kind in kinds]
    kinds = [FaultKind.BEFORE, FaultKind.AFTER, FaultKind.ACK_LOST, FaultKind.NOT_APPLIED, FaultKind.TWICE]
    if boundary.method in torn:
        kinds.append(FaultKind.TORN)
    late = [Injection(boundary.name, kind, landing) for kind in _LANDING for landing in landings]
    return [*(Injection(boundary.name, kind) for kind in kinds), *late]


_UNKNOWN_CODES: Final = {
    ("state", "admit"): "DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN",
    ("publisher", "exchange"): "DPONE_EXCHANGE_UNKNOWN",
    ("mutation", "abandon"): "DPONE_SQL_OUTCOME_UNKNOWN",
}
_UNKNOWN_BY_PORT: Final = {
    "documents": "DPONE_DOCUMENT_COMMIT_UNKNOWN",
    "artifacts": "DPONE_ARTIFACT_OUTCOME_UNKNOWN",
    "publisher": "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN",
}


def _no_answer(delivery: Delivery, promise: object) -> Any:
    """What a caller gets who waits in vain: Unknown, or an unfinished build."""
    returns = str(getattr(promise, "__annotations__", {}).get("return"))
    if returns == BuildExit.__name__:
        return BuildExit(finished=False, exit_code=None, node_status={}, tests_passed=None, log_path="lost")
    code = _UNKNOWN_CODES.get(
        (delivery.port, delivery.method), _UNKNOWN_BY_PORT.get(delivery.port, "DPONE_STATE_COMMIT_UNKNOWN")
    )
    return Unknown(Reason(code, f"{delivery.port}.{delivery.method}: no answer came"))


def _down_code(port: str) -> str:
    codes = {"publisher": "DPONE_CLICKHOUSE_UNAVAILABLE", "artifacts": "DPONE_ARTIFACT_STORE_UNAVAILABLE"}
    return codes.get(port, "DPONE_MSSQL_UNREACHABLE")


def hold_at(services: Services, injection: Injection, tell: Callable[[], None]) -> Services:
    """Services of a process that waits for SIGKILL before or after a boundary; `tell` is called once it waits."""

    def hold() -> NoReturn:
        tell()
        while True:
            signal.pause()

    def deliver(delivery: Delivery) -> object:
        return delivery.deliver()

    return Injector((injection,), Transport(deliver, deliver), kill=hold).around(services)
