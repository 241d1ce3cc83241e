"""Receipts of a run that this implementation adds to the published contract, one for each boundary.

The journal names most of them as the proof of an edge (`journal.EDGES`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpone_contracts.closure import Many, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken
from dpone_contracts.scalars import (
    Count,
    Identifier,
    ModelId,
    ObjectKey,
    ObjectVersion,
    Positive,
    Sha256Text,
    Text,
    UtcDay,
    UtcMicros,
    Uuid,
    WhenPresent,
)


class BuildGateReceipt(Document):
    """States that every model of a workflow has committed with images and all selected tests passed."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-build-gate-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "build_gate_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-build-gate-receipt.v1"] = Field(alias="schema")
    build_gate_receipt_sha256: Sha256Text
    workflow_execution_binding_sha256: Sha256Text
    model_unique_ids: Several[ModelId]
    tests: Literal["PASSED"]
    recorded_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.model_unique_ids, "model_unique_ids")


class ContentRecord(Document):
    """Stands beside a sealed manifest: where it lies, and the `dpone_row_v1` digests of the rows that it seals."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-content-record.v1"
    DIGEST_FIELD: ClassVar[str] = "content_record_sha256"

    schema_id: Literal["dpone.semantic-refresh-content-record.v1"] = Field(alias="schema")
    content_record_sha256: Sha256Text
    artifact_manifest_sha256: Sha256Text
    manifest_object_key: ObjectKey
    manifest_object_version: ObjectVersion
    operation_id: Sha256Text
    row_encoding: Literal["dpone_row_v1"]
    row_count: Count
    content_sha256: Sha256Text
    block_sha256: Many[Sha256Text]


class PreparedShadow(Part):
    """The scratch of an attempt, proven: relations with their UUIDs, how the shadow was made, the exact figures."""

    staging_relation: Identifier
    staging_uuid: Uuid
    shadow_relation: Identifier
    shadow_uuid: Uuid
    strategy: Literal["partition", "full"]
    attached_partitions: Many[Identifier]
    rebuilt_partitions: Many[Identifier]
    staged_rows: Positive
    shadow_rows: Positive
    rebuilt_rows: Count
    attached_rows: Count
    multiset_differences: Annotated[int, Field(ge=0, le=0)]
    target_parts_sha256: Sha256Text
    shadow_parts_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        if self.rebuilt_rows + self.attached_rows != self.shadow_rows:
            yield broken("rows-add-up", "rebuilt and attached rows are all rows of the shadow", "shadow_rows")
        if self.shadow_uuid == self.staging_uuid:
            yield broken("distinct-relations", "shadow and staging are one relation", "shadow_uuid")


class PreparedReceipt(Document):
    """States that an operation is prepared: a proven shadow, or an empty scope that needs none.

    Without `generation` the sealed manifest is empty and the target held no row in the scope (specification,
    empty scope).
    """

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-prepared-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "prepared_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-prepared-receipt.v1"] = Field(alias="schema")
    prepared_receipt_sha256: Sha256Text
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    artifact_manifest_sha256: Sha256Text
    target_relation: Identifier
    target_uuid: Uuid
    physical_authority_sha256: Sha256Text
    target_mutation: Literal["EXCHANGE_REQUIRED", "NOT_REQUIRED_EMPTY_SCOPE"]
    value_conversion_conformance: Literal["PROVEN", "NOT_APPLICABLE_NO_DATA"]
    generation: Annotated[PreparedShadow | None, WhenPresent] = None
    prepared_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        exchange = self.target_mutation == "EXCHANGE_REQUIRED"
        if exchange != (self.generation is not None):
            yield broken(
                "generation-by-mutation",
                "a generation stands exactly where an exchange is required",
                "generation",
            )
        if exchange != (self.value_conversion_conformance == "PROVEN"):
            reason = "conversion is proven with data and not applicable without"
            yield broken("conformance-by-mutation", reason, "value_conversion_conformance")
        if self.generation is not None and self.target_uuid in (
            self.generation.shadow_uuid,
            self.generation.staging_uuid,
        ):
            yield broken("target-is-not-scratch", "scratch is the target", "target_uuid")


class CommitIntent(Document):
    """States, before it is sent, which EXCHANGE is about to be sent."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-commit-intent.v1"
    DIGEST_FIELD: ClassVar[str] = "commit_intent_sha256"

    schema_id: Literal["dpone.semantic-refresh-commit-intent.v1"] = Field(alias="schema")
    commit_intent_sha256: Sha256Text
    operation_id: Sha256Text
    attempt_binding_sha256: Sha256Text
    prepared_receipt_sha256: Sha256Text
    target_relation: Identifier
    target_uuid: Uuid
    shadow_relation: Identifier
    shadow_uuid: Uuid
    intended_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        if self.target_uuid == self.shadow_uuid or self.target_relation == self.shadow_relation:
            yield broken("distinct-relations", "target and shadow are one relation", "shadow_uuid")


