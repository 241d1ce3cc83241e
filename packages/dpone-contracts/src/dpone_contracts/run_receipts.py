"""The receipts of a run's boundaries: build, content, exchange and publication (additive to the published contract)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from dpone_contracts.canonical import digest_checked
from dpone_contracts.closure import Many
from dpone_contracts.document import Document, Fault, Part, broken
from dpone_contracts.scalars import (
    Count,
    Epoch,
    Identifier,
    ModelId,
    Positive,
    Sha256Text,
    UtcDay,
    UtcMicros,
    Uuid,
)
from dpone_contracts.scope import scope_rules


class RunFact(Document):
    """What every receipt of a run binds: operation, plan, execution, attempt and fence."""

    model_unique_id: ModelId
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    workflow_execution_binding_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    fencing_epoch: Epoch


class ModelBuildReceipt(RunFact):
    """Written in the transaction that mutated the scope: its presence with both images proves the commit."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-model-build-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "model_build_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-model-build-receipt.v1"] = Field(alias="schema")
    model_build_receipt_sha256: Sha256Text
    ddl_epoch: Epoch
    strategy_template_sha256: Sha256Text
    scope_start: UtcDay
    scope_end: UtcDay
    target_relation_id: Identifier
    before_image_relation_id: Identifier
    after_image_relation_id: Identifier
    source_row_count: Count
    updated_row_count: Count
    inserted_row_count: Count
    before_image_row_count: Count
    after_image_row_count: Count
    before_image_sha256: Sha256Text
    after_image_sha256: Sha256Text
    content_encoding: Literal["dpone_row_v1"]
    content_chunk_rows: Positive
    before_content_sha256: Sha256Text
    after_content_sha256: Sha256Text
    committed_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        yield from scope_rules(self.scope_start, self.scope_end)
        if self.updated_row_count + self.inserted_row_count != self.source_row_count:
            yield broken("counts-add-up", "not the updated and inserted rows together", "source_row_count")
        if self.before_image_row_count + self.inserted_row_count != self.after_image_row_count:
            yield broken(
                "counts-add-up", "not the rows before and the inserted rows together", "after_image_row_count"
            )
        if self.updated_row_count > self.before_image_row_count:
            yield broken("counts-add-up", "more rows updated than there were", "updated_row_count")
        relations = {self.target_relation_id, self.before_image_relation_id, self.after_image_relation_id}
        if len(relations) != 3:
            yield broken(
                "distinct-images",
                "target, before and after image are three relations",
                "after_image_relation_id",
            )


class ContentChunk(Part):
    """The content digest of consecutive rows in key order."""

    ordinal: Positive
    row_count: Positive
    content_chunk_sha256: Sha256Text


