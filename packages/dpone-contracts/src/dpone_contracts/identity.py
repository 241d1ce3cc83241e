"""Staged identity: repository and deployment stage as pure functions of typed input; the worker's is `worker_stage`.

Each stage only holds digests of earlier ones: contracts and policies, proofs, operation plans, workflow plan, optional
replacement plan (specification, *Identity*). No stage reads a clock, and none of these two knows a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Final

from dpone_contracts.bindings import WorkflowExecutionBinding
from dpone_contracts.canonical import digest_checked, digest_of
from dpone_contracts.closure import REPLACEMENT
from dpone_contracts.descriptors import DeploymentDescriptor, ModelProofs, ProofBundle, ReleaseDescriptor
from dpone_contracts.plan_bundle import (
    ArtifactAuthority,
    PlanBundle,
    ReleaseDeploymentAuthority,
    ResourcePolicy,
    RunGuardClosure,
    workflow_guard_resource_id,
)
from dpone_contracts.plans import OperationPlan, WorkflowPlan, WorkflowReplacementPlan, replacement_action
from dpone_contracts.policies import PlatformPolicy, WorkflowProfile
from dpone_contracts.projection import DagProjection
from dpone_contracts.receipts import (
    BaselineAdoptionReceipt,
    RouteLiveCertificationReceipt,
    RuntimeAssuranceReceipt,
    baseline_generation_id,
)
from dpone_contracts.scope import DayScope
from dpone_contracts.summaries import FailedWorkflowSummary
from dpone_contracts.template_pack import Topology

DISPOSABLE_ENVIRONMENT: Final = "disposable-lab"
"""The one environment whose route may be UNVERIFIED: its documents name it, so they never pass for production's."""


class StageError(ValueError):
    """The input of a stage does not permit its output; `rule` names what is missing, the text says it."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(f"{reason} ({rule})")
        self.rule = rule
        self.reason = reason


# --- Repository stage -------------------------------------------------------------------------------------------------


def compile_topology(
    profile: WorkflowProfile,
    dependencies: Mapping[str, Sequence[str]],
    asset_uris: Mapping[str, str],
    overlay_models: Mapping[str, Any],
) -> Topology:
    """Shape a workflow: models in commit order, upstream first and by name among equals.

    Raises CycleError for cyclic dependencies.
    """
    overlay: dict[str, Any] = {
        "schema": "dpone.dbt-semantic-refresh-project-overlay.v1",
        "models": overlay_models,
    }
    return Topology.build(
        activation="POST_DEPLOYMENT_AUTHORITY_REQUIRED",
        workflow_name=profile.workflow_name,
        dag_id=profile.dag_id,
        dag_policy=profile.dag_policy,
        profile_sha256=profile.digest,
        model_unique_ids=commit_order(dependencies),
        dependencies={model: sorted(set(upstream)) for model, upstream in dependencies.items()},
        logical_output_asset_uris=dict(asset_uris),
        project_config_overlay={**overlay, "project_overlay_sha256": digest_of(overlay)},
    )


def commit_order(dependencies: Mapping[str, Iterable[str]]) -> list[str]:
    """Order models so that each comes after what it depends on, by name where dependencies leave a choice."""
    sorter = TopologicalSorter(dependencies)
    sorter.prepare()
    ordered: list[str] = []
    ready = sorted(sorter.get_ready())
    while ready:
        model = ready.pop(0)
        ordered.append(model)
        sorter.done(model)
        ready = sorted([*ready, *sorter.get_ready()])
    return ordered


def compile_release(
    proofs: ProofBundle, platform: PlatformPolicy, *, product_version: str, toolchain_sha256: str
) -> ReleaseDescriptor:
    """Identify a release by what it contains; only proven work is released."""
    if proofs.status != "PROVEN":
        raise StageError("proven-only", f"the proof bundle is {proofs.status}")
    return ReleaseDescriptor.build(
        product_version=product_version,
        pre_release_bundle_sha256=proofs.digest,
        package_artifacts_sha256=proofs.package_artifacts_sha256,
        platform_policy_digest=platform.digest,
        sqlserver_lifecycle_policy_sha256=proofs.lifecycle_policy.digest,
        toolchain_sha256=toolchain_sha256,
    )


# --- Deployment stage -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TargetHead:
    """The generation that a target stands on: the baseline's, or that of the last publication."""

    generation: int
    generation_id: str
    operation_id: str
    target_uuid: str
    terminal_receipt_sha256: str | None

    @classmethod
    def of_baseline(cls, baseline: BaselineAdoptionReceipt) -> TargetHead:
        """Return the head before the first publication."""
        return cls(
            generation=baseline.clickhouse_generation,
            generation_id=baseline_generation_id(baseline.to_plain()),
            operation_id=baseline.digest,
            target_uuid=baseline.clickhouse_target_uuid,
            terminal_receipt_sha256=None,
        )


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where an operation stands among those of its scope.

    A replay names the operation at the scope's head and the next revision; a replacement names the failed operation.
    """

    revision: int = 1
    scope_predecessor_operation_id: str | None = None
    failed_operation_id: str | None = None
    replacement_ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class ModelAuthorities:
    """What a deployment holds for one model, besides the frozen proofs."""

    baseline: BaselineAdoptionReceipt
    head: TargetHead
    owner_generation: int
    resource_policy: ResourcePolicy
    artifact_authority: ArtifactAuthority
    route: RouteLiveCertificationReceipt
    writer_assurance: RuntimeAssuranceReceipt
    ddl_assurance: RuntimeAssuranceReceipt
    utc_assurance: RuntimeAssuranceReceipt | None
    publication_database: str
    publication_table: str
    lineage: Lineage = Lineage()


@dataclass(frozen=True, slots=True)
class Replaced:
    """The failed workflow that a replacement follows."""

    bundle: PlanBundle
    execution: WorkflowExecutionBinding
    summary: FailedWorkflowSummary


@dataclass(frozen=True, slots=True)
class DeploymentStage:
    """The whole input of one day's plan bundle."""

    proofs: ProofBundle
    platform: PlatformPolicy
    release: ReleaseDescriptor
    deployment: DeploymentDescriptor
    scope: DayScope
    workflow_mode: str
    models: Mapping[str, ModelAuthorities]
    replaced: Replaced | None = None


