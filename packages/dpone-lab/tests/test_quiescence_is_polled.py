"""What may settle by itself is looked at again, as often as the policy allows; nothing that writes is repeated for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dpone.application.run import run_workflow
from dpone_contracts.errors import DponeError
from dpone_lab.fault_matrix_memory import NORMAL_DAY, MemoryWorld
from dpone_lab.faults import EFFECTS, Boundary, FaultKind, Injection, Injector, WorkerKilled


@dataclass
class Busy:
    """A port one of whose reads shows something that runs, for so many looks."""

    port: Any
    method: str
    shows: object
    looks: int
    seen: list[object] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        if name != self.method:
            return getattr(self.port, name)

        def read(*arguments: object) -> object:
            answer = self.shows if len(self.seen) < self.looks else getattr(self.port, name)(*arguments)
            self.seen.append(answer)
            return answer

        return read


def run(
    world: MemoryWorld, number: int, injection: Injection | None = None, **ports: Any
) -> tuple[str, list[Boundary]]:
    injector = Injector(() if injection is None else (injection,), world.transport(), number)
    services = injector.around(replace(world.services(), **ports))
    try:
        run_workflow(services, world.deployment_id, world.plan_bundle_sha256, world.worker(number))
    except WorkerKilled:
        return "killed", injector.recorded
    except DponeError as error:
        return error.code, injector.recorded
    return "done", injector.recorded


RUNNING = ("a statement",)
ATTEMPTS = MemoryWorld.of(*NORMAL_DAY).ports.deadlines.polling.max_attempts


@pytest.mark.parametrize("looks", [1, ATTEMPTS - 1])
def test_an_exchange_in_doubt_whose_statement_still_runs_is_settled_once_it_has_ended(looks: int) -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    busy = Busy(world.ports.publisher, "active_queries", RUNNING, looks)
    lost = Injection("COMMIT/arrivals/publisher.exchange/1", FaultKind.ACK_LOST)
    ended, recorded = run(world, 1, lost, publisher=busy)
    assert ended == "done"
    calls = Counter(each.method for each in recorded if each.model == "arrivals" and each.effect in EFFECTS)
    assert calls["exchange"] == calls["burn_shadow_name"] == 1
    assert sum(each.method == "wait" for each in recorded) == looks


def test_a_statement_that_does_not_end_leaves_a_typed_unknown_after_the_last_attempt() -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    busy = Busy(world.ports.publisher, "active_queries", RUNNING, 1_000)
    ended, recorded = run(world, 1, publisher=busy)
    assert ended == "DPONE_EXCHANGE_UNKNOWN"
    assert len(busy.seen) == ATTEMPTS
    assert world.standing().models[0].journal[-1].state == "COMMIT_UNKNOWN"
    assert sum(each.method == "exchange" for each in recorded) == 1


@pytest.mark.parametrize(
    ("port", "method", "shows"),
    [
        ("publisher", "active_queries", RUNNING),
        ("state", "guard_quiescence", (1, False)),
        ("state", "guard_quiescence", None),
    ],
)
@pytest.mark.parametrize(("looks", "ends"), [(ATTEMPTS - 1, "done"), (1_000, "DPONE_ATTEMPT_NOT_QUIESCENT")])
def test_a_takeover_waits_for_what_the_ended_attempt_left_running_and_not_for_ever(
    port: str, method: str, shows: object, looks: int, ends: str
) -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    killed = Injection("PREPARE/arrivals/publisher.build_shadow/1", FaultKind.BEFORE)
    assert run(world, 1, killed)[0] == "killed"
    world.end(world.worker(1))
    busy = Busy(getattr(world.ports, port), method, shows, looks)
    ports: dict[str, Any] = {port: busy}
    ended, recorded = run(world, 2, **ports)
    assert ended == ends
    if ends != "done":
        assert len(busy.seen) == ATTEMPTS
        assert [each for each in recorded if each.effect in EFFECTS] == []
