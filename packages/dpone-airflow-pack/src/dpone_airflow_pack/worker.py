"""The worker edge: static task identity and the actual DagRun go to the injected stages, nothing else does."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, assert_never

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.refresh_state import WorkerIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpone_contracts.summaries import DurableWorkflowSummary

POD_UID: Final = "DPONE_POD_UID"
"""Environment variable that the pod template fills through the Downward API (fieldRef `metadata.uid`)."""
POD_NAME: Final = "DPONE_POD_NAME"
"""As above, fieldRef `metadata.name`; absent it is only less to read for people."""

TaskKind: TypeAlias = Literal[
    "DBT_BUILD_TEST_GATE", "CLICKHOUSE_PREPARE", "CLICKHOUSE_COMMIT", "DURABLE_WORKFLOW_SUMMARY"
]


class Stages(Protocol):
    """What the tasks of a workflow do, each in a process of its own; `dpone.airflow` injects it.

    Every method resolves the run from protected state by plan and DagRun, and raises `DponeError` where it can't.
    `plan_bundles` are the digests of the plans that a run of the DAG may be bound to, the current one last: a run
    that is bound to none starts from that.
    """

    def build(self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity) -> None:
        """Admit the DagRun, build every model and pass the test gate."""
        ...

    def prepare(
        self, deployment_id: str, plan_bundles: tuple[str, ...], model_unique_id: str, worker: WorkerIdentity
    ) -> None:
        """Seal one model and prepare its generation."""
        ...

    def commit(
        self, deployment_id: str, plan_bundles: tuple[str, ...], model_unique_id: str, worker: WorkerIdentity
    ) -> None:
        """Commit one model, once all are prepared, and publish its state."""
        ...

    def summarise(
        self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity
    ) -> DurableWorkflowSummary:
        """The durable summary of the completed workflow."""
        ...


StagesFactory: TypeAlias = "Callable[[], Stages]"


@dataclass(frozen=True, slots=True)
class TaskWork:
    """What one task does: static identity from the projection, and how its stages are made on the worker."""

    kind: TaskKind
    deployment_id: str
    plan_bundles: tuple[str, ...]
    model_unique_id: str | None
    factory: StagesFactory

    def run(self, worker: WorkerIdentity) -> None:
        """Run the task's stages; the summary task ends in success only over this DagRun's durable summary."""
        stages = self.factory()
        match self.kind:
            case "DBT_BUILD_TEST_GATE":
                stages.build(self.deployment_id, self.plan_bundles, worker)
            case "CLICKHOUSE_PREPARE":
                stages.prepare(self.deployment_id, self.plan_bundles, self._model(), worker)
            case "CLICKHOUSE_COMMIT":
                stages.commit(self.deployment_id, self.plan_bundles, self._model(), worker)
            case "DURABLE_WORKFLOW_SUMMARY":
                require_complete(
                    stages.summarise(self.deployment_id, self.plan_bundles, worker), worker.dag_run_id
                )
            case _:
                assert_never(self.kind)

    def _model(self) -> str:
        assert self.model_unique_id is not None
        return self.model_unique_id


def require_complete(summary: DurableWorkflowSummary, dag_run_id: str) -> None:
    """Raise `DponeError` DPONE_SUMMARY_INCOMPLETE unless the summary is that of this very DagRun.

    That it is complete its contract says: it has no other status.
    """
    if summary.workflow_execution_id != dag_run_id:
        evidence = {"dag_run_id": dag_run_id, "summary_of": summary.workflow_execution_id}
        raise DponeError("DPONE_SUMMARY_INCOMPLETE", "the summary is not that of this DagRun", evidence)


def worker_identity(
    context: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> WorkerIdentity:
    """Who runs the task: DagRun and try from Airflow's context, the pod from its environment.

    Neither the run's configuration nor XCom is looked at. Raises `DponeError` DPONE_WORKER_IDENTITY_ABSENT.
    """
    pod_uid = environment.get(POD_UID, "")
    if not pod_uid:
        raise DponeError(
            "DPONE_WORKER_IDENTITY_ABSENT", f"{POD_UID} is not set: the pod does not know its uid"
        )
    task_instance = context["ti"]
    return WorkerIdentity(
        dag_run_id=context["dag_run"].run_id,
        task_id=task_instance.task_id,
        try_number=task_instance.try_number,
        pod_uid=pod_uid,
        owner_id=environment.get(POD_NAME) or pod_uid,
    )