def compile_plan_bundle(stage: DeploymentStage) -> PlanBundle:
    """Build the canonical plans of one workflow and day. Raises StageError or DocumentError when the input forbids it."""
    _check_stage(stage)
    proofs = {model.model_unique_id: model for model in stage.proofs.models}
    plans = [_operation_plan(stage, proofs[name], stage.models[name]) for name in sorted(proofs)]
    workflow = _workflow_plan(stage, plans)
    replacement = {}
    if stage.replaced is not None:
        replacement["workflow_replacement_plan"] = compile_replacement_plan(workflow, stage.replaced)
    targets = [_target(stage, proofs[plan.model_unique_id], plan) for plan in plans]
    return PlanBundle.build(
        pre_release_bundle_sha256=stage.proofs.digest,
        package_artifacts_sha256=stage.proofs.package_artifacts_sha256,
        release_deployment_authority=_authority(stage.deployment),
        run_guard_closure=RunGuardClosure.build(
            workflow_guard_resource_id=workflow_guard_resource_id(
                stage.deployment.deployment_id, workflow.workflow_name
            ),
            resource_guard_ids=sorted(target["target_resource_id"] for target in targets),
        ),
        workflow_plan=workflow,
        operation_plans=plans,
        targets=targets,
        **replacement,
    )


