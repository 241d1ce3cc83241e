"""The stages of a run as separate processes run them: each finds the run of its DagRun in protected state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone.application.admission import admit, load_run
from dpone.application.build import build
from dpone.application.commit import commit
from dpone.application.prepare import mark_prepared, prepare
from dpone.application.publication import publish
from dpone.application.seal import seal
from dpone.application.summary import summarise
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from dpone.application.operation import Operation, Run
    from dpone.application.services import Services
    from dpone_contracts.ports.refresh_state import WorkerIdentity
    from dpone_contracts.summaries import DurableWorkflowSummary


@dataclass(frozen=True, slots=True)
class TaskStages:
    """One task's share of a run; nothing is carried from task to task but what the engines and the journal hold.

    `plan_bundles` are the digests of the plans that a run of the DAG may be bound to, the current one last.
    """

    services: Services

    def build(self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity) -> None:
        """ADMIT and BUILD: the run-admission boundary."""
        plan = self._plan(deployment_id, plan_bundles, worker)
        build(self.services, admit(self.services, deployment_id, plan, worker))

    def prepare(
        self, deployment_id: str, plan_bundles: tuple[str, ...], model_unique_id: str, worker: WorkerIdentity
    ) -> None:
        """SEAL and PREPARE of one model."""
        run = self._run(deployment_id, plan_bundles, worker)
        operation = _operation(run, model_unique_id)
        prepare(self.services, operation, seal(self.services, run, operation))

    def commit(
        self, deployment_id: str, plan_bundles: tuple[str, ...], model_unique_id: str, worker: WorkerIdentity
    ) -> None:
        """COMMIT and PUBLISH of one model; the first to come moves all to PREPARED, or refuses."""
        run = self._run(deployment_id, plan_bundles, worker)
        operation = _operation(run, model_unique_id)
        mark_prepared(self.services, run)
        commit(self.services, operation)
        publish(self.services, operation)

    def summarise(
        self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity
    ) -> DurableWorkflowSummary:
        """SUMMARISE; raises `DponeError` where an operation is not COMPLETE."""
        return summarise(self.services, self._run(deployment_id, plan_bundles, worker))

    def _run(self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity) -> Run:
        plan = self._plan(deployment_id, plan_bundles, worker)
        return load_run(self.services, deployment_id, plan, worker.dag_run_id)

    def _plan(self, deployment_id: str, plan_bundles: tuple[str, ...], worker: WorkerIdentity) -> str:
        """The plan that the DagRun is bound to, else the current one: a newer plan takes no unfinished run over."""
        for plan in plan_bundles:
            bound = self.services.state.resolve_execution(deployment_id, plan)
            if bound is not None and bound[0] == worker.dag_run_id:
                return plan
        return plan_bundles[-1]


def _operation(run: Run, model_unique_id: str) -> Operation:
    for operation in run.operations:
        if operation.model == model_unique_id:
            return operation
    raise DponeError(
        "DPONE_ADMISSION_ABSENT",
        f"{model_unique_id} is no model of the admitted plan",
        {"workflow_execution_binding_sha256": run.binding.digest},
    )
