"""Adopt a baseline: observe both engines' relations whole, and store what was seen with the initial head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dpone.application.services import require
from dpone_contracts.canonical import digest_of
from dpone_contracts.errors import DponeError
from dpone_contracts.identity import scope_family_id
from dpone_contracts.receipts import BaselineAdoptionReceipt

if TYPE_CHECKING:
    from dpone_contracts.descriptors import DeploymentDescriptor, ModelProofs
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.clock import Clock
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.ports.relation_observer import RelationObservation, RelationObserver
    from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt


@dataclass(frozen=True, slots=True)
class BaselineServices:
    """The ports of an adoption; `sql_server` and `clickhouse` observe one engine each."""

    clock: Clock
    guard: ActivationGuard
    activations: ActivationStore
    sql_server: RelationObserver
    clickhouse: RelationObserver


@dataclass(frozen=True, slots=True)
class BaselineInputs:
    """What is adopted: frozen proofs, the deployment, who vouches, and the covered UTC days [start, end)."""

    proofs: ModelProofs
    deployment: DeploymentDescriptor
    kind: Literal["certified_initial_load", "adopted_complete_relation_conformant"]
    coverage_start: str
    coverage_end: str
    generation: int
    mssql_relation_id: str
    clickhouse_relation_id: str
    source_relation_id: str
    route: RouteLiveCertificationReceipt
    writer_assurance: RuntimeAssuranceReceipt
    ddl_assurance: RuntimeAssuranceReceipt
    utc_assurance: RuntimeAssuranceReceipt


def adopt_baseline(services: BaselineServices, inputs: BaselineInputs) -> BaselineAdoptionReceipt:
    """Observe, decide, store; the guard stands before the write.

    Equality of payload values between the engines is not claimed; inside ClickHouse the relation must hold every
    key once (specification, executive summary: existing certified or adopted baseline).
    """
    services.guard.require_allowed(services.activations.identity())
    proofs = inputs.proofs
    key = [column.name for column in proofs.key_template.columns]
    sql = services.sql_server.observe(
        inputs.mssql_relation_id, proofs.writable_columns, key, proofs.event_time_column
    )
    there = services.clickhouse.observe(
        inputs.clickhouse_relation_id, proofs.writable_columns, key, proofs.event_time_column
    )
    for engine, seen in (("SQL Server", sql), ("ClickHouse", there)):
        if seen.duplicate_keys:
            raise DponeError(
                "DPONE_BASELINE_NOT_CONFORMANT",
                f"{seen.relation_id} in {engine} holds keys more than once",
                {"duplicate_keys": str(seen.duplicate_keys)},
            )
    receipt = _receipt(services, inputs, sql, there)
    family = scope_family_id(proofs.model_unique_id, receipt, proofs.key_template.digest)
    require(services.activations.adopt_baseline(receipt, family))
    return receipt


def _receipt(
    services: BaselineServices, inputs: BaselineInputs, sql: RelationObservation, there: RelationObservation
) -> BaselineAdoptionReceipt:
    if there.uuid is None:
        raise DponeError("DPONE_BASELINE_NOT_CONFORMANT", f"{there.relation_id} has no UUID")
    proofs, deployment, reads = inputs.proofs, inputs.deployment, inputs.proofs.read_dependencies
    cluster, connection = deployment.clickhouse_cluster_authority_id, deployment.mssql_connection_authority_id
    database, table = there.relation_id.split(".", 1)
    mssql_database, mssql_table = sql.relation_id.split(".", 1)
    key_digest = proofs.key_template.digest
    return BaselineAdoptionReceipt.build(
        adopted_at=_instant(services.clock.now()),
        baseline_kind=inputs.kind,
        certified_codec_mapping_sha256=proofs.writable_schema_sha256,
        clickhouse_assurance_sha256=inputs.route.digest,
        clickhouse_cluster_authority_id=cluster,
        clickhouse_coverage_sha256=_coverage(inputs, there),
        clickhouse_generation=inputs.generation,
        clickhouse_key_sha256=key_digest,
        clickhouse_physical_sha256=there.physical_sha256,
        clickhouse_relation_id=there.relation_id,
        clickhouse_schema_sha256=there.schema_sha256,
        clickhouse_target_authority_id=f"clickhouse://{cluster}/{database}/{table}",
        clickhouse_target_uuid=there.uuid,
        coverage_end=inputs.coverage_end,
        coverage_start=inputs.coverage_start,
        ddl_assurance_sha256=inputs.ddl_assurance.digest,
        deployment_id=deployment.deployment_id,
        historical_clickhouse_internal_multiset_conformance="PROVEN",
        historical_clickhouse_internal_multiset_evidence_sha256=multiset_evidence(there),
        historical_cross_engine_payload_value_equivalence="NOT_CLAIMED",
        model_unique_id=proofs.model_unique_id,
        mssql_assurance_sha256=inputs.writer_assurance.digest,
        mssql_connection_authority_id=connection,
        mssql_coverage_sha256=_coverage(inputs, sql),
        mssql_generation=inputs.generation,
        mssql_key_sha256=key_digest,
        mssql_physical_sha256=sql.physical_sha256,
        mssql_relation_id=sql.relation_id,
        mssql_schema_sha256=sql.schema_sha256,
        mssql_target_authority_id=f"mssql://{connection}/{mssql_database}/{mssql_table}",
        release_id=deployment.release_id,
        source_assurance_sha256=reads.digest,
        source_coverage_sha256=_coverage(inputs, sql),
        source_generation=inputs.generation,
        source_key_sha256=key_digest,
        source_physical_sha256=reads.normalized_definitions_sha256,
        source_relation_id=inputs.source_relation_id,
        source_schema_sha256=proofs.writable_schema_sha256,
        source_snapshot_sha256=reads.catalog_snapshot_sha256,
        status="COMPLETE",
        utc_assurance_sha256=inputs.utc_assurance.digest,
        writer_assurance_sha256=inputs.writer_assurance.digest,
    )


def multiset_evidence(there: RelationObservation) -> str:
    """Digest of what proves that a relation holds every key once: rows, content, design."""
    return digest_of(
        {
            "content_sha256": there.content_sha256,
            "duplicate_keys": there.duplicate_keys,
            "physical_sha256": there.physical_sha256,
            "relation_id": there.relation_id,
            "row_count": there.row_count,
            "schema": "dpone.semantic-refresh-baseline-multiset-evidence.v1",
        }
    )


def _coverage(inputs: BaselineInputs, seen: RelationObservation) -> str:
    return digest_of(
        {
            "coverage_end": inputs.coverage_end,
            "coverage_start": inputs.coverage_start,
            "first_event": seen.first_event or "",
            "last_event": seen.last_event or "",
            "relation_id": seen.relation_id,
            "row_count": seen.row_count,
            "schema": "dpone.semantic-refresh-baseline-coverage.v1",
        }
    )


def _instant(now: str) -> str:
    return now.replace(".000000Z", "Z")