def compile_replacement_plan(workflow: WorkflowPlan, replaced: Replaced) -> WorkflowReplacementPlan:
    """Map each model of a failed workflow to the action that its outcome permits.

    Raises StageError when summary, execution and bundle are not of one failed workflow, or of another day.
    """
    failed, execution = replaced.bundle.workflow_plan, replaced.execution
    if (
        execution.workflow_plan_sha256 != failed.digest
        or replaced.summary.workflow_plan_sha256 != failed.digest
    ):
        raise StageError(
            "replaces-summary", "execution and summary are not of the replaced bundle's workflow"
        )
    if replaced.summary.workflow_execution_binding_sha256 != execution.digest:
        raise StageError("replaces-summary", "the summary is of another execution")
    if (failed.scope_start, failed.workflow_name) != (workflow.scope_start, workflow.workflow_name):
        raise StageError("same-scope", "the failed workflow is another one, or of another day")
    models = {plan.operation_id: plan.model_unique_id for plan in replaced.bundle.operation_plans}
    outcomes = {models[model.operation_id]: model.mssql_outcome for model in replaced.summary.models}
    actions = [
        {"action_id": model, "outcome": outcomes[model], "action": replacement_action(outcomes[model])}
        for model in sorted(outcomes)
    ]
    selected = workflow.selected_mutating_node_ids
    return WorkflowReplacementPlan.build(
        workflow_mode=REPLACEMENT,
        selected_mutating_node_ids=selected,
        model_operation_plan_ids=selected,
        expected_model_outcome_ids=selected,
        replacement_action_ids=selected,
        workflow_plan_sha256=workflow.digest,
        predecessor_workflow_execution_id=replaced.execution.workflow_execution_id,
        predecessor_workflow_execution_binding_sha256=replaced.execution.digest,
        predecessor_workflow_summary_sha256=replaced.summary.digest,
        recovery_plan_digest=recovery_plan_digest(replaced.bundle.digest, replaced.summary.digest, actions),
        replacement_actions=actions,
    )


def recovery_plan_digest(
    predecessor_plan_bundle_sha256: str, predecessor_summary_sha256: str, actions: Sequence[Mapping[str, str]]
) -> str:
    """Digest the decision to replace: the failed bundle, its summary, and what is done with each model."""
    return digest_checked(
        {
            "predecessor_plan_bundle_sha256": predecessor_plan_bundle_sha256,
            "predecessor_workflow_summary_sha256": predecessor_summary_sha256,
            "replacement_actions": list(actions),
            "schema": "dpone.dbt-semantic-refresh-recovery-decision.v1",
        }
    )


def scope_family_id(model_unique_id: str, baseline: BaselineAdoptionReceipt, key_template_sha256: str) -> str:
    """Digest what all day scopes of one target have in common: heads and revisions are counted within it."""
    return digest_checked(
        {
            "clickhouse_target_authority_id": baseline.clickhouse_target_authority_id,
            "effective_key_template_sha256": key_template_sha256,
            "model_unique_id": model_unique_id,
            "mssql_target_authority_id": baseline.mssql_target_authority_id,
            "schema": "dpone.semantic-refresh-scope-family.v1",
        }
    )


def compile_projection(bundle: PlanBundle, proofs: ProofBundle) -> DagProjection:
    """Project a plan bundle for the scheduler; run-neutral, and no input of any identity before it."""
    if bundle.pre_release_bundle_sha256 != proofs.digest:
        raise StageError("one-release", "the bundle was built from other proofs")
    mode = {"mode": "semantic_refresh_v2_template"}
    return DagProjection.build(
        plan_bundle=bundle,
        topology=proofs.topology,
        template_pack={
            "schema_version": "3",
            "kind": "gitops.airflow_pack",
            "producer": "dpone dbt compile",
            "activation": "POST_DEPLOYMENT_AUTHORITY_REQUIRED",
            "executable": False,
            "runtime_command": "",
            "runtime_payload_ids": ["dbt-project", "dbt-manifest"],
            "pack_identity": {"schema": "dpone.airflow-pack-identity.v1"},
            "dbt_execution_pack": proofs.execution_pack,
            "semantic_refresh": {
                **mode,
                "pre_release_bundle_sha256": bundle.pre_release_bundle_sha256,
                "package_artifacts_sha256": bundle.package_artifacts_sha256,
                "topology": proofs.topology,
            },
            "workload": {
                "workload_id": f"semantic__{bundle.workflow_plan.workflow_name}",
                "effective_config": {"authoring": mode},
            },
        },
    )


