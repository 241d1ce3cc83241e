from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import pytest

from dpone.application.admission import load_run
from dpone.application.prepare import mark_prepared
from dpone.application.services import Services
from dpone.application.tasks import TaskStages
from dpone.composition.guard import ProductionGuard
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_contracts.testing.control_suite import activated
from dpone_contracts.testing.memory_ports import MemoryPorts, memory_ports, seed
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle, made_up

if TYPE_CHECKING:
    from dpone_contracts.testing.memory_rows import Row

ARRIVALS, DEPARTURES = "model.example.arrivals", "model.example.departures"
OLD: list[Row] = [(dt.datetime(2026, 8, 8, 1), 1)]  # noqa: DTZ001 - datetime2 has no zone
NEW: list[Row] = [(dt.datetime(2026, 8, 8, 2), 2)]  # noqa: DTZ001
WORKER = WorkerIdentity(
    "scheduled__2026-08-09", "build", 1, "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01", "worker-1"
)
OTHER_RUN = replace(WORKER, dag_run_id="scheduled__2026-08-10")


@dataclass(frozen=True, slots=True)
class Day:
    """An activated day in memory, whose every task composes its services anew."""

    example: Example
    ports: MemoryPorts

    @property
    def plan(self) -> str:
        return self.example.bundle.digest

    @property
    def deployment(self) -> str:
        return self.example.bundle.release_deployment_authority.deployment_id

    @property
    def services(self) -> Services:
        return Services(**{each.name: getattr(self.ports, each.name) for each in fields(Services)})

    def stages(self) -> TaskStages:
        return TaskStages(self.services)

    def states(self) -> list[OperationState]:
        plans = self.example.bundle.operation_plans
        return [self.ports.state.journal(plan.operation_id)[-1].state for plan in plans]


@pytest.fixture
def day() -> Day:
    models = [
        ExampleModel(name, (("at", "datetime2(6)", False), ("id", "int", False)), ("at", "id"))
        for name in ("arrivals", "departures")
    ]
    example, ports = example_bundle(models, database="memory"), memory_ports()
    activated(ports.activations, example)
    seed(ports, example, OLD, NEW)
    return Day(example, ports)


def test_the_tasks_of_a_run_complete_a_day_one_process_after_the_other(day: Day) -> None:
    plans = (day.plan,)
    day.stages().build(day.deployment, plans, WORKER)
    for model in (DEPARTURES, ARRIVALS):
        day.stages().prepare(day.deployment, plans, model, WORKER)
    for model in (ARRIVALS, DEPARTURES):
        day.stages().commit(day.deployment, plans, model, WORKER)
    summary = day.stages().summarise(day.deployment, plans, WORKER)
    assert summary.workflow_execution_id == WORKER.dag_run_id
    assert day.states() == [OperationState.COMPLETE] * 2


def test_an_unfinished_run_keeps_its_plan_when_a_newer_one_is_current(day: Day) -> None:
    day.stages().build(day.deployment, (day.plan,), WORKER)
    newer = (day.plan, made_up("the next day's plan"))
    for model in (ARRIVALS, DEPARTURES):
        day.stages().prepare(day.deployment, newer, model, WORKER)
    day.stages().build(day.deployment, newer, WORKER)
    with pytest.raises(DponeError, match="DPONE_ACTIVATION_NOT_FOUND"):
        day.stages().build(day.deployment, newer, OTHER_RUN)


def test_a_task_of_another_run_is_refused(day: Day) -> None:
    day.stages().build(day.deployment, (day.plan,), WORKER)
    with pytest.raises(DponeError, match="DPONE_PLAN_BOUND_TO_OTHER_RUN"):
        day.stages().prepare(day.deployment, (day.plan,), ARRIVALS, OTHER_RUN)
    with pytest.raises(DponeError, match="DPONE_PLAN_BOUND_TO_OTHER_RUN"):
        day.stages().build(day.deployment, (day.plan,), OTHER_RUN)


