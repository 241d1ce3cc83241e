"""SUMMARISE: one durable summary over protected state; without it no success is announced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone.application.operation import Run, head_of, stored
from dpone.application.services import Services, require
from dpone_contracts.artifacts import SealedArtifactManifest
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.run_receipts import EmptyScopeReceipt, ExchangeReceipt, PublicationReceipt
from dpone_contracts.summaries import DurableWorkflowSummary

if TYPE_CHECKING:
    from dpone.application.operation import Operation


def summarise(services: Services, run: Run) -> DurableWorkflowSummary:
    """Persist the summary of a workflow all of whose operations are COMPLETE; the same summary again is reused."""
    there = services.state.read_summary(run.binding.digest)
    if there is not None:
        return DurableWorkflowSummary.from_bytes(there)
    summary = DurableWorkflowSummary.build(
        expected_operation_ids=sorted(operation.plan.operation_id for operation in run.operations),
        publications=sorted(
            (_publication(services, run, operation) for operation in run.operations),
            key=lambda publication: str(publication["operation_id"]),
        ),
        status="FULLY_COMPLETE",
        workflow_execution_binding_sha256=run.binding.digest,
        workflow_execution_id=run.binding.workflow_execution_id,
        workflow_plan_sha256=run.binding.workflow_plan_sha256,
    )
    require(services.state.persist_summary(run.binding, summary))
    return summary


def _publication(services: Services, run: Run, operation: Operation) -> dict[str, object]:
    state = head_of(services, operation).state
    manifest = stored(services, operation.plan.operation_id, SealedArtifactManifest)
    exchange = stored(services, operation.plan.operation_id, ExchangeReceipt)
    empty = stored(services, operation.plan.operation_id, EmptyScopeReceipt)
    receipt = empty or stored(services, operation.plan.operation_id, PublicationReceipt)
    terminal = exchange or empty
    if state is not OperationState.COMPLETE or manifest is None or terminal is None or receipt is None:
        raise DponeError("DPONE_SUMMARY_INCOMPLETE", f"{operation.model}: the journal is at {state.value}")
    return {
        "artifact_manifest_sha256": manifest.digest,
        "attempt_binding_sha256": manifest.attempt_binding_sha256,
        "clickhouse_terminal_receipt_sha256": terminal.digest,
        "operation_id": operation.plan.operation_id,
        "operation_plan_sha256": operation.plan.digest,
        "scope_revision": operation.plan.scope_revision,
        "status": "COMPLETE",
        "target_generation": receipt.target_generation,
        "terminal_receipt_sha256": receipt.digest,
        "workflow_execution_binding_sha256": run.binding.digest,
    }