class ExchangeReceipt(Document):
    """States that the UUID map shows the successor under the target's name, and where the predecessor is retained.

    The name that the EXCHANGE was sent with is burned: no repetition of it can take the successor away again.
    """

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-exchange-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "exchange_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-exchange-receipt.v1"] = Field(alias="schema")
    exchange_receipt_sha256: Sha256Text
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    prepared_receipt_sha256: Sha256Text
    target_relation: Identifier
    burned_relation: Identifier
    shadow_relation: Identifier
    predecessor_uuid: Uuid
    successor_uuid: Uuid
    observed_target_uuid: Uuid
    observed_shadow_uuid: Uuid
    physical_authority_sha256: Sha256Text
    predecessor_parts_sha256: Sha256Text
    observed_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        if (self.observed_target_uuid, self.observed_shadow_uuid) != (
            self.successor_uuid,
            self.predecessor_uuid,
        ):
            yield broken(
                "map-is-exchanged", "the observed map is not the exchanged one", "observed_target_uuid"
            )
        if self.predecessor_uuid == self.successor_uuid:
            yield broken("distinct-relations", "predecessor and successor are one table", "successor_uuid")
        if self.burned_relation == self.shadow_relation:
            yield broken(
                "name-is-burned", "the predecessor still has the name that was sent", "shadow_relation"
            )


class PredecessorReceipt(Document):
    """States that no sent EXCHANGE took effect or can: the predecessor stands, and the shadow's name was burned."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-predecessor-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "predecessor_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-predecessor-receipt.v1"] = Field(alias="schema")
    predecessor_receipt_sha256: Sha256Text
    operation_id: Sha256Text
    attempt_binding_sha256: Sha256Text
    prepared_receipt_sha256: Sha256Text
    target_uuid: Uuid
    shadow_uuid: Uuid
    burned_relation: Identifier
    shadow_relation: Identifier
    observed_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        if self.burned_relation == self.shadow_relation:
            yield broken("name-is-burned", "the shadow still has the name that was sent", "shadow_relation")


class OutcomeObservation(Document):
    """States that the outcome of a boundary is not known, and what was seen of it; no values of rows."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-outcome-observation.v1"
    DIGEST_FIELD: ClassVar[str] = "outcome_observation_sha256"

    schema_id: Literal["dpone.semantic-refresh-outcome-observation.v1"] = Field(alias="schema")
    outcome_observation_sha256: Sha256Text
    operation_id: Sha256Text
    attempt_binding_sha256: Sha256Text
    boundary: Literal["SQL", "ARTIFACT", "EXCHANGE", "PUBLICATION"]
    findings: Several[Text]
    observed_at: UtcMicros


class _Publication(Document):
    """What one state publication replaces in one transaction."""

    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    prepared_receipt_sha256: Sha256Text
    target_authority_id: Identifier
    predecessor_generation: Positive
    predecessor_generation_id: Sha256Text
    target_generation: Positive
    target_generation_id: Sha256Text
    target_uuid: Uuid
    scope_family_id: Sha256Text
    scope_start: UtcDay
    scope_revision: Positive
    checkpoint_covered_until: UtcDay
    journal_version: Positive
    published_at: UtcMicros


class PublicationReceipt(_Publication):
    """States the heads, checkpoint and journal version that one model's publication made true at once."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-publication-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "publication_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-publication-receipt.v1"] = Field(alias="schema")
    publication_receipt_sha256: Sha256Text
    exchange_receipt_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        if self.target_generation != self.predecessor_generation + 1:
            yield broken("next-generation", "a publication makes the next generation", "target_generation")


class EmptyScopeReceipt(_Publication):
    """States that a confirmed empty scope was published without a swap: the generation stays, the heads advance."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-empty-scope-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "empty_scope_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-empty-scope-receipt.v1"] = Field(alias="schema")
    empty_scope_receipt_sha256: Sha256Text
    artifact_manifest_sha256: Sha256Text
    physical_authority_sha256: Sha256Text
    target_mutation_outcome: Literal["NOT_REQUIRED_EMPTY_SCOPE"]
    target_rows_in_scope: Annotated[int, Field(ge=0, le=0)]

    def _rules(self) -> Iterator[Fault]:
        same = (self.target_generation, self.target_generation_id)
        if same != (self.predecessor_generation, self.predecessor_generation_id):
            yield broken("same-generation", "an empty scope leaves the generation", "target_generation")
