from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from dpone_airflow_pack.release import MEMBERS, require_one_release
from dpone_airflow_pack.worker import TaskKind, TaskWork, worker_identity
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.refresh_state import WorkerIdentity

if TYPE_CHECKING:
    from dpone_contracts.summaries import DurableWorkflowSummary

POD = "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01"
CONTEXT = {
    "dag_run": SimpleNamespace(run_id="scheduled__2026-08-09", conf={"run_id": "forged"}),
    "ti": SimpleNamespace(task_id="a_task", try_number=2),
    "run_id": "not looked at",
}
WORKER = WorkerIdentity("scheduled__2026-08-09", "a_task", 2, POD, POD)


@dataclass
class RecordedStages:
    """Keeps what it was asked for; its summary is of the named DagRun."""

    summary_of: str = WORKER.dag_run_id
    asked: list[tuple[object, ...]] = field(default_factory=list)

    def build(self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity) -> None:
        self.asked.append(("build", deployment_id, plan_bundles, worker))

    def prepare(
        self, deployment_id: str, plan_bundles: tuple[str, ...], model_unique_id: str, worker: WorkerIdentity
    ) -> None:
        self.asked.append(("prepare", deployment_id, plan_bundles, model_unique_id, worker))

    def commit(
        self, deployment_id: str, plan_bundles: tuple[str, ...], model_unique_id: str, worker: WorkerIdentity
    ) -> None:
        self.asked.append(("commit", deployment_id, plan_bundles, model_unique_id, worker))

    def summarise(
        self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity
    ) -> DurableWorkflowSummary:
        self.asked.append(("summarise", deployment_id, plan_bundles, worker))
        return cast("DurableWorkflowSummary", SimpleNamespace(workflow_execution_id=self.summary_of))


def test_identity_comes_from_the_dag_run_and_the_pod_alone() -> None:
    assert worker_identity(CONTEXT, {"DPONE_POD_UID": POD}) == WORKER


def test_a_worker_that_does_not_know_its_pod_is_refused() -> None:
    with pytest.raises(DponeError, match="DPONE_WORKER_IDENTITY_ABSENT"):
        worker_identity(CONTEXT, {"DPONE_POD_UID": ""})


@pytest.mark.parametrize(
    ("kind", "model", "asked"),
    [
        ("DBT_BUILD_TEST_GATE", None, ("build", "d", ("p",), WORKER)),
        ("CLICKHOUSE_PREPARE", "model.a.b", ("prepare", "d", ("p",), "model.a.b", WORKER)),
        ("CLICKHOUSE_COMMIT", "model.a.b", ("commit", "d", ("p",), "model.a.b", WORKER)),
        ("DURABLE_WORKFLOW_SUMMARY", None, ("summarise", "d", ("p",), WORKER)),
    ],
)
def test_a_task_runs_its_own_stage(kind: TaskKind, model: str | None, asked: tuple[Any, ...]) -> None:
    stages = RecordedStages()
    TaskWork(kind, "d", ("p",), model, lambda: stages).run(WORKER)
    assert stages.asked == [asked]


def test_the_summary_of_another_run_is_no_success() -> None:
    stages = RecordedStages(summary_of="scheduled__2026-08-08")
    work = TaskWork("DURABLE_WORKFLOW_SUMMARY", "d", ("p",), None, lambda: stages)
    with pytest.raises(DponeError, match="DPONE_SUMMARY_INCOMPLETE"):
        work.run(WORKER)


@pytest.mark.parametrize("other", ["0.73.9", None])
def test_another_or_absent_member_is_refused(other: str | None) -> None:
    versions: dict[str, str | None] = dict.fromkeys(MEMBERS, "0.74.0")
    with pytest.raises(DponeError, match="DPONE_RELEASE_SKEW") as refused:
        require_one_release(versions | {"dpone-mssql": other})
    assert refused.value.evidence["dpone-mssql"] == (other or "not installed")