def _check_stage(stage: DeploymentStage) -> None:
    proven = {model.model_unique_id for model in stage.proofs.models}
    if stage.proofs.status != "PROVEN":
        raise StageError("proven-only", f"the proof bundle is {stage.proofs.status}")
    if stage.release.pre_release_bundle_sha256 != stage.proofs.digest:
        raise StageError("one-release", "the release was built from other proofs")
    if stage.deployment.release_id != stage.release.release_id:
        raise StageError("one-release", "the deployment is of another release")
    if stage.release.platform_policy_digest != stage.platform.digest:
        raise StageError("one-release", "the release was built under another platform policy")
    if stage.models.keys() != proven:
        raise StageError(
            "authorities-cover-models", "authorities are not given for exactly the proven models"
        )
    if (stage.workflow_mode == REPLACEMENT) != (stage.replaced is not None):
        raise StageError("recovery-by-mode", "a replacement, and nothing else, follows a failed workflow")
    for name, held in stage.models.items():
        if held.baseline.deployment_id != stage.deployment.deployment_id:
            raise StageError("one-deployment", f"the baseline of {name} is of another deployment")
        if not route_admitted(held.route, stage.platform.environment):
            raise StageError("route-passed", f"the route of {name} is {held.route.status}")
        for kind, assurance in (
            ("writer_exclusivity", held.writer_assurance),
            ("ddl_freeze", held.ddl_assurance),
            ("utc_semantics", held.utc_assurance),
        ):
            if assurance is not None:
                _check_assurance(name, kind, assurance)


def route_admitted(route: RouteLiveCertificationReceipt, environment: str) -> bool:
    """Whether assurances and plans of an environment may stand on a route: it passed, or nothing there is production."""
    disposable = environment == DISPOSABLE_ENVIRONMENT
    return route.status == "PASS" or (disposable and route.status == "UNVERIFIED" and not route.is_revocation)


def _check_assurance(model: str, kind: str, assurance: RuntimeAssuranceReceipt) -> None:
    subject = assurance.subject
    if assurance.status != "CERTIFIED" or subject.assurance_kind != kind or subject.model_unique_id != model:
        raise StageError("assurance-kind", f"not a certified {kind} assurance of {model}")


def _operation_plan(stage: DeploymentStage, proofs: ModelProofs, held: ModelAuthorities) -> OperationPlan:
    lineage = held.lineage
    optional: dict[str, Any] = {}
    if stage.workflow_mode == "complete_scope_replay":
        optional["scope_predecessor_operation_id"] = lineage.scope_predecessor_operation_id
    if stage.workflow_mode == REPLACEMENT:
        optional["replaces_failed_operation_id"] = lineage.failed_operation_id
        optional["replacement_ordinal"] = lineage.replacement_ordinal
        optional["replacement_reason"] = REPLACEMENT
    needs_utc = [column.name for column in proofs.key_template.columns if column.utc_assurance_required]
    if needs_utc and held.utc_assurance is None:
        raise StageError("utc-assurance", f"the key of {proofs.model_unique_id} needs a UTC assurance")
    utc = "" if held.utc_assurance is None else held.utc_assurance.digest
    return OperationPlan.build(
        operation_kind=stage.workflow_mode,
        archetype="scope_stable_event_fact",
        environment=stage.deployment.environment,
        release_id=stage.release.release_id,
        deployment_id=stage.deployment.deployment_id,
        workflow_id=stage.proofs.workflow_name,
        model_unique_id=proofs.model_unique_id,
        owner_generation=held.owner_generation,
        scope_start=stage.scope.start_text,
        scope_end=stage.scope.end_text,
        scope_family_id=scope_family_id(proofs.model_unique_id, held.baseline, proofs.key_template.digest),
        scope_revision=lineage.revision,
        target_predecessor_generation_id=held.head.generation_id,
        event_time_column=proofs.event_time_column,
        effective_key_columns=proofs.key_template.columns_for(dict.fromkeys(needs_utc, utc)),
        mutation_order=["UPDATE", "INSERT"],
        missing_key_policy="ignore_missing",
        model_definition_proof_sha256=proofs.definition.digest,
        mutation_closure_sha256=stage.proofs.mutation_closure.digest,
        read_dependency_proof_sha256=proofs.read_dependencies.digest,
        sqlserver_lifecycle_policy_sha256=stage.proofs.lifecycle_policy.digest,
        platform_policy_digest=stage.platform.digest,
        resource_policy_digest=held.resource_policy.digest,
        writer_assurance_digest=held.writer_assurance.digest,
        **optional,
    )


