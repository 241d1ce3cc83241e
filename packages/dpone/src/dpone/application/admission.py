"""ADMIT: bind the plan to the actual DagRun and acquire everything, continue the attempt that ended, or find the run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone.application.budgets import amounts_of, require_reservations
from dpone.application.continuation import continue_run
from dpone.application.deadlines import stage_time
from dpone.application.operation import Run, run_of
from dpone.application.services import EvidenceServices, Services, require
from dpone.application.stages import StageKind
from dpone_contracts.bindings import WorkflowExecutionBinding
from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.errors import DponeError
from dpone_contracts.plan_bundle import PlanBundle
from dpone_contracts.worker_stage import bind_execution

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import WorkerIdentity


def load_activation(
    services: EvidenceServices, deployment_id: str, plan_bundle_sha256: str
) -> tuple[PlanBundle, str]:
    """The activated plan bundle under its exact composite key, and the recovery fork that it was activated on.

    There is no latest.
    """
    record = services.activations.read_activation(deployment_id, plan_bundle_sha256)
    if record is None:
        raise DponeError(
            "DPONE_ACTIVATION_NOT_FOUND",
            "no activation under this deployment and plan bundle",
            {"deployment_id": deployment_id, "plan_bundle_sha256": plan_bundle_sha256},
        )
    return PlanBundle.from_bytes(record.plan_bundle), ActivationReceipt.from_bytes(
        record.receipt
    ).recovery_fork


def admit(services: Services, deployment_id: str, plan_bundle_sha256: str, worker: WorkerIdentity) -> Run:
    """Admit the DagRun's first try, or hand its operations over to this immediate successor try.

    The guard stands before the first write (specification, seal, ClickHouse, and state publication). What is admitted
    already was within its budgets then: they keep no operation from being settled.
    """
    time = stage_time(services, StageKind.ADMIT)
    services.guard.require_allowed(services.activations.identity())
    bundle, recovery_fork = load_activation(services, deployment_id, plan_bundle_sha256)
    binding = bind_execution(bundle, worker.dag_run_id)
    before = services.state.read_admission(binding.digest)
    if before is not None:
        return continue_run(services, run_of(services, bundle, binding, recovery_fork, before), worker, time)
    require_reservations(bundle.targets, services.resources)
    time.require()
    require(services.state.bind_execution(binding, bundle, worker.dag_run_id))
    services.build.expect()
    targets = {target.model_unique_id: target for target in bundle.targets}
    amounts = {
        plan.operation_id: amounts_of(targets[plan.model_unique_id]) for plan in bundle.operation_plans
    }
    time.require()
    admission = require(services.state.admit(binding, bundle, worker, amounts))
    return run_of(services, bundle, binding, recovery_fork, admission)


def load_run(services: Services, deployment_id: str, plan_bundle_sha256: str, dag_run_id: str) -> Run:
    """Find the admitted run of a DagRun in protected state, for a later task of it; nothing is bound or acquired.

    Raises `DponeError`: the plan is not activated, not bound, bound to another DagRun, or was never admitted.
    """
    services.guard.require_allowed(services.activations.identity())
    bundle, recovery_fork = load_activation(services, deployment_id, plan_bundle_sha256)
    plan = {"deployment_id": deployment_id, "plan_bundle_sha256": plan_bundle_sha256}
    bound = services.state.resolve_execution(deployment_id, plan_bundle_sha256)
    if bound is None:
        raise DponeError("DPONE_EXECUTION_NOT_BOUND", "the plan is not bound to a DagRun", plan)
    if bound[0] != dag_run_id:
        raise DponeError(
            "DPONE_PLAN_BOUND_TO_OTHER_RUN",
            "the plan is bound to another DagRun",
            {**plan, "dag_run_id": bound[0]},
        )
    binding = WorkflowExecutionBinding.from_bytes(bound[1])
    admission = services.state.read_admission(binding.digest)
    if admission is None:
        raise DponeError("DPONE_ADMISSION_ABSENT", "the DagRun is bound and was never admitted", plan)
    return run_of(services, bundle, binding, recovery_fork, admission)
