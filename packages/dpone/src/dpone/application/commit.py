"""COMMIT: durable intent, last gates, one EXCHANGE, and UUIDs read back; doubt is settled by UUIDs alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from dpone_contracts.outcomes import ExchangeOutcome, classify_exchange

from dpone.application.operation import Operation, head_of, stored
from dpone.application.services import Services, refuse_first, require
from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.ports.publisher import Scratch, ShadowProof, UuidMap
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.run_receipts import (
    ClickHouseTerminalReceipt,
    CommitIntentReceipt,
    ExchangeObservationReceipt,
    PreparedGenerationReceipt,
    PreparedShadow,
)

if TYPE_CHECKING:
    from dpone_contracts.journal import JournalEntry


@dataclass(frozen=True, slots=True)
class _Commit:
    """One operation's commit: its prepared receipt and the proven generation in it."""

    operation: Operation
    prepared: PreparedGenerationReceipt
    generation: PreparedShadow


def prepared_receipt(services: Services, operation: Operation) -> PreparedGenerationReceipt:
    """The stored receipt that an operation is prepared; raises `DponeError` where there is none."""
    prepared = stored(services, operation.plan.operation_id, PreparedGenerationReceipt)
    if prepared is None:
        raise DponeError("DPONE_COMMIT_NOT_PREPARED", f"{operation.model} is not prepared")
    return prepared


def commit(services: Services, operation: Operation) -> None:
    """Bring an operation from wherever its journal stands to TARGET_COMMITTED, or leave it at a named doubt.

    Nothing is exchanged twice: from COMMITTING or COMMIT_UNKNOWN the UUID map decides first. An empty scope has
    nothing to commit and stays PREPARED for its publication.
    """
    prepared = prepared_receipt(services, operation)
    if prepared.generation is None:
        return
    committing = _Commit(operation, prepared, prepared.generation)
    head = head_of(services, operation)
    match head.state:
        case OperationState.PREPARED:
            _exchange(services, committing)
        case OperationState.COMMITTING | OperationState.COMMIT_UNKNOWN:
            _reconcile(services, committing, head)
        case OperationState.TARGET_COMMITTED | OperationState.COMPLETE | OperationState.COMMITTED_INCOMPLETE:
            return
        case OperationState.PREPARING | OperationState.FAILED_PRE_COMMIT:
            raise DponeError(
                "DPONE_COMMIT_NOT_PREPARED", f"{operation.model}: the journal is at {head.state.value}"
            )
        case _:
            assert_never(head.state)


def _relation(text: str) -> ClickHouseRelation:
    database, name = text.split(".", 1)
    return ClickHouseRelation(database, name)


def _scratch(services: Services, committing: _Commit) -> Scratch:
    """The scratch under the name that it has now: the prepared one, or the one that a burn gave the shadow."""
    generation = committing.generation
    burned = stored(services, committing.operation.plan.operation_id, ExchangeObservationReceipt)
    shadow = generation.shadow_relation if burned is None else burned.shadow_relation
    return Scratch(
        _relation(generation.staging_relation),
        generation.staging_uuid,
        _relation(shadow),
        generation.shadow_uuid,
    )


def _gates(services: Services, committing: _Commit, scratch: Scratch) -> None:
    generation = committing.generation
    proof = ShadowProof(
        rebuilt_rows=generation.rebuilt_rows,
        attached_rows=generation.attached_rows,
        staged_rows=generation.staged_rows,
        differences=generation.multiset_differences,
        target_parts_digest=generation.target_parts_sha256,
        shadow_parts_digest=generation.shadow_parts_sha256,
    )
    operation = committing.operation
    authority = committing.prepared.physical_authority_sha256
    refuse_first(
        services.publisher.exchange_refusals(operation.target, operation.admitted, scratch, proof, authority)
    )


def _exchange(services: Services, committing: _Commit) -> None:
    """Gates, intent, gates again, one EXCHANGE."""
    operation, prepared = committing.operation, committing.prepared
    scratch = _scratch(services, committing)
    _gates(services, committing, scratch)
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
    _gates(services, committing, scratch)
    result = services.publisher.exchange(operation.target, operation.admitted, scratch, prepared.target_uuid)
    match result:
        case Applied(there):
            _target_committed(services, committing, OperationState.COMMITTING, there)
        case NotApplied() | Unknown():
            _reconcile(services, committing, head_of(services, operation))
        case _:
            assert_never(result)


