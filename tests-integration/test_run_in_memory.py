"""The application runs a whole workflow over the in-memory ports: they are fit for simulation."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import pytest

from dpone.application.run import run_workflow
from dpone.application.services import Services
from dpone_contracts.effects import Applied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_contracts.testing.control_suite import activated
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_contracts.testing.memory_ports import MemoryPorts, memory_ports, seed
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.ports.publisher import Scratch, UuidMap
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.memory_rows import Row

MODELS = [
    ExampleModel(
        name,
        (("at", "datetime2(6)", False), ("id", "int", False), ("note", "nvarchar(20)", True)),
        ("at", "id"),
    )
    for name in ("arrivals", "departures")
]
FIRST = WorkerIdentity(
    "scheduled__2026-08-08", "semantic_refresh", 1, "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01", "worker-1"
)
SECOND = replace(FIRST, try_number=2, pod_uid="6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a02", owner_id="worker-2")


def at(day: int, hour: int) -> dt.datetime:
    return dt.datetime(2026, 8, day, hour)  # noqa: DTZ001 - datetime2 has no zone


OLD: list[Row] = [
    (at(7, 1), 1, "another day"),
    (at(8, 1), 1, "to be updated"),
    (at(8, 2), 2, "missing in the input"),
]
NEW: list[Row] = [(at(8, 1), 1, "updated"), (at(8, 3), 3, None), (at(9, 0), 4, "the next day")]
EXPECTED: list[Row] = [OLD[0], NEW[0], OLD[2], NEW[1]]


@dataclass(frozen=True, slots=True)
class World:
    """One activated day in memory."""

    example: Example
    ports: MemoryPorts

    def run(self, worker: WorkerIdentity) -> None:
        bundle = self.example.bundle
        services = Services(**{each.name: getattr(self.ports, each.name) for each in fields(Services)})
        run_workflow(services, bundle.release_deployment_authority.deployment_id, bundle.digest, worker)

    def published(self) -> list[list[Row]]:
        names = sorted(self.ports.publisher.names.items())
        targets = [uuid for relation, uuid in names if not relation.name.startswith("dpone_")]
        return [sorted(self.ports.publisher.tables[uuid], key=repr) for uuid in targets]

    def states(self) -> list[OperationState]:
        plans = self.example.bundle.operation_plans
        return [self.ports.state.journal(plan.operation_id)[-1].state for plan in plans]


def world(publisher: MemoryPublisher | None = None, old: list[Row] = OLD, new: list[Row] = NEW) -> World:
    example, ports = example_bundle(MODELS, database="memory"), memory_ports(publisher)
    activated(ports.activations, example)
    seed(ports, example, old, new)
    return World(example, ports)


def test_a_day_is_published_exactly() -> None:
    day = world()
    day.run(FIRST)
    assert day.published() == [sorted(EXPECTED, key=repr)] * 2
    assert day.states() == [OperationState.COMPLETE] * 2


def test_a_second_run_of_the_plan_changes_nothing() -> None:
    day = world()
    day.run(FIRST)
    before = dict(day.ports.publisher.names)
    day.run(FIRST)
    assert day.ports.publisher.names == before


def test_an_empty_day_is_complete_without_an_exchange() -> None:
    day = world(old=[OLD[0]], new=[])
    before = dict(day.ports.publisher.names)
    day.run(FIRST)
    assert day.ports.publisher.names == before
    assert day.states() == [OperationState.COMPLETE] * 2


@pytest.mark.parametrize("fault", ["rolled-back", "failed-gate"])
def test_nothing_is_published_when_the_build_does_not_pass(fault: str) -> None:
    day = world()
    if fault == "rolled-back":
        day.ports.server.failing.add(day.example.bundle.targets[0].model_unique_id)
    else:
        day.ports.server.tests_pass = False
    with pytest.raises(DponeError, match="DPONE_BUILD_"):
        day.run(FIRST)
    assert day.published() == [sorted(OLD, key=repr)] * 2
    assert day.states() == [OperationState.PREPARING] * 2


class KilledError(Exception):
    """The worker is gone."""


class DyingPublisher(MemoryPublisher):
    """Its first exchange takes effect, and the worker never learns it."""

    died = False

    def exchange(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[UuidMap]:
        result = MemoryPublisher.exchange(self, target, admitted, scratch, expected_target_uuid)
        if not self.died:
            self.died = True
            raise KilledError
        return result


class DoubtfulPublisher(MemoryPublisher):
    """Its first exchange is lost on the way, and nobody says so."""

    def exchange(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[UuidMap]:
        result = MemoryPublisher.exchange(self, target, admitted, scratch, expected_target_uuid)
        if self.burns:
            return result
        assert isinstance(result, Applied)
        MemoryPublisher.exchange(
            self, target, admitted, replace(scratch, shadow_uuid=expected_target_uuid), scratch.shadow_uuid
        )
        return Unknown(DponeError("DPONE_EXCHANGE_UNKNOWN", "no answer").reason)


def test_a_killed_worker_is_continued_from_the_uuids_and_repeats_nothing() -> None:
    day = world(DyingPublisher())
    with pytest.raises(KilledError):
        day.run(FIRST)
    successor = day.ports.publisher.authority(day.example.bundle.targets[0]).uuid
    with pytest.raises(DponeError, match="DPONE_ATTEMPT_NOT_TERMINATED"):
        day.run(SECOND)
    day.ports.observer.pods.add(FIRST.pod_uid)
    day.run(SECOND)
    assert day.ports.publisher.authority(day.example.bundle.targets[0]).uuid == successor
    assert day.published() == [sorted(EXPECTED, key=repr)] * 2
    assert day.states() == [OperationState.COMPLETE] * 2


def test_an_exchange_that_never_landed_is_sent_again_under_a_burned_name() -> None:
    day = world(DoubtfulPublisher())
    day.run(FIRST)
    assert day.published() == [sorted(EXPECTED, key=repr)] * 2
    states = [
        entry.state for entry in day.ports.state.journal(day.example.bundle.operation_plans[0].operation_id)
    ]
    assert states[2:6] == [
        OperationState.COMMITTING,
        OperationState.COMMIT_UNKNOWN,
        OperationState.PREPARED,
        OperationState.COMMITTING,
    ]
