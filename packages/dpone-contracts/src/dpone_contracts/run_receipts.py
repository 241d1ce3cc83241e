"""Receipts of a run that this implementation adds to the published contract, one for each boundary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpone_contracts.document import Document, Fault, Part, broken
from dpone_contracts.scalars import (
    Count,
    Identifier,
    ModelId,
    Positive,
    Sha256Text,
    UtcMicros,
    Uuid,
    WhenPresent,
)

_BUILD_GATE = "dpone.semantic-refresh-build-gate-receipt.v1"
_PREPARED = "dpone.semantic-refresh-prepared-generation-receipt.v1"
_INTENT = "dpone.semantic-refresh-commit-intent-receipt.v1"
_EXCHANGE = "dpone.semantic-refresh-exchange-observation-receipt.v1"


class BuildGateReceipt(Document):
    """States that every model of a workflow has committed with images and all selected tests passed."""

    SCHEMA: ClassVar[str] = _BUILD_GATE
    DIGEST_FIELD: ClassVar[str] = "build_gate_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-build-gate-receipt.v1"] = Field(alias="schema")
    build_gate_receipt_sha256: Sha256Text
    workflow_execution_binding_sha256: Sha256Text
    model_unique_ids: Annotated[tuple[ModelId, ...], Field(strict=False, min_length=1)]
    tests: Literal["PASSED"]
    recorded_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        if list(self.model_unique_ids) != sorted(set(self.model_unique_ids)):
            yield broken("sorted-set", "models are a sorted set", "model_unique_ids")


class PreparedShadow(Part):
    """The scratch of an attempt, proven: relations with their UUIDs, how the shadow was made, the exact figures."""

    staging_relation: Identifier
    staging_uuid: Uuid
    shadow_relation: Identifier
    shadow_uuid: Uuid
    strategy: Literal["partition", "full"]
    attached_partitions: Annotated[tuple[Identifier, ...], Field(strict=False)]
    rebuilt_partitions: Annotated[tuple[Identifier, ...], Field(strict=False)]
    staged_rows: Positive
    shadow_rows: Positive
    rebuilt_rows: Count
    attached_rows: Count
    multiset_differences: Literal[0]
    target_parts_sha256: Sha256Text
    shadow_parts_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        if self.rebuilt_rows + self.attached_rows != self.shadow_rows:
            yield broken(
                "shadow-totals", "rebuilt and attached rows are all rows of the shadow", "shadow_rows"
            )
        if self.shadow_uuid == self.staging_uuid:
            yield broken("distinct-relations", "shadow and staging are one relation", "shadow_uuid")


class PreparedGenerationReceipt(Document):
    """States that an operation is prepared: a proven shadow, or an empty scope that needs none.

    Without `generation` the sealed manifest is empty and the target held no row in the scope (specification,
    empty scope).
    """

    SCHEMA: ClassVar[str] = _PREPARED
    DIGEST_FIELD: ClassVar[str] = "prepared_generation_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-prepared-generation-receipt.v1"] = Field(alias="schema")
    prepared_generation_receipt_sha256: Sha256Text
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
            yield broken(
                "conformance-by-mutation",
                "conversion is proven with data and not applicable without",
                "value_conversion_conformance",
            )
        if self.generation is not None and self.target_uuid in (
            self.generation.shadow_uuid,
            self.generation.staging_uuid,
        ):
            yield broken("target-is-not-scratch", "scratch is the target", "target_uuid")


class CommitIntentReceipt(Document):
    """States, before it is sent, which EXCHANGE is about to be sent."""

    SCHEMA: ClassVar[str] = _INTENT
    DIGEST_FIELD: ClassVar[str] = "commit_intent_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-commit-intent-receipt.v1"] = Field(alias="schema")
    commit_intent_receipt_sha256: Sha256Text
    operation_id: Sha256Text
    attempt_binding_sha256: Sha256Text
    prepared_generation_receipt_sha256: Sha256Text
    target_relation: Identifier
    target_uuid: Uuid
    shadow_relation: Identifier
    shadow_uuid: Uuid
    intended_at: UtcMicros


class ExchangeObservationReceipt(Document):
    """States what the UUID map said when an EXCHANGE was in doubt, and under which name the shadow stands now."""

    SCHEMA: ClassVar[str] = _EXCHANGE
    DIGEST_FIELD: ClassVar[str] = "exchange_observation_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-exchange-observation-receipt.v1"] = Field(alias="schema")
    exchange_observation_receipt_sha256: Sha256Text
    operation_id: Sha256Text
    attempt_binding_sha256: Sha256Text
    prepared_generation_receipt_sha256: Sha256Text
    outcome: Literal["PREDECESSOR", "SUCCESSOR", "UNRESOLVED"]
    expected_target_uuid: Uuid
    expected_shadow_uuid: Uuid
    observed_target_uuid: Annotated[Uuid | None, WhenPresent] = None
    observed_shadow_uuid: Annotated[Uuid | None, WhenPresent] = None
    shadow_relation: Identifier
    observed_at: UtcMicros
