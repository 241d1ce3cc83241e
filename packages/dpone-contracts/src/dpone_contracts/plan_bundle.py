"""The plan bundle: every plan of one workflow and day with the exact targets and authorities that it was built for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from dpone_contracts.canonical import Path, digest_checked
from dpone_contracts.closure import REPLACEMENT, UNIQUE, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken, lax, nested, without
from dpone_contracts.payload_types import WritableColumn, writable_schema_digest
from dpone_contracts.plans import OperationPlan, WorkflowPlan, WorkflowReplacementPlan
from dpone_contracts.receipts import BaselineAdoptionReceipt, baseline_generation_id
from dpone_contracts.scalars import (
    Epoch,
    Identifier,
    ModelId,
    ObjectKey,
    Positive,
    Sha256Text,
    UtcInstant,
    Uuid,
    WhenPresent,
    instant,
)


class ArtifactAuthority(Part):
    """Where one target's artifacts are sealed, under which keys, for how long."""

    provider: Identifier
    provider_profile: Identifier
    endpoint_authority_id: Identifier
    bucket_or_container_authority_id: Identifier
    kms_key_authority_id: Identifier
    artifact_prefix: ObjectKey
    writer_scope: Identifier
    capability_evidence_sha256: Sha256Text
    encryption_policy_sha256: Sha256Text
    max_artifact_bytes: Positive
    retention_policy_id: Identifier
    retention_policy_sha256: Sha256Text
    retention_days: Positive
    retention_issued_at: UtcInstant
    retention_until: UtcInstant

    def _rules(self) -> Iterator[Fault]:
        if ".." in self.artifact_prefix.split("/"):
            yield lax("exact-key", "the prefix climbs", "artifact_prefix")
        if instant(self.retention_issued_at) >= instant(self.retention_until):
            yield lax("retention-not-empty", "retention ends before or where it starts", "retention_until")


def artifact_authority_digest(authority: Mapping[str, Any]) -> str:
    """Digest the fifteen fields of an artifact authority."""
    return digest_checked({**authority, "schema": "dpone.semantic-refresh-artifact-authority-identity.v1"})


class ResourcePolicy(Document):
    """The budgets of one model's operation; a missing limit is an error, none has a default."""

    SCHEMA: ClassVar[str] = "dpone.dbt-semantic-refresh-resource-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "resource_policy_sha256"

    schema_id: Literal["dpone.dbt-semantic-refresh-resource-policy.v1"] = Field(alias="schema")
    resource_policy_sha256: Sha256Text
    max_source_scope_rows: Positive
    max_target_scope_rows: Positive
    max_dbt_temp_rows: Positive
    max_dbt_temp_bytes: Positive
    max_before_image_rows: Positive
    max_before_image_bytes: Positive
    max_after_image_rows: Positive
    max_after_image_bytes: Positive
    max_scope_image_total_bytes: Positive
    max_transaction_log_bytes: Positive
    min_mssql_log_free_bytes: Positive
    max_mssql_version_store_bytes: Positive
    max_mssql_scope_lock_seconds: Positive
    max_statement_seconds: Positive
    max_clickhouse_staging_bytes: Positive
    max_clickhouse_shadow_bytes: Positive
    max_clickhouse_retained_backup_bytes: Positive
    max_clickhouse_total_transient_bytes: Positive


class RunGuardClosure(Document):
    """The guards that admission takes together: the workflow's and one a target."""

    SCHEMA: ClassVar[str] = "dpone.dbt-semantic-refresh-run-guard-closure.v1"
    DIGEST_FIELD: ClassVar[str] = "run_guard_closure_sha256"

    schema_id: Literal["dpone.dbt-semantic-refresh-run-guard-closure.v1"] = Field(alias="schema")
    run_guard_closure_sha256: Sha256Text
    workflow_guard_resource_id: Identifier
    resource_guard_ids: Several[Identifier] = Field(json_schema_extra=UNIQUE)

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.resource_guard_ids, "resource_guard_ids")


def workflow_guard_resource_id(deployment_id: str, workflow_name: str) -> str:
    """Name the guard of a workflow within a deployment."""
    subject = {
        "deployment_id": deployment_id,
        "schema": "dpone.dbt-semantic-refresh-workflow-guard-resource.v1",
        "workflow_name": workflow_name,
    }
    return "workflow://" + digest_checked(subject)


