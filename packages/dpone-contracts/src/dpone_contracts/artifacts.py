"""The sealed artifact: the receipt that authorises it, and the manifest that is published last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dpone_contracts.closure import Many
from dpone_contracts.document import Document, Fault, Part, broken, lax
from dpone_contracts.scalars import (
    Count,
    Epoch,
    Identifier,
    ModelId,
    ObjectKey,
    ObjectVersion,
    Positive,
    Sha256Text,
    UtcSeconds,
    WhenPresent,
)


class SealAuthorizationReceipt(Document):
    """Authorises sealing the after-image of one committed model in PREPARING."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-seal-authorization-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "seal_authorization_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-seal-authorization-receipt.v1"] = Field(alias="schema")
    seal_authorization_receipt_sha256: Sha256Text
    created_at: UtcSeconds
    issuer_authority: Identifier
    issuer_attestation_sha256: Sha256Text
    issuer_signature_sha256: Sha256Text
    journal_state: Literal["PREPARING"]
    journal_version: Positive
    mssql_outcome: Literal["COMMITTED_WITH_IMAGES"]
    workflow_id: Identifier
    workflow_execution_id: Identifier
    workflow_execution_binding_sha256: Sha256Text
    workflow_plan_sha256: Sha256Text
    model_unique_id: ModelId
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    fencing_epoch: Epoch
    model_build_receipt_sha256: Sha256Text
    before_image_relation_id: Identifier
    before_image_row_count: Count
    before_image_sha256: Sha256Text
    after_image_relation_id: Identifier
    after_image_row_count: Count
    after_image_sha256: Sha256Text
    event_time_source_type: Literal["date", "datetime2(6)"]
    baseline_adoption_receipt_sha256: Sha256Text
    route_certification_receipt_sha256: Sha256Text
    ddl_freeze_assurance_receipt_sha256: Sha256Text
    writer_exclusivity_assurance_receipt_sha256: Sha256Text
    utc_semantics_assurance_receipt_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    effective_key_mapping_sha256: Sha256Text
    effective_key_template_sha256: Sha256Text
    ordered_writable_schema_sha256: Sha256Text
    parquet_schema_mapping_sha256: Sha256Text
    clickhouse_input_mapping_sha256: Sha256Text
    codec_mapping_certification_sha256: Sha256Text
    serializer_sha256: Sha256Text
    seal_policy_sha256: Sha256Text
    artifact_authority_sha256: Sha256Text

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            {
                "properties": {
                    "event_time_source_type": {"const": "date"},
                    "utc_semantics_assurance_receipt_sha256": False,
                }
            },
            {
                "properties": {"event_time_source_type": {"const": "datetime2(6)"}},
                "required": ["utc_semantics_assurance_receipt_sha256"],
            },
        ]
    }

    def _rules(self) -> Iterator[Fault]:
        needs_utc = self.event_time_source_type == "datetime2(6)"
        if needs_utc != (self.utc_semantics_assurance_receipt_sha256 is not None):
            reason = "datetime2(6), and not date, needs the assurance"
            yield broken("utc-assurance", reason, "utc_semantics_assurance_receipt_sha256")
        if self.before_image_relation_id == self.after_image_relation_id:
            yield lax("distinct-images", "before and after image are one relation", "after_image_relation_id")


class SealedChunk(Part):
    """One object of the artifact, by exact key, version and digest."""

    ordinal: Positive
    object_key: ObjectKey
    provider_version: ObjectVersion
    chunk_sha256: Sha256Text
    byte_count: Positive
    row_count: Positive


class SealedArtifactManifest(Document):
    """The inventory of a sealed after-image; published after all its chunks."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-sealed-artifact-manifest.v1"
    DIGEST_FIELD: ClassVar[str] = "artifact_manifest_sha256"

    schema_id: Literal["dpone.semantic-refresh-sealed-artifact-manifest.v1"] = Field(alias="schema")
    artifact_manifest_sha256: Sha256Text
    artifact_format: Literal["dpone_parquet_v1"]
    publication_order: Literal["MANIFEST_LAST"]
    provider: Identifier
    artifact_prefix: ObjectKey
    chunk_count: Count
    total_rows: Count
    total_bytes: Count
    chunks: Many[SealedChunk]
    model_unique_id: ModelId
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    workflow_execution_binding_sha256: Sha256Text
    model_build_receipt_sha256: Sha256Text
    seal_authorization_receipt_sha256: Sha256Text
    route_certification_receipt_sha256: Sha256Text
    effective_key_mapping_sha256: Sha256Text
    effective_key_template_sha256: Sha256Text
    ordered_writable_schema_sha256: Sha256Text
    parquet_schema_mapping_sha256: Sha256Text
    clickhouse_input_mapping_sha256: Sha256Text
    codec_mapping_certification_sha256: Sha256Text
    serializer_sha256: Sha256Text
    encryption_policy_sha256: Sha256Text
    retention_policy_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        if ".." in self.artifact_prefix.split("/"):
            yield broken("exact-key", "the prefix climbs", "artifact_prefix")
        elif not _is_exact_key(self.artifact_prefix):
            yield lax("exact-key", "an empty, dot or backslash step", "artifact_prefix")
        if self.chunk_count != len(self.chunks):
            yield broken("totals-add-up", "not the number of chunks", "chunk_count")
        if self.total_rows != sum(chunk.row_count for chunk in self.chunks):
            yield broken("totals-add-up", "not the sum of the chunks", "total_rows")
        if self.total_bytes != sum(chunk.byte_count for chunk in self.chunks):
            yield broken("totals-add-up", "not the sum of the chunks", "total_bytes")
        seen: set[str] = set()
        for index, chunk in enumerate(self.chunks):
            if chunk.ordinal != index + 1:
                yield broken(
                    "contiguous-ordinals", "ordinals count from 1 without a gap", "chunks", index, "ordinal"
                )
            if chunk.object_key in seen:
                yield broken(
                    "one-key-a-chunk", "two chunks have the same object key", "chunks", index, "object_key"
                )
            seen.add(chunk.object_key)
            inside = chunk.object_key.startswith(f"{self.artifact_prefix}/") and _is_exact_key(
                chunk.object_key
            )
            if not inside:
                reason = "outside the prefix, or with an empty, dot or backslash step"
                yield lax("exact-key", reason, "chunks", index, "object_key")


def _is_exact_key(key: str) -> bool:
    """Tell whether an object key has one reading: plain steps between single slashes."""
    return "\\" not in key and all(step not in ("", ".", "..") for step in key.split("/"))
