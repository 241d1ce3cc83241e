"""PREPARE: staging exactly equal to the sealed content, the shadow beside the target, the exact proof."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dpone.application.deadlines import StageTime, stage_time
from dpone.application.operation import Operation, Run, head_of, settled, stored
from dpone.application.services import Services, refuse_first, require
from dpone.application.stages import StageKind
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.run_receipts import ContentRecord, PreparedReceipt

if TYPE_CHECKING:
    from dpone_contracts.artifacts import SealedArtifactManifest
    from dpone_contracts.ports.publisher import PhysicalAuthority, Scratch


def prepare(services: Services, operation: Operation, manifest: SealedArtifactManifest) -> PreparedReceipt:
    """Prepare one operation's generation, or return the receipt that is already stored.

    An empty manifest prepares nothing: the target must hold no row in the scope (specification, empty scope).
    """
    receipt = stored(services, operation.plan.operation_id, PreparedReceipt)
    if receipt is not None:
        return receipt
    time = stage_time(services, StageKind.PREPARE, operation)
    content = stored(services, operation.plan.operation_id, ContentRecord)
    if content is None or content.artifact_manifest_sha256 != manifest.digest:
        raise DponeError(
            "DPONE_PREPARE_MANIFEST_WITHOUT_CONTENT", f"{operation.model}: no content record of the manifest"
        )
    authority = services.publisher.authority(operation.target)
    refuse_first(authority.refusals)
    expected = expected_target_uuid(services, operation)
    if authority.uuid != expected:
        raise DponeError(
            "DPONE_TARGET_UUID_DRIFT",
            f"{operation.model}: the target is not the published generation",
            {"expected": expected, "observed": authority.uuid},
        )
    if manifest.total_rows == 0:
        receipt = _prepare_empty(services, operation, manifest, authority)
    else:
        receipt = _prepare_generation(services, operation, manifest, content, authority, time)
    time.require()
    return settled(services, operation.plan.operation_id, receipt)


def expected_target_uuid(services: Services, operation: Operation) -> str:
    """The UUID of the generation that the plan names as predecessor, from the target's head."""
    head = services.activations.target_head(operation.target.clickhouse_target_authority_id)
    if head is None or head.generation_id != operation.plan.target_predecessor_generation_id:
        raise DponeError(
            "DPONE_TARGET_HEAD_MOVED",
            f"{operation.model}: the plan's predecessor generation is not the head",
            {
                "planned": operation.plan.target_predecessor_generation_id,
                "head": "none" if head is None else head.generation_id,
            },
        )
    return head.target_uuid


def mark_prepared(services: Services, run: Run) -> None:
    """Move every operation to PREPARED in one transaction once every model is sealed and prepared."""
    waiting = [o for o in run.operations if head_of(services, o).state is OperationState.PREPARING]
    if not waiting:
        return
    entries = []
    for operation in run.operations:
        receipt = stored(services, operation.plan.operation_id, PreparedReceipt)
        if receipt is None:
            raise DponeError(
                "DPONE_COMMIT_NOT_PREPARED",
                f"{operation.model} is not prepared; no model commits before all are",
            )
        entries.append((operation.admitted.attempt, receipt))
    stage_time(services, StageKind.COMMIT, *run.operations).require()
    require(services.state.append_prepared(tuple(entries)))


def _prepare_empty(
    services: Services, operation: Operation, manifest: SealedArtifactManifest, authority: PhysicalAuthority
) -> PreparedReceipt:
    rows = services.publisher.scope_rows(operation.plan, operation.target)
    if rows:
        raise DponeError(
            "DPONE_TARGET_DIVERGED",
            f"{operation.model}: the sealed scope is empty, the target's is not",
            {"target_rows_in_scope": str(rows)},
        )
    return PreparedReceipt.build(
        **_common(operation, manifest, authority),
        target_mutation="NOT_REQUIRED_EMPTY_SCOPE",
        value_conversion_conformance="NOT_APPLICABLE_NO_DATA",
        prepared_at=services.clock.now(),
    )


