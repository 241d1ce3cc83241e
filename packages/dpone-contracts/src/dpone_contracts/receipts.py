"""Receipts of authorities outside the run: baseline, route certification, runtime assurance, attempt termination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, WithJsonSchema

from dpone_contracts.canonical import INT64_MAX, Path, digest_checked
from dpone_contracts.closure import UNIQUE, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken, lax
from dpone_contracts.scalars import (
    CoverageDay,
    Epoch,
    Identifier,
    ModelId,
    Positive,
    Sha256Text,
    Text,
    UtcInstant,
    UtcMicros,
    Uuid,
    WhenPresent,
    instant,
)

WINDOW: Final = ("effective_from", "expires_at")
REVOCATION: Final = ("revoked_at", "revoked_receipt_sha256", "revocation_reason")


class BaselineAdoptionReceipt(Document):
    """States that a complete relation exists in both engines, and which history it covers."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-baseline-adoption-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "baseline_adoption_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-baseline-adoption-receipt.v1"] = Field(alias="schema")
    baseline_adoption_receipt_sha256: Sha256Text
    status: Literal["COMPLETE"]
    baseline_kind: Literal["certified_initial_load", "adopted_complete_relation_conformant"]
    adopted_at: UtcInstant
    release_id: Sha256Text
    deployment_id: Sha256Text
    model_unique_id: ModelId
    coverage_start: CoverageDay
    coverage_end: CoverageDay
    historical_clickhouse_internal_multiset_conformance: Literal["PROVEN"]
    historical_clickhouse_internal_multiset_evidence_sha256: Sha256Text
    historical_cross_engine_payload_value_equivalence: Literal["NOT_CLAIMED"]
    certified_codec_mapping_sha256: Sha256Text
    ddl_assurance_sha256: Sha256Text
    utc_assurance_sha256: Sha256Text
    writer_assurance_sha256: Sha256Text
    source_relation_id: Identifier
    source_generation: Positive
    source_snapshot_sha256: Sha256Text
    source_assurance_sha256: Sha256Text
    source_coverage_sha256: Sha256Text
    source_key_sha256: Sha256Text
    source_physical_sha256: Sha256Text
    source_schema_sha256: Sha256Text
    mssql_relation_id: Identifier
    mssql_generation: Positive
    mssql_connection_authority_id: Identifier
    mssql_target_authority_id: Identifier
    mssql_assurance_sha256: Sha256Text
    mssql_coverage_sha256: Sha256Text
    mssql_key_sha256: Sha256Text
    mssql_physical_sha256: Sha256Text
    mssql_schema_sha256: Sha256Text
    clickhouse_relation_id: Identifier
    clickhouse_generation: Positive
    clickhouse_cluster_authority_id: Identifier
    clickhouse_target_authority_id: Identifier
    clickhouse_target_uuid: Uuid
    clickhouse_assurance_sha256: Sha256Text
    clickhouse_coverage_sha256: Sha256Text
    clickhouse_key_sha256: Sha256Text
    clickhouse_physical_sha256: Sha256Text
    clickhouse_schema_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        if instant(self.coverage_start) >= instant(self.coverage_end):
            yield broken("coverage-not-empty", "coverage ends before or where it starts", "coverage_end")
        if instant(self.adopted_at) < instant(self.coverage_end):
            yield lax("adopted-after-coverage", "adopted before the coverage ends", "adopted_at")


def baseline_generation_id(receipt: Mapping[str, Any]) -> str:
    """Digest the generation that a baseline leaves as the first predecessor of a target."""
    names = (
        "baseline_adoption_receipt_sha256",
        "clickhouse_generation",
        "clickhouse_relation_id",
        "clickhouse_target_authority_id",
        "clickhouse_target_uuid",
    )
    return digest_checked({name: receipt[name] for name in names})


def exact_fields(
    document: Part, optional: Sequence[str], wanted: Sequence[str], case: str
) -> Iterator[Fault]:
    """Yield faults unless exactly the wanted ones of the optional fields are present."""
    for name in optional:
        present = getattr(document, name) is not None
        if present and name not in wanted:
            yield broken("fields-by-status", f"{case} has no such field", name)
        if not present and name in wanted:
            yield broken("fields-by-status", f"{case} needs the field", name)


