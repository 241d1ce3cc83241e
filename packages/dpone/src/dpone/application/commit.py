"""COMMIT: durable intent, last gates, one EXCHANGE, and UUIDs read back; doubt is settled by UUIDs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.outcomes import ExchangeOutcome, classify_exchange
from dpone_contracts.ports.publisher import Scratch, ShadowProof, UuidMap
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.run_receipts import (
    ClickHouseTerminalReceipt,
    CommitIntentReceipt,
    ExchangeObservationReceipt,
    PreparedGenerationReceipt,
)

from dpone.application.operation import Operation, head_of, stored
from dpone.application.services import Services, refuse_first, require

if TYPE_CHECKING:
    from dpone_contracts.journal import JournalEntry


def commit(services: Services, operation: Operation) -> None:
    """Bring an operation from wherever its journal stands to TARGET_COMMITTED, or leave it at a named doubt.

    Nothing is exchanged twice: from COMMITTING or COMMIT_UNKNOWN the UUID map decides first. An empty scope has
    nothing to commit and stays PREPARED for its publication.
    """
    prepared = stored(services, operation.plan.operation_id, PreparedGenerationReceipt)
    if prepared is None:
        raise DponeError("DPONE_COMMIT_NOT_PREPARED", f"{operation.model} is not prepared")
    if prepared.target_mutation == "NOT_REQUIRED_EMPTY_SCOPE":
        return
    head = head_of(services, operation)
    match head.state:
        case OperationState.PREPARED:
            _exchange(services, operation, prepared)
        case OperationState.COMMITTING | OperationState.COMMIT_UNKNOWN:
            _reconcile(services, operation, prepared, head)
        case OperationState.TARGET_COMMITTED | OperationState.COMPLETE | OperationState.COMMITTED_INCOMPLETE:
            return
        case OperationState.PREPARING | OperationState.FAILED_PRE_COMMIT:
            raise DponeError(
                "DPONE_COMMIT_NOT_PREPARED", f"{operation.model}: the journal is at {head.state.value}"
            )
        case _:
            assert_never(head.state)


def scratch_of(prepared: PreparedGenerationReceipt) -> Scratch:
    """The scratch relations that a prepared receipt names."""
    staging, shadow = (prepared.staging_relation, prepared.shadow_relation)
    staging_uuid, shadow_uuid = prepared.staging_uuid, prepared.shadow_uuid
    if staging is None or shadow is None or staging_uuid is None or shadow_uuid is None:
        raise DponeError("DPONE_COMMIT_NOT_PREPARED", "the prepared receipt names no scratch")
    return Scratch(_relation(staging), staging_uuid, _relation(shadow), shadow_uuid)


def _relation(text: str) -> ClickHouseRelation:
    database, name = text.split(".", 1)
    return ClickHouseRelation(database, name)


def _proof(prepared: PreparedGenerationReceipt) -> ShadowProof:
    return ShadowProof(
        rebuilt_rows=prepared.rebuilt_rows or 0,
        attached_rows=prepared.attached_rows or 0,
        staged_rows=prepared.staged_rows,
        differences=prepared.multiset_differences or 0,
        target_parts_digest=prepared.target_parts_sha256 or "",
        shadow_parts_digest=prepared.shadow_parts_sha256 or "",
    )


def _gates(
    services: Services, operation: Operation, prepared: PreparedGenerationReceipt, scratch: Scratch
) -> None:
    refuse_first(
        services.publisher.exchange_refusals(
            operation.target,
            operation.admitted,
            scratch,
            _proof(prepared),
            prepared.physical_authority_sha256,
        )
    )


def _exchange(services: Services, operation: Operation, prepared: PreparedGenerationReceipt) -> None:
    """Gates, intent, gates again, one EXCHANGE."""
    scratch = _current_scratch(services, operation, prepared)
    _gates(services, operation, prepared, scratch)
    intent = CommitIntentReceipt.build(
        operation_id=operation.plan.operation_id,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        prepared_generation_receipt_sha256=prepared.digest,
        target_relation=prepared.target_relation,
        target_uuid=prepared.target_uuid,
        shadow_relation=str(scratch.shadow),
        shadow_uuid=scratch.shadow_uuid,
        intended_at=services.clock.now(),
    )
    attempt = operation.admitted.attempt
    require(services.state.append(attempt, OperationState.PREPARED, OperationState.COMMITTING, intent))
    _gates(services, operation, prepared, scratch)
    result = services.publisher.exchange(operation.target, operation.admitted, scratch, prepared.target_uuid)
    match result:
        case Applied(there):
            _target_committed(services, operation, prepared, OperationState.COMMITTING, there)
        case NotApplied() | Unknown():
            _reconcile(services, operation, prepared, head_of(services, operation))
        case _:
            assert_never(result)


def _current_scratch(
    services: Services, operation: Operation, prepared: PreparedGenerationReceipt
) -> Scratch:
    """The scratch under the name that it has now: the prepared one, or the one that a burn gave it."""
    burned = stored(services, operation.plan.operation_id, ExchangeObservationReceipt)
    scratch = scratch_of(prepared)
    if burned is None:
        return scratch
    return Scratch(
        scratch.staging, scratch.staging_uuid, _relation(burned.shadow_relation), scratch.shadow_uuid
    )


def _observe(
    services: Services, operation: Operation, prepared: PreparedGenerationReceipt, scratch: Scratch
) -> tuple[ExchangeOutcome, UuidMap]:
    there = services.publisher.uuid_map(operation.target, scratch)
    return classify_exchange(there, prepared.target_uuid, scratch.shadow_uuid), there


def _reconcile(
    services: Services, operation: Operation, prepared: PreparedGenerationReceipt, head: JournalEntry
) -> None:
    """Settle a doubtful EXCHANGE by the UUID map; before "predecessor" is concluded the shadow's name is burned."""
    scratch = _current_scratch(services, operation, prepared)
    outcome, there = _observe(services, operation, prepared, scratch)
    if outcome is ExchangeOutcome.SUCCESSOR:
        _target_committed(services, operation, prepared, head.state, there)
        return
    if outcome is ExchangeOutcome.PREDECESSOR:
        scratch = require(services.publisher.burn_shadow_name(operation.target, operation.admitted, scratch))
        outcome, there = _observe(services, operation, prepared, scratch)
    observation = ExchangeObservationReceipt.build(
        operation_id=operation.plan.operation_id,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        prepared_generation_receipt_sha256=prepared.digest,
        outcome=outcome.value,
        expected_target_uuid=prepared.target_uuid,
        expected_shadow_uuid=scratch.shadow_uuid,
        observed_target_uuid=there.target_uuid,
        observed_shadow_uuid=there.shadow_uuid,
        shadow_relation=str(scratch.shadow),
        observed_at=services.clock.now(),
    )
    attempt = operation.admitted.attempt
    if head.state is OperationState.COMMITTING:
        require(services.state.append(attempt, head.state, OperationState.COMMIT_UNKNOWN, observation))
    match outcome:
        case ExchangeOutcome.PREDECESSOR:
            require(
                services.state.append(
                    attempt, OperationState.COMMIT_UNKNOWN, OperationState.PREPARED, observation
                )
            )
            _exchange(services, operation, prepared)
        case ExchangeOutcome.SUCCESSOR:
            _target_committed(services, operation, prepared, OperationState.COMMIT_UNKNOWN, there)
        case ExchangeOutcome.UNKNOWN:
            raise DponeError(
                "DPONE_CORRUPTION_UUID_MAP",
                f"{operation.model}: the UUID map is neither predecessor nor successor",
                {"target": str(there.target_uuid), "shadow": str(there.shadow_uuid)},
            )
        case _:
            assert_never(outcome)


