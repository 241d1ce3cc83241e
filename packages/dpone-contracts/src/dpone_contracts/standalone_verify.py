"""Verify a folder of evidence with nothing but Python: `python standalone_verify.py DIR`.

This one file needs no installation and opens no connection; read it before you trust it. It answers three questions:

1. Is each file a document of the contract: closed, spelled in one way, its rules kept, its digests its own?
2. Does each digest that a document names lead to another document of the folder, and do the two agree?
3. Do the rules between documents hold: one release, successive tries, certificates current when they were used?

The verdict is `verified`, `inadmissible` (the published preview accepted it, the strict contract is stricter) or
`broken`, with the first broken place in the order of the identity chain. Exit code 0 for `verified`, 1 for the others,
2 for wrong usage. `dpone evidence verify` gives the same verdicts; the fields below are generated from its models.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

Doc = Mapping[str, Any]
PREFIX = "dpone.semantic-refresh-"
REPLACEMENT = "failed_precommit_replacement"
REPLAY = "complete_scope_replay"
DISPOSABLE_ENVIRONMENT = "disposable-lab"


class Fault(NamedTuple):
    """A rule that does not hold: where, which, and whether the published preview let it pass (`readable`)."""

    path: str
    rule: str
    readable: bool = False


class Document(NamedTuple):
    """One file: its answer is `valid`, `inadmissible` or `refused`; `content` is None when it cannot be read."""

    file: str
    schema: str | None
    digest: str | None
    answer: str
    fault: Fault | None
    content: Doc | None


class Link(NamedTuple):
    """A digest in one document and what it leads to; `state` is `resolved`, `outside` or `broken`."""

    file: str
    path: str
    kind: str
    target: str | None
    state: str
    rule: str | None


class Report(NamedTuple):
    """The verdict on a folder; `first_broken` is (file, path, rule)."""

    verdict: str
    documents: list[Document]
    links: list[Link]
    first_broken: tuple[str, str, str] | None

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "schema": "dpone.evidence-verification.v1",
            "verdict": self.verdict,
            "documents": [
                {
                    "file": item.file,
                    "schema": item.schema,
                    "digest": item.digest,
                    "answer": item.answer,
                    "path": item.fault.path if item.fault else None,
                    "rule": item.fault.rule if item.fault else None,
                }
                for item in self.documents
            ],
            "links": [link._asdict() for link in self.links],
            "first_broken": dict(zip(("file", "path", "rule"), self.first_broken, strict=True))
            if self.first_broken
            else None,
        }


# --- 1. Text: one reading, one spelling -------------------------------------------------------------------------------

INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef\ufdd0-\ufdef"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17))
    + "]"
)
DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SHA = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


def canonical(value: Any) -> str:
    """Encode compactly with sorted keys, every non-ASCII character escaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Digest a value's canonical form."""
    return "sha256:" + sha256(canonical(value).encode("ascii")).hexdigest()


def without(value: Doc, *names: str) -> dict[str, Any]:
    """Copy an object without some fields."""
    return {name: item for name, item in value.items() if name not in names}


class UnreadableError(ValueError):
    """The text is not JSON with one reading."""


