"""Execution and attempt bindings, continuation, and the authority bundle: where a plan meets a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from dpone_contracts.canonical import Path, digest_checked
from dpone_contracts.closure import (
    NO_ACTIONS,
    REPLACEMENT,
    SOME_ACTIONS,
    Several,
    WorkflowClosure,
    WorkflowMode,
    by_mode,
    sorted_set,
)
from dpone_contracts.document import Document, Fault, Part, broken, lax
from dpone_contracts.scalars import (
    Epoch,
    Identifier,
    ModelId,
    PodUid,
    Positive,
    Sha256Text,
    UtcMicros,
    WhenPresent,
)

_RECOVERY_FIELDS = ("recovery_plan_digest", "workflow_replacement_plan_sha256")
_NO_RECOVERY = dict.fromkeys(_RECOVERY_FIELDS, False)


class WorkflowExecutionBinding(WorkflowClosure):
    """Binds one logical DagRun to one workflow plan; created once, before dbt or a writer starts."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-workflow-execution-binding.v1"
    DIGEST_FIELD: ClassVar[str] = "workflow_execution_binding_sha256"

    schema_id: Literal["dpone.semantic-refresh-workflow-execution-binding.v1"] = Field(alias="schema")
    workflow_execution_binding_sha256: Sha256Text
    workflow_execution_id: Identifier
    deployment_id: Sha256Text
    binding_set_ref: Identifier
    connection_registry_ref: Identifier
    credential_runtime_ref: Identifier
    recovery_plan_digest: Annotated[Sha256Text | None, WhenPresent] = None
    workflow_replacement_plan_sha256: Annotated[Sha256Text | None, WhenPresent] = None

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = by_mode(
        "workflow_mode",
        {
            "normal": {"properties": {**NO_ACTIONS, **_NO_RECOVERY}},
            "complete_scope_replay": {"properties": {**NO_ACTIONS, **_NO_RECOVERY}},
            REPLACEMENT: {"properties": SOME_ACTIONS, "required": list(_RECOVERY_FIELDS)},
        },
    )

    def _rules(self) -> Iterator[Fault]:
        yield from super()._rules()
        replacing = self.workflow_mode == REPLACEMENT
        for name in _RECOVERY_FIELDS:
            if replacing != (getattr(self, name) is not None):
                yield broken("recovery-by-mode", "a replacement names its recovery; nothing else does", name)


class AttemptBinding(Document):
    """Binds one task try of one pod to one operation under one fence."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-attempt-binding.v1"
    DIGEST_FIELD: ClassVar[str] = "attempt_binding_sha256"

    schema_id: Literal["dpone.semantic-refresh-attempt-binding.v1"] = Field(alias="schema")
    attempt_binding_sha256: Sha256Text
    workflow_execution_id: Identifier
    workflow_execution_binding_sha256: Sha256Text
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    dag_run_id: Identifier
    task_id: Identifier
    try_number: Positive
    pod_uid: PodUid
    owner_id: Identifier
    fencing_epoch: Epoch

    def _rules(self) -> Iterator[Fault]:
        if self.dag_run_id != self.workflow_execution_id:
            yield broken("execution-is-dag-run", "the execution id is the DagRun's run_id", "dag_run_id")


class AttemptContinuationReceipt(Document):
    """Admits the immediate successor try of one attempt, after both engines were seen quiet."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-attempt-continuation-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "continuation_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-attempt-continuation-receipt.v1"] = Field(alias="schema")
    continuation_receipt_sha256: Sha256Text
    status: Literal["VERIFIED"]
    verified_at: UtcMicros
    workflow_execution_binding_sha256: Sha256Text
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    original_attempt_binding_sha256: Sha256Text
    original_attempt_termination_receipt_sha256: Sha256Text
    task_id: Identifier
    try_number: Positive
    pod_uid: PodUid
    fencing_epoch: Epoch
    guard_resource_id: Identifier
    build_receipt_sha256: Sha256Text
    after_image_sha256: Sha256Text
    mssql_active_session_count: Annotated[int, Field(ge=0, le=0), WithJsonSchema({"const": 0})]
    mssql_guard_lock_status: Literal["EXCLUSIVE_ACQUIRED"]
    clickhouse_cluster_authority_id: Identifier
    clickhouse_query_id_prefix: Identifier
    clickhouse_quiescence_observation_sha256: Sha256Text
    engine_quiescence_receipt_sha256: Sha256Text

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {"allOf": [{"properties": {"try_number": {"minimum": 2}}}]}

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digests of the two quiescence observations."""
        yield ("clickhouse_quiescence_observation_sha256",), clickhouse_quiescence_digest(plain)
        yield ("engine_quiescence_receipt_sha256",), engine_quiescence_digest(plain)

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Compute both quiescence digests where they are absent."""
        plain.setdefault("clickhouse_quiescence_observation_sha256", clickhouse_quiescence_digest(plain))
        plain.setdefault("engine_quiescence_receipt_sha256", engine_quiescence_digest(plain))

    def _rules(self) -> Iterator[Fault]:
        if self.try_number == 1:
            yield lax("later-try", "the first try continues nothing", "try_number")


