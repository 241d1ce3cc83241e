"""SEAL: the committed after-image becomes immutable chunks, exactly as SQL Server digested it, manifest last."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dpone.application.deadlines import stage_time
from dpone.application.operation import Operation, Run, head_of, settled, stored
from dpone.application.services import Services, require
from dpone.application.stages import StageKind
from dpone_contracts.artifacts import SealAuthorizationReceipt, SealedArtifactManifest
from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.canonical import Json, canonical_bytes
from dpone_contracts.codec_identity import codec_digests
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.plan_bundle import artifact_authority_digest
from dpone_contracts.relations import SqlRelation
from dpone_contracts.run_receipts import ContentRecord

if TYPE_CHECKING:
    from dpone_contracts.ports.artifact_store import EncodedChunk, StoredObject

ROWS_PER_BATCH = 65_536


def seal(services: Services, run: Run, operation: Operation) -> SealedArtifactManifest:
    """Seal one operation's after-image, or return the manifest that is already published.

    The authorisation is persisted once for an operation; a later attempt seals under it, so that the same bytes
    come out and create-only settles any doubt by key and version.
    """
    manifest = stored(services, operation.plan.operation_id, SealedArtifactManifest)
    if manifest is not None:
        return manifest
    time = stage_time(services, StageKind.SEAL, operation)
    time.require()
    services.artifacts.probe()
    receipt = stored(services, operation.plan.operation_id, ModelBuildReceipt)
    if receipt is None:
        raise DponeError("DPONE_SEAL_NOT_AUTHORISED", f"{operation.model}: no build receipt is stored")
    authorization = stored(services, operation.plan.operation_id, SealAuthorizationReceipt)
    if authorization is None:
        authorization = _authorize(services, run, operation, receipt)
        time.require()
        authorization = settled(services, operation.plan.operation_id, authorization)
    identity = operation.plan.operation_id.removeprefix("sha256:")
    prefix = f"{operation.target.artifact_authority.artifact_prefix}/{identity}"
    blocks: list[str] = []
    chunks: list[tuple[EncodedChunk, StoredObject]] = []
    image = SqlRelation.from_bracketed(receipt.after_image_relation_id)
    batches = services.images.batches(operation.plan, operation.target, image, ROWS_PER_BATCH)
    size = 0
    for chunk in services.encoder.encode(operation.target, batches):
        size += len(chunk.data)
        _require_within_budget(operation, size)
        key = f"{prefix}/chunks/{chunk.ordinal:06}.parquet"
        time.require()
        chunks.append((chunk, require(services.artifacts.create(key, chunk.data, chunk.sha256))))
        blocks += chunk.block_sha256
    _require_same_content(operation, receipt, blocks, sum(chunk.row_count for chunk, _ in chunks))
    manifest = _manifest(run, operation, receipt, authorization, prefix, chunks)
    data = manifest.to_bytes()
    sha256 = f"sha256:{hashlib.sha256(data).hexdigest()}"
    time.require()
    sealed = require(services.artifacts.create(f"{prefix}/manifest.json", data, sha256))
    record = ContentRecord.build(
        artifact_manifest_sha256=manifest.digest,
        manifest_object_key=sealed.key,
        manifest_object_version=sealed.version,
        operation_id=operation.plan.operation_id,
        row_encoding="dpone_row_v1",
        row_count=receipt.after_image_row_count,
        content_sha256=receipt.after_image_sha256,
        block_sha256=blocks,
    )
    for document in (record, manifest):
        time.require()
        require(services.documents.persist(operation.plan.operation_id, document))
    return manifest


def _require_within_budget(operation: Operation, size: int) -> None:
    """Refuse the chunk with which the artifact would grow beyond what the operation reserved; bytes of Parquet."""
    allowed = operation.target.artifact_authority.max_artifact_bytes
    if size > allowed:
        raise DponeError(
            "DPONE_BUDGET_EXCEEDED",
            f"{operation.model}: the sealed artifact has {size} bytes with the next chunk, {allowed} are allowed",
            {"needed": str(size), "allowed": str(allowed)},
        )


def _require_same_content(
    operation: Operation, receipt: ModelBuildReceipt, blocks: list[str], rows: int
) -> None:
    digest = hashlib.sha256(
        b"".join(bytes.fromhex(block.removeprefix("sha256:")) for block in blocks)
    ).hexdigest()
    if rows != receipt.after_image_row_count or f"sha256:{digest}" != receipt.after_image_sha256:
        raise DponeError(
            "DPONE_SEAL_CONTENT_MISMATCH",
            f"{operation.model}: the exported image is not the committed one",
            {
                "rows": f"{rows} of {receipt.after_image_row_count}",
                "content": f"sha256:{digest}",
                "receipt": receipt.after_image_sha256,
            },
        )


def _authorize(
    services: Services, run: Run, operation: Operation, receipt: ModelBuildReceipt
) -> SealAuthorizationReceipt:
    plan, target, attempt = operation.plan, operation.target, operation.admitted.attempt
    head = head_of(services, operation)
    if head.state is not OperationState.PREPARING:
        raise DponeError(
            "DPONE_SEAL_NOT_AUTHORISED", f"{operation.model}: the journal is at {head.state.value}"
        )
    event_time = next(c for c in plan.effective_key_columns if c.name == plan.event_time_column)
    fields: dict[str, Json] = {
        "after_image_relation_id": receipt.after_image_relation_id,
        "after_image_row_count": receipt.after_image_row_count,
        "after_image_sha256": receipt.after_image_sha256,
        "artifact_authority_sha256": artifact_authority_digest(target.artifact_authority.to_plain()),
        "attempt_binding_sha256": attempt.digest,
        "baseline_adoption_receipt_sha256": target.baseline_receipt_sha256,
        "before_image_relation_id": receipt.before_image_relation_id,
        "before_image_row_count": receipt.before_image_row_count,
        "before_image_sha256": receipt.before_image_sha256,
        "created_at": f"{services.clock.now()[:19]}Z",
        "ddl_freeze_assurance_receipt_sha256": target.ddl_freeze_assurance_receipt_sha256,
        "effective_key_mapping_sha256": plan.effective_key_mapping_sha256,
        "effective_key_template_sha256": plan.effective_key_template_sha256,
        "event_time_source_type": event_time.source_type,
        "fencing_epoch": attempt.fencing_epoch,
        "journal_state": "PREPARING",
        "journal_version": head.version,
        "model_build_receipt_sha256": receipt.digest,
        "model_unique_id": plan.model_unique_id,
        "mssql_outcome": "COMMITTED_WITH_IMAGES",
        "operation_id": plan.operation_id,
        "operation_plan_sha256": plan.digest,
        "codec_mapping_certification_sha256": target.baseline_receipt.certified_codec_mapping_sha256,
        "ordered_writable_schema_sha256": target.writable_schema_sha256,
        "route_certification_receipt_sha256": target.route_certification_receipt_sha256,
        "seal_policy_sha256": target.artifact_authority.retention_policy_sha256,
        "workflow_execution_binding_sha256": run.binding.digest,
        "workflow_execution_id": run.binding.workflow_execution_id,
        "workflow_id": run.binding.workflow_execution_id,
        "workflow_plan_sha256": run.binding.workflow_plan_sha256,
        "writer_exclusivity_assurance_receipt_sha256": target.writer_exclusivity_assurance_receipt_sha256,
        **codec_digests(target.writable_columns, services.encoder.writer_options()),
    }
    if event_time.utc_assurance_sha256 is not None:
        fields["utc_semantics_assurance_receipt_sha256"] = event_time.utc_assurance_sha256
    attested = services.attestor.attest(canonical_bytes(fields))
    return SealAuthorizationReceipt.build(
        **fields,
        issuer_authority=attested.authority,
        issuer_attestation_sha256=attested.attestation_sha256,
        issuer_signature_sha256=attested.signature_sha256,
    )


def _manifest(
    run: Run,
    operation: Operation,
    receipt: ModelBuildReceipt,
    authorization: SealAuthorizationReceipt,
    prefix: str,
    chunks: list[tuple[EncodedChunk, StoredObject]],
) -> SealedArtifactManifest:
    authority = operation.target.artifact_authority
    return SealedArtifactManifest.build(
        artifact_format="dpone_parquet_v1",
        artifact_prefix=prefix,
        attempt_binding_sha256=authorization.attempt_binding_sha256,
        chunk_count=len(chunks),
        chunks=[
            {
                "byte_count": there.byte_count,
                "chunk_sha256": there.sha256,
                "object_key": there.key,
                "ordinal": chunk.ordinal,
                "provider_version": there.version,
                "row_count": chunk.row_count,
            }
            for chunk, there in chunks
        ],
        clickhouse_input_mapping_sha256=authorization.clickhouse_input_mapping_sha256,
        codec_mapping_certification_sha256=authorization.codec_mapping_certification_sha256,
        effective_key_mapping_sha256=authorization.effective_key_mapping_sha256,
        effective_key_template_sha256=authorization.effective_key_template_sha256,
        encryption_policy_sha256=authority.encryption_policy_sha256,
        model_build_receipt_sha256=receipt.digest,
        model_unique_id=operation.model,
        operation_id=operation.plan.operation_id,
        operation_plan_sha256=operation.plan.digest,
        ordered_writable_schema_sha256=authorization.ordered_writable_schema_sha256,
        parquet_schema_mapping_sha256=authorization.parquet_schema_mapping_sha256,
        provider=authority.provider,
        publication_order="MANIFEST_LAST",
        retention_policy_sha256=authority.retention_policy_sha256,
        route_certification_receipt_sha256=authorization.route_certification_receipt_sha256,
        seal_authorization_receipt_sha256=authorization.digest,
        serializer_sha256=authorization.serializer_sha256,
        total_bytes=sum(there.byte_count for _, there in chunks),
        total_rows=sum(chunk.row_count for chunk, _ in chunks),
        workflow_execution_binding_sha256=run.binding.digest,
    )
