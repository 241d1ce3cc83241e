"""Adopt a baseline: observe both engines' relations whole, freeze what was seen, and store it with the initial head."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from dpone.application.services import require
from dpone.application.trust import Certified, require_judge
from dpone_contracts.canonical import digest_of
from dpone_contracts.document import without
from dpone_contracts.errors import DponeError
from dpone_contracts.identity import scope_family_id
from dpone_contracts.receipts import BaselineAdoptionReceipt
from dpone_contracts.relations import SqlRelation

if TYPE_CHECKING:
    from dpone.application.deployment import DeploymentInputs, ModelInputs
    from dpone.application.trust import TrustJudge
    from dpone_contracts.descriptors import DeploymentDescriptor
    from dpone_contracts.model_deployment import ModelDeployment
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.clock import Clock
    from dpone_contracts.ports.deployment_files import FrozenBytes
    from dpone_contracts.ports.documents import DocumentStore
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.ports.relation_observer import RelationObservation, RelationObserver


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineServices:
    """The ports of an adoption; `sql_server` and `clickhouse` observe one engine each.

    Without `trust` there is no trust policy, and nothing is adopted.
    """

    clock: Clock
    guard: ActivationGuard
    activations: ActivationStore
    documents: DocumentStore
    frozen: FrozenBytes
    sql_server: RelationObserver
    clickhouse: RelationObserver
    trust: TrustJudge | None = None


def adopt_baselines(
    services: BaselineServices, inputs: DeploymentInputs
) -> dict[str, BaselineAdoptionReceipt]:
    """Adopt the baseline of every model of a deployment; one that is adopted already is left as it stands.

    The guard stands before the first write, and so do the certificates that the receipts will name: signed, trusted,
    unrevoked and measured again, those of every model before any is adopted (specification, detailed algorithm, 6 and 7).
    """
    services.guard.require_allowed(services.activations.identity())
    deployment_id = inputs.descriptor.deployment_id
    found: dict[str, BaselineAdoptionReceipt] = {}
    missing: dict[str, ModelInputs] = {}
    for name, model in sorted(inputs.models.items()):
        there = _frozen(services.frozen, deployment_id, name)
        if there is not None and is_stored(services.documents, there):
            found[name] = there
        else:
            missing[name] = model
    if missing:
        trust = require_judge(services.trust)
        trust.require([_certified(model) for model in missing.values()], services.clock.now())
    for name, model in missing.items():
        found[name] = _adopt(services, inputs.descriptor, model)
    return dict(sorted(found.items()))


def _certified(model: ModelInputs) -> Certified:
    return Certified(
        SqlRelation.from_id(model.held.mssql_relation_id),
        model.proofs.read_dependencies.closure_object_ids,
        model.route,
        model.writer_assurance,
        model.ddl_assurance,
        model.utc_assurance,
    )


def _adopt(
    services: BaselineServices, deployment: DeploymentDescriptor, model: ModelInputs
) -> BaselineAdoptionReceipt:
    """Observe, decide, freeze, store.

    Equality of payload values between the engines is not claimed; inside ClickHouse the relation must hold every
    key once (specification, executive summary: existing certified or adopted baseline). The receipt is frozen before
    it is stored, so that a lost acknowledgement is answered with the same bytes.
    """
    proofs = model.proofs
    sql, click = _observe(services, model)
    receipt = _receipt(services, deployment, model, sql, click)
    name = _name(deployment.deployment_id, proofs.model_unique_id)
    first = BaselineAdoptionReceipt.from_bytes(require(services.frozen.freeze(name, receipt.to_bytes())))
    if _but_for_the_instant(first) != _but_for_the_instant(receipt):
        raise DponeError(
            "DPONE_BASELINE_CHANGED",
            f"{proofs.model_unique_id}: what is there now is not what was frozen",
            {"frozen": first.digest, "observed": receipt.digest},
        )
    family = scope_family_id(proofs.model_unique_id, first, proofs.key_template.digest)
    require(services.activations.adopt_baseline(first, family))
    return first


def adopted_baseline(
    frozen: FrozenBytes, documents: DocumentStore, deployment_id: str, model_unique_id: str
) -> BaselineAdoptionReceipt:
    """The baseline of a model that is adopted in this store; raises `DponeError` DPONE_BASELINE_NOT_ADOPTED."""
    there = _frozen(frozen, deployment_id, model_unique_id)
    if there is None or not is_stored(documents, there):
        raise DponeError(
            "DPONE_BASELINE_NOT_ADOPTED",
            f"{model_unique_id} has no adopted baseline",
            {"deployment_id": deployment_id},
        )
    return there


def is_stored(documents: DocumentStore, receipt: BaselineAdoptionReceipt) -> bool:
    """Whether the control store holds exactly this receipt."""
    return documents.read(receipt.SCHEMA, receipt.digest) == receipt.to_bytes()


def _frozen(frozen: FrozenBytes, deployment_id: str, model_unique_id: str) -> BaselineAdoptionReceipt | None:
    data = frozen.frozen(_name(deployment_id, model_unique_id))
    return None if data is None else BaselineAdoptionReceipt.from_bytes(data)


def _name(deployment_id: str, model_unique_id: str) -> str:
    subject = sha256(f"{deployment_id}/{model_unique_id}".encode()).hexdigest()
    return f"baseline-adoption-receipt.{subject}"


def _but_for_the_instant(receipt: BaselineAdoptionReceipt) -> dict[str, object]:
    return without(receipt.to_plain(), "adopted_at", BaselineAdoptionReceipt.DIGEST_FIELD)


def _observe(
    services: BaselineServices, model: ModelInputs
) -> tuple[RelationObservation, RelationObservation]:
    proofs, held = model.proofs, model.held
    key = [column.name for column in proofs.key_template.columns]
    target = f"{held.publication_database}.{held.publication_table}"
    seen = (
        services.sql_server.observe(
            held.mssql_relation_id, proofs.writable_columns, key, proofs.event_time_column
        ),
        services.clickhouse.observe(target, proofs.writable_columns, key, proofs.event_time_column),
    )
    for engine, relation in zip(("SQL Server", "ClickHouse"), seen, strict=True):
        if relation.duplicate_keys:
            raise DponeError(
                "DPONE_BASELINE_NOT_CONFORMANT",
                f"{relation.relation_id} in {engine} holds keys more than once",
                {"duplicate_keys": str(relation.duplicate_keys)},
            )
    return seen


def _receipt(
    services: BaselineServices,
    deployment: DeploymentDescriptor,
    model: ModelInputs,
    sql: RelationObservation,
    there: RelationObservation,
) -> BaselineAdoptionReceipt:
    if there.uuid is None:
        raise DponeError("DPONE_BASELINE_NOT_CONFORMANT", f"{there.relation_id} has no UUID")
    utc = model.utc_assurance
    if utc is None:
        raise DponeError(
            "DPONE_STAGE_REFUSED",
            f"{model.proofs.model_unique_id}: a baseline names a UTC assurance",
            {"rule": "utc-assurance"},
        )
    proofs, held, reads = model.proofs, model.held, model.proofs.read_dependencies
    cluster, connection = deployment.clickhouse_cluster_authority_id, deployment.mssql_connection_authority_id
    database, table = there.relation_id.split(".", 1)
    mssql_database, mssql_table = sql.relation_id.split(".", 1)
    key_digest = proofs.key_template.digest
    return BaselineAdoptionReceipt.build(
        adopted_at=_instant(services.clock.now()),
        baseline_kind=held.baseline_kind,
        certified_codec_mapping_sha256=proofs.writable_schema_sha256,
        clickhouse_assurance_sha256=model.route.digest,
        clickhouse_cluster_authority_id=cluster,
        clickhouse_coverage_sha256=_coverage(held, there),
        clickhouse_generation=held.baseline_generation,
        clickhouse_key_sha256=key_digest,
        clickhouse_physical_sha256=there.physical_sha256,
        clickhouse_relation_id=there.relation_id,
        clickhouse_schema_sha256=there.schema_sha256,
        clickhouse_target_authority_id=f"clickhouse://{cluster}/{database}/{table}",
        clickhouse_target_uuid=there.uuid,
        coverage_end=held.coverage_end,
        coverage_start=held.coverage_start,
        ddl_assurance_sha256=model.ddl_assurance.digest,
        deployment_id=deployment.deployment_id,
        historical_clickhouse_internal_multiset_conformance="PROVEN",
        historical_clickhouse_internal_multiset_evidence_sha256=multiset_evidence(there),
        historical_cross_engine_payload_value_equivalence="NOT_CLAIMED",
        model_unique_id=proofs.model_unique_id,
        mssql_assurance_sha256=model.writer_assurance.digest,
        mssql_connection_authority_id=connection,
        mssql_coverage_sha256=_coverage(held, sql),
        mssql_generation=held.baseline_generation,
        mssql_key_sha256=key_digest,
        mssql_physical_sha256=sql.physical_sha256,
        mssql_relation_id=sql.relation_id,
        mssql_schema_sha256=sql.schema_sha256,
        mssql_target_authority_id=f"mssql://{connection}/{mssql_database}/{mssql_table}",
        release_id=deployment.release_id,
        source_assurance_sha256=reads.digest,
        source_coverage_sha256=_coverage(held, sql),
        source_generation=held.baseline_generation,
        source_key_sha256=key_digest,
        source_physical_sha256=reads.normalized_definitions_sha256,
        source_relation_id=held.source_relation_id,
        source_schema_sha256=proofs.writable_schema_sha256,
        source_snapshot_sha256=reads.catalog_snapshot_sha256,
        status="COMPLETE",
        utc_assurance_sha256=utc.digest,
        writer_assurance_sha256=model.writer_assurance.digest,
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


def _coverage(held: ModelDeployment, seen: RelationObservation) -> str:
    return digest_of(
        {
            "coverage_end": held.coverage_end,
            "coverage_start": held.coverage_start,
            "first_event": seen.first_event or "",
            "last_event": seen.last_event or "",
            "relation_id": seen.relation_id,
            "row_count": seen.row_count,
            "schema": "dpone.semantic-refresh-baseline-coverage.v1",
        }
    )


def _instant(now: str) -> str:
    return now.replace(".000000Z", "Z")
