"""COMMIT: durable intent, last gates, one EXCHANGE, and UUIDs read back; doubt is settled by UUIDs alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, assert_never

from dpone.application.deadlines import StageTime, stage_time
from dpone.application.operation import Operation, head_of, last_stored, query_id_prefix, stored
from dpone.application.polling import observed
from dpone.application.services import EvidenceServices, Services, refuse_first, require, still_unknown
from dpone.application.stages import StageKind
from dpone_contracts.effects import Applied, NotApplied, Reason, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.outcomes import ExchangeEvidence, ExchangeOutcome, classify_exchange
from dpone_contracts.ports.publisher import Scratch, ShadowProof, UuidMap
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.run_receipts import (
    CommitIntent,
    ExchangeReceipt,
    OutcomeObservation,
    PredecessorReceipt,
    PreparedReceipt,
    PreparedShadow,
)


@dataclass(frozen=True, slots=True)
class _Commit:
    """One operation's commit: its prepared receipt and the proven generation in it."""

    services: Services
    operation: Operation
    prepared: PreparedReceipt
    generation: PreparedShadow
    time: StageTime


def prepared_receipt(services: Services, operation: Operation) -> PreparedReceipt:
    """The stored receipt that an operation is prepared; raises `DponeError` where there is none."""
    prepared = stored(services, operation.plan.operation_id, PreparedReceipt)
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
    time = stage_time(services, StageKind.COMMIT, operation)
    this = _Commit(services, operation, prepared, prepared.generation, time)
    state = head_of(services, operation).state
    match state:
        case OperationState.PREPARED:
            _exchange(this)
        case OperationState.COMMITTING | OperationState.COMMIT_UNKNOWN:
            _reconcile(this, state)
        case OperationState.TARGET_COMMITTED | OperationState.COMPLETE | OperationState.COMMITTED_INCOMPLETE:
            return
        case OperationState.PREPARING | OperationState.FAILED_PRE_COMMIT:
            raise DponeError(
                "DPONE_COMMIT_NOT_PREPARED", f"{operation.model}: the journal is at {state.value}"
            )
        case _:
            assert_never(state)


def _relation(text: str) -> ClickHouseRelation:
    database, name = text.split(".", 1)
    return ClickHouseRelation(database, name)


def scratch_of(services: EvidenceServices, operation: Operation, generation: PreparedShadow) -> Scratch:
    """The scratch under the name that it has now: the prepared one, or the one that a burn gave the shadow."""
    burned = last_stored(services, operation.plan.operation_id, PredecessorReceipt)
    shadow = generation.shadow_relation if burned is None else burned.shadow_relation
    return Scratch(
        _relation(generation.staging_relation),
        generation.staging_uuid,
        _relation(shadow),
        generation.shadow_uuid,
    )


def _scratch(this: _Commit) -> Scratch:
    return scratch_of(this.services, this.operation, this.generation)


def _gates(this: _Commit, scratch: Scratch) -> None:
    proof = ShadowProof(
        rebuilt_rows=this.generation.rebuilt_rows,
        attached_rows=this.generation.attached_rows,
        staged_rows=this.generation.staged_rows,
        differences=this.generation.multiset_differences,
        target_parts_digest=this.generation.target_parts_sha256,
        shadow_parts_digest=this.generation.shadow_parts_sha256,
    )
    operation, authority = this.operation, this.prepared.physical_authority_sha256
    refuse_first(
        this.services.publisher.exchange_refusals(
            operation.target, operation.admitted, scratch, proof, authority
        )
    )


def _exchange(this: _Commit) -> None:
    """Gates, intent, gates again, one EXCHANGE; the last gate in front of each is the clock."""
    services, operation, prepared = this.services, this.operation, this.prepared
    attempt = operation.admitted.attempt
    scratch = _scratch(this)
    _gates(this, scratch)
    intent = CommitIntent.build(
        operation_id=operation.plan.operation_id,
        attempt_binding_sha256=attempt.digest,
        prepared_receipt_sha256=prepared.digest,
        target_relation=prepared.target_relation,
        target_uuid=prepared.target_uuid,
        shadow_relation=str(scratch.shadow),
        shadow_uuid=scratch.shadow_uuid,
        intended_at=services.clock.now(),
    )
    this.time.require()
    require(services.state.append(attempt, OperationState.PREPARED, OperationState.COMMITTING, intent))
    _gates(this, scratch)
    this.time.require()
    result = services.publisher.exchange(operation.target, operation.admitted, scratch, prepared.target_uuid)
    match result:
        case Applied() | NotApplied() | Unknown():
            # The answer alone decides nothing, a success neither: the map is read on every path, behind a burned name.
            _reconcile(this, OperationState.COMMITTING)
        case _:
            assert_never(result)