def test_a_second_pod_of_the_same_try_is_refused(day: Day) -> None:
    day.stages().build(day.deployment, (day.plan,), WORKER)
    second = replace(WORKER, pod_uid="6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a02")
    with pytest.raises(DponeError, match="DPONE_ATTEMPT_NOT_TERMINATED"):
        day.stages().build(day.deployment, (day.plan,), second)


def test_a_pod_that_wakes_after_the_takeover_moves_nothing(day: Day) -> None:
    plans = (day.plan,)
    day.stages().build(day.deployment, plans, WORKER)
    held = load_run(day.services, day.deployment, day.plan, WORKER.dag_run_id)
    day.ports.observer.pods.add(WORKER.pod_uid)
    successor = replace(WORKER, try_number=2, pod_uid="6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a02")
    day.stages().build(day.deployment, plans, successor)
    for model in (ARRIVALS, DEPARTURES):
        day.stages().prepare(day.deployment, plans, model, successor)
    with pytest.raises(DponeError, match="DPONE_FENCE_LOST"):
        mark_prepared(day.services, held)
    with pytest.raises(DponeError, match="DPONE_ATTEMPT_NOT_TERMINATED"):
        day.stages().build(day.deployment, plans, WORKER)
    assert day.states() == [OperationState.PREPARING] * 2


@pytest.mark.parametrize("continued", [False, True], ids=["a try was skipped", "after a continuation"])
def test_no_try_but_the_immediate_successor_continues_whatever_the_outcome_is(
    day: Day, *, continued: bool
) -> None:
    chain = "DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED"
    plans, third = (day.plan,), replace(WORKER, try_number=3, pod_uid="0c1c8a52-8a36-4b0e-9f59-0d1a4c1b2a03")
    day.stages().build(day.deployment, plans, WORKER)
    if continued:
        day.ports.observer.pods.add(WORKER.pod_uid)
        second = replace(WORKER, try_number=2, pod_uid="6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a02")
        day.stages().build(day.deployment, plans, second)
    # Neither end of the pod nor outcome is known: neither is asked for.
    with pytest.raises(DponeError, match=chain):
        day.stages().build(day.deployment, plans, third)
    assert day.states() == [OperationState.PREPARING] * 2


def test_nothing_goes_before_admission(day: Day) -> None:
    for task in ("prepare", "commit"):
        with pytest.raises(DponeError, match="DPONE_EXECUTION_NOT_BOUND"):
            getattr(day.stages(), task)(day.deployment, (day.plan,), ARRIVALS, WORKER)
    with pytest.raises(DponeError, match="DPONE_EXECUTION_NOT_BOUND"):
        day.stages().summarise(day.deployment, (day.plan,), WORKER)


def test_no_model_commits_before_all_are_prepared(day: Day) -> None:
    day.stages().build(day.deployment, (day.plan,), WORKER)
    day.stages().prepare(day.deployment, (day.plan,), ARRIVALS, WORKER)
    with pytest.raises(DponeError, match="DPONE_COMMIT_NOT_PREPARED"):
        day.stages().commit(day.deployment, (day.plan,), ARRIVALS, WORKER)
    assert day.states() == [OperationState.PREPARING] * 2


def test_there_is_no_summary_before_every_model_is_published(day: Day) -> None:
    plans = (day.plan,)
    day.stages().build(day.deployment, plans, WORKER)
    for model in (ARRIVALS, DEPARTURES):
        day.stages().prepare(day.deployment, plans, model, WORKER)
    day.stages().commit(day.deployment, plans, ARRIVALS, WORKER)
    with pytest.raises(DponeError, match="DPONE_SUMMARY_INCOMPLETE"):
        day.stages().summarise(day.deployment, plans, WORKER)


def test_the_guard_stands_before_every_task(day: Day) -> None:
    day.stages().build(day.deployment, (day.plan,), WORKER)
    guarded = TaskStages(replace(day.services, guard=ProductionGuard()))
    with pytest.raises(DponeError, match="PRODUCTION_ACTIVATION_UNAVAILABLE"):
        guarded.prepare(day.deployment, (day.plan,), ARRIVALS, WORKER)