def schema_case(
    constant: Mapping[str, Any], optional: Sequence[str], wanted: Sequence[str]
) -> dict[str, Any]:
    """Describe for a JSON Schema what `exact_fields` says of one case."""
    refused = {name: False for name in optional if name not in wanted}
    return {"properties": {**constant, **refused}, "required": list(wanted)}


def window_rules(effective_from: str | None, expires_at: str | None) -> Iterator[Fault]:
    """Yield a fault where a validity window ends before or where it starts."""
    if (
        effective_from is not None
        and expires_at is not None
        and instant(effective_from) >= instant(expires_at)
    ):
        yield broken("window-not-empty", "the validity window ends before or where it starts", "expires_at")


class RouteCoordinates(Part):
    """The exact cell of connectors, versions, policies and toolchain that a route certification is about."""

    environment: Identifier
    load_strategy: Identifier
    source_connector: Identifier
    source_connector_version: Identifier
    source_capability_sha256: Sha256Text
    sink_connector: Identifier
    sink_connector_version: Identifier
    sink_capability_sha256: Sha256Text
    capability_policy_sha256: Sha256Text
    route_policy_sha256: Sha256Text
    runtime_image_digest: Sha256Text
    toolchain_sha256: Sha256Text


ROUTE_EVIDENCE = ("failure_matrix_sha256", "live_environment_sha256", "live_evidence_sha256")
_ROUTE_OPTIONAL = (*WINDOW, "tested_at", *ROUTE_EVIDENCE, *REVOCATION)
_ROUTE_TESTED = (*WINDOW, "tested_at", *ROUTE_EVIDENCE)
_ROUTE_UNTESTED = (*WINDOW, "tested_at")


