"""A valid plan bundle of made-up models, for tests of everything that takes one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone_contracts.bindings import WorkflowExecutionBinding
from dpone_contracts.canonical import sha256_text
from dpone_contracts.effective_key import key_column, key_pair
from dpone_contracts.payload_types import payload_type
from dpone_contracts.plan_bundle import (
    PlanBundle,
    ResourcePolicy,
    RunGuardClosure,
    workflow_guard_resource_id,
)
from dpone_contracts.plans import OperationPlan, WorkflowPlan
from dpone_contracts.policies import DeadlinePolicy, WorkflowResourcePolicy
from dpone_contracts.receipts import BaselineAdoptionReceipt, baseline_generation_id

if TYPE_CHECKING:
    from collections.abc import Sequence


def made_up(name: str) -> str:
    """Return the digest of a name, standing for a document that the test doesn't need."""
    return sha256_text(name.encode())


@dataclass(frozen=True, slots=True)
class ExampleModel:
    """One model: `columns` are (name, SQL Server type, nullable) in table order, `key` names columns in plan order.

    The first key column is the event time.
    """

    name: str
    columns: tuple[tuple[str, str, bool], ...]
    key: tuple[str, ...]

    @property
    def unique_id(self) -> str:
        """The dbt unique id."""
        return f"model.example.{self.name}"


@dataclass(frozen=True, slots=True)
class Example:
    """A bundle with the baselines that its targets stand on."""

    bundle: PlanBundle
    baselines: tuple[BaselineAdoptionReceipt, ...]

    def binding(self, dag_run_id: str) -> WorkflowExecutionBinding:
        """Bind the bundle to a DagRun."""
        authority, workflow = self.bundle.release_deployment_authority, self.bundle.workflow_plan
        return WorkflowExecutionBinding.build(
            binding_set_ref=authority.binding_set_ref,
            connection_registry_ref=authority.connection_registry_ref,
            credential_runtime_ref=authority.credential_runtime_ref,
            deployment_id=authority.deployment_id,
            expected_model_outcome_ids=workflow.expected_model_outcome_ids,
            model_operation_plan_ids=workflow.model_operation_plan_ids,
            replacement_action_ids=workflow.replacement_action_ids,
            selected_mutating_node_ids=workflow.selected_mutating_node_ids,
            workflow_execution_id=dag_run_id,
            workflow_mode=workflow.workflow_mode,
            workflow_plan_sha256=workflow.digest,
        )


def example_bundle(
    models: Sequence[ExampleModel],
    *,
    database: str,
    schema: str = "mart",
    workflow: str = "example",
    deployment: str | None = None,
    day: str = "2026-08-08",
    next_day: str = "2026-08-09",
    ddl_epoch: int = 1,
    limits: dict[str, int] | None = None,
) -> Example:
    """Build a normal plan of one day over freshly adopted baselines that end where the day begins.

    `deployment` names the deployment that several workflows share; without it the workflow has one of its own.
    """
    release, deployment = made_up("release"), made_up(f"deployment of {deployment or workflow}")
    ordered = sorted(models, key=lambda model: model.unique_id)
    baselines = tuple(_baseline(model, database, schema, release, deployment, day) for model in ordered)
    policy = ResourcePolicy.build(**(_LIMITS | (limits or {})))
    plans, targets = [], []
    for model, baseline in zip(ordered, baselines, strict=True):
        plan = _plan(model, baseline, policy, workflow, day, next_day)
        plans.append(plan)
        targets.append(_target(model, baseline, plan, policy, database, schema, ddl_epoch))
    ids = [model.unique_id for model in ordered]
    refs = [
        {
            "model_unique_id": plan.model_unique_id,
            "operation_id": plan.operation_id,
            "operation_plan_sha256": plan.digest,
        }
        for plan in plans
    ]
    workflow_plan = WorkflowPlan.build(
        expected_model_outcome_ids=ids,
        model_operation_plan_ids=ids,
        mutation_closure_sha256=made_up("closure"),
        operation_plan_refs=refs,
        replacement_action_ids=[],
        scope_end=f"{next_day}T00:00:00Z",
        scope_revision=1,
        scope_start=f"{day}T00:00:00Z",
        selected_mutating_node_ids=ids,
        workflow_mode="normal",
        workflow_name=workflow,
    )
    guards = RunGuardClosure.build(
        resource_guard_ids=sorted(str(target["target_resource_id"]) for target in targets),
        workflow_guard_resource_id=workflow_guard_resource_id(deployment, workflow),
    )
    bundle = PlanBundle.build(
        operation_plans=plans,
        package_artifacts_sha256=made_up("packages"),
        pre_release_bundle_sha256=made_up("pre-release"),
        release_deployment_authority={
            "authority_receipt_sha256": made_up("authority"),
            "binding_set_ref": "bindings/example@1",
            "connection_registry_ref": "connections/registry@1",
            "credential_runtime_ref": "credentials/runtime@1",
            "deployment_id": deployment,
            "release_id": release,
        },
        run_guard_closure=guards,
        targets=targets,
        workflow_plan=workflow_plan,
    )
    return Example(bundle, baselines)