def _observe(services: Services, committing: _Commit, scratch: Scratch) -> tuple[ExchangeOutcome, UuidMap]:
    there = services.publisher.uuid_map(committing.operation.target, scratch)
    return classify_exchange(there, committing.prepared.target_uuid, scratch.shadow_uuid), there


def _reconcile(services: Services, committing: _Commit, head: JournalEntry) -> None:
    """Settle a doubtful EXCHANGE by the UUID map; before "predecessor" is concluded the shadow's name is burned."""
    operation, prepared = committing.operation, committing.prepared
    scratch = _scratch(services, committing)
    outcome, there = _observe(services, committing, scratch)
    if outcome is ExchangeOutcome.SUCCESSOR:
        _target_committed(services, committing, head.state, there)
        return
    if outcome is ExchangeOutcome.PREDECESSOR:
        scratch = require(services.publisher.burn_shadow_name(operation.target, operation.admitted, scratch))
        outcome, there = _observe(services, committing, scratch)
    observed = {
        name: value
        for name, value in (
            ("observed_target_uuid", there.target_uuid),
            ("observed_shadow_uuid", there.shadow_uuid),
        )
        if value is not None
    }
    observation = ExchangeObservationReceipt.build(
        operation_id=operation.plan.operation_id,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        prepared_generation_receipt_sha256=prepared.digest,
        outcome=outcome.value,
        expected_target_uuid=prepared.target_uuid,
        expected_shadow_uuid=scratch.shadow_uuid,
        shadow_relation=str(scratch.shadow),
        observed_at=services.clock.now(),
        **observed,
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
            _exchange(services, committing)
        case ExchangeOutcome.SUCCESSOR:
            _target_committed(services, committing, OperationState.COMMIT_UNKNOWN, there)
        case ExchangeOutcome.MIXED:
            raise DponeError(
                "DPONE_CORRUPTION_UUID_MAP",
                f"{operation.model}: the UUID map is neither predecessor nor successor",
                {"target": str(there.target_uuid), "shadow": str(there.shadow_uuid)},
            )
        case _:
            assert_never(outcome)


def _target_committed(
    services: Services, committing: _Commit, before: OperationState, there: UuidMap
) -> None:
    """Observe the exchanged target against the same authority, then journal the successor."""
    operation, prepared = committing.operation, committing.prepared
    authority = services.publisher.authority(operation.target)
    refuse_first(authority.refusals)
    if authority.digest != prepared.physical_authority_sha256:
        raise DponeError(
            "DPONE_TARGET_AUTHORITY_DRIFT",
            f"{operation.model}: the exchanged target is not of the certified design",
            {"expected": prepared.physical_authority_sha256, "observed": authority.digest},
        )
    parts = services.publisher.parts_digest(operation.target, prepared.target_uuid)
    if parts != committing.generation.target_parts_sha256:
        raise DponeError(
            "DPONE_PREDECESSOR_CHANGED",
            f"{operation.model}: the predecessor's parts changed after the proof; a write may be lost",
            {"expected": committing.generation.target_parts_sha256, "observed": str(parts)},
        )
    receipt = ClickHouseTerminalReceipt.build(
        operation_id=operation.plan.operation_id,
        operation_plan_sha256=operation.plan.digest,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        prepared_generation_receipt_sha256=prepared.digest,
        target_relation=prepared.target_relation,
        target_mutation_outcome="EXCHANGED",
        predecessor_uuid=prepared.target_uuid,
        successor_uuid=committing.generation.shadow_uuid,
        observed_target_uuid=there.target_uuid,
        observed_shadow_uuid=there.shadow_uuid,
        physical_authority_sha256=authority.digest,
        observed_at=services.clock.now(),
    )
    require(
        services.state.append(operation.admitted.attempt, before, OperationState.TARGET_COMMITTED, receipt)
    )
