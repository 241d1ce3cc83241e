"""Made-up receipts of one attempt, in the order of its journal: valid documents over figures that nobody measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.run_receipts import (
    CommitIntent,
    EmptyScopeReceipt,
    ExchangeReceipt,
    PreparedReceipt,
    PublicationReceipt,
)
from dpone_contracts.testing.plan_example import made_up

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.ports.refresh_state import PublicationRows

TARGET, SHADOW, STAGING = (
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
    "33333333-3333-4333-8333-333333333333",
)
_AT = "2026-08-09T02:00:00.000000Z"


def prepared(attempt: AttemptBinding) -> PreparedReceipt:
    """Write the receipt of a proven shadow."""
    return PreparedReceipt.build(
        operation_id=attempt.operation_id,
        operation_plan_sha256=attempt.operation_plan_sha256,
        attempt_binding_sha256=attempt.digest,
        artifact_manifest_sha256=made_up("manifest"),
        target_relation="example.target",
        target_uuid=TARGET,
        physical_authority_sha256=made_up("physical"),
        target_mutation="EXCHANGE_REQUIRED",
        value_conversion_conformance="PROVEN",
        generation={
            "staging_relation": "example.staging",
            "staging_uuid": STAGING,
            "shadow_relation": "example.shadow",
            "shadow_uuid": SHADOW,
            "strategy": "full",
            "attached_partitions": [],
            "rebuilt_partitions": ["all"],
            "staged_rows": 1,
            "shadow_rows": 1,
            "rebuilt_rows": 1,
            "attached_rows": 0,
            "multiset_differences": 0,
            "target_parts_sha256": made_up("target parts"),
            "shadow_parts_sha256": made_up("shadow parts"),
        },
        prepared_at=_AT,
    )


def intent(attempt: AttemptBinding) -> CommitIntent:
    """Write the intent to exchange."""
    return CommitIntent.build(
        operation_id=attempt.operation_id,
        attempt_binding_sha256=attempt.digest,
        prepared_receipt_sha256=prepared(attempt).digest,
        target_relation="example.target",
        target_uuid=TARGET,
        shadow_relation="example.shadow",
        shadow_uuid=SHADOW,
        intended_at=_AT,
    )


def exchanged(attempt: AttemptBinding) -> ExchangeReceipt:
    """Write the receipt of an observed exchange."""
    return ExchangeReceipt.build(
        operation_id=attempt.operation_id,
        operation_plan_sha256=attempt.operation_plan_sha256,
        attempt_binding_sha256=attempt.digest,
        prepared_receipt_sha256=prepared(attempt).digest,
        target_relation="example.target",
        burned_relation="example.sent",
        shadow_relation="example.shadow",
        predecessor_uuid=TARGET,
        successor_uuid=SHADOW,
        observed_target_uuid=SHADOW,
        observed_shadow_uuid=TARGET,
        physical_authority_sha256=made_up("physical"),
        predecessor_parts_sha256=made_up("target parts"),
        observed_at=_AT,
    )


def published(attempt: AttemptBinding, before: PublicationRows, after: PublicationRows) -> PublicationReceipt:
    """Write the receipt of a publication that moves the generation."""
    return PublicationReceipt.build(
        exchange_receipt_sha256=exchanged(attempt).digest, **_publication(attempt, before, after)
    )


def published_empty(
    attempt: AttemptBinding, before: PublicationRows, after: PublicationRows
) -> EmptyScopeReceipt:
    """Write the receipt of a publication that leaves the generation."""
    return EmptyScopeReceipt.build(
        artifact_manifest_sha256=made_up("manifest"),
        physical_authority_sha256=made_up("physical"),
        target_mutation_outcome="NOT_REQUIRED_EMPTY_SCOPE",
        target_rows_in_scope=0,
        **_publication(attempt, before, after),
    )


def _publication(
    attempt: AttemptBinding, before: PublicationRows, after: PublicationRows
) -> dict[str, object]:
    assert before.target_head is not None
    assert after.target_head is not None
    assert after.scope_head is not None
    assert after.checkpoint is not None
    return {
        "operation_id": attempt.operation_id,
        "operation_plan_sha256": attempt.operation_plan_sha256,
        "attempt_binding_sha256": attempt.digest,
        "prepared_receipt_sha256": prepared(attempt).digest,
        "target_authority_id": after.target_head.target_authority_id,
        "predecessor_generation": before.target_head.generation,
        "predecessor_generation_id": before.target_head.generation_id,
        "target_generation": after.target_head.generation,
        "target_generation_id": after.target_head.generation_id,
        "target_uuid": after.target_head.target_uuid,
        "scope_family_id": after.scope_head.scope_family_id,
        "scope_start": after.scope_head.scope_start,
        "scope_revision": after.scope_head.scope_revision,
        "checkpoint_covered_until": after.checkpoint.covered_until,
        "journal_version": after.journal_version,
        "published_at": _AT,
    }
