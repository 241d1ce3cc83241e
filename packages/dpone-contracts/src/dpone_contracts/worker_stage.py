"""Worker stage of identity: an activated plan bundle meets a run.

Execution binding, attempt binding and authority bundle hold digests of the deployment stage; nothing of that stage
holds theirs (specification, *Identity*). No function reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.bindings import AttemptBinding, CompilerRuntimeAuthorityBundle, WorkflowExecutionBinding
from dpone_contracts.identity import StageError

if TYPE_CHECKING:
    from dpone_contracts.descriptors import DeploymentDescriptor
    from dpone_contracts.plan_bundle import PlanBundle
    from dpone_contracts.plans import OperationPlan


def bind_execution(bundle: PlanBundle, dag_run_id: str) -> WorkflowExecutionBinding:
    """Bind a logical DagRun to a plan bundle: the execution id is Airflow's `run_id`, whatever its logical date."""
    workflow, authority = bundle.workflow_plan, bundle.release_deployment_authority
    optional = {}
    if (replacement := bundle.workflow_replacement_plan) is not None:
        optional["workflow_replacement_plan_sha256"] = replacement.digest
        optional["recovery_plan_digest"] = replacement.recovery_plan_digest
    return WorkflowExecutionBinding.build(
        workflow_execution_id=dag_run_id,
        workflow_mode=workflow.workflow_mode,
        workflow_plan_sha256=workflow.digest,
        deployment_id=authority.deployment_id,
        binding_set_ref=authority.binding_set_ref,
        connection_registry_ref=authority.connection_registry_ref,
        credential_runtime_ref=authority.credential_runtime_ref,
        selected_mutating_node_ids=workflow.selected_mutating_node_ids,
        model_operation_plan_ids=workflow.model_operation_plan_ids,
        expected_model_outcome_ids=workflow.expected_model_outcome_ids,
        replacement_action_ids=workflow.replacement_action_ids,
        **optional,
    )


@dataclass(frozen=True, slots=True)
class TaskTry:
    """One try of one task, as its pod knows it."""

    task_id: str
    try_number: int
    pod_uid: str
    owner_id: str


def bind_attempt(
    execution: WorkflowExecutionBinding, plan: OperationPlan, task_try: TaskTry, fencing_epoch: int
) -> AttemptBinding:
    """Bind one try to one operation under the fence that admission assigned."""
    return AttemptBinding.build(
        workflow_execution_id=execution.workflow_execution_id,
        workflow_execution_binding_sha256=execution.digest,
        operation_id=plan.operation_id,
        operation_plan_sha256=plan.digest,
        dag_run_id=execution.workflow_execution_id,
        task_id=task_try.task_id,
        try_number=task_try.try_number,
        pod_uid=task_try.pod_uid,
        owner_id=task_try.owner_id,
        fencing_epoch=fencing_epoch,
    )


def compile_authority_bundle(
    bundle: PlanBundle, execution: WorkflowExecutionBinding, deployment: DeploymentDescriptor
) -> CompilerRuntimeAuthorityBundle:
    """Join what the compiler proved to the execution that it is bound to; no fact of an attempt."""
    routes = {target.route_certification_receipt_sha256 for target in bundle.targets}
    if len(routes) != 1:
        raise StageError("one-route", "the models of one workflow run under several routes")
    baselines = {target.model_unique_id: target.baseline_receipt_sha256 for target in bundle.targets}
    optional = {}
    if bundle.workflow_replacement_plan is not None:
        optional["workflow_replacement_plan_sha256"] = bundle.workflow_replacement_plan.digest
    return CompilerRuntimeAuthorityBundle.build(
        workflow_mode=bundle.workflow_plan.workflow_mode,
        environment=deployment.environment,
        release_id=deployment.release_id,
        deployment_id=deployment.deployment_id,
        compiler_policy_sha256=deployment.compiler_policy_sha256,
        runtime_policy_sha256=deployment.runtime_policy_sha256,
        route_certification_receipt_sha256=routes.pop(),
        workflow_plan_sha256=bundle.workflow_plan.digest,
        workflow_execution_id=execution.workflow_execution_id,
        workflow_execution_binding_sha256=execution.digest,
        models=[
            {
                "model_unique_id": plan.model_unique_id,
                "operation_id": plan.operation_id,
                "operation_plan_sha256": plan.digest,
                "baseline_adoption_receipt_sha256": baselines[plan.model_unique_id],
                "model_definition_proof_sha256": plan.model_definition_proof_sha256,
                "mutation_closure_sha256": plan.mutation_closure_sha256,
                "read_dependency_proof_sha256": plan.read_dependency_proof_sha256,
                "sqlserver_lifecycle_policy_sha256": plan.sqlserver_lifecycle_policy_sha256,
            }
            for plan in bundle.operation_plans
        ],
        **optional,
    )
