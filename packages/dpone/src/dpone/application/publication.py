"""PUBLISH: heads, checkpoint and journal of one model in one SERIALIZABLE transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from dpone.application.commit import prepared_receipt
from dpone.application.deadlines import stage_time
from dpone.application.operation import Operation, head_of, stored
from dpone.application.services import Services, refuse, refuse_first, still_unknown
from dpone.application.stages import StageKind
from dpone_contracts.codec_identity import published_generation_id
from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.outcomes import PublicationOutcome, classify_publication
from dpone_contracts.ports.activation_store import Checkpoint, ScopeHead, TargetHead
from dpone_contracts.run_receipts import EmptyScopeReceipt, ExchangeReceipt, PublicationReceipt

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import PublicationRows
    from dpone_contracts.run_receipts import PreparedReceipt


def publish(services: Services, operation: Operation) -> None:
    """Publish one committed (or confirmed empty) operation; a lost acknowledgement is settled by reading all rows.

    Deadlines bind the empty scope alone: a committed target is published whatever the clock says.
    """
    state = head_of(services, operation).state
    if state is OperationState.COMPLETE:
        return
    time = stage_time(services, StageKind.PUBLISH, operation)
    prepared = prepared_receipt(services, operation)
    exchange = stored(services, operation.plan.operation_id, ExchangeReceipt)
    committed = state in {OperationState.TARGET_COMMITTED, OperationState.COMMITTED_INCOMPLETE}
    before = services.state.publication_rows(operation.plan.operation_id)
    _require_predecessor(operation, prepared, before)
    receipt: PublicationReceipt | EmptyScopeReceipt
    if prepared.generation is None and state is OperationState.PREPARED:
        after = successor_rows(operation, before, None)
        receipt = _empty_scope(
            services, operation, prepared, _fields(services, operation, prepared, before, after)
        )
        time.require()
    elif exchange is not None and committed:
        after = successor_rows(operation, before, exchange)
        fields = _fields(services, operation, prepared, before, after)
        receipt = PublicationReceipt.build(**fields, exchange_receipt_sha256=exchange.digest)
    else:
        raise DponeError("DPONE_PUBLICATION_NOT_READY", f"{operation.model}: the journal is at {state.value}")
    result = services.state.publish(operation.admitted.attempt, before, after, receipt)
    match result:
        case Applied():
            return
        case NotApplied(reason):
            refuse(reason)
        case Unknown(reason):
            try:
                there = services.state.publication_rows(operation.plan.operation_id)
            except DponeError as unread:
                # What was sent stays unknown where the rows that settle it cannot be read.
                still_unknown(reason, unread)
            outcome = classify_publication(there, before, after)
            if outcome is PublicationOutcome.MIXED:
                raise DponeError("DPONE_CORRUPTION_MIXED_PUBLICATION", operation.model, reason.evidence)
            if outcome is not PublicationOutcome.ALL_SUCCESSOR:
                refuse(reason)
        case _:
            assert_never(result)


def _require_predecessor(operation: Operation, prepared: PreparedReceipt, before: PublicationRows) -> None:
    """A publication follows the generation that was prepared against, whatever moved the head since."""
    head = before.target_head
    if head is not None and head.target_uuid != prepared.target_uuid:
        raise DponeError(
            "DPONE_TARGET_HEAD_MOVED",
            f"{operation.model}: the head is not the generation that was prepared against",
            {"prepared": prepared.target_uuid, "head": head.target_uuid},
        )


def successor_rows(
    operation: Operation, before: PublicationRows, exchange: ExchangeReceipt | None
) -> PublicationRows:
    """All rows as the publication must leave them; without an exchange the target's generation stays."""
    plan, head = operation.plan, before.target_head
    if head is None or before.checkpoint is None:
        raise DponeError(
            "DPONE_TARGET_HEAD_MOVED", f"{operation.model}: the target has no head or checkpoint"
        )
    target_head = head
    if exchange is not None:
        target_head = TargetHead(
            target_authority_id=head.target_authority_id,
            generation=head.generation + 1,
            generation_id=published_generation_id(
                head.target_authority_id, plan.operation_id, head.generation + 1, exchange.successor_uuid
            ),
            target_uuid=exchange.successor_uuid,
            owner_operation_id=plan.operation_id,
            terminal_receipt_sha256=exchange.digest,
        )
    covered = before.checkpoint.covered_until
    return replace(
        before,
        target_head=target_head,
        scope_head=ScopeHead(plan.scope_family_id, plan.scope_start, plan.scope_revision, plan.operation_id),
        # The checkpoint never jumps a gap: only the first uncovered day moves it.
        checkpoint=Checkpoint(
            plan.scope_family_id, plan.scope_end if covered == plan.scope_start else covered
        ),
        journal_state=OperationState.COMPLETE,
        journal_version=before.journal_version + 1,
    )


def _fields(
    services: Services,
    operation: Operation,
    prepared: PreparedReceipt,
    before: PublicationRows,
    after: PublicationRows,
) -> dict[str, object]:
    assert before.target_head is not None
    assert after.target_head is not None
    assert after.checkpoint is not None
    return {
        "operation_id": operation.plan.operation_id,
        "operation_plan_sha256": operation.plan.digest,
        "attempt_binding_sha256": operation.admitted.attempt.digest,
        "prepared_receipt_sha256": prepared.digest,
        "target_authority_id": after.target_head.target_authority_id,
        "predecessor_generation": before.target_head.generation,
        "predecessor_generation_id": before.target_head.generation_id,
        "target_generation": after.target_head.generation,
        "target_generation_id": after.target_head.generation_id,
        "target_uuid": after.target_head.target_uuid,
        "scope_family_id": operation.plan.scope_family_id,
        "scope_start": operation.plan.scope_start,
        "scope_revision": operation.plan.scope_revision,
        "checkpoint_covered_until": after.checkpoint.covered_until,
        "journal_version": after.journal_version,
        "published_at": services.clock.now(),
    }


def _empty_scope(
    services: Services, operation: Operation, prepared: PreparedReceipt, fields: dict[str, object]
) -> EmptyScopeReceipt:
    """Observe the unchanged target once more: what proves the no-swap edge (specification, empty scope)."""
    authority = services.publisher.authority(operation.target)
    refuse_first(authority.refusals)
    rows = services.publisher.scope_rows(operation.plan, operation.target)
    if (
        authority.uuid != prepared.target_uuid
        or authority.digest != prepared.physical_authority_sha256
        or rows
    ):
        raise DponeError(
            "DPONE_TARGET_DIVERGED",
            f"{operation.model}: the target changed since the empty scope was confirmed",
            {"target_rows_in_scope": str(rows), "observed_uuid": authority.uuid},
        )
    return EmptyScopeReceipt.build(
        **fields,
        artifact_manifest_sha256=prepared.artifact_manifest_sha256,
        physical_authority_sha256=authority.digest,
        target_mutation_outcome="NOT_REQUIRED_EMPTY_SCOPE",
        target_rows_in_scope=rows,
    )
