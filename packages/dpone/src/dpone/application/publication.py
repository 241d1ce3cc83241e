"""PUBLISH: heads, checkpoint and journal of one model in one SERIALIZABLE transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from dpone_contracts.identity import generation_id_after_publication
from dpone_contracts.outcomes import PublicationOutcome, classify_publication

from dpone.application.commit import prepared_receipt
from dpone.application.operation import Operation, head_of, stored
from dpone.application.services import Services, refuse, refuse_first, require
from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.ports.activation_store import Checkpoint, ScopeHead, TargetHead
from dpone_contracts.run_receipts import (
    ClickHouseTerminalReceipt,
    PreparedGenerationReceipt,
    PublicationReceipt,
)

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import PublicationRows
    from dpone_contracts.run_receipts import PreparedGenerationReceipt


def publish(services: Services, operation: Operation) -> None:
    """Publish one committed (or confirmed empty) operation; a lost acknowledgement is settled by reading all rows."""
    head = head_of(services, operation)
    if head.state is OperationState.COMPLETE:
        return
    prepared = prepared_receipt(services, operation)
    empty = prepared.generation is None
    ready = (
        {OperationState.PREPARED}
        if empty
        else {OperationState.TARGET_COMMITTED, OperationState.COMMITTED_INCOMPLETE}
    )
    if head.state not in ready:
        raise DponeError(
            "DPONE_PUBLICATION_NOT_READY", f"{operation.model}: the journal is at {head.state.value}"
        )
    if empty:
        terminal = _confirm_empty(services, operation, prepared)
    else:
        found = stored(services, operation.plan.operation_id, ClickHouseTerminalReceipt)
        if found is None:
            raise DponeError(
                "DPONE_PUBLICATION_NOT_READY", f"{operation.model}: no ClickHouse terminal receipt"
            )
        terminal = found
    before = services.state.publication_rows(operation.plan.operation_id)
    after = successor_rows(operation, before, terminal)
    receipt = _receipt(services, operation, terminal, before, after)
    result = services.state.publish(operation.admitted.attempt, before, after, receipt)
    match result:
        case Applied():
            return
        case NotApplied(reason):
            refuse(reason)
        case Unknown(reason):
            there = services.state.publication_rows(operation.plan.operation_id)
            if classify_publication(there, before, after) is PublicationOutcome.SUCCESSOR:
                return
            refuse(reason)
        case _:
            assert_never(result)


def _confirm_empty(
    services: Services, operation: Operation, prepared: PreparedGenerationReceipt
) -> ClickHouseTerminalReceipt:
    """Observe the unchanged target once more and keep what proves the no-swap edge."""
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
    receipt = ClickHouseTerminalReceipt.build(
        operation_id=operation.plan.operation_id,
        operation_plan_sha256=operation.plan.digest,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        prepared_generation_receipt_sha256=prepared.digest,
        target_relation=prepared.target_relation,
        predecessor_uuid=prepared.target_uuid,
        observed_target_uuid=authority.uuid,
        physical_authority_sha256=authority.digest,
        target_mutation_outcome="NOT_REQUIRED_EMPTY_SCOPE",
        observed_at=services.clock.now(),
    )
    require(services.documents.persist(operation.plan.operation_id, receipt))
    return receipt


def successor_rows(
    operation: Operation, before: PublicationRows, terminal: ClickHouseTerminalReceipt
) -> PublicationRows:
    """All rows as the publication must leave them."""
    plan, head = operation.plan, before.target_head
    if head is None:
        raise DponeError("DPONE_TARGET_HEAD_MOVED", f"{operation.model}: the target has no head")
    target_head = head
    if terminal.target_mutation_outcome == "EXCHANGED":
        assert terminal.successor_uuid is not None
        target_head = TargetHead(
            target_authority_id=head.target_authority_id,
            generation=head.generation + 1,
            generation_id=generation_id_after_publication(
                operation.target, plan, terminal, head.generation + 1
            ),
            target_uuid=terminal.successor_uuid,
            owner_operation_id=plan.operation_id,
            terminal_receipt_sha256=terminal.digest,
        )
    covered = before.checkpoint.covered_until if before.checkpoint else plan.scope_start
    return replace(
        before,
        target_head=target_head,
        scope_head=ScopeHead(plan.scope_family_id, plan.scope_start, plan.scope_revision, plan.operation_id),
        checkpoint=Checkpoint(
            plan.scope_family_id, plan.scope_end if covered == plan.scope_start else covered
        ),
        journal_state=OperationState.COMPLETE,
        journal_version=before.journal_version + 1,
    )


def _receipt(
    services: Services,
    operation: Operation,
    terminal: ClickHouseTerminalReceipt,
    before: PublicationRows,
    after: PublicationRows,
) -> PublicationReceipt:
    assert before.target_head is not None
    assert after.target_head is not None
    assert after.checkpoint is not None
    return PublicationReceipt.build(
        operation_id=operation.plan.operation_id,
        operation_plan_sha256=operation.plan.digest,
        attempt_binding_sha256=operation.admitted.attempt.digest,
        clickhouse_terminal_receipt_sha256=terminal.digest,
        target_authority_id=after.target_head.target_authority_id,
        predecessor_generation=before.target_head.generation,
        predecessor_generation_id=before.target_head.generation_id,
        target_generation=after.target_head.generation,
        target_generation_id=after.target_head.generation_id,
        target_uuid=after.target_head.target_uuid,
        scope_family_id=operation.plan.scope_family_id,
        scope_start=operation.plan.scope_start,
        scope_revision=operation.plan.scope_revision,
        checkpoint_covered_until=after.checkpoint.covered_until,
        journal_version=after.journal_version,
        published_at=services.clock.now(),
    )