class RouteLiveCertificationReceipt(Document):
    """The live result for one exact route; UNVERIFIED or revoked never activates."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-route-live-certification-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "route_certification_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-route-live-certification-receipt.v1"] = Field(alias="schema")
    route_certification_receipt_sha256: Sha256Text
    status: Literal["PASS", "FAIL", "UNVERIFIED"]
    coordinates: RouteCoordinates
    certification_policy_sha256: Sha256Text
    issuer_authority: Identifier
    issuer_attestation_sha256: Sha256Text
    issuer_signature_sha256: Sha256Text
    tested_at: Annotated[UtcInstant | None, WhenPresent] = None
    effective_from: Annotated[UtcInstant | None, WhenPresent] = None
    expires_at: Annotated[UtcInstant | None, WhenPresent] = None
    failure_matrix_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    live_environment_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    live_evidence_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    revoked_at: Annotated[UtcInstant | None, WhenPresent] = None
    revoked_receipt_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    revocation_reason: Annotated[Text | None, WhenPresent] = None

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            schema_case({"status": {"enum": ["PASS", "FAIL"]}}, _ROUTE_OPTIONAL, _ROUTE_TESTED),
            schema_case({"status": {"const": "UNVERIFIED"}}, _ROUTE_OPTIONAL, _ROUTE_UNTESTED),
            schema_case({"status": {"const": "UNVERIFIED"}}, _ROUTE_OPTIONAL, REVOCATION),
        ]
    }

    @property
    def is_revocation(self) -> bool:
        """Tell whether the receipt withdraws another one."""
        return self.revoked_receipt_sha256 is not None

    def _rules(self) -> Iterator[Fault]:
        if self.status != "UNVERIFIED":
            yield from exact_fields(self, _ROUTE_OPTIONAL, _ROUTE_TESTED, "a live result")
        elif any(getattr(self, name) is not None for name in REVOCATION):
            yield from exact_fields(self, _ROUTE_OPTIONAL, REVOCATION, "a revocation")
        else:
            yield from exact_fields(self, _ROUTE_OPTIONAL, _ROUTE_UNTESTED, "an unverified route")
        yield from window_rules(self.effective_from, self.expires_at)
        if self.tested_at and self.effective_from and instant(self.tested_at) > instant(self.effective_from):
            yield broken("tested-before-effective", "effective before it was tested", "tested_at")


class AssuranceSubject(Part):
    """The target or the column that an assurance is about, with everything that it holds for."""

    subject_type: Literal["target", "column"]
    assurance_kind: Literal["writer_exclusivity", "utc_semantics", "ddl_freeze"]
    environment: Identifier
    release_id: Sha256Text
    deployment_id: Sha256Text
    model_unique_id: ModelId
    database: Identifier
    column_name: Annotated[Identifier | None, WhenPresent] = None
    mssql_control_database: Identifier
    mssql_control_schema: Identifier
    mssql_image_schema: Identifier
    mssql_target_authority_id: Identifier
    writable_schema_sha256: Sha256Text
    effective_key_template_sha256: Sha256Text
    model_definition_proof_sha256: Sha256Text
    route_certification_receipt_sha256: Sha256Text
    scope_image_namespace_policy_sha256: Sha256Text
    sqlserver_lifecycle_policy_sha256: Sha256Text

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            {
                "properties": {
                    "assurance_kind": {"const": "utc_semantics"},
                    "subject_type": {"const": "column"},
                },
                "required": ["column_name"],
            },
            {
                "properties": {
                    "assurance_kind": {"enum": ["writer_exclusivity", "ddl_freeze"]},
                    "subject_type": {"const": "target"},
                    "column_name": False,
                },
            },
        ]
    }

    def _rules(self) -> Iterator[Fault]:
        about_column = self.assurance_kind == "utc_semantics"
        if (self.subject_type == "column") != about_column:
            yield broken(
                "subject-by-kind", "UTC semantics is about a column, the rest about a target", "subject_type"
            )
        if (self.column_name is not None) != about_column:
            yield broken("subject-by-kind", "a column is named for UTC semantics only", "column_name")


_CONTROLS = tuple(
    f"{control}_{suffix}"
    for control in (
        "engine_acl_proof",
        "external_job_inventory",
        "organizational_control",
        "platform_allowlist",
    )
    for suffix in ("sha256", "status")
)
_ASSURANCE_OPTIONAL = (*WINDOW, "evidence_sha256", "ddl_epoch", *_CONTROLS, *REVOCATION)
_CERTIFIED: Mapping[str, tuple[str, ...]] = {
    "writer_exclusivity": (*WINDOW, "evidence_sha256", *_CONTROLS),
    "ddl_freeze": (*WINDOW, "evidence_sha256", "ddl_epoch"),
    "utc_semantics": (*WINDOW, "evidence_sha256"),
}


class RuntimeAssuranceReceipt(Document):
    """A current attestation of writer exclusivity, UTC semantics or a DDL freeze, or its revocation."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-runtime-assurance-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "runtime_assurance_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-runtime-assurance-receipt.v1"] = Field(alias="schema")
    runtime_assurance_receipt_sha256: Sha256Text
    status: Literal["CERTIFIED", "REVOKED"]
    subject: AssuranceSubject
    runtime_assurance_policy_sha256: Sha256Text
    acl_policy_version: Identifier
    producer_version: Identifier
    transformation_version: Identifier
    approver_authority: Identifier
    approver_attestation_sha256: Sha256Text
    approver_signature_sha256: Sha256Text
    effective_from: Annotated[UtcInstant | None, WhenPresent] = None
    expires_at: Annotated[UtcInstant | None, WhenPresent] = None
    evidence_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    ddl_epoch: Annotated[Epoch | None, WhenPresent] = None
    engine_acl_proof_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    engine_acl_proof_status: Annotated[Literal["PASS"] | None, WhenPresent] = None
    external_job_inventory_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    external_job_inventory_status: Annotated[Literal["PASS"] | None, WhenPresent] = None
    organizational_control_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    organizational_control_status: Annotated[Literal["CERTIFIED"] | None, WhenPresent] = None
    platform_allowlist_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    platform_allowlist_status: Annotated[Literal["PASS"] | None, WhenPresent] = None
    revoked_at: Annotated[UtcInstant | None, WhenPresent] = None
    revoked_receipt_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    revocation_reason: Annotated[Text | None, WhenPresent] = None

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            *(
                schema_case(
                    {
                        "status": {"const": "CERTIFIED"},
                        "subject": {"properties": {"assurance_kind": {"const": kind}}},
                    },
                    _ASSURANCE_OPTIONAL,
                    wanted,
                )
                for kind, wanted in _CERTIFIED.items()
            ),
            schema_case({"status": {"const": "REVOKED"}}, _ASSURANCE_OPTIONAL, REVOCATION),
        ]
    }

    def _rules(self) -> Iterator[Fault]:
        if self.status == "REVOKED":
            yield from exact_fields(self, _ASSURANCE_OPTIONAL, REVOCATION, "a revocation")
        else:
            kind = self.subject.assurance_kind
            yield from exact_fields(self, _ASSURANCE_OPTIONAL, _CERTIFIED[kind], f"a certified {kind}")
        yield from window_rules(self.effective_from, self.expires_at)


