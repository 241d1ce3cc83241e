"""The durable end of a workflow: its summary, and the release of what it held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_contracts.journal import OperationState
from dpone_contracts.summaries import DurableWorkflowSummary, FailedWorkflowSummary
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused
from dpone_mssql.literals import digest_bytes, digest_text

if TYPE_CHECKING:
    from dpone_contracts.bindings import WorkflowExecutionBinding
    from dpone_contracts.document import Document
    from dpone_mssql.connection import Transaction
    from dpone_mssql.control_schema import ControlNames
    from dpone_mssql.documents import StoredDocuments


class Summaries:
    """Workflow summaries as parts of a transaction."""

    def __init__(self, names: ControlNames, documents: StoredDocuments) -> None:
        self._sql = Statements("state/summary.sql", control=names.schema)
        self._documents = documents

    def persist(self, tx: Transaction, binding: WorkflowExecutionBinding, summary: Document) -> str:
        """Store the summary that the journals justify and release the guards; the same summary again is found.

        A failed workflow leaves its targets' guards at CLEANUP_REQUIRED and its allocations reserved.
        """
        execution = digest_bytes(binding.digest)
        there = tx.one(self._sql["summary"], execution)
        if there is not None:
            if digest_text(there[1]) != summary.digest:
                raise Refused(Reason("DPONE_SUMMARY_CONFLICT", "the execution has another summary", {}))
            return summary.digest
        match summary:
            case DurableWorkflowSummary():
                ended, release = OperationState.COMPLETE, "release_guards"
            case FailedWorkflowSummary():
                ended, release = OperationState.FAILED_PRE_COMMIT, "hold_failed_guards"
            case _:
                raise TypeError("a workflow ends with a durable or a failed summary")
        heads = {
            digest_text(operation): str(state)
            for operation, state in tx.rows(self._sql["journal_heads"], execution)
        }
        if sorted(heads) != sorted(summary.expected_operation_ids) or set(heads.values()) != {ended.value}:
            raise Refused(
                Reason(
                    "DPONE_SUMMARY_INCOMPLETE", f"not every operation of the workflow is {ended.value}", heads
                )
            )
        self._documents.put(tx, summary)
        tx.write(self._sql["insert_summary"], execution, summary.SCHEMA, digest_bytes(summary.digest))
        if ended is OperationState.COMPLETE:
            tx.write(self._sql["release_transient_allocations"], execution)
        tx.write(self._sql[release], execution)
        return summary.digest

    def read(self, tx: Transaction, workflow_execution_binding_sha256: str) -> bytes | None:
        """Read the stored summary of an execution, digest verified."""
        there = tx.one(self._sql["summary"], digest_bytes(workflow_execution_binding_sha256))
        return None if there is None else self._documents.get(tx, str(there[0]), digest_text(there[1]))