_LIMITS = {
    "max_after_image_bytes": 1 << 30,
    "max_after_image_rows": 4_000_000,
    "max_before_image_bytes": 1 << 30,
    "max_before_image_rows": 4_000_000,
    "max_clickhouse_retained_backup_bytes": 1 << 34,
    "max_clickhouse_shadow_bytes": 1 << 34,
    "max_clickhouse_staging_bytes": 1 << 32,
    "max_clickhouse_total_transient_bytes": 1 << 36,
    "max_dbt_temp_bytes": 1 << 30,
    "max_dbt_temp_rows": 4_000_000,
    "max_mssql_scope_lock_seconds": 5,
    "max_mssql_version_store_bytes": 1 << 32,
    "max_scope_image_total_bytes": 1 << 31,
    "max_source_scope_rows": 4_000_000,
    "max_statement_seconds": 60,
    "max_target_scope_rows": 4_000_000,
    "max_transaction_log_bytes": 1 << 33,
    "min_mssql_log_free_bytes": 1 << 20,
}


def example_deadlines() -> DeadlinePolicy:
    """Deadlines that no simulation reaches by itself."""
    return DeadlinePolicy.build(
        overall_seconds=86_400,
        admission_seconds=600,
        execution_seconds=3_600,
        statement_seconds=60,
        lock_timeout_milliseconds=10_000,
        artifact_seconds=3_600,
        preparation_seconds=3_600,
        commit_seconds=600,
        publication_seconds=600,
        polling={
            "max_attempts": 5,
            "initial_delay_milliseconds": 100,
            "max_delay_milliseconds": 2_000,
            "multiplier_percent": 200,
            "jitter_percent": 20,
        },
    )


def example_resources() -> WorkflowResourcePolicy:
    """Budgets with room for eight models of an example."""
    return WorkflowResourcePolicy.build(
        max_clickhouse_staging_bytes=1 << 35,
        max_prepared_models=8,
        max_retained_generation_bytes=1 << 37,
        max_sealed_extract_bytes=1 << 33,
        max_shadow_bytes=1 << 37,
        max_concurrent_prepares=8,
        max_disk_bytes=1 << 39,
        min_clickhouse_free_bytes=1 << 20,
    )


def _utc(model: ExampleModel) -> str | None:
    types = {name: kind for name, kind, _ in model.columns}
    return made_up(f"utc {model.name}") if "datetime2(6)" in {types[name] for name in model.key} else None


def _baseline(
    model: ExampleModel, database: str, schema: str, release: str, deployment: str, day: str
) -> BaselineAdoptionReceipt:
    sides = {
        f"{side}_{part}_sha256": made_up(f"{model.name} {side} {part}")
        for side in ("clickhouse", "mssql", "source")
        for part in ("assurance", "coverage", "key", "physical", "schema")
    }
    relation = f"{database}.{schema}.{model.name}"
    return BaselineAdoptionReceipt.build(
        **sides,
        adopted_at=f"{day}T01:00:00Z",
        baseline_kind="certified_initial_load",
        certified_codec_mapping_sha256=made_up("codec"),
        clickhouse_cluster_authority_id="clickhouse-example",
        clickhouse_generation=1,
        clickhouse_relation_id=f"example.{model.name}",
        clickhouse_target_authority_id=f"clickhouse://clickhouse-example/example/{model.name}",
        clickhouse_target_uuid=_uuid(model.name),
        coverage_end=f"{day}T00:00:00Z",
        coverage_start="2013-01-01T00:00:00Z",
        ddl_assurance_sha256=made_up(f"ddl {model.name}"),
        deployment_id=deployment,
        historical_clickhouse_internal_multiset_conformance="PROVEN",
        historical_clickhouse_internal_multiset_evidence_sha256=made_up(f"multiset {model.name}"),
        historical_cross_engine_payload_value_equivalence="NOT_CLAIMED",
        model_unique_id=model.unique_id,
        mssql_connection_authority_id="mssql-example",
        mssql_generation=1,
        mssql_relation_id=relation,
        mssql_target_authority_id=f"mssql://mssql-example/{database}/{schema}.{model.name}",
        release_id=release,
        source_generation=1,
        source_relation_id=f"{database}.raw.{model.name}",
        source_snapshot_sha256=made_up(f"snapshot {model.name}"),
        status="COMPLETE",
        utc_assurance_sha256=_utc(model) or made_up("utc"),
        writer_assurance_sha256=made_up(f"writer {model.name}"),
    )