_EXIT_CODE: Final[dict[str, Any]] = {"type": "integer", "minimum": 0, "maximum": INT64_MAX}


class ContainerTermination(Part):
    """How one container of the attempt's pod ended; the exit code is absent when the node lost it."""

    name: Identifier
    container_id: Identifier
    reason: Identifier
    finished_at: UtcMicros
    exit_code: Annotated[int | None, WhenPresent, WithJsonSchema(_EXIT_CODE)] = None

    def _rules(self) -> Iterator[Fault]:
        if self.exit_code is not None and self.exit_code < 0:
            yield lax("exit-code", "an exit code is not negative", "exit_code")


class TrustedAttemptTerminationReceipt(Document):
    """An authority's observation that an attempt's pod has ended, container by container."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-trusted-attempt-termination-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "termination_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-trusted-attempt-termination-receipt.v1"] = Field(
        alias="schema"
    )
    termination_receipt_sha256: Sha256Text
    verification_status: Literal["VERIFIED"]
    terminal_phase: Literal["Failed", "Succeeded"]
    attempt_binding_sha256: Sha256Text
    workflow_execution_id: Identifier
    workflow_execution_binding_sha256: Sha256Text
    operation_ids: Several[Sha256Text] = Field(json_schema_extra=UNIQUE)
    operation_set_sha256: Sha256Text
    dag_id: Identifier
    run_id: Identifier
    task_id: Identifier
    map_index: Annotated[int, Field(ge=-1, json_schema_extra={"maximum": INT64_MAX})]
    try_number: Positive
    cluster_id: Identifier
    namespace: Identifier
    pod_name: Identifier
    pod_uid: Uuid
    pod_resource_version: Identifier
    container_terminations: Several[ContainerTermination]
    observed_at: UtcMicros
    observer_authority: Identifier
    observer_policy_sha256: Sha256Text
    observer_attestation_sha256: Sha256Text
    observer_signature_sha256: Sha256Text

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "if": {"properties": {"terminal_phase": {"const": "Succeeded"}}},
        "then": {
            "properties": {
                "container_terminations": {
                    "items": {"properties": {"exit_code": {"const": 0}}, "required": ["exit_code"]}
                }
            }
        },
    }

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digest of the operation set."""
        yield ("operation_set_sha256",), operation_set_digest(plain["operation_ids"])

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Compute the digest of the operation set where it is absent."""
        plain.setdefault("operation_set_sha256", operation_set_digest(plain["operation_ids"]))

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.operation_ids, "operation_ids")
        if self.run_id != self.workflow_execution_id:
            yield lax("execution-is-dag-run", "run_id is not the execution id", "run_id")
        observed = instant(self.observed_at)
        for index, container in enumerate(self.container_terminations):
            at = ("container_terminations", index)
            if instant(container.finished_at) > observed:
                yield broken(
                    "ended-before-observed", "a container ended after the observation", *at, "finished_at"
                )
            if self.terminal_phase == "Succeeded" and container.exit_code != 0:
                yield lax(
                    "success-exits-zero", "phase Succeeded and an exit code that is not 0", *at, "exit_code"
                )
        containers = self.container_terminations
        yield from sorted_set([container.name for container in containers], "container_terminations")
        if len({container.container_id for container in containers}) != len(containers):
            yield lax(
                "one-report-a-container", "two containers share one container_id", "container_terminations"
            )


def operation_set_digest(operation_ids: Sequence[str]) -> str:
    """Digest the sorted operation ids of an attempt."""
    return digest_checked({"operation_ids": list(operation_ids)})
