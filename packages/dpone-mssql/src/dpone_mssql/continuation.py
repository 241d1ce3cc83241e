"""Handing one operation to the immediate successor try under a higher fence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.bindings import AttemptBinding
from dpone_contracts.effects import Reason
from dpone_contracts.ports.refresh_state import AdmittedOperation
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused
from dpone_mssql.heads import require_one
from dpone_mssql.literals import digest_bytes, digest_text

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptContinuationReceipt
    from dpone_contracts.ports.refresh_state import WorkerIdentity
    from dpone_contracts.receipts import TrustedAttemptTerminationReceipt
    from dpone_mssql.admission import AdmissionRows
    from dpone_mssql.connection import Transaction
    from dpone_mssql.control_schema import ControlNames
    from dpone_mssql.documents import StoredDocuments
    from dpone_mssql.journal import Journal


class Continuations:
    """Continuation receipts as parts of a transaction."""

    def __init__(
        self, names: ControlNames, documents: StoredDocuments, journal: Journal, admissions: AdmissionRows
    ) -> None:
        self._sql = Statements("state/continuation.sql", control=names.schema)
        self._documents = documents
        self._journal = journal
        self._admissions = admissions

    def hand_over(
        self,
        tx: Transaction,
        receipt: AttemptContinuationReceipt,
        termination: TrustedAttemptTerminationReceipt,
        worker: WorkerIdentity,
    ) -> AdmittedOperation:
        """Admit try N+1 of an operation; the same continuation by the same worker is found, not repeated.

        Everything that the receipt claims of SQL Server is checked again here, under the original fence.
        """
        epoch = self._admissions.next_epoch(tx)
        current = self._admissions.latest_of(tx, receipt.operation_id)
        if current is None:
            raise Refused(Reason("DPONE_ADMISSION_ABSENT", "the operation was never admitted", {}))
        done = tx.one(self._sql["continuation"], digest_bytes(receipt.operation_id))
        if done is not None:
            if digest_text(done[0]) == receipt.digest and _is_of(current.attempt, worker):
                return current
            raise _chain("the operation has been continued once already")
        original = current.attempt
        if receipt.try_number != original.try_number + 1 or not _names(receipt, worker):
            raise _chain(
                "a continuation goes to the immediate successor try of the same task, and is this worker's"
            )
        if worker.dag_run_id != original.dag_run_id:
            raise _chain("a new DagRun is a governed successor, never a continuation")
        _require_same(receipt, termination, current)
        self._journal.require_fence(tx, original)
        built = tx.one(self._sql["receipt"], digest_bytes(receipt.operation_id))
        if built is None or (digest_text(built[0]), digest_text(built[1])) != (
            receipt.build_receipt_sha256,
            receipt.operation_plan_sha256,
        ):
            raise Refused(
                Reason(
                    "DPONE_CONTINUATION_NOT_COMMITTED",
                    "the stored build receipt is not the one continued from",
                    {},
                )
            )
        attempt = AttemptBinding.build(
            dag_run_id=original.dag_run_id,
            fencing_epoch=epoch,
            operation_id=original.operation_id,
            operation_plan_sha256=original.operation_plan_sha256,
            owner_id=worker.owner_id,
            pod_uid=worker.pod_uid,
            task_id=worker.task_id,
            try_number=worker.try_number,
            workflow_execution_id=original.workflow_execution_id,
            workflow_execution_binding_sha256=original.workflow_execution_binding_sha256,
        )
        self._documents.put(tx, termination, operation_id=original.operation_id)
        self._documents.put(tx, receipt, operation_id=original.operation_id)
        self._admissions.insert_attempt(tx, attempt, 2, current.guard_resource_id)
        changed = tx.write(
            self._sql["hand_over_guard"],
            digest_bytes(attempt.digest),
            epoch,
            worker.owner_id,
            current.guard_resource_id,
            digest_bytes(original.operation_id),
            digest_bytes(original.digest),
            original.fencing_epoch,
        )
        require_one(changed, "guard")
        tx.write(
            self._sql["insert_continuation"],
            digest_bytes(original.operation_id),
            digest_bytes(original.digest),
            digest_bytes(attempt.digest),
            receipt.SCHEMA,
            digest_bytes(receipt.digest),
        )
        return AdmittedOperation(
            current.operation_id,
            attempt,
            current.guard_resource_id,
            current.reservation_id,
            current.allocations,
        )


def _is_of(attempt: AttemptBinding, worker: WorkerIdentity) -> bool:
    return (attempt.pod_uid, attempt.task_id, attempt.try_number, attempt.dag_run_id) == (
        worker.pod_uid,
        worker.task_id,
        worker.try_number,
        worker.dag_run_id,
    )


def _names(receipt: AttemptContinuationReceipt, worker: WorkerIdentity) -> bool:
    return (receipt.pod_uid, receipt.task_id, receipt.try_number) == (
        worker.pod_uid,
        worker.task_id,
        worker.try_number,
    )


def _chain(observed: str) -> Refused:
    return Refused(Reason("DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED", observed, {}))


def _require_same(
    receipt: AttemptContinuationReceipt,
    termination: TrustedAttemptTerminationReceipt,
    current: AdmittedOperation,
) -> None:
    original = current.attempt
    claimed = (
        receipt.original_attempt_binding_sha256,
        receipt.fencing_epoch,
        receipt.guard_resource_id,
        receipt.operation_plan_sha256,
        receipt.workflow_execution_binding_sha256,
    )
    stored = (
        original.digest,
        original.fencing_epoch,
        current.guard_resource_id,
        original.operation_plan_sha256,
        original.workflow_execution_binding_sha256,
    )
    ended = (
        termination.digest == receipt.original_attempt_termination_receipt_sha256
        and original.operation_id in termination.operation_ids
        and termination.pod_uid == original.pod_uid
        and termination.try_number == original.try_number
        and termination.workflow_execution_binding_sha256 == original.workflow_execution_binding_sha256
    )
    if claimed != stored or not ended:
        raise Refused(
            Reason(
                "DPONE_CONTINUATION_MISMATCH",
                "the continuation or termination receipt speaks of another attempt",
                {"attempt_binding_sha256": original.digest},
            )
        )