def _uuid(name: str) -> str:
    digits = made_up(f"uuid {name}").removeprefix("sha256:")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def _plan(
    model: ExampleModel,
    baseline: BaselineAdoptionReceipt,
    policy: ResourcePolicy,
    workflow: str,
    day: str,
    next_day: str,
) -> OperationPlan:
    types = {name: kind for name, kind, _ in model.columns}
    utc = _utc(model)
    key = [
        key_column(name, types[name], utc_assurance_sha256=utc if types[name] == "datetime2(6)" else None)
        for name in model.key
    ]
    return OperationPlan.build(
        archetype="scope_stable_event_fact",
        deployment_id=baseline.deployment_id,
        effective_key_columns=key,
        environment="test",
        event_time_column=model.key[0],
        missing_key_policy="ignore_missing",
        model_definition_proof_sha256=made_up(f"definition {model.name}"),
        model_unique_id=model.unique_id,
        mutation_closure_sha256=made_up("closure"),
        mutation_order=["UPDATE", "INSERT"],
        operation_kind="normal",
        owner_generation=1,
        platform_policy_digest=made_up("platform"),
        read_dependency_proof_sha256=made_up(f"dependencies {model.name}"),
        release_id=baseline.release_id,
        resource_policy_digest=policy.digest,
        scope_end=f"{next_day}T00:00:00Z",
        scope_family_id=made_up(f"family {model.name}"),
        scope_revision=1,
        scope_start=f"{day}T00:00:00Z",
        sqlserver_lifecycle_policy_sha256=made_up("lifecycle"),
        target_predecessor_generation_id=baseline_generation_id(baseline.to_plain()),
        workflow_id=workflow,
        writer_assurance_digest=baseline.writer_assurance_sha256,
    )


def _target(
    model: ExampleModel,
    baseline: BaselineAdoptionReceipt,
    plan: OperationPlan,
    policy: ResourcePolicy,
    database: str,
    schema: str,
    ddl_epoch: int,
) -> dict[str, Any]:
    target: dict[str, Any] = {
        "artifact_authority": _artifacts(model.name),
        "baseline_receipt": baseline.to_plain(),
        "baseline_receipt_sha256": baseline.digest,
        "baseline_status": "COMPLETE",
        "clickhouse_cluster_authority_id": baseline.clickhouse_cluster_authority_id,
        "clickhouse_target_authority_id": baseline.clickhouse_target_authority_id,
        "clickhouse_target_uuid": baseline.clickhouse_target_uuid,
        "ddl_epoch": ddl_epoch,
        "ddl_freeze_assurance_receipt_sha256": baseline.ddl_assurance_sha256,
        "effective_key_mapping_sha256": plan.effective_key_mapping_sha256,
        "effective_key_template_sha256": plan.effective_key_template_sha256,
        "model_definition_proof_sha256": plan.model_definition_proof_sha256,
        "model_unique_id": model.unique_id,
        "mssql_connection_authority_id": baseline.mssql_connection_authority_id,
        "mssql_control_database": database,
        "mssql_control_schema": "dpone_control",
        "mssql_image_schema": "dpone_images",
        "mssql_target_authority_id": baseline.mssql_target_authority_id,
        "publication_database": "example",
        "publication_scope_id": f"{plan.scope_start}/{plan.scope_end}",
        "publication_target_table": model.name,
        "resource_policy": policy.to_plain(),
        "resource_policy_sha256": policy.digest,
        "route_certification_receipt_sha256": made_up("route"),
        "scope_image_namespace_policy_sha256": made_up("namespace"),
        "target_head_terminal_receipt_sha256": None,
        "target_predecessor_generation": baseline.clickhouse_generation,
        "target_predecessor_generation_id": plan.target_predecessor_generation_id,
        "target_predecessor_operation_id": baseline.digest,
        "target_resource_id": f"{database}.{schema}.{model.name}",
        "writable_columns": [_column(model, *column) for column in model.columns],
        "writer_exclusivity_assurance_receipt_sha256": baseline.writer_assurance_sha256,
    }
    if (utc := _utc(model)) is not None:
        target["utc_semantics_assurance_receipt_sha256"] = utc
    return target


def _column(model: ExampleModel, name: str, source_type: str, nullable: bool) -> dict[str, Any]:  # noqa: FBT001
    if name in model.key:
        pair = key_pair(source_type)
        assert pair is not None
        role = "EFFECTIVE_KEY_EVENT_TIME" if name == model.key[0] else "EFFECTIVE_KEY"
        target_type = pair.target_type
    else:
        payload = payload_type(source_type)
        assert payload is not None
        role, target_type = "MUTABLE_VALUE", payload.target_type(nullable=nullable)
    return {
        "name": name,
        "nullable": nullable,
        "source_type": source_type,
        "target_type": target_type,
        "writable_role": role,
    }


def _artifacts(name: str) -> dict[str, Any]:
    return {
        "artifact_prefix": f"sealed/example/{name}",
        "bucket_or_container_authority_id": "bucket/example",
        "capability_evidence_sha256": made_up("capability"),
        "encryption_policy_sha256": made_up("encryption"),
        "endpoint_authority_id": "https://objects.example.internal",
        "kms_key_authority_id": "key/example",
        "max_artifact_bytes": 1 << 30,
        "provider": "s3",
        "provider_profile": "create_only_versioned",
        "retention_days": 30,
        "retention_issued_at": "2026-08-01T00:00:00Z",
        "retention_policy_id": "keep-30-days",
        "retention_policy_sha256": made_up("retention"),
        "retention_until": "2026-12-01T00:00:00Z",
        "writer_scope": f"seal-writer/{name}",
    }