def _workflow_plan(stage: DeploymentStage, plans: Sequence[OperationPlan]) -> WorkflowPlan:
    selected = [plan.model_unique_id for plan in plans]
    revisions = {plan.scope_revision for plan in plans}
    if len(revisions) != 1:
        raise StageError("one-revision", "the models of one workflow stand at several revisions")
    return WorkflowPlan.build(
        workflow_mode=stage.workflow_mode,
        workflow_name=stage.proofs.workflow_name,
        scope_start=stage.scope.start_text,
        scope_end=stage.scope.end_text,
        scope_revision=revisions.pop(),
        mutation_closure_sha256=stage.proofs.mutation_closure.digest,
        selected_mutating_node_ids=selected,
        model_operation_plan_ids=selected,
        expected_model_outcome_ids=selected,
        replacement_action_ids=selected if stage.workflow_mode == REPLACEMENT else [],
        operation_plan_refs=[
            {
                "model_unique_id": plan.model_unique_id,
                "operation_id": plan.operation_id,
                "operation_plan_sha256": plan.digest,
            }
            for plan in plans
        ],
    )


def _target(stage: DeploymentStage, proofs: ModelProofs, plan: OperationPlan) -> dict[str, Any]:
    held, deployment = stage.models[plan.model_unique_id], stage.deployment
    baseline, head = held.baseline, held.head
    ddl_epoch = held.ddl_assurance.ddl_epoch
    if ddl_epoch is None:
        raise StageError("ddl-freeze", f"the DDL assurance of {plan.model_unique_id} certifies no epoch")
    optional = {}
    if held.utc_assurance is not None:
        optional["utc_semantics_assurance_receipt_sha256"] = held.utc_assurance.digest
    return {
        "model_unique_id": plan.model_unique_id,
        "target_resource_id": baseline.mssql_relation_id,
        "baseline_status": baseline.status,
        "baseline_receipt": baseline.to_plain(),
        "baseline_receipt_sha256": baseline.digest,
        "mssql_connection_authority_id": baseline.mssql_connection_authority_id,
        "mssql_target_authority_id": baseline.mssql_target_authority_id,
        "mssql_control_database": deployment.mssql_control_database,
        "mssql_control_schema": deployment.mssql_control_schema,
        "mssql_image_schema": deployment.mssql_image_schema,
        "scope_image_namespace_policy_sha256": stage.platform.scope_image_namespace_policy_sha256,
        "ddl_epoch": ddl_epoch,
        "clickhouse_cluster_authority_id": baseline.clickhouse_cluster_authority_id,
        "clickhouse_target_authority_id": baseline.clickhouse_target_authority_id,
        "clickhouse_target_uuid": head.target_uuid,
        "publication_database": held.publication_database,
        "publication_target_table": held.publication_table,
        "publication_scope_id": f"{plan.scope_start}/{plan.scope_end}",
        "target_predecessor_generation": head.generation,
        "target_predecessor_generation_id": head.generation_id,
        "target_predecessor_operation_id": head.operation_id,
        "target_head_terminal_receipt_sha256": head.terminal_receipt_sha256,
        "writable_columns": [column.to_plain() for column in proofs.writable_columns],
        "effective_key_mapping_sha256": plan.effective_key_mapping_sha256,
        "effective_key_template_sha256": plan.effective_key_template_sha256,
        "model_definition_proof_sha256": plan.model_definition_proof_sha256,
        "route_certification_receipt_sha256": held.route.digest,
        "writer_exclusivity_assurance_receipt_sha256": held.writer_assurance.digest,
        "ddl_freeze_assurance_receipt_sha256": held.ddl_assurance.digest,
        "artifact_authority": held.artifact_authority.to_plain(),
        "resource_policy": held.resource_policy.to_plain(),
        "resource_policy_sha256": held.resource_policy.digest,
        **optional,
    }


def _authority(deployment: DeploymentDescriptor) -> ReleaseDeploymentAuthority:
    return ReleaseDeploymentAuthority(
        authority_receipt_sha256=deployment.authority_receipt_sha256,
        release_id=deployment.release_id,
        deployment_id=deployment.deployment_id,
        binding_set_ref=deployment.binding_set_ref,
        connection_registry_ref=deployment.connection_registry_ref,
        credential_runtime_ref=deployment.credential_runtime_ref,
    )