class ContentRecord(RunFact):
    """Stands beside the sealed manifest: the content of its rows, chunk by chunk, whatever their Parquet bytes."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-content-record.v1"
    DIGEST_FIELD: ClassVar[str] = "content_record_sha256"

    schema_id: Literal["dpone.semantic-refresh-content-record.v1"] = Field(alias="schema")
    content_record_sha256: Sha256Text
    artifact_manifest_sha256: Sha256Text
    model_build_receipt_sha256: Sha256Text
    content_encoding: Literal["dpone_row_v1"]
    content_chunk_rows: Positive
    total_rows: Count
    content_sha256: Sha256Text
    chunks: Many[ContentChunk]

    def _rules(self) -> Iterator[Fault]:
        if self.total_rows != sum(chunk.row_count for chunk in self.chunks):
            yield broken("totals-add-up", "not the sum of the chunks", "total_rows")
        for index, chunk in enumerate(self.chunks):
            last = index == len(self.chunks) - 1
            if chunk.ordinal != index + 1:
                yield broken(
                    "contiguous-ordinals", "ordinals count from 1 without a gap", "chunks", index, "ordinal"
                )
            if chunk.row_count != self.content_chunk_rows and not (
                last and chunk.row_count < self.content_chunk_rows
            ):
                yield broken("full-chunks", "every chunk but the last is full", "chunks", index, "row_count")


class PublicationProof(Part):
    """The figures of the exact proof before the exchange; a difference of zero is the only admitted one."""

    staged_row_count: Count
    staged_content_sha256: Sha256Text
    target_row_count_before: Count
    scope_row_count_before: Count
    shadow_row_count: Count
    scope_row_count_after: Count
    compared_row_count: Count
    multiset_difference_count: Count

    def _rules(self) -> Iterator[Fault]:
        if self.multiset_difference_count != 0:
            yield broken(
                "exact-multiset", "the shadow differs from what it must be", "multiset_difference_count"
            )
        grown = self.scope_row_count_after - self.scope_row_count_before
        if self.shadow_row_count - self.target_row_count_before != grown:
            yield broken("counts-add-up", "rows outside of the scope changed", "shadow_row_count")
        if not self.staged_row_count <= self.scope_row_count_after:
            yield broken("counts-add-up", "fewer rows in the scope than were staged", "scope_row_count_after")


class ClickHouseTerminalReceipt(RunFact):
    """What the UUID map proved about the target: exchanged, or not required for an empty scope."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-clickhouse-terminal-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "clickhouse_terminal_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-clickhouse-terminal-receipt.v1"] = Field(alias="schema")
    clickhouse_terminal_receipt_sha256: Sha256Text
    target_mutation_outcome: Literal["EXCHANGED", "NOT_REQUIRED_EMPTY_SCOPE"]
    value_conversion_conformance: Literal["PROVEN", "NOT_APPLICABLE_NO_DATA"]
    artifact_manifest_sha256: Sha256Text
    clickhouse_cluster_authority_id: Identifier
    clickhouse_target_authority_id: Identifier
    target_uuid_before: Uuid
    target_uuid_after: Uuid
    shadow_uuid_before: Uuid | None
    shadow_uuid_after: Uuid | None
    physical_authority_sha256: Sha256Text
    physical_authority_after_sha256: Sha256Text
    proof: PublicationProof
    observed_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        if self.physical_authority_after_sha256 != self.physical_authority_sha256:
            yield broken(
                "same-design", "observed another design afterwards", "physical_authority_after_sha256"
            )
        if self.target_mutation_outcome == "EXCHANGED":
            if self.target_uuid_after != self.shadow_uuid_before:
                yield broken("uuid-map", "the target is not the former shadow", "target_uuid_after")
            if self.shadow_uuid_after != self.target_uuid_before:
                yield broken("uuid-map", "the shadow is not the former target", "shadow_uuid_after")
            if self.value_conversion_conformance != "PROVEN":
                yield broken(
                    "conformance-by-outcome", "exchanged rows are proven", "value_conversion_conformance"
                )
        else:
            yield from self._empty_scope_rules()

    def _empty_scope_rules(self) -> Iterator[Fault]:
        if self.target_uuid_after != self.target_uuid_before:
            yield broken("uuid-map", "the target changed without an exchange", "target_uuid_after")
        for name in ("shadow_uuid_before", "shadow_uuid_after"):
            if getattr(self, name) is not None:
                yield broken("uuid-map", "an empty scope has no shadow", name)
        for name in ("staged_row_count", "scope_row_count_before", "scope_row_count_after"):
            if getattr(self.proof, name) != 0:
                yield broken("empty-scope", "rows in an empty scope: the target diverged", "proof", name)
        if self.value_conversion_conformance != "NOT_APPLICABLE_NO_DATA":
            yield broken("conformance-by-outcome", "no data, no conformance", "value_conversion_conformance")


class PublicationReceipt(RunFact):
    """The SQL Server transaction that advanced both heads, checkpoint and journal of one model together."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-publication-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "terminal_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-publication-receipt.v1"] = Field(alias="schema")
    terminal_receipt_sha256: Sha256Text
    scope_start: UtcDay
    scope_end: UtcDay
    artifact_manifest_sha256: Sha256Text
    clickhouse_terminal_receipt_sha256: Sha256Text
    journal_state_before: Literal["PREPARED", "TARGET_COMMITTED", "COMMITTED_INCOMPLETE"]
    journal_state_after: Literal["COMPLETE"]
    journal_version_before: Positive
    journal_version_after: Positive
    target_mutation_outcome: Literal["EXCHANGED", "NOT_REQUIRED_EMPTY_SCOPE"]
    target_uuid: Uuid
    target_generation_before: Positive
    target_generation_after: Positive
    target_generation_id_before: Sha256Text
    target_generation_id_after: Sha256Text
    scope_revision_before: Count
    scope_revision_after: Positive
    checkpoint_before: UtcDay | None
    checkpoint_after: UtcDay
    published_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        yield from scope_rules(self.scope_start, self.scope_end)
        if self.journal_version_after != self.journal_version_before + 1:
            yield broken("one-step", "not the next journal version", "journal_version_after")
        empty = self.target_mutation_outcome == "NOT_REQUIRED_EMPTY_SCOPE"
        if empty != (self.journal_state_before == "PREPARED"):
            yield broken("empty-scope", "only an empty scope completes from PREPARED", "journal_state_before")
        if self.target_generation_after != self.target_generation_before + (0 if empty else 1):
            yield broken("one-step", "an exchange advances the generation by one", "target_generation_after")
        if (self.target_generation_id_after == self.target_generation_id_before) != empty:
            yield broken(
                "one-step", "an exchange, and nothing else, makes a generation", "target_generation_id_after"
            )
        if self.scope_revision_after <= self.scope_revision_before:
            yield broken("one-step", "the scope head advances", "scope_revision_after")
        if self.checkpoint_before is not None and self.checkpoint_after < self.checkpoint_before:
            yield broken("one-step", "the checkpoint goes back", "checkpoint_after")


def target_generation_id(authority_id: str, generation: int, operation_id: str, target_uuid: str) -> str:
    """Digest the generation that a publication leaves in a target."""
    return digest_checked(
        {
            "clickhouse_target_authority_id": authority_id,
            "owner_operation_id": operation_id,
            "schema": "dpone.semantic-refresh-target-generation.v1",
            "target_generation": generation,
            "target_uuid": target_uuid,
        }
    )