class ReleaseDeploymentAuthority(Part):
    """The release and deployment that a bundle was built under, and the protected references of the deployment."""

    authority_receipt_sha256: Sha256Text
    release_id: Sha256Text
    deployment_id: Sha256Text
    binding_set_ref: Identifier
    connection_registry_ref: Identifier
    credential_runtime_ref: Identifier


class PlanTarget(Part):
    """The exact target of one model: engines, predecessor, schema, budgets and the assurances that hold for it."""

    model_unique_id: ModelId
    target_resource_id: Identifier
    baseline_status: Literal["COMPLETE"]
    baseline_receipt: BaselineAdoptionReceipt
    baseline_receipt_sha256: Sha256Text
    mssql_connection_authority_id: Identifier
    mssql_target_authority_id: Identifier
    mssql_control_database: Identifier
    mssql_control_schema: Identifier
    mssql_image_schema: Identifier
    scope_image_namespace_policy_sha256: Sha256Text
    ddl_epoch: Epoch
    clickhouse_cluster_authority_id: Identifier
    clickhouse_target_authority_id: Identifier
    clickhouse_target_uuid: Uuid
    publication_database: Identifier
    publication_target_table: Identifier
    publication_scope_id: Identifier
    target_predecessor_generation: Positive
    target_predecessor_generation_id: Sha256Text
    target_predecessor_operation_id: Sha256Text
    target_head_authority_receipt_sha256: Sha256Text
    target_head_terminal_receipt_sha256: Sha256Text | None
    writable_columns: Several[WritableColumn]
    writable_schema_sha256: Sha256Text
    effective_key_mapping_sha256: Sha256Text
    effective_key_template_sha256: Sha256Text
    model_definition_proof_sha256: Sha256Text
    route_certification_receipt_sha256: Sha256Text
    writer_exclusivity_assurance_receipt_sha256: Sha256Text
    ddl_freeze_assurance_receipt_sha256: Sha256Text
    utc_semantics_assurance_receipt_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    artifact_authority: ArtifactAuthority
    resource_policy: ResourcePolicy
    resource_policy_sha256: Sha256Text
    strategy_template_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        baseline = self.baseline_receipt
        for name, wanted in (
            ("model_unique_id", baseline.model_unique_id),
            ("baseline_receipt_sha256", baseline.baseline_adoption_receipt_sha256),
            ("mssql_connection_authority_id", baseline.mssql_connection_authority_id),
            ("mssql_target_authority_id", baseline.mssql_target_authority_id),
            ("clickhouse_cluster_authority_id", baseline.clickhouse_cluster_authority_id),
            ("clickhouse_target_authority_id", baseline.clickhouse_target_authority_id),
            ("resource_policy_sha256", self.resource_policy.resource_policy_sha256),
        ):
            if getattr(self, name) != wanted:
                yield lax("one-target", "differs from the nested document that it names", name)
        names = [column.name.casefold() for column in self.writable_columns]
        if len(set(names)) != len(names):
            yield lax("unique-names", "two columns share one name", "writable_columns")
        if [column.writable_role for column in self.writable_columns].count("EFFECTIVE_KEY_EVENT_TIME") != 1:
            yield lax("one-event-time", "exactly one column is the event time", "writable_columns")


_NOT_IN_STRATEGY: Final = (
    "baseline_receipt",
    "baseline_status",
    "model_unique_id",
    "resource_policy",
    "strategy_template_sha256",
    "writable_columns",
)
_IN_STRATEGY: Final = ("operation_id", "operation_plan_sha256", "sqlserver_lifecycle_policy_sha256")