def _load(
    services: Services,
    operation: Operation,
    manifest: SealedArtifactManifest,
    scratch: Scratch,
    time: StageTime,
) -> None:
    for chunk in manifest.chunks:
        data = services.artifacts.read(chunk.object_key, chunk.provider_version)
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != chunk.chunk_sha256:
            raise DponeError(
                "DPONE_ARTIFACT_DIGEST_MISMATCH", f"{chunk.object_key} at {chunk.provider_version}"
            )
        time.require()
        rows = require(
            services.publisher.load_chunk(operation.target, operation.admitted, scratch, chunk.ordinal, data)
        )
        if rows != chunk.row_count:
            raise DponeError(
                "DPONE_STAGING_MISMATCH", f"chunk {chunk.ordinal}: {rows} rows written of {chunk.row_count}"
            )


def _prepare_generation(
    services: Services,
    operation: Operation,
    manifest: SealedArtifactManifest,
    content: ContentRecord,
    authority: PhysicalAuthority,
    time: StageTime,
) -> PreparedReceipt:
    plan, target, admitted = operation.plan, operation.target, operation.admitted
    left = services.publisher.find_scratch(plan, target, admitted)
    if left is not None:
        for relation, uuid in ((left.shadow, left.shadow_uuid), (left.staging, left.staging_uuid)):
            time.require()
            require(services.publisher.drop_scratch(target, admitted, relation, uuid))
    time.require()
    scratch = require(services.publisher.create_scratch(plan, target, admitted))
    _load(services, operation, manifest, scratch, time)
    rows, digest = services.publisher.staging_content(plan, target, admitted, scratch)
    if (rows, digest) != (content.row_count, content.content_sha256):
        raise DponeError(
            "DPONE_STAGING_MISMATCH",
            f"{operation.model}: staging is not the sealed content",
            {"rows": f"{rows} of {content.row_count}", "staging": digest, "sealed": content.content_sha256},
        )
    time.require()
    built = require(services.publisher.build_shadow(plan, target, admitted, scratch))
    proof = services.publisher.prove_shadow(plan, target, admitted, scratch, built)
    if proof.differences or proof.staged_rows != content.row_count:
        raise DponeError(
            "DPONE_SHADOW_MISMATCH",
            f"{operation.model}: the shadow is not the old target with the staged rows",
            {"differences": str(proof.differences), "staged_rows": str(proof.staged_rows)},
        )
    return PreparedReceipt.build(
        **_common(operation, manifest, authority),
        target_mutation="EXCHANGE_REQUIRED",
        value_conversion_conformance="PROVEN",
        generation={
            "staging_relation": str(scratch.staging),
            "staging_uuid": scratch.staging_uuid,
            "shadow_relation": str(scratch.shadow),
            "shadow_uuid": scratch.shadow_uuid,
            "strategy": built.strategy,
            "attached_partitions": sorted(built.attached_partitions),
            "rebuilt_partitions": sorted(built.rebuilt_partitions),
            "staged_rows": proof.staged_rows,
            "shadow_rows": built.row_count,
            "rebuilt_rows": proof.rebuilt_rows,
            "attached_rows": proof.attached_rows,
            "multiset_differences": proof.differences,
            "target_parts_sha256": proof.target_parts_digest,
            "shadow_parts_sha256": proof.shadow_parts_digest,
        },
        prepared_at=services.clock.now(),
    )


def _common(
    operation: Operation, manifest: SealedArtifactManifest, authority: PhysicalAuthority
) -> dict[str, object]:
    return {
        "operation_id": operation.plan.operation_id,
        "operation_plan_sha256": operation.plan.digest,
        "attempt_binding_sha256": operation.admitted.attempt.digest,
        "artifact_manifest_sha256": manifest.digest,
        "target_relation": str(authority.relation),
        "target_uuid": authority.uuid,
        "physical_authority_sha256": authority.digest,
    }