def decode(data: bytes) -> dict[str, Any]:
    """Decode an object; refuse duplicate keys, fractions, NaN and absurd sizes."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in items}) != len(items):
            raise UnreadableError("unique-keys")
        return dict(items)

    def refuse(_: str) -> Any:
        raise UnreadableError("no-floats")

    def integer(text: str) -> int:
        if text == "-0":
            raise UnreadableError("one-spelling")
        if len(text) > 64:
            raise UnreadableError("int64")
        return int(text)

    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=pairs,
            parse_float=refuse,
            parse_constant=refuse,
            parse_int=integer,
        )
    except UnreadableError:
        raise
    except RecursionError:
        raise UnreadableError("bounded-depth") from None
    except ValueError:
        raise UnreadableError("utf-8-json") from None
    if type(value) is not dict:
        raise UnreadableError("object-root")
    if _depth(value) > 64:
        raise UnreadableError("bounded-depth")
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [item for item in level if type(item) in (dict, list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if type(item) is dict else item)]
    return depth


def hidden(text: str) -> bool:
    """Tell whether a text has a twin that looks the same: control, format, blank or invisible characters, not NFC."""
    odd = any(
        unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        or (unicodedata.category(char) == "Zs" and char != " ")
        for char in text
    )
    return odd or INVISIBLE.search(text) is not None or not unicodedata.is_normalized("NFC", text)


def instant(text: str) -> datetime:
    """Read an instant in any spelling that the preview took; ValueError for other text."""
    moment = datetime.fromisoformat(text[:-1] + "+00:00")  # noqa: FURB162 - only this way lower-case z is refused
    if not text.endswith("Z") or moment.tzinfo is None:
        raise ValueError(text)
    return moment


def midnight(moment: datetime) -> bool:
    """Tell whether an instant starts a UTC day."""
    return not (moment.hour or moment.minute or moment.second or moment.microsecond)


# --- 2. Fields: what each document and each of its parts holds --------------------------------------------------------
# name:type, `?` after a name: may be absent, `~` before a type: may be null, `[type`: array, `[+type`: array that is not
# empty, `(a,b)`: exactly these, `{key,value}`: object with free keys, `=a|b`: one of these texts, a capital: another part.

# <generated> by tooling/standalone_tables.py
SCHEMAS: dict[str, tuple[str, str]] = {
    "dpone.semantic-refresh-sqlserver-lifecycle-policy.v1": (
        "SqlServerLifecyclePolicy",
        "sqlserver_lifecycle_policy_sha256",
    ),
    "dpone.semantic-refresh-model-definition-proof.v1": (
        "ModelDefinitionProof",
        "model_definition_proof_sha256",
    ),
    "dpone.semantic-refresh-mutation-closure.v1": ("MutationClosure", "mutation_closure_sha256"),
    "dpone.semantic-refresh-read-dependency-proof.v1": (
        "ReadDependencyProof",
        "read_dependency_proof_sha256",
    ),
    "dpone.semantic-refresh-effective-key-template.v1": (
        "EffectiveKeyTemplate",
        "effective_key_template_sha256",
    ),
    "dpone.semantic-refresh-deadline-policy.v1": ("DeadlinePolicy", "deadline_policy_sha256"),
    "dpone.semantic-refresh-seal-policy.v1": ("SealPolicy", "seal_policy_sha256"),
    "dpone.semantic-refresh-workflow-resource-policy.v1": (
        "WorkflowResourcePolicy",
        "workflow_resource_policy_sha256",
    ),
    "dpone.semantic-refresh-platform-policy.v1": ("PlatformPolicy", "platform_policy_digest"),
    "dpone.semantic-refresh-workflow-profile.v1": ("WorkflowProfile", "profile_sha256"),
    "dpone.dbt-semantic-refresh-topology-template.v1": ("Topology", "topology_sha256"),
    "dpone.dbt-execution-pack.v1": ("ExecutionPack", "pack_sha256"),
    "dpone.semantic-refresh-proof-bundle.v1": ("ProofBundle", "pre_release_bundle_sha256"),
    "dpone.semantic-refresh-release-descriptor.v1": ("ReleaseDescriptor", "release_id"),
    "dpone.semantic-refresh-deployment-descriptor.v1": ("DeploymentDescriptor", "deployment_id"),
    "dpone.semantic-refresh-trust-policy.v1": ("TrustPolicy", "trust_policy_sha256"),
    "dpone.semantic-refresh-revocation-index.v1": ("RevocationIndex", "revocation_index_sha256"),
    "dpone.semantic-refresh-runtime-assurance-policy.v1": (
        "RuntimeAssurancePolicy",
        "runtime_assurance_policy_sha256",
    ),
    "dpone.semantic-refresh-writer-measurement.v1": ("WriterMeasurement", "writer_measurement_sha256"),
    "dpone.semantic-refresh-ddl-freeze-measurement.v1": (
        "DdlFreezeMeasurement",
        "ddl_freeze_measurement_sha256",
    ),
    "dpone.semantic-refresh-utc-measurement.v1": ("UtcMeasurement", "utc_measurement_sha256"),
    "dpone.semantic-refresh-route-live-certification-receipt.v1": (
        "RouteLiveCertificationReceipt",
        "route_certification_receipt_sha256",
    ),
    "dpone.semantic-refresh-runtime-assurance-receipt.v1": (
        "RuntimeAssuranceReceipt",
        "runtime_assurance_receipt_sha256",
    ),
    "dpone.semantic-refresh-baseline-adoption-receipt.v1": (
        "BaselineAdoptionReceipt",
        "baseline_adoption_receipt_sha256",
    ),
    "dpone.dbt-semantic-refresh-resource-policy.v1": ("ResourcePolicy", "resource_policy_sha256"),
    "dpone.semantic-refresh-operation-plan.v1": ("OperationPlan", "operation_plan_sha256"),
    "dpone.semantic-refresh-workflow-plan.v1": ("WorkflowPlan", "workflow_plan_sha256"),
    "dpone.semantic-refresh-workflow-replacement-plan.v1": (
        "WorkflowReplacementPlan",
        "workflow_replacement_plan_sha256",
    ),
    "dpone.dbt-semantic-refresh-plan-bundle.v1": ("PlanBundle", "plan_bundle_sha256"),
    "dpone.semantic-refresh-v2-dag-projection.v1": ("DagProjection", "dag_projection_sha256"),
    "dpone.semantic-refresh-activation-receipt.v1": ("ActivationReceipt", "activation_receipt_sha256"),
    "dpone.semantic-refresh-deployment-index.v1": ("DeploymentIndex", "deployment_index_sha256"),
    "dpone.semantic-refresh-document-signature.v1": ("DocumentSignature", "document_signature_sha256"),
    "dpone.semantic-refresh-workflow-execution-binding.v1": (
        "WorkflowExecutionBinding",
        "workflow_execution_binding_sha256",
    ),
    "dpone.semantic-refresh-compiler-runtime-authority-bundle.v1": (
        "CompilerRuntimeAuthorityBundle",
        "authority_bundle_sha256",
    ),
    "dpone.semantic-refresh-attempt-binding.v1": ("AttemptBinding", "attempt_binding_sha256"),
    "dpone.semantic-refresh-model-build-receipt.v1": ("ModelBuildReceipt", "model_build_receipt_sha256"),
    "dpone.semantic-refresh-trusted-attempt-termination-receipt.v1": (
        "TrustedAttemptTerminationReceipt",
        "termination_receipt_sha256",
    ),
    "dpone.semantic-refresh-attempt-continuation-receipt.v1": (
        "AttemptContinuationReceipt",
        "continuation_receipt_sha256",
    ),
    "dpone.semantic-refresh-build-gate-receipt.v1": ("BuildGateReceipt", "build_gate_receipt_sha256"),
    "dpone.semantic-refresh-seal-authorization-receipt.v1": (
        "SealAuthorizationReceipt",
        "seal_authorization_receipt_sha256",
    ),
    "dpone.semantic-refresh-sealed-artifact-manifest.v1": (
        "SealedArtifactManifest",
        "artifact_manifest_sha256",
    ),
    "dpone.semantic-refresh-content-record.v1": ("ContentRecord", "content_record_sha256"),
    "dpone.semantic-refresh-prepared-receipt.v1": ("PreparedReceipt", "prepared_receipt_sha256"),
    "dpone.semantic-refresh-commit-intent.v1": ("CommitIntent", "commit_intent_sha256"),
    "dpone.semantic-refresh-exchange-receipt.v1": ("ExchangeReceipt", "exchange_receipt_sha256"),
    "dpone.semantic-refresh-predecessor-receipt.v1": ("PredecessorReceipt", "predecessor_receipt_sha256"),
    "dpone.semantic-refresh-outcome-observation.v1": ("OutcomeObservation", "outcome_observation_sha256"),
    "dpone.semantic-refresh-publication-receipt.v1": ("PublicationReceipt", "publication_receipt_sha256"),
    "dpone.semantic-refresh-empty-scope-receipt.v1": ("EmptyScopeReceipt", "empty_scope_receipt_sha256"),
    "dpone.semantic-refresh-failed-workflow-summary.v1": ("FailedWorkflowSummary", "terminal_summary_sha256"),
    "dpone.semantic-refresh-durable-workflow-summary.v1": (
        "DurableWorkflowSummary",
        "terminal_summary_sha256",
    ),
    "dpone.semantic-refresh-clickhouse-failed-scratch-cleanup-receipt.v1": (
        "ScratchCleanupReceipt",
        "scratch_absence_evidence_sha256",
    ),
    "dpone.semantic-refresh-mssql-failed-precommit-cleanup-ack.v1": (
        "CleanupAcknowledgement",
        "cleanup_receipt_sha256",
    ),
    "dpone.semantic-refresh-attested-controls.v1": ("AttestedControls", "attested_controls_sha256"),
    "dpone.semantic-refresh-model-deployment.v1": ("ModelDeployment", "model_deployment_sha256"),
    "dpone.semantic-refresh-release-settings.v1": ("ReleaseSettings", "release_settings_sha256"),
    "dpone.semantic-refresh-route-result.v1": ("RouteResult", "route_result_sha256"),
}
PARTS: dict[str, str] = {
    "AbsentShadow": """
        kind:=shadow name:cleanup expected_uuid:~uuid observed_uuid:null
    """,
    "AbsentStaging": """
        kind:=staging name:cleanup expected_uuid:~uuid observed_uuid:null
    """,
    "ActivationReceipt": """
        schema:=dpone.semantic-refresh-activation-receipt.v1 activation_receipt_sha256:sha status:=ACTIVE
        release_id:sha deployment_id:sha store_authority_id:id recovery_fork:uuid authority_receipt_sha256:sha
        pre_release_bundle_sha256:sha package_artifacts_sha256:sha plan_bundle_sha256:sha
        workflow_plan_sha256:sha dag_projection_sha256:sha workflow_name:id scope_start:day scope_end:day
        persisted_at:micros
    """,
    "AdapterPolicy": """
        schema:=dpone.dbt-sqlserver-capability-policy.v1 adapter_policy_sha256:sha
        required_project_flags:ProjectFlags
    """,
    "AdapterRuntime": """
        schema:=dpone.dbt-sqlserver-runtime-policy.v1 adapter_runtime_sha256:sha backend:=pyodbc
        login_timeout_seconds:n1 query_timeout_seconds:n1 retries:n1
    """,
    "ArtifactAuthority": """
        provider:id provider_profile:id endpoint_authority_id:id bucket_or_container_authority_id:id
        kms_key_authority_id:id artifact_prefix:key writer_scope:id capability_evidence_sha256:sha
        encryption_policy_sha256:sha max_artifact_bytes:n1 retention_policy_id:id retention_policy_sha256:sha
        retention_days:n1 retention_issued_at:instant retention_until:instant
    """,
    "AssuranceSubject": """
        subject_type:=target|column assurance_kind:=writer_exclusivity|utc_semantics|ddl_freeze environment:id
        release_id:sha deployment_id:sha model_unique_id:model database:id column_name?:id
        mssql_control_database:id mssql_control_schema:id mssql_image_schema:id mssql_target_authority_id:id
        writable_schema_sha256:sha effective_key_template_sha256:sha model_definition_proof_sha256:sha
        route_certification_receipt_sha256:sha scope_image_namespace_policy_sha256:sha
        sqlserver_lifecycle_policy_sha256:sha
    """,
    "AttemptBinding": """
        schema:=dpone.semantic-refresh-attempt-binding.v1 attempt_binding_sha256:sha workflow_execution_id:id
        workflow_execution_binding_sha256:sha operation_id:sha operation_plan_sha256:sha dag_run_id:id
        task_id:id try_number:n1 pod_uid:pod owner_id:id fencing_epoch:n1
    """,
    "AttemptContinuationReceipt": """
        schema:=dpone.semantic-refresh-attempt-continuation-receipt.v1 continuation_receipt_sha256:sha
        status:=VERIFIED verified_at:micros workflow_execution_binding_sha256:sha operation_id:sha
        operation_plan_sha256:sha original_attempt_binding_sha256:sha
        original_attempt_termination_receipt_sha256:sha task_id:id try_number:n1 pod_uid:pod fencing_epoch:n1
        guard_resource_id:id build_receipt_sha256:sha after_image_sha256:sha mssql_active_session_count:zero
        mssql_guard_lock_status:=EXCLUSIVE_ACQUIRED clickhouse_cluster_authority_id:id
        clickhouse_query_id_prefix:id clickhouse_quiescence_observation_sha256:sha
        engine_quiescence_receipt_sha256:sha
    """,
    "AttestedControls": """
        schema:=dpone.semantic-refresh-attested-controls.v1 attested_controls_sha256:sha environment:id
        external_job_inventory_sha256:sha organizational_control_sha256:sha effective_from:instant
        expires_at:instant producer_version:id
    """,
    "Authoring": """
        mode:=semantic_refresh_v2_template
    """,
    "BaselineAdoptionReceipt": """
        schema:=dpone.semantic-refresh-baseline-adoption-receipt.v1 baseline_adoption_receipt_sha256:sha
        status:=COMPLETE baseline_kind:=certified_initial_load|adopted_complete_relation_conformant
        adopted_at:instant release_id:sha deployment_id:sha model_unique_id:model coverage_start:cover
        coverage_end:cover historical_clickhouse_internal_multiset_conformance:=PROVEN
        historical_clickhouse_internal_multiset_evidence_sha256:sha
        historical_cross_engine_payload_value_equivalence:=NOT_CLAIMED certified_codec_mapping_sha256:sha
        ddl_assurance_sha256:sha utc_assurance_sha256:sha writer_assurance_sha256:sha source_relation_id:id
        source_generation:n1 source_snapshot_sha256:sha source_assurance_sha256:sha source_coverage_sha256:sha
        source_key_sha256:sha source_physical_sha256:sha source_schema_sha256:sha mssql_relation_id:id
        mssql_generation:n1 mssql_connection_authority_id:id mssql_target_authority_id:id
        mssql_assurance_sha256:sha mssql_coverage_sha256:sha mssql_key_sha256:sha mssql_physical_sha256:sha
        mssql_schema_sha256:sha clickhouse_relation_id:id clickhouse_generation:n1
        clickhouse_cluster_authority_id:id clickhouse_target_authority_id:id clickhouse_target_uuid:uuid
        clickhouse_assurance_sha256:sha clickhouse_coverage_sha256:sha clickhouse_key_sha256:sha
        clickhouse_physical_sha256:sha clickhouse_schema_sha256:sha
    """,
    "BuildGateReceipt": """
        schema:=dpone.semantic-refresh-build-gate-receipt.v1 build_gate_receipt_sha256:sha
        workflow_execution_binding_sha256:sha model_unique_ids:[+model tests:=PASSED recorded_at:micros
    """,
    "CleanupAcknowledgement": """
        schema:=dpone.semantic-refresh-mssql-failed-precommit-cleanup-ack.v1 cleanup_receipt_sha256:sha
        status:=COMPLETE scratch_absence_evidence:ScratchCleanupReceipt scratch_absence_evidence_sha256:sha
        resource_allocation_closure:ResourceAllocationClosure resource_allocation_closure_sha256:sha
    """,
    "CommitIntent": """
        schema:=dpone.semantic-refresh-commit-intent.v1 commit_intent_sha256:sha operation_id:sha
        attempt_binding_sha256:sha prepared_receipt_sha256:sha target_relation:id target_uuid:uuid
        shadow_relation:id shadow_uuid:uuid intended_at:micros
    """,
    "CompilerRuntimeAuthorityBundle": """
        schema:=dpone.semantic-refresh-compiler-runtime-authority-bundle.v1 authority_bundle_sha256:sha
        workflow_mode:=normal|failed_precommit_replacement|complete_scope_replay environment:id release_id:sha
        deployment_id:sha compiler_policy_sha256:sha runtime_policy_sha256:sha
        route_certification_receipt_sha256:sha workflow_plan_sha256:sha workflow_replacement_plan_sha256?:sha
        workflow_execution_id:id workflow_execution_binding_sha256:sha models:[+ModelAuthority
    """,
    "ContainerTermination": """
        name:id container_id:id reason:id finished_at:micros exit_code?:int
    """,
    "ContentRecord": """
        schema:=dpone.semantic-refresh-content-record.v1 content_record_sha256:sha artifact_manifest_sha256:sha
        manifest_object_key:key manifest_object_version:version operation_id:sha row_encoding:=dpone_row_v1
        row_count:n0 content_sha256:sha block_sha256:[sha
    """,
    "CoveredObject": """
        object_id:n1 schema_name:id object_name:id state:=SAME|GONE_OR_OTHER
    """,
    "DagPolicy": """
        schedule:~text start_date:id timezone:id catchup:bool max_active_runs:n1 max_active_tasks:n1 owner:id
        tags:[id
    """,
    "DagProjection": """
        schema:=dpone.semantic-refresh-v2-dag-projection.v1 dag_projection_sha256:sha release_id:sha
        deployment_id:sha pre_release_bundle_sha256:sha package_artifacts_sha256:sha plan_bundle:PlanBundle
        plan_bundle_sha256:sha workflow_plan_sha256:sha operation_ids_by_model:{model,sha} topology:Topology
        topology_sha256:sha task_projection:TaskProjection template_pack:TemplatePack
        template_pack_fingerprint:sha
    """,
    "DdlFreezeMeasurement": """
        database:id schema_name:id object_name:id object_id:n1 server_major_version:n1 measured_at:micros
        measured_by:id unseen:[text schema:=dpone.semantic-refresh-ddl-freeze-measurement.v1
        ddl_freeze_measurement_sha256:sha ddl_epoch:n0 covered:[CoveredObject
        trigger_state:=ENABLED|DISABLED|ABSENT trigger_text:=AS_RELEASED|OTHER|UNSEEN
        controllers:[MeasuredPrincipal
    """,
    "DeadlinePolicy": """
        schema:=dpone.semantic-refresh-deadline-policy.v1 deadline_policy_sha256:sha overall_seconds:n1
        admission_seconds:n1 execution_seconds:n1 statement_seconds:n1 lock_timeout_milliseconds:n1
        artifact_seconds:n1 preparation_seconds:n1 commit_seconds:n1 publication_seconds:n1
        polling:PollingPolicy
    """,
    "DependencyEdge": """
        from_object_id:n1 to_object_id:n1 dependency_kind:=BASE_TABLE|SCHEMABOUND_VIEW|SCHEMABOUND_INLINE_TVF
    """,
    "DeploymentDescriptor": """
        schema:=dpone.semantic-refresh-deployment-descriptor.v1 deployment_id:sha release_id:sha environment:id
        binding_set_ref:id connection_registry_ref:id credential_runtime_ref:id mssql_connection_authority_id:id
        mssql_database:id mssql_control_database:id mssql_control_schema:id mssql_image_schema:id
        clickhouse_cluster_authority_id:id clickhouse_database:id artifact_store_authority_id:id
        profile_sha256:sha runtime_policy_sha256:sha compiler_policy_sha256:sha
    """,
    "DeploymentIndex": """
        schema:=dpone.semantic-refresh-deployment-index.v1 deployment_index_sha256:sha release_id:sha
        deployment_id:sha projections:[IndexedProjection current:{id,sha}
    """,
    "DocumentSignature": """
        schema:=dpone.semantic-refresh-document-signature.v1 document_signature_sha256:sha algorithm:=ed25519
        issuer_authority:id key_id:sha signed_schema:id signed_document_sha256:sha signed_bytes_sha256:sha
        signature:str
    """,
    "DurableWorkflowSummary": """
        schema:=dpone.semantic-refresh-durable-workflow-summary.v1 terminal_summary_sha256:sha
        status:=FULLY_COMPLETE workflow_execution_id:id workflow_execution_binding_sha256:sha
        workflow_plan_sha256:sha expected_operation_ids:[+sha publications:[+Publication
    """,
    "EffectiveConfig": """
        authoring:Authoring
    """,
    "EffectiveKeyColumn": """
        name:id source_type:str target_type:str
        mapping:=bit_bool|integer_width_preserving|uuid_equality|date|datetime2_utc|decimal_exact nullable:false
        domain_min?:str domain_max?:str utc_assurance_sha256?:sha
    """,
    "EffectiveKeyTemplate": """
        schema:=dpone.semantic-refresh-effective-key-template.v1 effective_key_template_sha256:sha
        columns:[+KeyTemplateColumn
    """,
    "EmptyScopeReceipt": """
        operation_id:sha operation_plan_sha256:sha attempt_binding_sha256:sha prepared_receipt_sha256:sha
        target_authority_id:id predecessor_generation:n1 predecessor_generation_id:sha target_generation:n1
        target_generation_id:sha target_uuid:uuid scope_family_id:sha scope_start:day scope_revision:n1
        checkpoint_covered_until:day journal_version:n1 published_at:micros
        schema:=dpone.semantic-refresh-empty-scope-receipt.v1 empty_scope_receipt_sha256:sha
        artifact_manifest_sha256:sha physical_authority_sha256:sha
        target_mutation_outcome:=NOT_REQUIRED_EMPTY_SCOPE target_rows_in_scope:zero
    """,
    "ExchangeReceipt": """
        schema:=dpone.semantic-refresh-exchange-receipt.v1 exchange_receipt_sha256:sha operation_id:sha
        operation_plan_sha256:sha attempt_binding_sha256:sha prepared_receipt_sha256:sha target_relation:id
        burned_relation:id shadow_relation:id predecessor_uuid:uuid successor_uuid:uuid
        observed_target_uuid:uuid observed_shadow_uuid:uuid physical_authority_sha256:sha
        predecessor_parts_sha256:sha observed_at:micros
    """,
    "ExecutionPack": """
        schema:=dpone.dbt-execution-pack.v1 pack_sha256:sha workflow_id:id dbt_core_version:=1.10.13
        dbt_adapter_version:=1.10.1 dbt_warning_policy:=fail manifest_schema_version:id
        run_results_schema_version:id project_bundle_sha256:sha project_subdir:id target_path:id
        timeout_seconds:n1 profile:ExecutionProfile adapter_policy:AdapterPolicy adapter_runtime:AdapterRuntime
        invocation_context:InvocationContext selection_lock:SelectionLock
    """,
    "ExecutionProfile": """
        profile_name:id target_name:id adapter_type:=sqlserver connection_ref:id database:id schema:id
        threads:n1
    """,
    "FailedModel": """
        operation_id:sha attempt_binding_sha256:sha mssql_outcome:=NOT_INVOKED|ROLLED_BACK|COMMITTED_WITH_IMAGES
        mssql_evidence_sha256:sha
    """,
    "FailedWorkflowSummary": """
        schema:=dpone.semantic-refresh-failed-workflow-summary.v1 terminal_summary_sha256:sha
        status:=FAILED_PRE_COMMIT workflow_id:id workflow_plan_sha256:sha workflow_execution_binding_sha256:sha
        expected_operation_ids:[+sha models:[+FailedModel
    """,
    "IndexedProjection": """
        dag_id:id workflow_name:id scope_start:day path:key size_bytes:n1 file_sha256:sha
        dag_projection_sha256:sha plan_bundle_sha256:sha workflow_plan_sha256:sha
    """,
    "IndirectWay": """
        kind:=assembly|cascade|feature|impersonating_module|job|module|setting name:text
    """,
    "InvocationContext": """
        schema:=dpone.dbt-invocation-context.v1 invocation_context_sha256:sha environment_policy:id
        indirect_selection:=eager|cautious|buildable|empty dynamic_vars:[id static_environment:{id,text}
    """,
    "KeyGrant": """
        document_kind:=route_certification|writer_exclusivity|ddl_freeze|utc_semantics|revocation_index
        environment:id scope:=environment|named named_sha256:[sha
    """,
    "KeyTemplateColumn": """
        name:id source_type:str target_type:str
        mapping:=bit_bool|integer_width_preserving|uuid_equality|date|datetime2_utc|decimal_exact nullable:false
        domain_min?:str domain_max?:str utc_assurance_required:bool
    """,
    "MeasuredPrincipal": """
        scope:=database|server principal:id principal_type:id ways:[+text
    """,
    "ModelAuthority": """
        model_unique_id:model operation_id:sha operation_plan_sha256:sha baseline_adoption_receipt_sha256:sha
        model_definition_proof_sha256:sha mutation_closure_sha256:sha read_dependency_proof_sha256:sha
        sqlserver_lifecycle_policy_sha256:sha
    """,
    "ModelBuildReceipt": """
        schema:=dpone.semantic-refresh-model-build-receipt.v1 model_build_receipt_sha256:sha
        after_image_relation_id:id after_image_row_count:n0 after_image_sha256:sha attempt_binding_sha256:sha
        before_image_relation_id:id before_image_row_count:n0 before_image_sha256:sha ddl_epoch:n1
        effective_key_mapping_sha256:sha fencing_epoch:n1 inserted_row_count:n0 model_unique_id:model
        operation_id:sha operation_plan_sha256:sha recovery_fork:uuid row_encoding:=dpone_row_v1 scope_end:day
        scope_start:day source_row_count:n0 strategy_template_sha256:sha target_relation_id:id
        updated_row_count:n0 workflow_execution_binding_sha256:sha writable_schema_sha256:sha
    """,
    "ModelDefinitionProof": """
        schema:=dpone.semantic-refresh-model-definition-proof.v1 model_definition_proof_sha256:sha
        status:=PROVEN|NONCONFORMANT|UNVERIFIED model_unique_id:model manifest_sha256:sha raw_code_sha256:sha
        compiled_sql_sha256:sha macro_closure_sha256:sha toolchain_sha256:sha
        resolved_relation_dependency_digest:sha resolved_module_dependency_digest:sha
        catalog_observation_digest:sha parser_runtime_policy_digest:sha target_independence_policy_digest:sha
    """,
    "ModelDeployment": """
        schema:=dpone.semantic-refresh-model-deployment.v1 model_deployment_sha256:sha deployment_id:sha
        model_unique_id:model owner_generation:n1
        baseline_kind:=certified_initial_load|adopted_complete_relation_conformant baseline_generation:n1
        coverage_start:day coverage_end:day mssql_relation_id:id source_relation_id:id publication_database:id
        publication_table:id artifact_authority:ArtifactAuthority resource_policy_sha256:sha
        route_certification_receipt_sha256:sha writer_exclusivity_assurance_receipt_sha256:sha
        ddl_freeze_assurance_receipt_sha256:sha utc_semantics_assurance_receipt_sha256?:sha
    """,
    "ModelProofs": """
        model_unique_id:model definition:ModelDefinitionProof read_dependencies:ReadDependencyProof
        key_template:EffectiveKeyTemplate event_time_column:id writable_columns:[+WritableColumn
        writable_schema_sha256:sha
    """,
    "MutationClosure": """
        schema:=dpone.semantic-refresh-mutation-closure.v1 mutation_closure_sha256:sha
        status:=PROVEN|NONCONFORMANT|UNVERIFIED indirect_selection:=empty selectors:[+selector
        selected_node_ids:[+node selected_mutating_node_ids:[+node selected_read_only_node_ids:[node
        unclassified_mutating_node_ids:[node
    """,
    "OperationPlan": """
        schema:=dpone.semantic-refresh-operation-plan.v1 operation_plan_sha256:sha operation_id:sha
        operation_kind:=normal|failed_precommit_replacement|complete_scope_replay
        archetype:=scope_stable_event_fact environment:id release_id:sha deployment_id:sha workflow_id:id
        model_unique_id:model owner_generation:n1 scope_start:day scope_end:day scope_family_id:sha
        scope_revision:n1 scope_predecessor_operation_id?:sha target_predecessor_generation_id:sha
        event_time_column:id effective_key_columns:[+EffectiveKeyColumn effective_key_template_sha256:sha
        effective_key_mapping_sha256:sha mutation_order:(=UPDATE,=INSERT) missing_key_policy:=ignore_missing
        model_definition_proof_sha256:sha mutation_closure_sha256:sha read_dependency_proof_sha256:sha
        sqlserver_lifecycle_policy_sha256:sha platform_policy_digest:sha resource_policy_digest:sha
        writer_assurance_digest:sha replaces_failed_operation_id?:sha replacement_reason?:text
        replacement_ordinal?:n1
    """,
    "OperationPlanRef": """
        model_unique_id:model operation_id:sha operation_plan_sha256:sha
    """,
    "OutcomeObservation": """
        schema:=dpone.semantic-refresh-outcome-observation.v1 outcome_observation_sha256:sha operation_id:sha
        attempt_binding_sha256:sha boundary:=SQL|ARTIFACT|EXCHANGE|PUBLICATION findings:[+text
        observed_at:micros
    """,
    "PackIdentity": """
        schema:=dpone.airflow-pack-identity.v1
    """,
    "PlanBundle": """
        schema:=dpone.dbt-semantic-refresh-plan-bundle.v1 plan_bundle_sha256:sha pre_release_bundle_sha256:sha
        package_artifacts_sha256:sha release_deployment_authority:ReleaseDeploymentAuthority
        run_guard_closure:RunGuardClosure workflow_plan:WorkflowPlan
        workflow_replacement_plan?:WorkflowReplacementPlan operation_plans:[+OperationPlan targets:[+PlanTarget
    """,
    "PlanTarget": """
        model_unique_id:model target_resource_id:id baseline_status:=COMPLETE
        baseline_receipt:BaselineAdoptionReceipt baseline_receipt_sha256:sha mssql_connection_authority_id:id
        mssql_target_authority_id:id mssql_control_database:id mssql_control_schema:id mssql_image_schema:id
        scope_image_namespace_policy_sha256:sha ddl_epoch:n1 clickhouse_cluster_authority_id:id
        clickhouse_target_authority_id:id clickhouse_target_uuid:uuid publication_database:id
        publication_target_table:id publication_scope_id:id target_predecessor_generation:n1
        target_predecessor_generation_id:sha target_predecessor_operation_id:sha
        target_head_authority_receipt_sha256:sha target_head_terminal_receipt_sha256:~sha
        writable_columns:[+WritableColumn writable_schema_sha256:sha effective_key_mapping_sha256:sha
        effective_key_template_sha256:sha model_definition_proof_sha256:sha
        route_certification_receipt_sha256:sha writer_exclusivity_assurance_receipt_sha256:sha
        ddl_freeze_assurance_receipt_sha256:sha utc_semantics_assurance_receipt_sha256?:sha
        artifact_authority:ArtifactAuthority resource_policy:ResourcePolicy resource_policy_sha256:sha
        strategy_template_sha256:sha
    """,
    "PlatformPolicy": """
        schema:=dpone.semantic-refresh-platform-policy.v1 platform_policy_digest:sha environment:id
        archetype:=scope_stable_event_fact missing_key_policy:=ignore_missing read_limits:ReadLimits
        closed_day_lag_days:n0 max_models_per_workflow:n1 scope_image_namespace_policy_sha256:sha
        deadline_policy_sha256:sha seal_policy_sha256:sha workflow_resource_policy_sha256:sha
    """,
    "PollingPolicy": """
        max_attempts:n1 initial_delay_milliseconds:n1 max_delay_milliseconds:n1 multiplier_percent:n1
        jitter_percent:n0
    """,
    "PredecessorReceipt": """
        schema:=dpone.semantic-refresh-predecessor-receipt.v1 predecessor_receipt_sha256:sha operation_id:sha
        attempt_binding_sha256:sha prepared_receipt_sha256:sha target_uuid:uuid shadow_uuid:uuid
        burned_relation:id shadow_relation:id observed_at:micros
    """,
    "PreparedReceipt": """
        schema:=dpone.semantic-refresh-prepared-receipt.v1 prepared_receipt_sha256:sha operation_id:sha
        operation_plan_sha256:sha attempt_binding_sha256:sha artifact_manifest_sha256:sha target_relation:id
        target_uuid:uuid physical_authority_sha256:sha
        target_mutation:=EXCHANGE_REQUIRED|NOT_REQUIRED_EMPTY_SCOPE
        value_conversion_conformance:=PROVEN|NOT_APPLICABLE_NO_DATA generation?:PreparedShadow
        prepared_at:micros
    """,
    "PreparedShadow": """
        staging_relation:id staging_uuid:uuid shadow_relation:id shadow_uuid:uuid strategy:=partition|full
        attached_partitions:[id rebuilt_partitions:[id staged_rows:n1 shadow_rows:n1 rebuilt_rows:n0
        attached_rows:n0 multiset_differences:zero target_parts_sha256:sha shadow_parts_sha256:sha
    """,
    "ProjectFlags": """
        dbt_sqlserver_enable_safe_type_expansion:false dbt_sqlserver_use_dbt_transactions:true
        dbt_sqlserver_use_default_schema_concat:bool dbt_sqlserver_use_native_string_types:bool
    """,
    "ProjectOverlay": """
        schema:=dpone.dbt-semantic-refresh-project-overlay.v1 project_overlay_sha256:sha models:{id,tree}
    """,
    "ProjectedTask": """
        task_id:id task_kind:=DBT_BUILD_TEST_GATE|CLICKHOUSE_PREPARE|CLICKHOUSE_COMMIT|DURABLE_WORKFLOW_SUMMARY
        trigger_rule:=all_success|all_done upstream_task_ids:[id model_unique_id:~model operation_id:~sha
    """,
    "ProofBundle": """
        schema:=dpone.semantic-refresh-proof-bundle.v1 pre_release_bundle_sha256:sha
        status:=PROVEN|NONCONFORMANT|UNVERIFIED workflow_name:id package_artifacts_sha256:sha
        mutation_closure:MutationClosure lifecycle_policy:SqlServerLifecyclePolicy topology:Topology
        execution_pack:ExecutionPack models:[+ModelProofs
    """,
    "Publication": """
        operation_id:sha operation_plan_sha256:sha workflow_execution_binding_sha256:sha
        attempt_binding_sha256:sha artifact_manifest_sha256:sha clickhouse_terminal_receipt_sha256:sha
        terminal_receipt_sha256:sha target_generation:n1 scope_revision:n1 status:=COMPLETE
    """,
    "PublicationReceipt": """
        operation_id:sha operation_plan_sha256:sha attempt_binding_sha256:sha prepared_receipt_sha256:sha
        target_authority_id:id predecessor_generation:n1 predecessor_generation_id:sha target_generation:n1
        target_generation_id:sha target_uuid:uuid scope_family_id:sha scope_start:day scope_revision:n1
        checkpoint_covered_until:day journal_version:n1 published_at:micros
        schema:=dpone.semantic-refresh-publication-receipt.v1 publication_receipt_sha256:sha
        exchange_receipt_sha256:sha
    """,
    "ReadDependencyProof": """
        schema:=dpone.semantic-refresh-read-dependency-proof.v1 read_dependency_proof_sha256:sha
        status:=PROVEN|NONCONFORMANT|UNVERIFIED model_unique_id:model database_name:id compiled_sql_sha256:sha
        catalog_snapshot_sha256:sha normalized_definitions_sha256:sha policy_sha256:sha max_depth:n1
        max_nodes:n1 max_edges:n1 max_definition_bytes:n1 base_relation_object_ids:[n1
        dependency_edges:[DependencyEdge
    """,
    "ReadLimits": """
        max_depth:n1 max_nodes:n1 max_edges:n1 max_definition_bytes:n1
    """,
    "ReleaseDeploymentAuthority": """
        authority_receipt_sha256:sha release_id:sha deployment_id:sha binding_set_ref:id
        connection_registry_ref:id credential_runtime_ref:id
    """,
    "ReleaseDescriptor": """
        schema:=dpone.semantic-refresh-release-descriptor.v1 release_id:sha product_version:id
        pre_release_bundle_sha256:sha package_artifacts_sha256:sha platform_policy_digest:sha
        sqlserver_lifecycle_policy_sha256:sha toolchain_sha256:sha
    """,
    "ReleaseSettings": """
        schema:=dpone.semantic-refresh-release-settings.v1 release_settings_sha256:sha asset_uris:{model,id}
        connection_ref:id database:id model_schema:id login_timeout_seconds:n1 query_timeout_seconds:n1
        timeout_seconds:n1
    """,
    "ReleasedAllocation": """
        allocation_id:sha reservation_id:cleanup workflow_execution_binding_sha256:sha operation_id:sha
        resource_kind:=clickhouse_staging_bytes|prepared_models|retained_generation_bytes|sealed_extract_bytes|shadow_bytes
        amount:n1 status:=RELEASED
    """,
    "ReplacementAction": """
        action_id:model outcome:=NOT_INVOKED|ROLLED_BACK|COMMITTED_WITH_IMAGES|COMMIT_UNKNOWN
        action:=RESTORE_THEN_REBUILD|BUILD_FRESH|BLOCK
    """,
    "ResourceAllocationClosure": """
        schema:=dpone.semantic-refresh-mssql-resource-allocation-closure.v1 reservation_id:cleanup
        workflow_execution_binding_sha256:sha operation_id:sha
        allocations:(ReleasedAllocation,ReleasedAllocation,ReleasedAllocation,ReleasedAllocation,ReleasedAllocation)
    """,
    "ResourcePolicy": """
        schema:=dpone.dbt-semantic-refresh-resource-policy.v1 resource_policy_sha256:sha
        max_source_scope_rows:n1 max_target_scope_rows:n1 max_dbt_temp_rows:n1 max_dbt_temp_bytes:n1
        max_before_image_rows:n1 max_before_image_bytes:n1 max_after_image_rows:n1 max_after_image_bytes:n1
        max_scope_image_total_bytes:n1 max_transaction_log_bytes:n1 min_mssql_log_free_bytes:n1
        max_mssql_version_store_bytes:n1 max_mssql_scope_lock_seconds:n1 max_statement_seconds:n1
        max_clickhouse_staging_bytes:n1 max_clickhouse_shadow_bytes:n1 max_clickhouse_retained_backup_bytes:n1
        max_clickhouse_total_transient_bytes:n1
    """,
    "RevocationIndex": """
        schema:=dpone.semantic-refresh-revocation-index.v1 revocation_index_sha256:sha trust_domain:id
        index_epoch:n1 issued_at:instant documents:[RevokedDocument keys:[RevokedKey
    """,
    "RevokedDocument": """
        document_sha256:sha revoked_at:instant reason:text
    """,
    "RevokedKey": """
        key_id:sha revoked_at:instant reason:text
    """,
    "RouteCoordinates": """
        environment:id load_strategy:id source_connector:id source_connector_version:id
        source_capability_sha256:sha sink_connector:id sink_connector_version:id sink_capability_sha256:sha
        capability_policy_sha256:sha route_policy_sha256:sha runtime_image_digest:sha toolchain_sha256:sha
    """,
    "RouteLiveCertificationReceipt": """
        schema:=dpone.semantic-refresh-route-live-certification-receipt.v1
        route_certification_receipt_sha256:sha status:=PASS|FAIL|UNVERIFIED coordinates:RouteCoordinates
        certification_policy_sha256:sha issuer_authority:id issuer_attestation_sha256:sha
        issuer_signature_sha256:sha tested_at?:instant effective_from?:instant expires_at?:instant
        failure_matrix_sha256?:sha live_environment_sha256?:sha live_evidence_sha256?:sha revoked_at?:instant
        revoked_receipt_sha256?:sha revocation_reason?:text
    """,
    "RouteResult": """
        schema:=dpone.semantic-refresh-route-result.v1 route_result_sha256:sha status:=PASS|FAIL|UNVERIFIED
        coordinates:RouteCoordinates certification_policy_sha256:sha tested_at:instant effective_from:instant
        expires_at:instant failure_matrix_sha256?:sha live_environment_sha256?:sha live_evidence_sha256?:sha
    """,
    "RunGuardClosure": """
        schema:=dpone.dbt-semantic-refresh-run-guard-closure.v1 run_guard_closure_sha256:sha
        workflow_guard_resource_id:id resource_guard_ids:[+id
    """,
    "RuntimeAssurancePolicy": """
        schema:=dpone.semantic-refresh-runtime-assurance-policy.v1 runtime_assurance_policy_sha256:sha
        environment:id acl_policy_version:id runtime_principals:[+id installer_principals:[id
        administrator_logins:[id allowed_ways:[text external_jobs:=MEASURED|ATTESTED
    """,
    "RuntimeAssuranceReceipt": """
        schema:=dpone.semantic-refresh-runtime-assurance-receipt.v1 runtime_assurance_receipt_sha256:sha
        status:=CERTIFIED|REVOKED subject:AssuranceSubject runtime_assurance_policy_sha256:sha
        acl_policy_version:id producer_version:id transformation_version:id approver_authority:id
        approver_attestation_sha256:sha approver_signature_sha256:sha effective_from?:instant
        expires_at?:instant evidence_sha256?:sha ddl_epoch?:n1 engine_acl_proof_sha256?:sha
        engine_acl_proof_status?:=PASS external_job_inventory_sha256?:sha external_job_inventory_status?:=PASS
        organizational_control_sha256?:sha organizational_control_status?:=CERTIFIED
        platform_allowlist_sha256?:sha platform_allowlist_status?:=PASS revoked_at?:instant
        revoked_receipt_sha256?:sha revocation_reason?:text
    """,
    "ScratchCleanupReceipt": """
        schema:=dpone.semantic-refresh-clickhouse-failed-scratch-cleanup-receipt.v1
        scratch_absence_evidence_sha256:sha workflow_execution_id:cleanup workflow_execution_binding_sha256:sha
        operation_id:sha operation_plan_sha256:sha attempt_binding_sha256:sha fencing_epoch:n1 target_uuid:uuid
        relations:(AbsentShadow,AbsentStaging)
    """,
    "SealAuthorizationReceipt": """
        schema:=dpone.semantic-refresh-seal-authorization-receipt.v1 seal_authorization_receipt_sha256:sha
        created_at:seconds issuer_authority:id issuer_attestation_sha256:sha issuer_signature_sha256:sha
        journal_state:=PREPARING journal_version:n1 mssql_outcome:=COMMITTED_WITH_IMAGES workflow_id:id
        workflow_execution_id:id workflow_execution_binding_sha256:sha workflow_plan_sha256:sha
        model_unique_id:model operation_id:sha operation_plan_sha256:sha attempt_binding_sha256:sha
        fencing_epoch:n1 model_build_receipt_sha256:sha before_image_relation_id:id before_image_row_count:n0
        before_image_sha256:sha after_image_relation_id:id after_image_row_count:n0 after_image_sha256:sha
        event_time_source_type:=date|datetime2(6) baseline_adoption_receipt_sha256:sha
        route_certification_receipt_sha256:sha ddl_freeze_assurance_receipt_sha256:sha
        writer_exclusivity_assurance_receipt_sha256:sha utc_semantics_assurance_receipt_sha256?:sha
        effective_key_mapping_sha256:sha effective_key_template_sha256:sha ordered_writable_schema_sha256:sha
        parquet_schema_mapping_sha256:sha clickhouse_input_mapping_sha256:sha
        codec_mapping_certification_sha256:sha serializer_sha256:sha seal_policy_sha256:sha
        artifact_authority_sha256:sha
    """,
    "SealPolicy": """
        schema:=dpone.semantic-refresh-seal-policy.v1 seal_policy_sha256:sha artifact_format:=dpone_parquet_v1
        content_encoding:=dpone_row_v1 content_chunk_rows:n1 max_chunk_rows:n1 max_chunk_bytes:n1
        row_group_rows:n1 compression:=zstd compression_level:n1 provider:id provider_profile:id
        encryption_policy_sha256:sha max_artifact_bytes:n1 retention_policy_id:id retention_policy_sha256:sha
        retention_days:n1
    """,
    "SealedArtifactManifest": """
        schema:=dpone.semantic-refresh-sealed-artifact-manifest.v1 artifact_manifest_sha256:sha
        artifact_format:=dpone_parquet_v1 publication_order:=MANIFEST_LAST provider:id artifact_prefix:key
        chunk_count:n0 total_rows:n0 total_bytes:n0 chunks:[SealedChunk model_unique_id:model operation_id:sha
        operation_plan_sha256:sha attempt_binding_sha256:sha workflow_execution_binding_sha256:sha
        model_build_receipt_sha256:sha seal_authorization_receipt_sha256:sha
        route_certification_receipt_sha256:sha effective_key_mapping_sha256:sha
        effective_key_template_sha256:sha ordered_writable_schema_sha256:sha parquet_schema_mapping_sha256:sha
        clickhouse_input_mapping_sha256:sha codec_mapping_certification_sha256:sha serializer_sha256:sha
        encryption_policy_sha256:sha retention_policy_sha256:sha
    """,
    "SealedChunk": """
        ordinal:n1 object_key:key provider_version:version chunk_sha256:sha byte_count:n1 row_count:n1
    """,
    "SelectionLock": """
        schema:=dpone.dbt-selection-lock.v1 selection_sha256:sha selectors:[+selector
        selected_graph_unique_ids:[+node publish_model_unique_ids:[+model expected_run_result_unique_ids:[+node
        graph_contract_sha256:sha graph_policy_id:id graph_policy_sha256:sha invocation_context_sha256:sha
        manifest_sha256:sha toolchain_sha256:sha
    """,
    "SemanticRefreshTemplate": """
        mode:=semantic_refresh_v2_template pre_release_bundle_sha256:sha package_artifacts_sha256:sha
        topology:Topology
    """,
    "SqlServerLifecyclePolicy": """
        schema:=dpone.semantic-refresh-sqlserver-lifecycle-policy.v1 sqlserver_lifecycle_policy_sha256:sha
        dbt_core_version:=1.10.13 dbt_sqlserver_version:=1.10.1 python_version:id pyodbc_version:id
        odbc_driver:id sqlserver_version:id compatibility_level:n1 materialization:=incremental
        incremental_strategy:=dpone_scope_merge on_schema_change:=fail contract_enforced:true
        existing_table_required:true full_refresh_allowed:false hooks_allowed:false
        schema_mutation_allowed:false runtime_image_digest:sha driver_digest:sha package_artifacts_digest:sha
        macro_closure_sha256:sha materialization_closure_digest:sha dispatch_closure_digest:sha
        adapter_policy_digest:sha project_policy_digest:sha profile_policy_digest:sha
        invocation_policy_digest:sha
    """,
    "TaskProjection": """
        schema:=dpone.semantic-refresh-v2-dag-task-projection.v1 topology_sha256:sha dag_id:id asset_uris:[+id
        dbt_task:ProjectedTask prepare_tasks:[+ProjectedTask commit_tasks:[+ProjectedTask
        summary_task:ProjectedTask
    """,
    "TemplatePack": """
        schema_version:=3 kind:=gitops.airflow_pack producer:producer
        activation:=POST_DEPLOYMENT_AUTHORITY_REQUIRED executable:false runtime_command:=
        runtime_payload_ids:[+id pack_identity:PackIdentity pack_fingerprint:sha
        dbt_execution_pack:ExecutionPack semantic_refresh:SemanticRefreshTemplate workload:Workload
    """,
    "Topology": """
        schema:=dpone.dbt-semantic-refresh-topology-template.v1 topology_sha256:sha
        activation:=POST_DEPLOYMENT_AUTHORITY_REQUIRED workflow_name:id dag_id:id dag_policy:DagPolicy
        profile_sha256:sha model_unique_ids:[+model dependencies:{model,[model}
        logical_output_asset_uris:{model,id} project_config_overlay:ProjectOverlay
    """,
    "TrustPolicy": """
        schema:=dpone.semantic-refresh-trust-policy.v1 trust_policy_sha256:sha trust_domain:id environment:id
        effective_from:instant expires_at:instant max_revocation_index_age_seconds:n1
        min_revocation_index_epoch:n1 keys:[+TrustedKey
    """,
    "TrustedAttemptTerminationReceipt": """
        schema:=dpone.semantic-refresh-trusted-attempt-termination-receipt.v1 termination_receipt_sha256:sha
        verification_status:=VERIFIED terminal_phase:=Failed|Succeeded attempt_binding_sha256:sha
        workflow_execution_id:id workflow_execution_binding_sha256:sha operation_ids:[+sha
        operation_set_sha256:sha dag_id:id run_id:id task_id:id map_index:n-1 try_number:n1 cluster_id:id
        namespace:id pod_name:id pod_uid:uuid pod_resource_version:id
        container_terminations:[+ContainerTermination observed_at:micros observer_authority:id
        observer_policy_sha256:sha observer_attestation_sha256:sha observer_signature_sha256:sha
    """,
    "TrustedKey": """
        key_id:sha algorithm:=ed25519 public_key:str issuer_authority:id effective_from:instant
        expires_at:instant grants:[+KeyGrant
    """,
    "UtcMeasurement": """
        database:id schema_name:id object_name:id object_id:n1 server_major_version:n1 measured_at:micros
        measured_by:id unseen:[text schema:=dpone.semantic-refresh-utc-measurement.v1 utc_measurement_sha256:sha
        column_name:id type_name:id is_computed:bool default_clock:=NONE|CONSTANT|UTC|OTHER
        server_utc_offset:str session_language:id session_date_format:id
    """,
    "WorkflowExecutionBinding": """
        workflow_mode:=normal|failed_precommit_replacement|complete_scope_replay
        selected_mutating_node_ids:[+model model_operation_plan_ids:[+model expected_model_outcome_ids:[+model
        replacement_action_ids:[model workflow_plan_sha256:sha
        schema:=dpone.semantic-refresh-workflow-execution-binding.v1 workflow_execution_binding_sha256:sha
        workflow_execution_id:id deployment_id:sha binding_set_ref:id connection_registry_ref:id
        credential_runtime_ref:id recovery_plan_digest?:sha workflow_replacement_plan_sha256?:sha
    """,
    "WorkflowPlan": """
        workflow_mode:=normal|failed_precommit_replacement|complete_scope_replay
        selected_mutating_node_ids:[+model model_operation_plan_ids:[+model expected_model_outcome_ids:[+model
        replacement_action_ids:[model workflow_plan_sha256:sha schema:=dpone.semantic-refresh-workflow-plan.v1
        workflow_name:id scope_start:day scope_end:day scope_revision:n1 mutation_closure_sha256:sha
        operation_plan_refs:[+OperationPlanRef
    """,
    "WorkflowProfile": """
        schema:=dpone.semantic-refresh-workflow-profile.v1 profile_sha256:sha profile_name:id workflow_name:id
        dag_id:id dag_policy:DagPolicy
    """,
    "WorkflowReplacementPlan": """
        workflow_mode:=failed_precommit_replacement selected_mutating_node_ids:[+model
        model_operation_plan_ids:[+model expected_model_outcome_ids:[+model replacement_action_ids:[model
        workflow_plan_sha256:sha schema:=dpone.semantic-refresh-workflow-replacement-plan.v1
        workflow_replacement_plan_sha256:sha predecessor_workflow_execution_id:id
        predecessor_workflow_execution_binding_sha256:sha predecessor_workflow_summary_sha256:sha
        recovery_plan_digest:sha replacement_actions:[+ReplacementAction
    """,
    "WorkflowResourcePolicy": """
        schema:=dpone.semantic-refresh-workflow-resource-policy.v1 workflow_resource_policy_sha256:sha
        max_clickhouse_staging_bytes:n1 max_prepared_models:n1 max_retained_generation_bytes:n1
        max_sealed_extract_bytes:n1 max_shadow_bytes:n1 max_concurrent_prepares:n1 max_disk_bytes:n1
        min_clickhouse_free_bytes:n1
    """,
    "Workload": """
        workload_id:id effective_config:EffectiveConfig
    """,
    "WritableColumn": """
        name:id source_type:id target_type:id nullable:bool
        writable_role:=EFFECTIVE_KEY|EFFECTIVE_KEY_EVENT_TIME|MUTABLE_VALUE
    """,
    "WriterMeasurement": """
        database:id schema_name:id object_name:id object_id:n1 server_major_version:n1 measured_at:micros
        measured_by:id unseen:[text schema:=dpone.semantic-refresh-writer-measurement.v1
        writer_measurement_sha256:sha writers:[MeasuredPrincipal indirect:[IndirectWay jobs_seen:bool
    """,
}
# </generated>


def _text(limit: int) -> Callable[[Any, str], Iterator[Fault]]:
    def check(value: Any, path: str) -> Iterator[Fault]:
        if type(value) is not str or not value.strip():
            yield Fault(path, "text")
        elif value != value.strip():
            yield Fault(path, "no-outer-blanks")
        elif len(value) > limit or hidden(value):
            yield Fault(path, "visible-text", readable=True)

    return check


def _cleanup_text(value: Any, path: str) -> Iterator[Fault]:
    if type(value) is not str or not value.strip():
        yield Fault(path, "text")
    elif value != value.strip() or len(value) > 512 or hidden(value):
        yield Fault(path, "visible-text", readable=True)


def _form(
    pattern: str, rule: str, *, limit: int = 512, readable: bool = True
) -> Callable[[Any, str], Iterator[Fault]]:
    matches = re.compile(pattern, re.ASCII).fullmatch

    def check(value: Any, path: str) -> Iterator[Fault]:
        if type(value) is not str:
            yield Fault(path, "text")
        elif len(value) > limit or not matches(value):
            yield Fault(path, rule, readable and bool(value.strip()) and value == value.strip())

    return check


def _moment(pattern: str, *, day: bool = False) -> Callable[[Any, str], Iterator[Fault]]:
    matches = re.compile(pattern, re.ASCII).fullmatch

    def check(value: Any, path: str) -> Iterator[Fault]:
        try:
            # Only text: since Python 3.12 a slice is a key that an object can be asked for.
            moment = instant(value if type(value) is str else "")
        except ValueError:
            yield Fault(path, "instant")
            return
        if value != value.strip() or (day and not midnight(moment)):
            yield Fault(path, "instant")
        elif not matches(value):
            yield Fault(path, "instant", readable=True)

    return check


def _integer(least: int | None, most: int | None = None) -> Callable[[Any, str], Iterator[Fault]]:
    def check(value: Any, path: str) -> Iterator[Fault]:
        if type(value) is not int:
            yield Fault(path, "integer")
        elif (least is not None and value < least) or (most is not None and value > most):
            yield Fault(path, "bounds")
        elif not -(2**63) <= value < 2**63:
            yield Fault(path, "int64", readable=True)

    return check


def _constant(wanted: Any) -> Callable[[Any, str], Iterator[Fault]]:
    def check(value: Any, path: str) -> Iterator[Fault]:
        if type(value) is not type(wanted) or value != wanted:
            yield Fault(path, "admitted-value")

    return check


def _boolean(value: Any, path: str) -> Iterator[Fault]:
    if type(value) is not bool:
        yield Fault(path, "boolean")


def _tree(value: Any, path: str) -> Iterator[Fault]:
    if type(value) is str and value and hidden(value):
        yield Fault(path, "visible-text", readable=True)
    elif type(value) is int and not -(2**63) <= value < 2**63:
        yield Fault(path, "int64", readable=True)
    elif type(value) is dict:
        for name, item in value.items():
            yield from _tree(name, path)
            yield from _tree(item, f"{path}.{name}")
    elif type(value) is list:
        for index, item in enumerate(value):
            yield from _tree(item, f"{path}[{index}]")


SCALARS: dict[str, Callable[[Any, str], Iterator[Fault]]] = {
    "sha": _form(SHA.pattern, "form", readable=False),
    "uuid": _form(UUID, "form", readable=False),
    "pod": _form(UUID, "uuid"),
    "producer": _form("dpone dbt compile", "admitted-value"),
    "str": lambda value, path: iter(()) if type(value) is str else iter((Fault(path, "text"),)),
    "id": _text(512),
    "text": _text(4096),
    "key": _text(1024),
    "version": _text(1024),
    "cleanup": _cleanup_text,
    "model": _form(r"model\.[A-Za-z_]\w*\.[\w\-]+(?:\.v[\w\-]+)?", "model-id"),
    "node": _form(r"[a-z_]+\.[A-Za-z_]\w*\.[\w\-]+(?:\.[\w\-]+)*", "node-id"),
    "selector": _form(r"fqn:[\w\-]+(?:\.[\w\-]+)+", "exact-selector"),
    "day": _moment(rf"{DATE}T00:00:00Z", day=True),
    "cover": _moment(rf"{DATE}T00:00:00Z"),
    "seconds": _moment(rf"{DATE}T{TIME}Z"),
    "micros": _moment(rf"{DATE}T{TIME}\.\d{{6}}Z"),
    "instant": _moment(rf"{DATE}T{TIME}(?:\.(?!000000)\d{{6}})?Z"),
    "n-1": _integer(-1),
    "int": _integer(None),
    "n0": _integer(0),
    "n1": _integer(1),
    "zero": _integer(0, 0),
    "true": _constant(wanted=True),
    "false": _constant(wanted=False),
    "null": _constant(None),
    "bool": _boolean,
    "tree": _tree,
}


def fields_of(part: str) -> Iterator[tuple[str, str, bool]]:
    """Yield (name, type, may be absent) of a part."""
    for field in PARTS[part].split():
        name, _, kind = field.partition(":")
        yield name.rstrip("?"), kind, name.endswith("?")


def check_value(kind: str, value: Any, path: str) -> Iterator[Fault]:
    """Check one value against its type."""
    if kind.startswith("~"):
        if value is not None:
            yield from check_value(kind[1:], value, path)
    elif kind.startswith("="):
        if type(value) is not str or value not in kind[1:].split("|"):
            yield Fault(path, "admitted-value")
    elif kind.startswith("["):
        if type(value) is not list or (kind.startswith("[+") and not value):
            yield Fault(path, "array")
            return
        for index, item in enumerate(value):
            yield from check_value(kind.lstrip("[+"), item, f"{path}[{index}]")
    elif kind.startswith("("):
        wanted = kind[1:-1].split(",")
        if type(value) is not list or len(value) != len(wanted):
            yield Fault(path, "array")
            return
        for index, (item, item_kind) in enumerate(zip(value, wanted, strict=True)):
            yield from check_value(item_kind, item, f"{path}[{index}]")
    elif kind.startswith("{"):
        key_kind, _, item_kind = kind[1:-1].partition(",")
        if type(value) is not dict:
            yield Fault(path, "object")
            return
        for name, item in value.items():
            yield from check_value(key_kind, name, path)
            yield from check_value(item_kind, item, f"{path}.{name}")
    elif kind in SCALARS:
        yield from SCALARS[kind](value, path)
    else:
        yield from check_part(kind, value, path)


def check_part(part: str, value: Any, path: str) -> Iterator[Fault]:
    """Check a closed part: every field there, no other, and its own rules when all fields are well formed."""
    if type(value) is not dict:
        yield Fault(path, "object")
        return
    at = f"{path}." if path else ""
    known = set()
    faults: list[Fault] = []
    for name, kind, optional in fields_of(part):
        known.add(name)
        if name in value:
            faults += check_value(kind, value[name], f"{at}{name}")
        elif not optional:
            faults.append(Fault(f"{at}{name}", "required-field"))
    for name in value:
        if name not in known:
            opened = path.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0] in (
                "plan_bundle",
                "template_pack",
            )
            faults.append(Fault(f"{at}{name}", "closed-document", readable=opened))
    yield from faults
    if part in RULES and all(fault.readable for fault in faults):
        for inner, rule, readable in RULES[part](value):
            yield Fault(f"{at}{inner}", rule, readable)


# --- 3. Rules within one document -------------------------------------------------------------------------------------

Broken = tuple[str, str, bool]
LAX = True
"""Marks a rule that the published preview did not hold."""


def ascending(doc: Doc, *names: str) -> Iterator[Broken]:
    """Every array is sorted and without repetition."""
    for name in names:
        if any(left >= right for left, right in pairwise(doc[name])):
            yield name, "sorted-set", False


def distinct(items: Sequence[Any]) -> bool:
    """Tell that no item repeats."""
    return len({canonical(item) for item in items}) == len(items)


def one_day(doc: Doc) -> Iterator[Broken]:
    """The scope is one UTC day."""
    if (instant(doc["scope_end"]) - instant(doc["scope_start"])).total_seconds() != 86400:
        yield "scope_end", "one-day-scope", False


def closed_sets(doc: Doc) -> Iterator[Broken]:
    """The four sets of a workflow document are equal; the fourth is empty unless it replaces."""
    selected = doc["selected_mutating_node_ids"]
    yield from ascending(doc, "selected_mutating_node_ids")
    for name in ("model_operation_plan_ids", "expected_model_outcome_ids"):
        if doc[name] != selected:
            yield name, "equal-closures", False
    if doc["replacement_action_ids"] != (selected if doc["workflow_mode"] == REPLACEMENT else []):
        yield "replacement_action_ids", "equal-closures", False


def present(
    doc: Doc, optional: Sequence[str], wanted: Sequence[str], rule: str = "fields-by-status"
) -> Iterator[Broken]:
    """Exactly the wanted ones of the optional fields are present."""
    for name in optional:
        if (name in doc) != (name in wanted):
            yield name, rule, False


def window(doc: Doc) -> Iterator[Broken]:
    """A validity window is not empty."""
    if (
        "effective_from" in doc
        and "expires_at" in doc
        and instant(doc["effective_from"]) >= instant(doc["expires_at"])
    ):
        yield "expires_at", "window-not-empty", False


def exact_key(key: str) -> bool:
    """Tell whether an object key has one reading."""
    return "\\" not in key and all(step not in ("", ".", "..") for step in key.split("/"))


KEY_PAIRS: dict[str, tuple[str, str, tuple[str | None, str | None]]] = {
    "bit": ("Bool", "bit_bool", (None, None)),
    "tinyint": ("UInt8", "integer_width_preserving", (None, None)),
    "smallint": ("Int16", "integer_width_preserving", (None, None)),
    "int": ("Int32", "integer_width_preserving", (None, None)),
    "bigint": ("Int64", "integer_width_preserving", (None, None)),
    "uniqueidentifier": ("UUID", "uuid_equality", (None, None)),
    "date": ("Date", "date", ("1970-01-01", "2149-06-06")),
    "datetime2(6)": (
        "DateTime64(6,'UTC')",
        "datetime2_utc",
        ("1900-01-01T00:00:00.000000Z", "2299-12-31T23:59:59.999999Z"),
    ),
}


def is_decimal(source: str) -> bool:
    """Tell whether a type is an exact decimal of at most 38 digits."""
    found = re.fullmatch(r"decimal\(([1-9]|[12]\d|3[0-8]),(0|[1-9]\d?)\)", source, re.ASCII)
    return found is not None and int(found[2]) <= int(found[1])


def key_column(doc: Doc) -> Iterator[Broken]:
    """A key column is of one admitted pair, with that pair's domain."""
    source = doc["source_type"]
    pair = KEY_PAIRS.get(source)
    if pair is None and is_decimal(source):
        pair = ("D" + source[1:], "decimal_exact", (None, None))
    if pair is None:
        yield "source_type", "admitted-pair", False
        return
    if doc["target_type"] != pair[0]:
        yield "target_type", "admitted-pair", False
    if doc["mapping"] != pair[1]:
        yield "mapping", "admitted-pair", False
    for name, wanted in zip(("domain_min", "domain_max"), pair[2], strict=True):
        if doc.get(name) != wanted:
            yield name, "key-domain", False
    if ("utc_assurance_sha256" in doc) != (source == "datetime2(6)"):
        yield "utc_assurance_sha256", "utc-assurance", False


def operation_plan(doc: Doc) -> Iterator[Broken]:
    """One day, a proper key, and the lineage of its kind."""
    kind, columns = doc["operation_kind"], doc["effective_key_columns"]
    yield from one_day(doc)
    names = [column["name"] for column in columns]
    if not distinct([name.casefold() for name in names]):
        yield "effective_key_columns", "unique-names", distinct(names)
    event_time = next((column for column in columns if column["name"] == doc["event_time_column"]), None)
    if event_time is None or event_time["source_type"] not in ("date", "datetime2(6)"):
        yield "event_time_column", "event-time-is-key", False
    replacement = ("replaces_failed_operation_id", "replacement_reason", "replacement_ordinal")
    yield from present(doc, replacement, replacement if kind == REPLACEMENT else (), "replacement-lineage")
    predecessor = ("scope_predecessor_operation_id",)
    yield from present(doc, predecessor, predecessor if kind == REPLAY else (), "scope-predecessor")
    if (kind == "normal" and doc["scope_revision"] != 1) or (kind == REPLAY and doc["scope_revision"] == 1):
        yield "scope_revision", "scope-revision", False


def workflow_plan(doc: Doc) -> Iterator[Broken]:
    """One reference a model, one operation a reference."""
    yield from closed_sets(doc)
    yield from one_day(doc)
    refs, mode = doc["operation_plan_refs"], doc["workflow_mode"]
    if [ref["model_unique_id"] for ref in refs] != doc["selected_mutating_node_ids"]:
        yield "operation_plan_refs", "references-cover-models", False
    for name in ("operation_id", "operation_plan_sha256"):
        if not distinct([ref[name] for ref in refs]):
            yield "operation_plan_refs", "one-operation-a-model", LAX
    if (mode == "normal" and doc["scope_revision"] != 1) or (mode == REPLAY and doc["scope_revision"] == 1):
        yield "scope_revision", "scope-revision", False


def replacement_action(doc: Doc) -> Iterator[Broken]:
    """The action is the one that the outcome permits."""
    permitted = {"COMMITTED_WITH_IMAGES": "RESTORE_THEN_REBUILD", "COMMIT_UNKNOWN": "BLOCK"}
    if doc["action"] != permitted.get(doc["outcome"], "BUILD_FRESH"):
        yield "action", "action-follows-outcome", False


def replacement_plan(doc: Doc) -> Iterator[Broken]:
    """One action a model."""
    yield from closed_sets(doc)
    actions = [action["action_id"] for action in doc["replacement_actions"]]
    if actions != doc["replacement_action_ids"]:
        yield "replacement_actions", "actions-cover-models", False


def execution_binding(doc: Doc) -> Iterator[Broken]:
    """A replacement, and nothing else, names its recovery."""
    yield from closed_sets(doc)
    recovery = ("recovery_plan_digest", "workflow_replacement_plan_sha256")
    yield from present(
        doc, recovery, recovery if doc["workflow_mode"] == REPLACEMENT else (), "recovery-by-mode"
    )


def attempt_binding(doc: Doc) -> Iterator[Broken]:
    """The execution id is the DagRun's."""
    if doc["dag_run_id"] != doc["workflow_execution_id"]:
        yield "dag_run_id", "execution-is-dag-run", False


def continuation(doc: Doc) -> Iterator[Broken]:
    """The first try continues nothing."""
    if doc["try_number"] == 1:
        yield "try_number", "later-try", LAX


def authority_bundle(doc: Doc) -> Iterator[Broken]:
    """Models sorted, one operation each, a replacement plan for a replacement only."""
    models = [model["model_unique_id"] for model in doc["models"]]
    if models != sorted(set(models)):
        yield "models", "sorted-set", False
    if not distinct([model["operation_id"] for model in doc["models"]]):
        yield "models", "one-operation-a-model", LAX
    plan = ("workflow_replacement_plan_sha256",)
    yield from present(doc, plan, plan if doc["workflow_mode"] == REPLACEMENT else (), "recovery-by-mode")


def mutation_closure(doc: Doc) -> Iterator[Broken]:
    """Every selected node is of one class, every selector exact."""
    names = (
        "selectors",
        "selected_node_ids",
        "selected_mutating_node_ids",
        "selected_read_only_node_ids",
        "unclassified_mutating_node_ids",
    )
    yield from ascending(doc, *names)
    mutating, reading = set(doc["selected_mutating_node_ids"]), set(doc["selected_read_only_node_ids"])
    unclassified = doc["unclassified_mutating_node_ids"]
    if mutating & reading:
        yield "selected_read_only_node_ids", "one-class-a-node", False
    if mutating | reading != set(doc["selected_node_ids"]):
        yield "selected_node_ids", "classes-cover-selection", False
    if not set(unclassified) <= mutating:
        yield "unclassified_mutating_node_ids", "unclassified-is-mutating", False
    for index, selector in enumerate(doc["selectors"]):
        if not any(selector.endswith("." + node.split(".", 2)[-1]) for node in mutating):
            yield f"selectors[{index}]", "exact-selector", LAX
    if doc["status"] == "PROVEN" and unclassified:
        yield "unclassified_mutating_node_ids", "proven-is-classified", False
    if doc["status"] == "PROVEN" and any(not node.startswith("model.") for node in mutating):
        yield "selected_mutating_node_ids", "models-mutate", LAX


def read_dependencies(doc: Doc) -> Iterator[Broken]:
    """Edges sorted and within budget; a proven closure ends in listed base tables without a cycle."""
    yield from ascending(doc, "base_relation_object_ids")
    bases = set(doc["base_relation_object_ids"])
    edges = [(e["from_object_id"], e["to_object_id"], e["dependency_kind"]) for e in doc["dependency_edges"]]
    if any(left >= right for left, right in pairwise(edges)):
        yield "dependency_edges", "sorted-set", False
    if len(edges) > doc["max_edges"]:
        yield "dependency_edges", "edge-budget", False
    sources = {source for source, _, _ in edges}
    if len(bases | sources | {target for _, target, _ in edges}) > doc["max_nodes"]:
        yield "dependency_edges", "node-budget", False
    if doc["status"] != "PROVEN":
        return
    if not bases:
        yield "base_relation_object_ids", "proven-has-bases", False
    tables = {target for _, target, kind in edges if kind == "BASE_TABLE"}
    modules = {target for _, target, kind in edges if kind != "BASE_TABLE"}
    if not tables <= bases or tables & sources or modules & bases:
        yield "base_relation_object_ids", "bases-listed", LAX
    depth, ends = 0, {target for _, target, _ in edges} | sources
    while ends := {source for source, target, _ in edges if target in ends} if depth <= len(edges) else set():
        depth += 1
    if depth > len(edges):
        yield "dependency_edges", "acyclic", LAX
    elif depth > doc["max_depth"]:
        yield "dependency_edges", "depth-budget", LAX


def baseline(doc: Doc) -> Iterator[Broken]:
    """Coverage is not empty and ends before adoption."""
    if instant(doc["coverage_start"]) >= instant(doc["coverage_end"]):
        yield "coverage_end", "coverage-not-empty", False
    if instant(doc["adopted_at"]) < instant(doc["coverage_end"]):
        yield "adopted_at", "adopted-after-coverage", LAX


WINDOW = ("effective_from", "expires_at")
REVOCATION = ("revoked_at", "revoked_receipt_sha256", "revocation_reason")
EVIDENCE = ("failure_matrix_sha256", "live_environment_sha256", "live_evidence_sha256")
CONTROLS = tuple(
    f"{control}_{suffix}"
    for control in (
        "engine_acl_proof",
        "external_job_inventory",
        "organizational_control",
        "platform_allowlist",
    )
    for suffix in ("sha256", "status")
)


def route(doc: Doc) -> Iterator[Broken]:
    """A live result has evidence, an unverified one has none, a revocation is nothing else."""
    optional = (*WINDOW, "tested_at", *EVIDENCE, *REVOCATION)
    if doc["status"] != "UNVERIFIED":
        yield from present(doc, optional, (*WINDOW, "tested_at", *EVIDENCE))
    elif any(name in doc for name in REVOCATION):
        yield from present(doc, optional, REVOCATION)
    else:
        yield from present(doc, optional, (*WINDOW, "tested_at"))
    yield from window(doc)
    if (
        "tested_at" in doc
        and "effective_from" in doc
        and instant(doc["tested_at"]) > instant(doc["effective_from"])
    ):
        yield "tested_at", "tested-before-effective", False


def assurance_subject(doc: Doc) -> Iterator[Broken]:
    """UTC semantics is about a column, the rest about a target."""
    column = doc["assurance_kind"] == "utc_semantics"
    if (doc["subject_type"] == "column") != column:
        yield "subject_type", "subject-by-kind", False
    yield from present(doc, ("column_name",), ("column_name",) if column else (), "subject-by-kind")


def assurance(doc: Doc) -> Iterator[Broken]:
    """Each kind has its own evidence."""
    wanted = {
        "writer_exclusivity": (*WINDOW, "evidence_sha256", *CONTROLS),
        "ddl_freeze": (*WINDOW, "evidence_sha256", "ddl_epoch"),
        "utc_semantics": (*WINDOW, "evidence_sha256"),
    }[doc["subject"]["assurance_kind"]]
    optional = (*WINDOW, "evidence_sha256", "ddl_epoch", *CONTROLS, *REVOCATION)
    yield from present(doc, optional, REVOCATION if doc["status"] == "REVOKED" else wanted)
    yield from window(doc)


def termination(doc: Doc) -> Iterator[Broken]:
    """Containers ended before they were observed; success means exit code 0."""
    yield from ascending(doc, "operation_ids")
    if doc["run_id"] != doc["workflow_execution_id"]:
        yield "run_id", "execution-is-dag-run", LAX
    containers = doc["container_terminations"]
    for index, container in enumerate(containers):
        if instant(container["finished_at"]) > instant(doc["observed_at"]):
            yield f"container_terminations[{index}].finished_at", "ended-before-observed", False
        if doc["terminal_phase"] == "Succeeded" and container.get("exit_code") != 0:
            yield f"container_terminations[{index}].exit_code", "success-exits-zero", LAX
    names = [container["name"] for container in containers]
    if names != sorted(set(names)):
        yield "container_terminations", "sorted-set", False
    if not distinct([container["container_id"] for container in containers]):
        yield "container_terminations", "one-report-a-container", LAX


def scratch(doc: Doc) -> Iterator[Broken]:
    """Shadow, staging and target are three relations."""
    shadow, staging = doc["relations"]
    uuids = [uuid for uuid in (shadow["expected_uuid"], staging["expected_uuid"]) if uuid]
    if shadow["name"] == staging["name"] or not distinct(uuids) or doc["target_uuid"] in uuids:
        yield "relations", "distinct-relations", LAX


RESOURCE_KINDS = (
    "clickhouse_staging_bytes",
    "prepared_models",
    "retained_generation_bytes",
    "sealed_extract_bytes",
    "shadow_bytes",
)


def allocation_closure(doc: Doc) -> Iterator[Broken]:
    """The five kinds in order, each of the closure's operation, each with the id that follows from it."""
    for index, (item, kind) in enumerate(zip(doc["allocations"], RESOURCE_KINDS, strict=True)):
        at = f"allocations[{index}]"
        if item["resource_kind"] != kind:
            yield f"{at}.resource_kind", "five-allocations", False
        for name in ("reservation_id", "workflow_execution_binding_sha256", "operation_id"):
            if item[name] != doc[name]:
                yield f"{at}.{name}", "one-operation", LAX
        subject = {name: item[name] for name in ("operation_id", "reservation_id", "resource_kind")}
        subject["schema"] = "dpone.semantic-refresh-publication-resource-allocation.v1"
        if item["allocation_id"] != digest(subject):
            yield f"{at}.allocation_id", "allocation-identity", LAX


def acknowledgement(doc: Doc) -> Iterator[Broken]:
    """Both nested proofs are about one operation."""
    for name in ("operation_id", "workflow_execution_binding_sha256"):
        if doc["resource_allocation_closure"][name] != doc["scratch_absence_evidence"][name]:
            yield f"resource_allocation_closure.{name}", "one-operation", LAX


def seal(doc: Doc) -> Iterator[Broken]:
    """datetime2(6) needs a UTC assurance; the images are two relations."""
    utc = ("utc_semantics_assurance_receipt_sha256",)
    yield from present(
        doc, utc, utc if doc["event_time_source_type"] == "datetime2(6)" else (), "utc-assurance"
    )
    if doc["before_image_relation_id"] == doc["after_image_relation_id"]:
        yield "after_image_relation_id", "distinct-images", LAX


def manifest(doc: Doc) -> Iterator[Broken]:
    """Ordinals without a gap, exact totals, keys within the prefix."""
    prefix, chunks = doc["artifact_prefix"], doc["chunks"]
    if not exact_key(prefix):
        yield "artifact_prefix", "exact-key", ".." not in prefix.split("/")
    for name, wanted in (
        ("chunk_count", len(chunks)),
        ("total_rows", sum(chunk["row_count"] for chunk in chunks)),
        ("total_bytes", sum(chunk["byte_count"] for chunk in chunks)),
    ):
        if doc[name] != wanted:
            yield name, "totals-add-up", False
    if [chunk["ordinal"] for chunk in chunks] != list(range(1, len(chunks) + 1)):
        yield "chunks", "contiguous-ordinals", False
    if not distinct([chunk["object_key"] for chunk in chunks]):
        yield "chunks", "one-key-a-chunk", False
    for index, chunk in enumerate(chunks):
        if not chunk["object_key"].startswith(f"{prefix}/") or not exact_key(chunk["object_key"]):
            yield f"chunks[{index}].object_key", "exact-key", LAX


def failed_summary(doc: Doc) -> Iterator[Broken]:
    """One outcome an operation, each of its own attempt."""
    yield from ascending(doc, "expected_operation_ids")
    if [model["operation_id"] for model in doc["models"]] != doc["expected_operation_ids"]:
        yield "models", "outcomes-cover-operations", False
    if not distinct([model["attempt_binding_sha256"] for model in doc["models"]]):
        yield "models", "distinct-evidence", LAX


def durable_summary(doc: Doc) -> Iterator[Broken]:
    """One publication an operation, each with its own evidence, all of one revision and execution."""
    yield from ascending(doc, "expected_operation_ids")
    publications = doc["publications"]
    if [publication["operation_id"] for publication in publications] != doc["expected_operation_ids"]:
        yield "publications", "outcomes-cover-operations", False
    for name in (
        "operation_plan_sha256",
        "attempt_binding_sha256",
        "artifact_manifest_sha256",
        "clickhouse_terminal_receipt_sha256",
        "terminal_receipt_sha256",
    ):
        if not distinct([publication[name] for publication in publications]):
            yield "publications", "distinct-evidence", LAX
    if len({publication["scope_revision"] for publication in publications}) != 1:
        yield "publications", "one-revision", LAX
    execution = doc["workflow_execution_binding_sha256"]
    if any(publication["workflow_execution_binding_sha256"] != execution for publication in publications):
        yield "publications", "one-execution", False


def dag_policy(doc: Doc) -> Iterator[Broken]:
    """Tags are sorted; the start is a calendar date."""
    yield from ascending(doc, "tags")
    if not re.fullmatch(DATE, doc["start_date"], re.ASCII):
        yield "start_date", "calendar-date", LAX


def topology(doc: Doc) -> Iterator[Broken]:
    """Dependencies and Assets cover the models, without a cycle, in an order that respects them."""
    models, dependencies, assets = (
        doc["model_unique_ids"],
        doc["dependencies"],
        doc["logical_output_asset_uris"],
    )
    if not distinct(models):
        yield "model_unique_ids", "unique-names", False
    if set(dependencies) != set(models) or not {u for up in dependencies.values() for u in up} <= set(models):
        yield "dependencies", "dependencies-cover-models", False
        return
    if set(assets) != set(models):
        yield "logical_output_asset_uris", "assets-cover-models", False
    if not distinct(list(assets.values())):
        yield "logical_output_asset_uris", "one-asset-a-model", False
    if any(upstream != sorted(set(upstream)) for upstream in dependencies.values()):
        yield "dependencies", "sorted-set", False
    waiting = {model: set(upstream) for model, upstream in dependencies.items()}
    while ready := [model for model, upstream in waiting.items() if not upstream & waiting.keys()]:
        for model in ready:
            del waiting[model]
    if waiting:
        yield "dependencies", "acyclic", False
    elif any(models.index(other) > models.index(model) for model, up in dependencies.items() for other in up):
        yield "dependencies", "commit-order", LAX


def run_guards(doc: Doc) -> Iterator[Broken]:
    """Guards are sorted."""
    yield from ascending(doc, "resource_guard_ids")


def artifact_authority(doc: Doc) -> Iterator[Broken]:
    """The prefix does not climb; retention is not empty."""
    if ".." in doc["artifact_prefix"].split("/"):
        yield "artifact_prefix", "exact-key", LAX
    if instant(doc["retention_issued_at"]) >= instant(doc["retention_until"]):
        yield "retention_until", "retention-not-empty", LAX


def payload_target(source: str) -> str | None:
    """Return the ClickHouse type of an admitted payload type; None for every other type."""
    if source in KEY_PAIRS and source != "datetime2(6)":
        return KEY_PAIRS[source][0]
    if is_decimal(source):
        return "D" + source[1:]
    if found := re.fullmatch(r"datetime2\(([0-6])\)", source):
        return f"DateTime64({found[1]},'UTC')"
    found = re.fullmatch(r"(n?varchar|varbinary)\((max|[1-9]\d{0,3})\)", source)
    longest = {"nvarchar": 4000, "varchar": 8000, "varbinary": 8000}
    fits = found is not None and (found[2] == "max" or int(found[2]) <= longest[found[1]])
    return "String" if fits else None


def writable_column(doc: Doc) -> Iterator[Broken]:
    """A column has the one ClickHouse type that its type is admitted with in its role."""
    source, key = doc["source_type"], doc["writable_role"] != "MUTABLE_VALUE"
    wanted = payload_target(source)
    if key and source not in KEY_PAIRS and not is_decimal(source):
        wanted = None
    if wanted is not None and doc["nullable"] and not key:
        wanted = f"Nullable({wanted})"
    if doc["target_type"] != wanted or (key and doc["nullable"]):
        yield "target_type", "admitted-pair", LAX


def plan_target(doc: Doc) -> Iterator[Broken]:
    """Columns have distinct names, and one of them is the event time."""
    columns = doc["writable_columns"]
    roles = [column["writable_role"] for column in columns]
    if (
        not distinct([column["name"].casefold() for column in columns])
        or roles.count("EFFECTIVE_KEY_EVENT_TIME") != 1
    ):
        yield "writable_columns", "one-event-time", LAX


def invocation_context(doc: Doc) -> Iterator[Broken]:
    """Variables are sorted."""
    yield from ascending(doc, "dynamic_vars")


def selection_lock(doc: Doc) -> Iterator[Broken]:
    """Every set of the lock is sorted."""
    yield from ascending(
        doc,
        "selectors",
        "selected_graph_unique_ids",
        "publish_model_unique_ids",
        "expected_run_result_unique_ids",
    )


def one_thread(doc: Doc) -> Iterator[Broken]:
    """Models are built one after the other."""
    if doc["threads"] != 1:
        yield "threads", "one-thread", LAX


def plan_bundle(doc: Doc) -> Iterator[Broken]:
    """Plans and targets are those of the workflow, and agree with it and with each other."""
    workflow, authority = doc["workflow_plan"], doc["release_deployment_authority"]
    replacing = workflow["workflow_mode"] == REPLACEMENT
    plan = ("workflow_replacement_plan",)
    yield from present(doc, plan, plan if replacing else (), "recovery-by-mode")
    models = workflow["selected_mutating_node_ids"]
    replacement = doc.get("workflow_replacement_plan", workflow)
    for name in ("workflow_plan_sha256", "selected_mutating_node_ids"):
        if replacement[name] != workflow[name]:
            yield f"workflow_replacement_plan.{name}", "plan-is-referenced", LAX
    for name in ("operation_plans", "targets"):
        if [item["model_unique_id"] for item in doc[name]] != models:
            yield name, "plans-cover-models", LAX
    guards = sorted(target["target_resource_id"] for target in doc["targets"])
    if doc["run_guard_closure"]["resource_guard_ids"] != guards:
        yield "run_guard_closure.resource_guard_ids", "guards-cover-targets", LAX
    refs = {ref["model_unique_id"]: ref for ref in workflow["operation_plan_refs"]}
    shared = ("scope_start", "scope_end", "scope_revision", "mutation_closure_sha256")
    for index, plan_ in enumerate(doc["operation_plans"]):
        wanted = {
            **{name: workflow[name] for name in shared},
            **{name: authority[name] for name in ("release_id", "deployment_id")},
            "workflow_id": workflow["workflow_name"],
            "operation_kind": workflow["workflow_mode"],
            **without(refs.get(plan_["model_unique_id"], {}), "model_unique_id"),
        }
        for name, value in wanted.items():
            if plan_[name] != value:
                yield f"operation_plans[{index}].{name}", "one-workflow", LAX
    for index, (target, plan_) in enumerate(zip(doc["targets"], doc["operation_plans"], strict=False)):
        yield from ((f"targets[{index}].{name}", "target-of-plan", LAX) for name in _differing(target, plan_))


def _differing(target: Doc, plan: Doc) -> Iterator[str]:
    """Name what a target and the plan of its model disagree on."""
    baseline_ = target["baseline_receipt"]
    wanted = {
        "publication_scope_id": f"{plan['scope_start']}/{plan['scope_end']}",
        "resource_policy_sha256": plan["resource_policy_digest"],
        "writer_exclusivity_assurance_receipt_sha256": plan["writer_assurance_digest"],
        "baseline_receipt_sha256": baseline_["baseline_adoption_receipt_sha256"],
        **{
            name: plan[name]
            for name in (
                "target_predecessor_generation_id",
                "effective_key_mapping_sha256",
                "effective_key_template_sha256",
                "model_definition_proof_sha256",
            )
        },
        **{
            name: baseline_[name]
            for name in (
                "model_unique_id",
                "mssql_connection_authority_id",
                "mssql_target_authority_id",
                "clickhouse_cluster_authority_id",
                "clickhouse_target_authority_id",
            )
        },
    }
    yield from (name for name, value in wanted.items() if target[name] != value)
    if target["resource_policy"]["resource_policy_sha256"] != target["resource_policy_sha256"]:
        yield "resource_policy_sha256"
    columns = [column for column in target["writable_columns"] if column["writable_role"] != "MUTABLE_VALUE"]
    keys = [
        [(c["name"], c["source_type"], c["target_type"]) for c in side]
        for side in (columns, plan["effective_key_columns"])
    ]
    event_times = [c["name"] for c in columns if c["writable_role"] == "EFFECTIVE_KEY_EVENT_TIME"]
    if sorted(keys[0]) != sorted(keys[1]) or event_times != [plan["event_time_column"]]:
        yield "writable_columns"
    assured = {column.get("utc_assurance_sha256") for column in plan["effective_key_columns"]} - {None}
    if assured != {target.get("utc_semantics_assurance_receipt_sha256")} - {None}:
        yield "utc_semantics_assurance_receipt_sha256"


def task_projection(doc: Doc) -> dict[str, Any]:
    """Derive the tasks that a topology gives."""
    models, operations = doc["topology"]["model_unique_ids"], doc["operation_ids_by_model"]

    def task(task_id: str, kind: str, upstream: list[str], model: str | None = None) -> dict[str, Any]:
        return {
            "task_id": task_id,
            "task_kind": kind,
            "trigger_rule": "all_done" if kind == "DURABLE_WORKFLOW_SUMMARY" else "all_success",
            "upstream_task_ids": upstream,
            "model_unique_id": model,
            "operation_id": operations.get(model) if model else None,
        }

    gate = "semantic_refresh__dbt_build_test"
    names = [re.sub(r"[^A-Za-z0-9_]", "_", model) for model in models]
    prepares = [f"semantic_refresh__prepare__{name}" for name in names]
    commits = [f"semantic_refresh__commit__{index:04d}__{name}" for index, name in enumerate(names)]
    before = [prepares, *([commit] for commit in commits)]
    return {
        "schema": "dpone.semantic-refresh-v2-dag-task-projection.v1",
        "topology_sha256": doc["topology"]["topology_sha256"],
        "dag_id": doc["topology"]["dag_id"],
        "asset_uris": [doc["topology"]["logical_output_asset_uris"][model] for model in models],
        "dbt_task": task(gate, "DBT_BUILD_TEST_GATE", []),
        "prepare_tasks": [
            task(name, "CLICKHOUSE_PREPARE", [gate], model)
            for name, model in zip(prepares, models, strict=True)
        ],
        "commit_tasks": [
            task(name, "CLICKHOUSE_COMMIT", upstream, model)
            for name, upstream, model in zip(commits, before, models, strict=False)
        ],
        "summary_task": task(
            "semantic_refresh__durable_workflow_summary", "DURABLE_WORKFLOW_SUMMARY", [commits[-1]]
        ),
    }


def projection(doc: Doc) -> Iterator[Broken]:
    """Identities are the plan bundle's, tasks follow from the topology, the template repeats it."""
    bundle, template = doc["plan_bundle"], doc["template_pack"]
    repeated = template["semantic_refresh"]
    for name, holder in (
        ("release_id", bundle["release_deployment_authority"]),
        ("deployment_id", bundle["release_deployment_authority"]),
        ("pre_release_bundle_sha256", bundle),
        ("package_artifacts_sha256", bundle),
    ):
        if doc[name] != holder[name]:
            yield name, "one-identity", False
    operations = {plan["model_unique_id"]: plan["operation_id"] for plan in bundle["operation_plans"]}
    if doc["operation_ids_by_model"] != operations or set(doc["topology"]["model_unique_ids"]) != set(
        operations
    ):
        yield "operation_ids_by_model", "operations-of-bundle", False
    elif canonical(doc["task_projection"]) != canonical(task_projection(doc)):
        yield "task_projection", "tasks-follow-topology", False
    if canonical(repeated["topology"]) != canonical(doc["topology"]):
        yield "template_pack.semantic_refresh.topology", "one-topology", False
    workflow, pack = bundle["workflow_plan"]["workflow_name"], template["dbt_execution_pack"]
    named = (doc["topology"]["workflow_name"], pack["workflow_id"], template["workload"]["workload_id"])
    if named != (workflow, workflow, f"semantic__{workflow}"):
        yield "topology.workflow_name", "one-workflow", LAX
    if set(pack["selection_lock"]["publish_model_unique_ids"]) != set(operations):
        yield "template_pack.dbt_execution_pack.selection_lock", "operations-of-bundle", LAX
    if any(repeated[name] != doc[name] for name in ("pre_release_bundle_sha256", "package_artifacts_sha256")):
        yield "template_pack.semantic_refresh", "one-identity", False


def scope_receipt(doc: Doc) -> Iterator[Broken]:
    """A document about one day."""
    yield from one_day(doc)


def build_receipt(doc: Doc) -> Iterator[Broken]:
    """Every source row was updated or inserted, and nothing was deleted."""
    yield from one_day(doc)
    if doc["updated_row_count"] + doc["inserted_row_count"] != doc["source_row_count"]:
        yield "source_row_count", "source-is-written", False
    if doc["before_image_row_count"] + doc["inserted_row_count"] != doc["after_image_row_count"]:
        yield "after_image_row_count", "nothing-deleted", False
    if doc["updated_row_count"] > doc["before_image_row_count"]:
        yield "updated_row_count", "updates-match", False
    if doc["before_image_relation_id"] == doc["after_image_relation_id"]:
        yield "after_image_relation_id", "distinct-relations", False


def exchange_receipt(doc: Doc) -> Iterator[Broken]:
    """The observed map is the exchanged one."""
    observed = (doc["observed_target_uuid"], doc["observed_shadow_uuid"])
    if observed != (doc["successor_uuid"], doc["predecessor_uuid"]):
        yield "observed_target_uuid", "map-is-exchanged", False
    if doc["predecessor_uuid"] == doc["successor_uuid"]:
        yield "successor_uuid", "distinct-relations", False


def publication_receipt(doc: Doc) -> Iterator[Broken]:
    """A publication makes the next generation."""
    if doc["target_generation"] != doc["predecessor_generation"] + 1:
        yield "target_generation", "next-generation", False


def each(*rules: tuple[str, str, Callable[[Doc], bool]]) -> Callable[[Doc], Iterator[Broken]]:
    """Make the rules of a part from (path, rule, condition that must hold); none of them is readable."""

    def check(doc: Doc) -> Iterator[Broken]:
        for path, rule, holds in rules:
            if not holds(doc):
                yield path, rule, False

    return check


def sets(*fields: str, by: tuple[str, ...] = ()) -> tuple[tuple[str, str, Callable[[Doc], bool]], ...]:
    """Make the rules of arrays that are sorted sets, of values or of parts by some of their fields."""

    def grows(field: str) -> Callable[[Doc], bool]:
        def holds(doc: Doc) -> bool:
            items = [tuple(item[name] for name in by) if by else item for item in doc[field]]
            return all(left < right for left, right in pairwise(items))

        return holds

    return tuple((field, "sorted-set", grows(field)) for field in fields)


def trusted_key(doc: Doc) -> Iterator[Broken]:
    """A key's id is the digest of its raw bytes."""
    if not re.fullmatch(r"[0-9a-f]{64}", doc["public_key"]):
        yield "public_key", "form", False
    elif doc["key_id"] != f"sha256:{sha256(bytes.fromhex(doc['public_key'])).hexdigest()}":
        yield "key_id", "key-id", False
    yield from window(doc)
    yield from each(*sets("grants", by=("document_kind", "environment", "named_sha256")))(doc)


def trust_policy(doc: Doc) -> Iterator[Broken]:
    """A trust policy counts for a time and lists each key once."""
    yield from window(doc)
    yield from each(*sets("keys", by=("key_id",)))(doc)


def _exchanges(receipt: Doc) -> bool:
    return bool(receipt["target_mutation"] == "EXCHANGE_REQUIRED")


def template_column(doc: Doc) -> Iterator[Broken]:
    """A key column of a template holds no receipt, and says whether it needs one."""
    needed = doc["source_type"] == "datetime2(6)"
    yield from key_column({**doc, **({"utc_assurance_sha256": ""} if needed else {})})
    if doc["utc_assurance_required"] != needed:
        yield "utc_assurance_required", "utc-assurance", False


def proof_bundle(doc: Doc) -> Iterator[Broken]:
    """Proofs cover the mutating nodes; the bundle is as good as its weakest proof."""
    models = [model["model_unique_id"] for model in doc["models"]]
    if models != sorted(set(models)) or models != doc["mutation_closure"]["selected_mutating_node_ids"]:
        yield "models", "proofs-cover-models", False
    if set(doc["topology"]["model_unique_ids"]) != set(models):
        yield "topology.model_unique_ids", "proofs-cover-models", False
    if doc["topology"]["workflow_name"] != doc["workflow_name"]:
        yield "topology.workflow_name", "one-workflow", False
    found = [doc["mutation_closure"]["status"]]
    found += [
        model[name]["status"] for model in doc["models"] for name in ("definition", "read_dependencies")
    ]
    weakest = next((status for status in ("NONCONFORMANT", "UNVERIFIED") if status in found), "PROVEN")
    if doc["status"] != weakest:
        yield "status", "weakest-proof", False


def model_proofs(doc: Doc) -> Iterator[Broken]:
    """The proofs of one model are about that model and one text."""
    for name in ("definition", "read_dependencies"):
        if doc[name]["model_unique_id"] != doc["model_unique_id"]:
            yield f"{name}.model_unique_id", "one-model", False
    if doc["read_dependencies"]["compiled_sql_sha256"] != doc["definition"]["compiled_sql_sha256"]:
        yield "read_dependencies.compiled_sql_sha256", "one-model", False
    times = [
        c["name"] for c in doc["key_template"]["columns"] if c["source_type"] in ("date", "datetime2(6)")
    ]
    if doc["event_time_column"] not in times:
        yield "event_time_column", "event-time-is-key", False


def deployment_index(doc: Doc) -> Iterator[Broken]:
    """Projections are sorted, each with its own path inside the folder; one is current a DAG."""
    projections = doc["projections"]
    places = [(p["dag_id"], p["scope_start"], p["dag_projection_sha256"]) for p in projections]
    if places != sorted(set(places)):
        yield "projections", "sorted-set", False
    paths = [p["path"] for p in projections]
    if not distinct(paths):
        yield "projections", "one-path-a-projection", False
    if any(path.startswith("/") or ".." in path.split("/") or "\\" in path for path in paths):
        yield "projections", "exact-key", False
    known = {(p["dag_id"], p["dag_projection_sha256"]) for p in projections}
    if not set(doc["current"].items()) <= known or set(doc["current"]) != {p["dag_id"] for p in projections}:
        yield "current", "current-is-listed", False


def deadlines(doc: Doc) -> Iterator[Broken]:
    """Deadlines fit into each other."""
    if doc["statement_seconds"] > doc["execution_seconds"]:
        yield "statement_seconds", "deadlines-nest", False
    if doc["lock_timeout_milliseconds"] > doc["statement_seconds"] * 1000:
        yield "lock_timeout_milliseconds", "deadlines-nest", False
    for name in ("admission", "execution", "artifact", "preparation", "commit", "publication"):
        if doc[f"{name}_seconds"] > doc["overall_seconds"]:
            yield f"{name}_seconds", "deadlines-nest", False


def model_deployment(doc: Doc) -> Iterator[Broken]:
    """Cover some days."""
    if instant(doc["coverage_start"]) >= instant(doc["coverage_end"]):
        yield "coverage_end", "coverage-not-empty", False


def release_settings(doc: Doc) -> Iterator[Broken]:
    """One Asset a model, and no query outlives the build."""
    if not distinct(list(doc["asset_uris"].values())):
        yield "asset_uris", "one-asset-a-model", False
    if doc["query_timeout_seconds"] > doc["timeout_seconds"]:
        yield "query_timeout_seconds", "deadlines-nest", False


def route_result(doc: Doc) -> Iterator[Broken]:
    """A live result names all its evidence, an unverified route none."""
    yield from present(doc, EVIDENCE, () if doc["status"] == "UNVERIFIED" else EVIDENCE)
    yield from window(doc)
    if instant(doc["tested_at"]) > instant(doc["effective_from"]):
        yield "tested_at", "tested-before-effective", False


RULES: dict[str, Callable[[Doc], Iterator[Broken]]] = {
    "ReleaseSettings": release_settings,
    "AttestedControls": window,
    "RouteResult": route_result,
    "EffectiveKeyColumn": key_column,
    "OperationPlan": operation_plan,
    "WorkflowPlan": workflow_plan,
    "ReplacementAction": replacement_action,
    "WorkflowReplacementPlan": replacement_plan,
    "WorkflowExecutionBinding": execution_binding,
    "AttemptBinding": attempt_binding,
    "AttemptContinuationReceipt": continuation,
    "CompilerRuntimeAuthorityBundle": authority_bundle,
    "MutationClosure": mutation_closure,
    "ReadDependencyProof": read_dependencies,
    "BaselineAdoptionReceipt": baseline,
    "RouteLiveCertificationReceipt": route,
    "AssuranceSubject": assurance_subject,
    "RuntimeAssuranceReceipt": assurance,
    "TrustedAttemptTerminationReceipt": termination,
    "ScratchCleanupReceipt": scratch,
    "ResourceAllocationClosure": allocation_closure,
    "CleanupAcknowledgement": acknowledgement,
    "SealAuthorizationReceipt": seal,
    "SealedArtifactManifest": manifest,
    "FailedWorkflowSummary": failed_summary,
    "DurableWorkflowSummary": durable_summary,
    "DagPolicy": dag_policy,
    "Topology": topology,
    "RunGuardClosure": run_guards,
    "ArtifactAuthority": artifact_authority,
    "WritableColumn": writable_column,
    "PlanTarget": plan_target,
    "InvocationContext": invocation_context,
    "SelectionLock": selection_lock,
    "ExecutionProfile": one_thread,
    "PlanBundle": plan_bundle,
    "DagProjection": projection,
    "ActivationReceipt": scope_receipt,
    "ModelDeployment": model_deployment,
    "ModelBuildReceipt": build_receipt,
    "ExchangeReceipt": exchange_receipt,
    "PublicationReceipt": publication_receipt,
    "ContainerTermination": lambda doc: iter(
        [("exit_code", "exit-code", LAX)] if doc.get("exit_code", 0) < 0 else []
    ),
    "KeyTemplateColumn": template_column,
    "EffectiveKeyTemplate": each(
        ("columns", "unique-names", lambda doc: distinct([c["name"].casefold() for c in doc["columns"]]))
    ),
    "ModelProofs": model_proofs,
    "ProofBundle": proof_bundle,
    "DeploymentIndex": deployment_index,
    "DocumentSignature": each(
        ("signature", "form", lambda d: re.fullmatch(r"[0-9a-f]{128}", d["signature"]) is not None)
    ),
    "KeyGrant": each(
        *sets("named_sha256"),
        ("named_sha256", "grant-scope", lambda g: (g["scope"] == "named") == bool(g["named_sha256"])),
        (
            "scope",
            "grant-scope",
            lambda g: g["document_kind"] != "revocation_index" or g["scope"] == "environment",
        ),
    ),
    "TrustedKey": trusted_key,
    "TrustPolicy": trust_policy,
    "RevocationIndex": each(*sets("documents", by=("document_sha256",)), *sets("keys", by=("key_id",))),
    "MeasuredPrincipal": each(*sets("ways")),
    "WriterMeasurement": each(
        *sets("unseen"), *sets("writers", by=("scope", "principal")), *sets("indirect", by=("kind", "name"))
    ),
    "DdlFreezeMeasurement": each(
        *sets("unseen"), *sets("covered", by=("object_id",)), *sets("controllers", by=("scope", "principal"))
    ),
    "UtcMeasurement": each(
        *sets("unseen"),
        (
            "server_utc_offset",
            "form",
            lambda m: re.fullmatch(r"[+-][0-9]{2}:[0-9]{2}", m["server_utc_offset"]) is not None,
        ),
    ),
    "RuntimeAssurancePolicy": each(
        *sets("runtime_principals", "installer_principals", "administrator_logins", "allowed_ways")
    ),
    "DeadlinePolicy": deadlines,
    "PollingPolicy": each(
        (
            "initial_delay_milliseconds",
            "delays-grow",
            lambda p: p["initial_delay_milliseconds"] <= p["max_delay_milliseconds"],
        ),
        ("multiplier_percent", "delays-grow", lambda p: p["multiplier_percent"] >= 100),
        ("jitter_percent", "bounds", lambda p: p["jitter_percent"] <= 100),
    ),
    "SealPolicy": each(
        ("max_chunk_rows", "chunks-align", lambda p: p["max_chunk_rows"] % p["content_chunk_rows"] == 0),
        ("row_group_rows", "chunks-align", lambda p: p["row_group_rows"] <= p["max_chunk_rows"]),
        ("max_chunk_bytes", "chunks-align", lambda p: p["max_chunk_bytes"] <= p["max_artifact_bytes"]),
    ),
    "BuildGateReceipt": each(
        (
            "model_unique_ids",
            "sorted-set",
            lambda r: r["model_unique_ids"] == sorted(set(r["model_unique_ids"])),
        )
    ),
    "PreparedShadow": each(
        ("shadow_rows", "rows-add-up", lambda s: s["rebuilt_rows"] + s["attached_rows"] == s["shadow_rows"]),
        ("shadow_uuid", "distinct-relations", lambda s: s["shadow_uuid"] != s["staging_uuid"]),
    ),
    "PreparedReceipt": each(
        ("generation", "generation-by-mutation", lambda r: _exchanges(r) == ("generation" in r)),
        (
            "value_conversion_conformance",
            "conformance-by-mutation",
            lambda r: _exchanges(r) == (r["value_conversion_conformance"] == "PROVEN"),
        ),
        (
            "target_uuid",
            "target-is-not-scratch",
            lambda r: (
                r["target_uuid"]
                not in [r.get("generation", {}).get(f"{n}_uuid") for n in ("shadow", "staging")]
            ),
        ),
    ),
    "CommitIntent": each(
        ("shadow_uuid", "distinct-relations", lambda i: i["target_uuid"] != i["shadow_uuid"]),
        ("shadow_relation", "distinct-relations", lambda i: i["target_relation"] != i["shadow_relation"]),
    ),
    "PredecessorReceipt": each(
        ("shadow_relation", "name-is-burned", lambda r: r["burned_relation"] != r["shadow_relation"])
    ),
    "EmptyScopeReceipt": each(
        (
            "target_generation",
            "same-generation",
            lambda r: r["target_generation"] == r["predecessor_generation"],
        ),
        (
            "target_generation_id",
            "same-generation",
            lambda r: r["target_generation_id"] == r["predecessor_generation_id"],
        ),
    ),
}


# --- 4. Digests -------------------------------------------------------------------------------------------------------


def own_digest(schema: str, doc: Doc) -> str:
    """Digest a document without its own digest field."""
    return digest(without(doc, SCHEMAS[schema][1]))


def nested_documents(value: Any, path: str = "") -> Iterator[tuple[str, Doc]]:
    """Yield every document inside of another, with its path."""
    items: list[tuple[str, Any]] = []
    if type(value) is dict:
        items = [(f"{path}.{name}" if path else name, item) for name, item in value.items()]
    elif type(value) is list:
        items = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    for inner, item in items:
        if type(item) is dict and type(item.get("schema")) is str and digest_field(item["schema"]) in item:
            yield inner, item
        yield from nested_documents(item, inner)


NESTED_FIELDS = {
    "dpone.dbt-semantic-refresh-run-guard-closure.v1": "run_guard_closure_sha256",
    "dpone.dbt-semantic-refresh-project-overlay.v1": "project_overlay_sha256",
    "dpone.dbt-sqlserver-capability-policy.v1": "adapter_policy_sha256",
    "dpone.dbt-sqlserver-runtime-policy.v1": "adapter_runtime_sha256",
    "dpone.dbt-invocation-context.v1": "invocation_context_sha256",
    "dpone.dbt-selection-lock.v1": "selection_sha256",
}
"""Digest fields of documents that only exist inside of others."""


def digest_field(schema: str) -> str:
    """Return the own digest field of a schema; empty for an unknown one."""
    return SCHEMAS[schema][1] if schema in SCHEMAS else NESTED_FIELDS.get(schema, "")


def digests(doc: Doc) -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, found, wanted) of every digest whose subject is within the document."""
    for at, inner in [("", doc), *nested_documents(doc)]:
        field = digest_field(inner["schema"])
        dot = f"{at}." if at else ""
        for name, wanted in derived(inner):
            yield dot + name, inner.get(name), wanted
        yield dot + field, inner[field], digest(without(inner, field))
        yield from ((dot + path, found, wanted) for path, found, wanted in repeated_digests(inner))


def derived(doc: Doc) -> Iterator[tuple[str, str]]:
    """Yield the digests of a document that follow from its other fields."""
    kind = doc["schema"].removeprefix(PREFIX)
    if kind == "operation-plan.v1":
        columns = doc["effective_key_columns"]
        template = [
            {
                **without(c, "utc_assurance_sha256"),
                "utc_assurance_required": c["source_type"] == "datetime2(6)",
            }
            for c in columns
        ]
        for name, subject in (("template", template), ("mapping", columns)):
            schema = f"{PREFIX}effective-key-{name}.v1"
            yield f"effective_key_{name}_sha256", digest({"columns": subject, "schema": schema})
        yield "operation_id", digest(without(doc, "operation_id", "operation_plan_sha256"))
    elif kind == "attempt-continuation-receipt.v1":
        same = ("operation_id", "original_attempt_binding_sha256", "workflow_execution_binding_sha256")
        common = {
            **{name: doc[name] for name in same},
            "observed_at": doc["verified_at"],
            "status": "VERIFIED",
        }
        clickhouse = {
            **common,
            "active_query_ids": [],
            "clickhouse_cluster_authority_id": doc["clickhouse_cluster_authority_id"],
            "query_id_prefix": doc["clickhouse_query_id_prefix"],
            "schema": f"{PREFIX}clickhouse-attempt-quiescence.v1",
        }
        yield "clickhouse_quiescence_observation_sha256", digest(clickhouse)
        engines = (
            "clickhouse_quiescence_observation_sha256",
            "mssql_active_session_count",
            "mssql_guard_lock_status",
            "original_attempt_termination_receipt_sha256",
        )
        schema = f"{PREFIX}attempt-engine-quiescence.v1"
        engine = {**common, **{name: doc[name] for name in engines}, "schema": schema}
        yield "engine_quiescence_receipt_sha256", digest(engine)
    elif kind == "trusted-attempt-termination-receipt.v1":
        yield "operation_set_sha256", digest({"operation_ids": doc["operation_ids"]})
    elif kind == "mssql-failed-precommit-cleanup-ack.v1":
        scratch_ = doc["scratch_absence_evidence"]
        yield "scratch_absence_evidence_sha256", scratch_["scratch_absence_evidence_sha256"]
        yield "resource_allocation_closure_sha256", digest(doc["resource_allocation_closure"])
    elif kind == "v2-dag-projection.v1":
        yield "plan_bundle_sha256", doc["plan_bundle"]["plan_bundle_sha256"]
        yield "workflow_plan_sha256", doc["plan_bundle"]["workflow_plan"]["workflow_plan_sha256"]
        yield "topology_sha256", doc["topology"]["topology_sha256"]
        yield "template_pack_fingerprint", fingerprint(doc["template_pack"])


UNBOUND = (
    "producer",
    "meta",
    "artifact_dir",
    "output_path",
    "bundle_path",
    "next_actions",
    "warnings",
    "blockers",
)


def fingerprint(template: Doc) -> str:
    """Digest a template pack: over text that is not escaped, without the fields that its fingerprint leaves out."""
    subject = without(template, "pack_fingerprint", *UNBOUND)
    text = json.dumps(subject, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def repeated_digests(doc: Doc) -> Iterator[tuple[str, Any, Any]]:
    """Yield the digests that stand deeper in a document than its nested documents do."""
    if doc["schema"] == f"{PREFIX}v2-dag-projection.v1":
        template, wanted = doc["template_pack"], doc["topology"]["topology_sha256"]
        yield "template_pack.pack_fingerprint", template["pack_fingerprint"], fingerprint(template)
        yield "task_projection.topology_sha256", doc["task_projection"]["topology_sha256"], wanted
    elif doc["schema"] == "dpone.dbt-execution-pack.v1":
        wanted = doc["invocation_context"]["invocation_context_sha256"]
        found = doc["selection_lock"]["invocation_context_sha256"]
        yield "selection_lock.invocation_context_sha256", found, wanted
    elif doc["schema"] == "dpone.dbt-semantic-refresh-plan-bundle.v1":
        guard = {
            "deployment_id": doc["release_deployment_authority"]["deployment_id"],
            "schema": "dpone.dbt-semantic-refresh-workflow-guard-resource.v1",
            "workflow_name": doc["workflow_plan"]["workflow_name"],
        }
        found = doc["run_guard_closure"]["workflow_guard_resource_id"]
        yield "run_guard_closure.workflow_guard_resource_id", found, f"workflow://{digest(guard)}"
        for index, (target, plan) in enumerate(zip(doc["targets"], doc["operation_plans"], strict=False)):
            for name, value in target_digests(target, plan):
                yield f"targets[{index}].{name}", target[name], value
    elif doc["schema"] == f"{PREFIX}proof-bundle.v1":
        for index, model in enumerate(doc["models"]):
            subject = {"schema": WRITABLE_SCHEMA, "writable_columns": model["writable_columns"]}
            yield f"models[{index}].writable_schema_sha256", model["writable_schema_sha256"], digest(subject)


WRITABLE_SCHEMA = "dpone.dbt-semantic-refresh-writable-schema.v1"
NOT_IN_STRATEGY = (
    "baseline_receipt",
    "baseline_status",
    "model_unique_id",
    "resource_policy",
    "strategy_template_sha256",
    "writable_columns",
)


def target_digests(target: Doc, plan: Doc) -> Iterator[tuple[str, str]]:
    """Yield what joins a target to the plan of its model and to the head that it stands on."""
    columns = {"schema": WRITABLE_SCHEMA, "writable_columns": target["writable_columns"]}
    yield "writable_schema_sha256", digest(columns)
    strategy = {
        "utc_semantics_assurance_receipt_sha256": None,
        **without(target, *NOT_IN_STRATEGY),
        **{
            n: plan[n] for n in ("operation_id", "operation_plan_sha256", "sqlserver_lifecycle_policy_sha256")
        },
        "schema": "dpone.semantic-refresh-strategy-template.v1",
    }
    yield "strategy_template_sha256", digest(strategy)
    if target["target_head_terminal_receipt_sha256"] is None:
        yield "target_head_authority_receipt_sha256", target["baseline_receipt_sha256"]
        names = (
            "baseline_adoption_receipt_sha256",
            "clickhouse_generation",
            "clickhouse_relation_id",
            "clickhouse_target_authority_id",
            "clickhouse_target_uuid",
        )
        generation = {name: target["baseline_receipt"][name] for name in names}
        yield "target_predecessor_generation_id", digest(generation)
    else:
        head = {
            "clickhouse_target_authority_id": target["clickhouse_target_authority_id"],
            "model_unique_id": target["model_unique_id"],
            "owner_operation_id": target["target_predecessor_operation_id"],
            "schema": "dpone.dbt-semantic-refresh-recovery-target-head.v1",
            "target_generation": target["target_predecessor_generation"],
            "target_generation_id": target["target_predecessor_generation_id"],
            "target_uuid": target["clickhouse_target_uuid"],
            "terminal_receipt_sha256": target["target_head_terminal_receipt_sha256"],
        }
        yield "target_head_authority_receipt_sha256", digest(head)


def judge(file: str, data: bytes) -> Document:
    """Judge one file by itself."""
    try:
        content = decode(data)
    except UnreadableError as error:
        return Document(file, None, None, "refused", Fault("$", str(error)), None)
    schema = content.get("schema")
    if type(schema) is not str or schema not in SCHEMAS:
        return Document(file, None, None, "refused", Fault("schema", "schema-id"), None)
    part, field = SCHEMAS[schema]
    faults = list(check_part(part, content, ""))
    hard = [fault for fault in faults if not fault.readable]
    if not hard:
        hard = [Fault(path, "digest") for path, found, wanted in digests(content) if found != wanted]
    if hard:
        return Document(file, schema, None, "refused", hard[0], None)
    if faults:
        return Document(file, schema, content[field], "inadmissible", faults[0], content)
    return Document(file, schema, content[field], "valid", None, content)


# --- 5. Links between documents ---------------------------------------------------------------------------------------

REFERENCES: dict[str, str] = {
    "operation_id": "operation",
    "operation_ids": "operation",
    "expected_operation_ids": "operation",
    "replaces_failed_operation_id": "operation",
    "scope_predecessor_operation_id": "operation",
    "operation_plan_sha256": "operation-plan",
    "workflow_plan_sha256": "workflow-plan",
    "workflow_replacement_plan_sha256": "workflow-replacement-plan",
    "workflow_execution_binding_sha256": "workflow-execution-binding",
    "predecessor_workflow_execution_binding_sha256": "workflow-execution-binding",
    "predecessor_workflow_summary_sha256": "failed-workflow-summary",
    "attempt_binding_sha256": "attempt-binding",
    "original_attempt_binding_sha256": "attempt-binding",
    "original_attempt_termination_receipt_sha256": "trusted-attempt-termination-receipt",
    "model_definition_proof_sha256": "model-definition-proof",
    "mutation_closure_sha256": "mutation-closure",
    "read_dependency_proof_sha256": "read-dependency-proof",
    "sqlserver_lifecycle_policy_sha256": "sqlserver-lifecycle-policy",
    "baseline_adoption_receipt_sha256": "baseline-adoption-receipt",
    "route_certification_receipt_sha256": "route-live-certification-receipt",
    "revoked_receipt_sha256": "self",
    "writer_assurance_digest": "runtime-assurance-receipt",
    "writer_assurance_sha256": "runtime-assurance-receipt",
    "ddl_assurance_sha256": "runtime-assurance-receipt",
    "utc_assurance_sha256": "runtime-assurance-receipt",
    "writer_exclusivity_assurance_receipt_sha256": "runtime-assurance-receipt",
    "ddl_freeze_assurance_receipt_sha256": "runtime-assurance-receipt",
    "utc_semantics_assurance_receipt_sha256": "runtime-assurance-receipt",
    "seal_authorization_receipt_sha256": "seal-authorization-receipt",
    "artifact_manifest_sha256": "sealed-artifact-manifest",
    "scratch_absence_evidence_sha256": "clickhouse-failed-scratch-cleanup-receipt",
    "dag_projection_sha256": "v2-dag-projection",
    "model_build_receipt_sha256": "model-build-receipt",
    "build_receipt_sha256": "model-build-receipt",
    "prepared_receipt_sha256": "prepared-receipt",
    "exchange_receipt_sha256": "exchange-receipt",
    "clickhouse_terminal_receipt_sha256": "exchange-receipt|empty-scope-receipt",
    "terminal_receipt_sha256": "publication-receipt|empty-scope-receipt",
}
"""Which kinds of document a digest field leads to (`operation`: the plan with that id, `self`: the same kind)."""

ADDITIVE = {
    "model-build-receipt",
    "prepared-receipt",
    "exchange-receipt",
    "publication-receipt",
    "empty-scope-receipt",
    "v2-dag-projection",
}
"""Kinds that a folder may lack altogether: earlier evidence has none, or keeps them elsewhere."""

BUNDLES = {"dpone.dbt-semantic-refresh-plan-bundle.v1", f"{PREFIX}proof-bundle.v1"}
"""Documents that stand for the documents inside of them."""

AGREE = (
    "environment",
    "release_id",
    "deployment_id",
    "model_unique_id",
    "scope_start",
    "scope_end",
    "operation_id",
    "operation_plan_sha256",
    "workflow_mode",
    "workflow_plan_sha256",
    "workflow_replacement_plan_sha256",
    "workflow_execution_id",
    "workflow_execution_binding_sha256",
    "recovery_plan_digest",
    "selected_mutating_node_ids",
    "attempt_binding_sha256",
    "fencing_epoch",
    "effective_key_mapping_sha256",
    "effective_key_template_sha256",
    "model_definition_proof_sha256",
    "mutation_closure_sha256",
    "read_dependency_proof_sha256",
    "sqlserver_lifecycle_policy_sha256",
    "route_certification_receipt_sha256",
    "baseline_adoption_receipt_sha256",
    "ordered_writable_schema_sha256",
    "parquet_schema_mapping_sha256",
    "clickhouse_input_mapping_sha256",
    "codec_mapping_certification_sha256",
    "serializer_sha256",
    "model_build_receipt_sha256",
    "coordinates",
    "subject",
)
"""What two documents say alike when one names the other."""

LINEAGE = ("environment", "deployment_id", "model_unique_id", "scope_start", "scope_end")
"""What an operation and the one that it follows say alike."""


def links_of(document: Document) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield (path, field, digest, what the surrounding object says) of every reference of a document."""
    content = document.content
    assert content is not None
    own = SCHEMAS[content["schema"]][1]

    def walk(value: Any, path: str, said: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
        if type(value) is list:
            for index, item in enumerate(value):
                yield from walk(item, f"{path}[{index}]", said)
        elif type(value) is dict:
            said = {
                **said,
                **{name: value[name] for name in AGREE if name in value and (path or name != own)},
            }
            for name, item in sorted(value.items()):
                at = f"{path}.{name}" if path else name
                if name in REFERENCES and not (path == "" and name == own):
                    for index, target in enumerate(item if type(item) is list else [item]):
                        if type(target) is str:
                            yield (f"{at}[{index}]" if type(item) is list else at), name, target, said
                elif not (type(item) is dict and item.get("schema") in SCHEMAS):
                    yield from walk(item, at, said)

    yield from walk(without(content, "plan_bundle", "template_pack", "topology"), "", {})


def index_of(documents: Sequence[Document]) -> dict[tuple[str, str], Document]:
    """Index documents, and those that a bundle holds, by kind and digest; operation plans by operation id too."""
    index: dict[tuple[str, str], Document] = {}
    for document in documents:
        if document.content is None:
            continue
        bundled = nested_documents(document.content) if document.schema in BUNDLES else ()
        for _, content in [("", document.content), *bundled]:
            kind = kind_of(content["schema"])
            held = document if content is document.content else document._replace(content=content)
            index.setdefault((kind, content[digest_field(content["schema"])]), held)
            if kind == "operation-plan":
                index.setdefault(("operation", content["operation_id"]), held)
    return index


def kind_of(schema: str) -> str:
    """Return the short name of a schema id."""
    return schema.removeprefix(PREFIX).rsplit(".", 1)[0]


def continued_attempts(documents: Sequence[Document]) -> set[tuple[str, str]]:
    """Return (original, successor) of every attempt that a continuation receipt lets another one go on for."""
    contents = [document.content for document in documents if document.content is not None]
    receipts = [c for c in contents if kind_of(c["schema"]) == "attempt-continuation-receipt"]
    attempts = [c for c in contents if kind_of(c["schema"]) == "attempt-binding"]
    same = ("operation_id", "try_number", "pod_uid", "task_id")
    return {
        (receipt["original_attempt_binding_sha256"], attempt["attempt_binding_sha256"])
        for receipt in receipts
        for attempt in attempts
        if all(receipt[name] == attempt[name] for name in same)
    }


def follow(documents: Sequence[Document]) -> list[Link]:
    """Follow every reference; documents that agree with what names them are `resolved`.

    What an attempt began, the attempt that continues it may finish: their bindings and fences differ. So does what a
    summary names: the attempt that sealed, and receipts of the one that finished.
    """
    index = index_of(documents)
    continued = continued_attempts(documents)
    kinds = {kind for kind, _ in index}
    links = []
    for document in documents:
        if document.content is None:
            continue
        assert document.schema is not None
        for path, field, target, said in links_of(document):
            wanted = REFERENCES[field] if REFERENCES[field] != "self" else kind_of(document.schema)
            alternatives = wanted.split("|")
            found = next((index[kind, target] for kind in alternatives if (kind, target) in index), None)
            if found is None or found.content is None:
                absent = (ADDITIVE.issuperset(alternatives) and kinds.isdisjoint(alternatives)) or (
                    field == "utc_assurance_sha256"
                    and kind_of(document.schema) == "baseline-adoption-receipt"
                )
                rule = None if absent else "resolves"
                links.append(Link(document.file, path, wanted, None, "outside" if absent else "broken", rule))
                continue
            lineage = field.startswith(("predecessor_", "replaces_", "scope_predecessor_"))
            names: Sequence[str] = LINEAGE if lineage else AGREE
            content = found.content
            pair = (content.get("attempt_binding_sha256"), said.get("attempt_binding_sha256"))
            if not continued.isdisjoint({pair, pair[::-1]}):
                names = [name for name in names if name not in ("attempt_binding_sha256", "fencing_epoch")]
            differing = [
                name for name in names if name in said and name in content and said[name] != content[name]
            ]
            state, rule = ("broken", f"agrees:{differing[0]}") if differing else ("resolved", None)
            links.append(Link(document.file, path, wanted, found.file, state, rule))
    return links


# --- 6. Rules between documents ---------------------------------------------------------------------------------------
# Each is a function of the documents' contents and of an instant, never of a clock.


def current(receipt: Doc, at: datetime, revocations: Sequence[Doc]) -> str | None:
    """Name what keeps a certificate from being current at an instant: its result, its window, or a revocation."""
    # The disposable lab's route is UNVERIFIED, and its documents name that environment; production's never do.
    on_lab = (
        receipt["status"] == "UNVERIFIED"
        and "revoked_receipt_sha256" not in receipt
        and receipt["coordinates"]["environment"] == DISPOSABLE_ENVIRONMENT
    )
    if receipt["status"] not in ("PASS", "CERTIFIED") and not on_lab:
        return "certificate-passed"
    if not instant(receipt["effective_from"]) <= at < instant(receipt["expires_at"]):
        return "certificate-unexpired"
    field = (
        "route_certification_receipt_sha256"
        if "coordinates" in receipt
        else "runtime_assurance_receipt_sha256"
    )
    if any(
        r["revoked_receipt_sha256"] == receipt[field] and instant(r["revoked_at"]) <= at for r in revocations
    ):
        return "certificate-unrevoked"
    return None


def continues(receipt: Doc, attempt: Doc, ended: Doc) -> str | None:
    """Name what keeps a continuation from being the immediate successor of an attempt that has ended."""
    if receipt["try_number"] != attempt["try_number"] + 1:
        return "next-try"
    if receipt["pod_uid"] == attempt["pod_uid"]:
        return "another-pod"
    if receipt["task_id"] != attempt["task_id"]:
        return "same-task"
    if ended["attempt_binding_sha256"] != attempt["attempt_binding_sha256"]:
        return "ended-attempt"
    if (ended["pod_uid"], ended["try_number"]) != (attempt["pod_uid"], attempt["try_number"]):
        return "ended-attempt"
    if instant(receipt["verified_at"]) < instant(ended["observed_at"]):
        return "ended-before-verified"
    return None


def one_authority(contents: Sequence[Doc]) -> Iterator[tuple[int, str, str]]:
    """Yield (index, path, rule) of documents under a deployment that has another release or store already."""
    for name in ("release_id", "store_authority_id"):
        first: dict[str, str] = {}
        for index, content in enumerate(contents):
            if "deployment_id" not in content or name not in content:
                continue
            if content[name] != first.setdefault(content["deployment_id"], content[name]):
                yield index, name, "one-authority"


ASSURANCES = {
    "writer_exclusivity_assurance_receipt_sha256": "writer_exclusivity",
    "ddl_freeze_assurance_receipt_sha256": "ddl_freeze",
    "utc_semantics_assurance_receipt_sha256": "utc_semantics",
}
PROOFS = {
    "model_definition_proof_sha256": "model-definition-proof",
    "mutation_closure_sha256": "mutation-closure",
    "read_dependency_proof_sha256": "read-dependency-proof",
}


def chain_faults(documents: Sequence[Document], at: datetime | None) -> Iterator[tuple[str, str, str]]:
    """Yield (file, path, rule) of every rule between documents that does not hold."""
    readable = [document for document in documents if document.content is not None]
    index = {key: document.content for key, document in index_of(readable).items()}
    revocations = [
        d.content for d in readable if d.content is not None and "revoked_receipt_sha256" in d.content
    ]
    for position, path, rule in one_authority([d.content for d in readable if d.content is not None]):
        yield readable[position].file, path, rule
    for document in readable:
        content = document.content
        assert content is not None
        for path, rule in _rules_of(content, index, revocations, at):
            yield document.file, path, rule


Index = Mapping[tuple[str, str], Doc | None]


def _rules_of(
    doc: Doc, index: Index, revocations: Sequence[Doc], at: datetime | None
) -> Iterator[tuple[str, str]]:
    kind = kind_of(doc["schema"])
    if kind == "operation-plan":
        for field, proof_kind in PROOFS.items():
            proof = index.get((proof_kind, doc[field]))
            if proof is not None and proof["status"] != "PROVEN":
                yield field, "proven-only"
    elif kind == "workflow-plan":
        for position, ref in enumerate(doc["operation_plan_refs"]):
            plan = index.get(("operation-plan", ref["operation_plan_sha256"]))
            named = (doc["workflow_mode"], doc["workflow_name"], doc["scope_revision"])
            if plan and (plan["operation_kind"], plan["workflow_id"], plan["scope_revision"]) != named:
                yield f"operation_plan_refs[{position}]", "plan-of-workflow"
    elif kind == "attempt-continuation-receipt":
        attempt = index.get(("attempt-binding", doc["original_attempt_binding_sha256"]))
        digest_ = doc["original_attempt_termination_receipt_sha256"]
        ended = index.get(("trusted-attempt-termination-receipt", digest_))
        if attempt and ended and (rule := continues(doc, attempt, ended)):
            yield "original_attempt_binding_sha256", rule
    elif kind == "seal-authorization-receipt":
        yield from _certificates(doc, index, revocations, instant(doc["created_at"]))
    elif kind == "sealed-artifact-manifest":
        seal_ = index.get(("seal-authorization-receipt", doc["seal_authorization_receipt_sha256"]))
        if seal_ and seal_["after_image_row_count"] != doc["total_rows"]:
            yield "total_rows", "rows-of-image"
    elif kind in ("durable-workflow-summary", "failed-workflow-summary"):
        yield from _expected(doc, index)
    if at is not None and kind in ("seal-authorization-receipt", "compiler-runtime-authority-bundle"):
        yield from _certificates(doc, index, revocations, at)


def _certificates(
    doc: Doc, index: Index, revocations: Sequence[Doc], at: datetime
) -> Iterator[tuple[str, str]]:
    """Yield the certificates of a document that are not current at an instant, or of another kind."""
    field = "route_certification_receipt_sha256"
    receipt = index.get(("route-live-certification-receipt", doc[field]))
    if receipt and (rule := current(receipt, at, revocations)):
        yield field, rule
    for field, kind in ASSURANCES.items():
        receipt = index.get(("runtime-assurance-receipt", doc.get(field, "")))
        if receipt and receipt["subject"]["assurance_kind"] != kind:
            yield field, "assurance-kind"
        elif receipt and (rule := current(receipt, at, revocations)):
            yield field, rule


def _expected(doc: Doc, index: Index) -> Iterator[tuple[str, str]]:
    """A summary expects exactly the operations of its workflow plan."""
    workflow = index.get(("workflow-plan", doc["workflow_plan_sha256"]))
    if (
        workflow
        and sorted(ref["operation_id"] for ref in workflow["operation_plan_refs"])
        != doc["expected_operation_ids"]
    ):
        yield "expected_operation_ids", "operations-of-workflow"


# --- 7. Report --------------------------------------------------------------------------------------------------------


def report(documents: Sequence[Document], at: datetime | None = None) -> Report:
    """Join the answers of single files, the links and the rules between documents in one verdict."""
    rank = {schema: position for position, schema in enumerate(SCHEMAS)}
    ordered = sorted(documents, key=lambda item: (rank.get(item.schema or "", -1), item.file))
    links = follow(ordered)
    place = {item.file: position for position, item in enumerate(ordered)}
    broken = [
        (item.file, item.fault.path, item.fault.rule)
        for item in ordered
        if item.answer == "refused" and item.fault
    ]
    broken += [(link.file, link.path, link.rule) for link in links if link.state == "broken" and link.rule]
    broken += list(chain_faults(ordered, at))
    broken.sort(key=lambda item: place[item[0]])
    lax = any(item.answer == "inadmissible" for item in ordered)
    verdict = "broken" if broken or not ordered else "inadmissible" if lax else "verified"
    return Report(verdict, ordered, links, broken[0] if broken else None)


def verify_files(files: Mapping[str, bytes], at: datetime | None = None) -> Report:
    """Verify the files of a folder, by name, in any order."""
    return report([judge(name, data) for name, data in files.items()], at)


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read the files of a folder and of those inside it whose names end in `.json`; OSError for one that cannot be."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() == ".json" and (path.is_file() or not path.exists())
    }


def printable(text: str) -> str:
    """Escape what a terminal would obey or cannot show: file names and fields are whatever somebody wrote."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def lines(result: Report) -> Iterator[str]:
    """Write a report for people."""
    for item in result.documents:
        where = f" at {item.fault.path} ({item.fault.rule})" if item.fault else ""
        yield printable(f"{item.answer:12} {item.file}{where}")
    for link in result.links:
        where = f" ({link.rule})" if link.rule else ""
        yield printable(f"{link.state:12} {link.file} {link.path} -> {link.target or link.kind}{where}")
    if result.first_broken is not None:
        file, path, rule = result.first_broken
        yield printable(f"first broken: {file} at {path} ({rule})")
    elif not result.documents:
        yield "no .json file: nothing is proven"
    yield f"verdict: {result.verdict}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the folder named on the command line."""
    parser = argparse.ArgumentParser(description="Verify a folder of evidence without installing anything.")
    parser.add_argument(
        "folder", type=Path, help="folder with the documents as .json files; other files are not read"
    )
    parser.add_argument(
        "--at", help="also ask whether certificates are current at this instant, YYYY-MM-DDThh:mm:ssZ"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder")
    try:
        at = instant(options.at) if options.at else None
    except ValueError:
        parser.error("--at is not an instant")
    try:
        files = read_folder(options.folder)
    except OSError as error:
        parser.error(printable(f"cannot read {error.filename}: {error.strerror}"))
    result = verify_files(files, at)
    text = json.dumps(result.to_json(), indent=2) if options.format == "json" else "\n".join(lines(result))
    sys.stdout.write(text + "\n")
    return 0 if result.verdict == "verified" else 1


if __name__ == "__main__":
    sys.exit(main())