def _target_committed(
    services: Services,
    operation: Operation,
    prepared: PreparedGenerationReceipt,
    before: OperationState,
    there: UuidMap,
) -> None:
    """Observe the exchanged target against the same authority, then journal the successor."""
    authority = services.publisher.authority(operation.target)
    if authority.digest != prepared.physical_authority_sha256 or authority.refusals:
        raise DponeError(
            "DPONE_TARGET_AUTHORITY_DRIFT",
            f"{operation.model}: the exchanged target is not of the certified design",
            {"expected": prepared.physical_authority_sha256, "observed": authority.digest},
        )
    parts = services.publisher.parts_digest(operation.target, prepared.target_uuid)
    if parts != prepared.target_parts_sha256:
        raise DponeError(
            "DPONE_PREDECESSOR_CHANGED",
            f"{operation.model}: the predecessor's parts changed after the proof; a write may be lost",
            {"expected": str(prepared.target_parts_sha256), "observed": str(parts)},
        )
    receipt = ClickHouseTerminalReceipt.build(
        operation_id=operation.plan.operation_id,
        operation_plan_sha256=operation.plan.digest,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        prepared_generation_receipt_sha256=prepared.digest,
        target_relation=prepared.target_relation,
        predecessor_uuid=prepared.target_uuid,
        successor_uuid=prepared.shadow_uuid,
        observed_target_uuid=there.target_uuid,
        observed_shadow_uuid=there.shadow_uuid,
        physical_authority_sha256=authority.digest,
        target_mutation_outcome="EXCHANGED",
        observed_at=services.clock.now(),
    )
    require(
        services.state.append(operation.admitted.attempt, before, OperationState.TARGET_COMMITTED, receipt)
    )
