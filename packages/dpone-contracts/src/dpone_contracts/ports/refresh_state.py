"""Transactional refresh state: bindings, guards, fences, attempts, journal, heads, summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding, AttemptContinuationReceipt, WorkflowExecutionBinding
    from dpone_contracts.document import Document
    from dpone_contracts.journal import JournalEntry, OperationState
    from dpone_contracts.plan_bundle import PlanBundle
    from dpone_contracts.ports.activation_store import Checkpoint, ScopeHead, TargetHead
    from dpone_contracts.receipts import TrustedAttemptTerminationReceipt


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Who runs an attempt: the actual task try and its pod."""

    dag_run_id: str
    task_id: str
    try_number: int
    pod_uid: str
    owner_id: str


@dataclass(frozen=True, slots=True)
class AllocationAmounts:
    """What one operation reserves: bytes, and one prepared model (specification, cleanup's five allocations)."""

    clickhouse_staging_bytes: int
    prepared_models: int
    retained_generation_bytes: int
    sealed_extract_bytes: int
    shadow_bytes: int


@dataclass(frozen=True, slots=True)
class GuardHolder:
    """Who holds a guard that an admission wanted."""

    resource_id: str
    operation_id: str
    attempt_binding_sha256: str
    fencing_epoch: int


@dataclass(frozen=True, slots=True)
class GuardRow:
    """A guard as it stands: `status` ACTIVE, RELEASED or CLEANUP_REQUIRED; a workflow's guard has no operation."""

    resource_id: str
    status: str
    fencing_epoch: int
    workflow_execution_binding_sha256: str
    operation_id: str | None
    attempt_binding_sha256: str | None


@dataclass(frozen=True, slots=True)
class AdmittedOperation:
    """One operation of an admitted workflow: its attempt and what it holds."""

    operation_id: str
    attempt: AttemptBinding
    guard_resource_id: str
    reservation_id: str
    allocations: tuple[tuple[str, str, int], ...]
    """(allocation_id, resource_kind, amount), five of them, sorted by kind."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The admitted workflow: every operation of the plan, sorted by operation id."""

    workflow_execution_id: str
    workflow_execution_binding_sha256: str
    operations: tuple[AdmittedOperation, ...]


@dataclass(frozen=True, slots=True)
class PublicationRows:
    """All rows that one state publication changes, as they stand now or shall stand."""

    target_head: TargetHead | None
    scope_head: ScopeHead | None
    checkpoint: Checkpoint | None
    journal_state: OperationState
    journal_version: int


class RefreshState(Protocol):
    """The control state of runs. Every COMMIT is one SERIALIZABLE transaction on the primary."""

    @effect(EffectKind.COMMIT)
    def bind_execution(
        self, binding: WorkflowExecutionBinding, bundle: PlanBundle, dag_run_id: str
    ) -> EffectResult[str]:
        """Persist the binding of a DagRun to a plan create-only; one plan binds one DagRun, for ever."""
        ...

    @effect(EffectKind.READ)
    def resolve_execution(self, deployment_id: str, plan_bundle_sha256: str) -> tuple[str, bytes] | None:
        """(dag_run_id, binding bytes) that a plan is bound to."""
        ...

    @effect(EffectKind.COMMIT)
    def admit(
        self,
        binding: WorkflowExecutionBinding,
        bundle: PlanBundle,
        worker: WorkerIdentity,
        amounts: dict[str, AllocationAmounts],
    ) -> EffectResult[Admission]:
        """Acquire the complete sorted guard set, fences, attempts, reservations and PREPARING journals, or nothing.

        `amounts` is by operation id. Predecessor heads and scope heads are checked against the plan in the
        same transaction. Refusals are NotApplied with the holder; a commit that was sent and not answered is
        Unknown with DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN.
        """
        ...

    @effect(EffectKind.READ)
    def read_admission(self, workflow_execution_binding_sha256: str) -> Admission | None:
        """The admission of an execution with the latest attempt of every operation."""
        ...

    @effect(EffectKind.READ)
    def plan_of(self, operation_id: str) -> tuple[str, str] | None:
        """(deployment_id, plan_bundle_sha256) of an admitted operation."""
        ...

    @effect(EffectKind.READ)
    def guards(self, resource_ids: tuple[str, ...]) -> tuple[GuardRow, ...]:
        """Those guards that were ever acquired, in the order asked for."""
        ...

    @effect(EffectKind.READ)
    def guard_quiescence(self, operation_id: str) -> tuple[int, bool] | None:
        """(active sessions of the operation's attempt, guard lock acquirable) or None where that can't be seen."""
        ...

    @effect(EffectKind.COMMIT)
    def continue_attempt(
        self,
        continuation: AttemptContinuationReceipt,
        termination: TrustedAttemptTerminationReceipt,
        worker: WorkerIdentity,
    ) -> EffectResult[AdmittedOperation]:
        """Hand one operation to the immediate successor try: receipts, new attempt and higher fence in one transaction."""
        ...

    @effect(EffectKind.COMMIT)
    def record_intent(self, attempt: AttemptBinding) -> EffectResult[None]:
        """Persist INVOCATION_INTENT of an attempt before dbt is launched."""
        ...

    @effect(EffectKind.READ)
    def journal(self, operation_id: str) -> tuple[JournalEntry, ...]:
        """All entries of an operation, by version."""
        ...

    @effect(EffectKind.COMMIT)
    def append(
        self, attempt: AttemptBinding, expected: OperationState, state: OperationState, proof: Document
    ) -> EffectResult[JournalEntry]:
        """Store the proving document and append one entry, if the head state is `expected` and the fence is the attempt's."""
        ...

    @effect(EffectKind.COMMIT)
    def append_prepared(self, entries: tuple[tuple[AttemptBinding, Document], ...]) -> EffectResult[None]:
        """Move every operation of a workflow from PREPARING to PREPARED in one transaction, each with its receipt."""
        ...

    @effect(EffectKind.READ)
    def publication_rows(self, operation_id: str) -> PublicationRows:
        """Heads, checkpoint and journal as they stand for an operation, read in one snapshot."""
        ...

    @effect(EffectKind.COMMIT)
    def publish(
        self, attempt: AttemptBinding, before: PublicationRows, after: PublicationRows, receipt: Document
    ) -> EffectResult[PublicationRows]:
        """Replace `before` by `after` in one SERIALIZABLE transaction under the attempt's fence; no retry."""
        ...

    @effect(EffectKind.COMMIT)
    def persist_summary(self, binding: WorkflowExecutionBinding, summary: Document) -> EffectResult[str]:
        """Store the durable summary create-only and release the workflow's guards in the same transaction."""
        ...

    @effect(EffectKind.READ)
    def read_summary(self, workflow_execution_binding_sha256: str) -> bytes | None:
        """The stored summary of an execution."""
        ...
