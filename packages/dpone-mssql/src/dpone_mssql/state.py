"""`RefreshState` in SQL Server: each method one transaction over the parts that the other modules hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.bindings import WorkflowExecutionBinding
from dpone_contracts.journal import JournalEntry, OperationState
from dpone_mssql.admission import AdmissionRows
from dpone_mssql.connection import commit_serializable, read_consistently
from dpone_mssql.continuation import Continuations
from dpone_mssql.documents import StoredDocuments
from dpone_mssql.heads import Heads
from dpone_mssql.journal import Journal
from dpone_mssql.publication import Publication
from dpone_mssql.quiescence import quiescence_of
from dpone_mssql.summary import Summaries

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding, AttemptContinuationReceipt
    from dpone_contracts.document import Document
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.plan_bundle import PlanBundle
    from dpone_contracts.ports.refresh_state import (
        Admission,
        AdmittedOperation,
        AllocationAmounts,
        GuardRow,
        PublicationRows,
        WorkerIdentity,
    )
    from dpone_contracts.receipts import TrustedAttemptTerminationReceipt
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames

UNKNOWN = "DPONE_STATE_COMMIT_UNKNOWN"
ADMISSION_UNKNOWN = "DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN"


class MssqlRefreshState:
    """The control state of runs in one store."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._names = names
        self._documents = StoredDocuments(names)
        self._heads = Heads(names)
        self._journal = Journal(names, self._documents)
        self._admissions = AdmissionRows(names, self._documents, self._journal, self._heads)
        self._continuations = Continuations(names, self._documents, self._journal, self._admissions)
        self._publication = Publication(names, self._journal, self._heads)
        self._summaries = Summaries(names, self._documents)

    def bind_execution(
        self, binding: WorkflowExecutionBinding, bundle: PlanBundle, dag_run_id: str
    ) -> EffectResult[str]:
        """Bind a DagRun to a plan create-only."""
        return commit_serializable(
            self._config,
            lambda tx: self._admissions.bind(tx, binding, bundle.digest, dag_run_id),
            unknown_code=UNKNOWN,
        )

    def resolve_execution(self, deployment_id: str, plan_bundle_sha256: str) -> tuple[str, bytes] | None:
        """Read (dag_run_id, binding bytes) that a plan is bound to."""

        def resolve(tx: Transaction) -> tuple[str, bytes] | None:
            bound = self._admissions.resolve(tx, deployment_id, plan_bundle_sha256)
            if bound is None:
                return None
            dag_run_id, digest = bound
            data = self._documents.get(tx, WorkflowExecutionBinding.SCHEMA, digest)
            return None if data is None else (dag_run_id, data)

        return read_consistently(self._config, resolve)

    def admit(
        self,
        binding: WorkflowExecutionBinding,
        bundle: PlanBundle,
        worker: WorkerIdentity,
        amounts: dict[str, AllocationAmounts],
    ) -> EffectResult[Admission]:
        """Acquire everything that the workflow needs, or nothing."""
        return commit_serializable(
            self._config,
            lambda tx: self._admissions.admit(tx, binding, bundle, worker, amounts),
            unknown_code=ADMISSION_UNKNOWN,
        )

    def read_admission(self, workflow_execution_binding_sha256: str) -> Admission | None:
        """Read an execution's admission with the latest attempt of every operation."""
        return read_consistently(
            self._config, lambda tx: self._admissions.latest(tx, workflow_execution_binding_sha256)
        )

    def plan_of(self, operation_id: str) -> tuple[str, str] | None:
        """Read the plan that an admitted operation belongs to."""
        return read_consistently(self._config, lambda tx: self._admissions.plan_of(tx, operation_id))

    def guards(self, resource_ids: tuple[str, ...]) -> tuple[GuardRow, ...]:
        """Read those guards that were ever acquired."""

        def read(tx: Transaction) -> tuple[GuardRow, ...]:
            found = (self._admissions.guard(tx, resource_id) for resource_id in resource_ids)
            return tuple(row for row in found if row is not None)

        return read_consistently(self._config, read)

    def guard_quiescence(self, operation_id: str) -> tuple[int, bool] | None:
        """Observe sessions and guard of an operation's latest attempt."""
        current = read_consistently(self._config, lambda tx: self._admissions.latest_of(tx, operation_id))
        return None if current is None else quiescence_of(self._config, self._names, current)

    def continue_attempt(
        self,
        continuation: AttemptContinuationReceipt,
        termination: TrustedAttemptTerminationReceipt,
        worker: WorkerIdentity,
    ) -> EffectResult[AdmittedOperation]:
        """Hand one operation to the immediate successor try."""
        return commit_serializable(
            self._config,
            lambda tx: self._continuations.hand_over(tx, continuation, termination, worker),
            unknown_code=UNKNOWN,
        )

    def record_intent(self, attempt: AttemptBinding) -> EffectResult[None]:
        """Persist INVOCATION_INTENT before dbt is launched."""
        return commit_serializable(
            self._config, lambda tx: self._journal.record_intent(tx, attempt), unknown_code=UNKNOWN
        )

    def journal(self, operation_id: str) -> tuple[JournalEntry, ...]:
        """Read all entries of an operation by version."""
        return read_consistently(self._config, lambda tx: self._journal.entries(tx, operation_id))

    def append(
        self, attempt: AttemptBinding, expected: OperationState, state: OperationState, proof: Document
    ) -> EffectResult[JournalEntry]:
        """Append one entry behind the fence."""
        return commit_serializable(
            self._config,
            lambda tx: self._journal.append(tx, attempt, expected, state, proof),
            unknown_code=UNKNOWN,
        )

    def append_prepared(self, entries: tuple[tuple[AttemptBinding, Document], ...]) -> EffectResult[None]:
        """Move every operation of a workflow from PREPARING to PREPARED together."""

        def prepare(tx: Transaction) -> None:
            for attempt, proof in sorted(entries, key=lambda entry: entry[0].operation_id):
                self._journal.append(tx, attempt, OperationState.PREPARING, OperationState.PREPARED, proof)

        return commit_serializable(self._config, prepare, unknown_code=UNKNOWN)

    def publication_rows(self, operation_id: str) -> PublicationRows:
        """Read heads, checkpoint and journal of an operation in one transaction."""
        return read_consistently(self._config, lambda tx: self._publication.rows(tx, operation_id))

    def publish(
        self, attempt: AttemptBinding, before: PublicationRows, after: PublicationRows, receipt: Document
    ) -> EffectResult[PublicationRows]:
        """Replace `before` by `after` under the attempt's fence."""
        return commit_serializable(
            self._config,
            lambda tx: self._publication.publish(tx, attempt, before, after, receipt),
            unknown_code=UNKNOWN,
        )

    def persist_summary(self, binding: WorkflowExecutionBinding, summary: Document) -> EffectResult[str]:
        """Store the summary create-only and release the workflow's guards."""
        return commit_serializable(
            self._config, lambda tx: self._summaries.persist(tx, binding, summary), unknown_code=UNKNOWN
        )

    def read_summary(self, workflow_execution_binding_sha256: str) -> bytes | None:
        """Read the stored summary of an execution."""
        return read_consistently(
            self._config, lambda tx: self._summaries.read(tx, workflow_execution_binding_sha256)
        )