def clickhouse_quiescence_digest(receipt: Mapping[str, Any]) -> str:
    """Digest the observation that no query of the original attempt runs in ClickHouse."""
    return digest_checked(
        {
            "active_query_ids": [],
            "clickhouse_cluster_authority_id": receipt["clickhouse_cluster_authority_id"],
            "observed_at": receipt["verified_at"],
            "operation_id": receipt["operation_id"],
            "original_attempt_binding_sha256": receipt["original_attempt_binding_sha256"],
            "query_id_prefix": receipt["clickhouse_query_id_prefix"],
            "schema": "dpone.semantic-refresh-clickhouse-attempt-quiescence.v1",
            "status": "VERIFIED",
            "workflow_execution_binding_sha256": receipt["workflow_execution_binding_sha256"],
        }
    )


def engine_quiescence_digest(receipt: Mapping[str, Any]) -> str:
    """Digest the observation that both engines are quiet after the original attempt ended."""
    return digest_checked(
        {
            "clickhouse_quiescence_observation_sha256": receipt["clickhouse_quiescence_observation_sha256"],
            "mssql_active_session_count": receipt["mssql_active_session_count"],
            "mssql_guard_lock_status": receipt["mssql_guard_lock_status"],
            "observed_at": receipt["verified_at"],
            "operation_id": receipt["operation_id"],
            "original_attempt_binding_sha256": receipt["original_attempt_binding_sha256"],
            "original_attempt_termination_receipt_sha256": receipt[
                "original_attempt_termination_receipt_sha256"
            ],
            "schema": "dpone.semantic-refresh-attempt-engine-quiescence.v1",
            "status": "VERIFIED",
            "workflow_execution_binding_sha256": receipt["workflow_execution_binding_sha256"],
        }
    )


class ModelAuthority(Part):
    """The proofs under which one model runs; no fact of an attempt."""

    model_unique_id: ModelId
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    baseline_adoption_receipt_sha256: Sha256Text
    model_definition_proof_sha256: Sha256Text
    mutation_closure_sha256: Sha256Text
    read_dependency_proof_sha256: Sha256Text
    sqlserver_lifecycle_policy_sha256: Sha256Text


class CompilerRuntimeAuthorityBundle(Document):
    """Joins what the compiler proved to what the runtime is bound to."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-compiler-runtime-authority-bundle.v1"
    DIGEST_FIELD: ClassVar[str] = "authority_bundle_sha256"

    schema_id: Literal["dpone.semantic-refresh-compiler-runtime-authority-bundle.v1"] = Field(alias="schema")
    authority_bundle_sha256: Sha256Text
    workflow_mode: WorkflowMode
    environment: Identifier
    release_id: Sha256Text
    deployment_id: Sha256Text
    compiler_policy_sha256: Sha256Text
    runtime_policy_sha256: Sha256Text
    route_certification_receipt_sha256: Sha256Text
    workflow_plan_sha256: Sha256Text
    workflow_replacement_plan_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    workflow_execution_id: Identifier
    workflow_execution_binding_sha256: Sha256Text
    models: Several[ModelAuthority]

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = by_mode(
        "workflow_mode",
        {
            "normal": {"properties": {"workflow_replacement_plan_sha256": False}},
            "complete_scope_replay": {"properties": {"workflow_replacement_plan_sha256": False}},
            REPLACEMENT: {"required": ["workflow_replacement_plan_sha256"]},
        },
    )

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set([model.model_unique_id for model in self.models], "models")
        if len({model.operation_id for model in self.models}) != len(self.models):
            yield lax("one-operation-a-model", "two models share one operation_id", "models")
        if (self.workflow_mode == REPLACEMENT) != (self.workflow_replacement_plan_sha256 is not None):
            reason = "a replacement names its plan; nothing else does"
            yield broken("recovery-by-mode", reason, "workflow_replacement_plan_sha256")