def strategy_template_digest(target: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """Digest what the rendered strategy of one target depends on; absent receipts stand as null here."""
    return digest_checked(
        {
            "utc_semantics_assurance_receipt_sha256": None,
            "target_head_terminal_receipt_sha256": None,
            **without(target, *_NOT_IN_STRATEGY),
            **{name: plan[name] for name in _IN_STRATEGY},
            "schema": "dpone.semantic-refresh-strategy-template.v1",
        }
    )


def target_head_authority_digest(target: Mapping[str, Any]) -> str:
    """Digest the head that a target stands on; before the first publication that is the baseline receipt itself."""
    if target["target_head_terminal_receipt_sha256"] is None:
        return str(target["baseline_receipt_sha256"])
    return digest_checked(
        {
            "clickhouse_target_authority_id": target["clickhouse_target_authority_id"],
            "model_unique_id": target["model_unique_id"],
            "owner_operation_id": target["target_predecessor_operation_id"],
            "schema": "dpone.dbt-semantic-refresh-recovery-target-head.v1",
            "target_generation": target["target_predecessor_generation"],
            "target_generation_id": target["target_predecessor_generation_id"],
            "target_uuid": target["clickhouse_target_uuid"],
            "terminal_receipt_sha256": target["target_head_terminal_receipt_sha256"],
        }
    )


class PlanBundle(Document):
    """All plans of one workflow and day; activation stores it create-only."""

    SCHEMA: ClassVar[str] = "dpone.dbt-semantic-refresh-plan-bundle.v1"
    DIGEST_FIELD: ClassVar[str] = "plan_bundle_sha256"

    schema_id: Literal["dpone.dbt-semantic-refresh-plan-bundle.v1"] = Field(alias="schema")
    plan_bundle_sha256: Sha256Text
    pre_release_bundle_sha256: Sha256Text
    package_artifacts_sha256: Sha256Text
    release_deployment_authority: ReleaseDeploymentAuthority
    run_guard_closure: RunGuardClosure
    workflow_plan: WorkflowPlan
    workflow_replacement_plan: Annotated[WorkflowReplacementPlan | None, WhenPresent] = None
    operation_plans: Several[OperationPlan]
    targets: Several[PlanTarget]

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digests of all nested documents, and those that join targets to plans."""
        yield from nested(WorkflowPlan, plain["workflow_plan"], "workflow_plan")
        if "workflow_replacement_plan" in plain:
            yield from nested(
                WorkflowReplacementPlan, plain["workflow_replacement_plan"], "workflow_replacement_plan"
            )
        yield from nested(RunGuardClosure, plain["run_guard_closure"], "run_guard_closure")
        workflow_guard = workflow_guard_resource_id(
            plain["release_deployment_authority"]["deployment_id"], plain["workflow_plan"]["workflow_name"]
        )
        yield ("run_guard_closure", "workflow_guard_resource_id"), workflow_guard
        for index, plan in enumerate(plain["operation_plans"]):
            yield from nested(OperationPlan, plan, "operation_plans", index)
        for index, (target, plan) in enumerate(zip(plain["targets"], plain["operation_plans"], strict=False)):
            at = ("targets", index)
            yield from nested(BaselineAdoptionReceipt, target["baseline_receipt"], *at, "baseline_receipt")
            yield from nested(ResourcePolicy, target["resource_policy"], *at, "resource_policy")
            yield (*at, "writable_schema_sha256"), writable_schema_digest(target["writable_columns"])
            yield (*at, "strategy_template_sha256"), strategy_template_digest(target, plan)
            yield (*at, "target_head_authority_receipt_sha256"), target_head_authority_digest(target)
            if target["target_head_terminal_receipt_sha256"] is None:
                generation = baseline_generation_id(target["baseline_receipt"])
                yield (*at, "target_predecessor_generation_id"), generation

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Compute what joins targets to plans where it is absent."""
        for target, plan in zip(plain["targets"], plain["operation_plans"], strict=False):
            target.setdefault("writable_schema_sha256", writable_schema_digest(target["writable_columns"]))
            target.setdefault("target_head_authority_receipt_sha256", target_head_authority_digest(target))
            target.setdefault("strategy_template_sha256", strategy_template_digest(target, plan))

    def _rules(self) -> Iterator[Fault]:
        workflow, models = self.workflow_plan, self.workflow_plan.selected_mutating_node_ids
        if tuple(plan.model_unique_id for plan in self.operation_plans) != models:
            yield lax("plans-cover-models", "one plan a selected model, sorted by model", "operation_plans")
        if tuple(target.model_unique_id for target in self.targets) != models:
            yield lax("targets-cover-models", "one target a selected model, sorted by model", "targets")
        if self.run_guard_closure.resource_guard_ids != tuple(
            sorted(t.target_resource_id for t in self.targets)
        ):
            yield lax("guards-cover-targets", "one guard a target", "run_guard_closure", "resource_guard_ids")
        replacement = self.workflow_replacement_plan
        if (workflow.workflow_mode == REPLACEMENT) != (replacement is not None):
            reason = "a replacement bundle holds its plan; no other does"
            yield broken("recovery-by-mode", reason, "workflow_replacement_plan")
        if replacement is not None:
            yield from self._replacement_rules(replacement)
        refs = {ref.model_unique_id: ref for ref in workflow.operation_plan_refs}
        for index, plan in enumerate(self.operation_plans):
            if (ref := refs.get(plan.model_unique_id)) is not None:
                for name in ("operation_id", "operation_plan_sha256"):
                    if getattr(ref, name) != getattr(plan, name):
                        yield lax(
                            "plan-is-referenced",
                            "not the plan that the workflow names",
                            "operation_plans",
                            index,
                            name,
                        )
            for name, wanted in (
                ("release_id", self.release_deployment_authority.release_id),
                ("deployment_id", self.release_deployment_authority.deployment_id),
                ("workflow_id", workflow.workflow_name),
                ("operation_kind", workflow.workflow_mode),
                ("scope_start", workflow.scope_start),
                ("scope_end", workflow.scope_end),
                ("scope_revision", workflow.scope_revision),
                ("mutation_closure_sha256", workflow.mutation_closure_sha256),
            ):
                if getattr(plan, name) != wanted:
                    yield lax("one-workflow", "differs from the bundle's", "operation_plans", index, name)
        for index, (target, plan) in enumerate(zip(self.targets, self.operation_plans, strict=False)):
            yield from _target_rules(index, target, plan)

    def _replacement_rules(self, replacement: WorkflowReplacementPlan) -> Iterator[Fault]:
        at = "workflow_replacement_plan"
        if replacement.workflow_plan_sha256 != self.workflow_plan.workflow_plan_sha256:
            yield lax("plan-is-referenced", "replaces another workflow plan", at, "workflow_plan_sha256")
        if replacement.selected_mutating_node_ids != self.workflow_plan.selected_mutating_node_ids:
            yield lax("one-workflow", "differs from the workflow plan's", at, "selected_mutating_node_ids")


def _target_rules(index: int, target: PlanTarget, plan: OperationPlan) -> Iterator[Fault]:
    """Yield what a target and the plan of its model disagree on."""
    utc = {column.utc_assurance_sha256 for column in plan.effective_key_columns} - {None}
    for name, wanted in (
        ("publication_scope_id", f"{plan.scope_start}/{plan.scope_end}"),
        ("target_predecessor_generation_id", plan.target_predecessor_generation_id),
        ("effective_key_mapping_sha256", plan.effective_key_mapping_sha256),
        ("effective_key_template_sha256", plan.effective_key_template_sha256),
        ("model_definition_proof_sha256", plan.model_definition_proof_sha256),
        ("resource_policy_sha256", plan.resource_policy_digest),
        ("writer_exclusivity_assurance_receipt_sha256", plan.writer_assurance_digest),
    ):
        if getattr(target, name) != wanted:
            yield lax("target-of-plan", "differs from the operation plan's", "targets", index, name)
    if utc != {target.utc_semantics_assurance_receipt_sha256} - {None}:
        reason = "differs from the assurance of the key"
        yield lax("target-of-plan", reason, "targets", index, "utc_semantics_assurance_receipt_sha256")
    keys = [
        (c.name, c.source_type, c.target_type)
        for c in target.writable_columns
        if c.writable_role != "MUTABLE_VALUE"
    ]
    if sorted(keys) != sorted((c.name, c.source_type, c.target_type) for c in plan.effective_key_columns):
        yield lax(
            "target-of-plan",
            "the key columns are not those of the plan",
            "targets",
            index,
            "writable_columns",
        )
    event_times = [c.name for c in target.writable_columns if c.writable_role == "EFFECTIVE_KEY_EVENT_TIME"]
    if event_times != [plan.event_time_column]:
        yield lax(
            "target-of-plan", "the event time is not that of the plan", "targets", index, "writable_columns"
        )
