"""The application runs a whole workflow over the in-memory ports: they are fit for simulation."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from dpone.application.run import run_workflow
from dpone.application.services import Services
from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.effects import Applied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.ports.activation_store import ActivationRecord
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_contracts.testing.memory_artifacts import (
    MemoryArtifactStore,
    MemoryChunkEncoder,
    MemoryImageReader,
)
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_contracts.testing.memory_control import (
    MemoryActivationStore,
    MemoryControl,
    MemoryDocumentStore,
    disposable_store,
)
from dpone_contracts.testing.memory_edges import (
    DigestAttestor,
    DisposableStoresOnly,
    EndedAttempts,
    RecordedProgress,
    SteppingClock,
)
from dpone_contracts.testing.memory_sql import MemoryModelBuild, MemoryScopeMutation, MemorySqlServer
from dpone_contracts.testing.memory_state import MemoryRefreshState
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle, made_up

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
    return dt.datetime(2026, 8, day, hour)


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
    services: Services
    server: MemorySqlServer
    publisher: MemoryPublisher
    ended: EndedAttempts

    def run(self, worker: WorkerIdentity) -> None:
        bundle = self.example.bundle
        run_workflow(self.services, bundle.release_deployment_authority.deployment_id, bundle.digest, worker)

    def published(self) -> list[list[Row]]:
        return [
            sorted(self.publisher.tables[uuid], key=repr)
            for relation, uuid in sorted(self.publisher.names.items())
            if not relation.name.startswith("dpone_")
        ]

    def states(self) -> list[OperationState]:
        plans = self.example.bundle.operation_plans
        return [self.services.state.journal(plan.operation_id)[-1].state for plan in plans]


def world(publisher: MemoryPublisher | None = None, new: list[Row] = NEW) -> World:
    example = example_bundle(MODELS, database="memory")
    clock, control, publisher = (
        SteppingClock(),
        MemoryControl(disposable_store()),
        publisher or MemoryPublisher(),
    )
    activations = MemoryActivationStore(control)
    bundle = example.bundle
    for baseline, plan in zip(example.baselines, bundle.operation_plans, strict=True):
        assert isinstance(activations.adopt_baseline(baseline, plan.scope_family_id), Applied)
    assert isinstance(activations.activate(record(example, control)), Applied)
    server = MemorySqlServer(control)
    for target in bundle.targets:
        server.tables[target.target_resource_id] = list(OLD)
        server.inputs[target.model_unique_id] = list(new)
        publisher.create_target(target, OLD)
    ended = EndedAttempts(clock)
    services = Services(
        clock=clock,
        guard=DisposableStoresOnly(),
        activations=activations,
        state=MemoryRefreshState(control, clock),
        documents=MemoryDocumentStore(control),
        mutation=MemoryScopeMutation(server),
        build=MemoryModelBuild(server),
        images=MemoryImageReader(server),
        encoder=MemoryChunkEncoder(),
        artifacts=MemoryArtifactStore("sealed/example"),
        publisher=publisher,
        observer=ended,
        attestor=DigestAttestor(),
        progress=RecordedProgress(),
    )
    return World(example, services, server, publisher, ended)


def record(example: Example, control: MemoryControl) -> ActivationRecord:
    bundle = example.bundle
    authority = bundle.release_deployment_authority
    receipt = ActivationReceipt.build(
        status="ACTIVE",
        release_id=authority.release_id,
        deployment_id=authority.deployment_id,
        store_authority_id=control.store.store_id,
        recovery_fork=control.store.recovery_fork,
        authority_receipt_sha256=authority.authority_receipt_sha256,
        pre_release_bundle_sha256=bundle.pre_release_bundle_sha256,
        package_artifacts_sha256=bundle.package_artifacts_sha256,
        plan_bundle_sha256=bundle.digest,
        workflow_plan_sha256=bundle.workflow_plan.digest,
        dag_projection_sha256=made_up("projection"),
        workflow_name=bundle.workflow_plan.workflow_name,
        scope_start=bundle.workflow_plan.scope_start,
        scope_end=bundle.workflow_plan.scope_end,
        persisted_at="2026-08-09T00:30:00.000000Z",
    )
    return ActivationRecord(
        authority.release_id,
        authority.deployment_id,
        bundle.digest,
        receipt.to_bytes(),
        bundle.to_bytes(),
        (),
    )


def test_a_day_is_published_exactly() -> None:
    day = world()
    day.run(FIRST)
    assert day.published() == [sorted(EXPECTED, key=repr)] * 2
    assert day.states() == [OperationState.COMPLETE] * 2


def test_a_second_run_of_the_plan_changes_nothing() -> None:
    day = world()
    day.run(FIRST)
    before = dict(day.publisher.names)
    day.run(FIRST)
    assert day.publisher.names == before


def test_an_empty_day_is_complete_without_an_exchange() -> None:
    day = world(new=[])
    for target in day.example.bundle.targets:
        day.server.tables[target.target_resource_id] = [OLD[0]]
        day.publisher.tables[target.clickhouse_target_uuid] = [OLD[0]]
    before = dict(day.publisher.names)
    day.run(FIRST)
    assert day.publisher.names == before
    assert day.states() == [OperationState.COMPLETE] * 2


@pytest.mark.parametrize("fault", ["rolled-back", "failed-gate"])
def test_nothing_is_published_when_the_build_does_not_pass(fault: str) -> None:
    day = world()
    if fault == "rolled-back":
        day.server.failing.add(day.example.bundle.targets[0].model_unique_id)
    else:
        day.server.tests_pass = False
    with pytest.raises(DponeError, match="DPONE_BUILD_"):
        day.run(FIRST)
    assert day.published() == [sorted(OLD, key=repr)] * 2
    assert day.states() == [OperationState.PREPARING] * 2


class KilledError(Exception):
    """The worker is gone."""


class DyingPublisher(MemoryPublisher):
    """Its first exchange takes effect, and the worker never learns it."""

    def exchange(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[UuidMap]:
        MemoryPublisher.exchange(self, target, admitted, scratch, expected_target_uuid)
        raise KilledError


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
    publisher = DyingPublisher()
    day = world(publisher)
    with pytest.raises(KilledError):
        day.run(FIRST)
    with pytest.raises(DponeError, match="DPONE_ATTEMPT_NOT_TERMINATED"):
        day.run(SECOND)
    day.ended.pods.add(FIRST.pod_uid)
    exchanged = dict(publisher.names)
    with pytest.raises(KilledError):
        day.run(SECOND)
    assert [relation for relation in exchanged if publisher.names[relation] != exchanged[relation]]
    assert day.states()[0] is OperationState.COMPLETE


def test_an_exchange_that_never_landed_is_sent_again_under_a_burned_name() -> None:
    day = world(DoubtfulPublisher())
    day.run(FIRST)
    assert day.published() == [sorted(EXPECTED, key=repr)] * 2
    states = [
        entry.state
        for entry in day.services.state.journal(day.example.bundle.operation_plans[0].operation_id)
    ]
    assert states[2:6] == [
        OperationState.COMMITTING,
        OperationState.COMMIT_UNKNOWN,
        OperationState.PREPARED,
        OperationState.COMMITTING,
    ]