def _reconcile(this: _Commit, state: OperationState) -> None:
    """Settle an EXCHANGE by the UUID map, whatever was answered.

    The name that it was sent with is burned first: what the map shows then no delayed or doubled EXCHANGE can change.
    """
    publisher, operation, sent = this.services.publisher, this.operation, _scratch(this)

    def look(scratch: Scratch) -> tuple[UuidMap, bool]:
        there = publisher.uuid_map(operation.target, scratch)
        return there, not publisher.active_queries(query_id_prefix(operation))

    try:
        burned = publisher.burn_shadow_name(
            operation.target, operation.admitted, sent, this.prepared.target_uuid
        )
        scratch = burned.value if isinstance(burned, Applied) else sent
        there, quiescent = observed(
            this.services, operation.plan.operation_id, lambda: look(scratch), lambda seen: seen[1]
        )
    except DponeError as unread:
        still_unknown(
            Reason("DPONE_EXCHANGE_UNKNOWN", f"{operation.model}: the UUID map was not read"), unread
        )
    evidence = ExchangeEvidence(
        there,
        quiescent,
        sealed_off=isinstance(burned, Applied),
        maybe_burned=isinstance(burned, Unknown),
    )
    outcome = classify_exchange(evidence, this.prepared.target_uuid, this.generation.shadow_uuid)
    if outcome is not ExchangeOutcome.SUCCESSOR and state is OperationState.COMMITTING:
        _journal_doubt(this, outcome, there)
    match outcome:
        case ExchangeOutcome.PREDECESSOR:
            _back_to_prepared(this, sent, scratch)
            _exchange(this)
        case ExchangeOutcome.SUCCESSOR:
            _target_committed(this, sent, scratch, state, there)
        case ExchangeOutcome.MIXED:
            _stop(this, "DPONE_CORRUPTION_UUID_MAP", there)
        case ExchangeOutcome.EXCHANGE_UNKNOWN:
            _stop(this, "DPONE_EXCHANGE_UNKNOWN", there)
        case _:
            assert_never(outcome)


def _journal_doubt(this: _Commit, outcome: ExchangeOutcome, there: UuidMap) -> None:
    attempt = this.operation.admitted.attempt
    observation = OutcomeObservation.build(
        operation_id=this.operation.plan.operation_id,
        attempt_binding_sha256=attempt.digest,
        boundary="EXCHANGE",
        findings=[
            f"outcome {outcome.value}",
            f"target name holds {there.target_uuid}",
            f"shadow name holds {there.shadow_uuid}",
        ],
        observed_at=this.services.clock.now(),
    )
    require(
        this.services.state.append(
            attempt, OperationState.COMMITTING, OperationState.COMMIT_UNKNOWN, observation
        )
    )


def _back_to_prepared(this: _Commit, sent: Scratch, moved: Scratch) -> None:
    attempt = this.operation.admitted.attempt
    receipt = PredecessorReceipt.build(
        operation_id=this.operation.plan.operation_id,
        attempt_binding_sha256=attempt.digest,
        prepared_receipt_sha256=this.prepared.digest,
        target_uuid=this.prepared.target_uuid,
        shadow_uuid=this.generation.shadow_uuid,
        burned_relation=str(sent.shadow),
        shadow_relation=str(moved.shadow),
        observed_at=this.services.clock.now(),
    )
    require(
        this.services.state.append(attempt, OperationState.COMMIT_UNKNOWN, OperationState.PREPARED, receipt)
    )


def _stop(this: _Commit, code: str, there: UuidMap) -> NoReturn:
    raise DponeError(
        code,
        f"{this.operation.model}: the UUID map proves neither predecessor nor successor",
        {"target": str(there.target_uuid), "shadow": str(there.shadow_uuid)},
    )


def _target_committed(
    this: _Commit, sent: Scratch, moved: Scratch, before: OperationState, there: UuidMap
) -> None:
    """Observe the exchanged target against the same authority, then journal the successor."""
    services, operation, prepared = this.services, this.operation, this.prepared
    authority = services.publisher.authority(operation.target)
    refuse_first(authority.refusals)
    if authority.digest != prepared.physical_authority_sha256:
        raise DponeError(
            "DPONE_TARGET_AUTHORITY_DRIFT",
            f"{operation.model}: the exchanged target is not of the certified design",
            {"expected": prepared.physical_authority_sha256, "observed": authority.digest},
        )
    parts = services.publisher.parts_digest(operation.target, prepared.target_uuid)
    if parts != this.generation.target_parts_sha256:
        raise DponeError(
            "DPONE_PREDECESSOR_CHANGED",
            f"{operation.model}: the predecessor's parts changed after the proof; a write may be lost",
            {"expected": this.generation.target_parts_sha256, "observed": str(parts)},
        )
    receipt = ExchangeReceipt.build(
        operation_id=operation.plan.operation_id,
        operation_plan_sha256=operation.plan.digest,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        prepared_receipt_sha256=prepared.digest,
        target_relation=prepared.target_relation,
        burned_relation=str(sent.shadow),
        shadow_relation=str(moved.shadow),
        predecessor_uuid=prepared.target_uuid,
        successor_uuid=this.generation.shadow_uuid,
        observed_target_uuid=there.target_uuid,
        observed_shadow_uuid=there.shadow_uuid,
        physical_authority_sha256=authority.digest,
        predecessor_parts_sha256=parts,
        observed_at=services.clock.now(),
    )
    require(
        services.state.append(operation.admitted.attempt, before, OperationState.TARGET_COMMITTED, receipt)
    )
