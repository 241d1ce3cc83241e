"""`RefreshState` in memory: executions, guards, fences, attempts, journals, publication and summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.bindings import AttemptBinding
from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.cleanup import RESOURCE_KINDS, allocation_id
from dpone_contracts.journal import EntryRefused, JournalEntry, OperationState, advance, reduce_journal
from dpone_contracts.ports.refresh_state import Admission, AdmittedOperation, GuardRow, PublicationRows
from dpone_contracts.summaries import DurableWorkflowSummary
from dpone_contracts.testing.memory_control import (
    ControlRows,
    HeldGuard,
    RefusedError,
    bundle_of,
    put_document,
)

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptContinuationReceipt, WorkflowExecutionBinding
    from dpone_contracts.document import Document
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.plan_bundle import PlanBundle, PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import AllocationAmounts, WorkerIdentity
    from dpone_contracts.receipts import TrustedAttemptTerminationReceipt
    from dpone_contracts.testing.memory_control import MemoryControl
    from dpone_contracts.testing.memory_edges import SteppingClock


@dataclass(frozen=True, slots=True)
class MemoryRefreshState:
    """`RefreshState` over the control rows."""

    control: MemoryControl
    clock: SteppingClock

    def bind_execution(
        self, binding: WorkflowExecutionBinding, bundle: PlanBundle, dag_run_id: str
    ) -> EffectResult[str]:
        """Bind a DagRun to a plan create-only."""

        def bind(rows: ControlRows) -> str:
            wanted = (dag_run_id, binding.digest)
            there = rows.executions.setdefault((binding.deployment_id, bundle.digest), wanted)
            if there != wanted:
                raise RefusedError(
                    "DPONE_PLAN_BOUND_TO_OTHER_RUN",
                    "the plan is bound to another DagRun",
                    dag_run_id=there[0],
                )
            put_document(rows, binding, None)
            return binding.digest

        return self.control.commit(bind)

    def resolve_execution(self, deployment_id: str, plan_bundle_sha256: str) -> tuple[str, bytes] | None:
        """(dag_run_id, binding bytes) of a plan."""
        rows = self.control.rows
        bound = rows.executions.get((deployment_id, plan_bundle_sha256))
        if bound is None:
            return None
        schema = "dpone.semantic-refresh-workflow-execution-binding.v1"
        return bound[0], rows.documents[(schema, bound[1])]

    def admit(
        self,
        binding: WorkflowExecutionBinding,
        bundle: PlanBundle,
        worker: WorkerIdentity,
        amounts: dict[str, AllocationAmounts],
    ) -> EffectResult[Admission]:
        """Acquire everything that the workflow needs, or nothing."""

        def acquire(rows: ControlRows) -> Admission:
            if rows.executions.get((binding.deployment_id, bundle.digest)) != (
                worker.dag_run_id,
                binding.digest,
            ):
                raise RefusedError("DPONE_EXECUTION_NOT_BOUND", "the plan is not bound to this DagRun")
            if any(plan.operation_id in rows.attempts for plan in bundle.operation_plans):
                raise RefusedError("DPONE_ADMISSION_EXISTS", "the execution has been admitted before")
            targets = {target.model_unique_id: target for target in bundle.targets}
            for plan in bundle.operation_plans:
                _require_predecessors(rows, plan, targets[plan.model_unique_id])
            closure = bundle.run_guard_closure
            _require_free(rows, sorted({*closure.resource_guard_ids, closure.workflow_guard_resource_id}))
            operations = []
            for plan in sorted(bundle.operation_plans, key=lambda plan: plan.operation_id):
                resource = targets[plan.model_unique_id].target_resource_id
                rows.plan_of[plan.operation_id] = (binding.deployment_id, bundle.digest)
                operations.append(
                    self._start(rows, binding, plan, worker, resource, amounts[plan.operation_id])
                )
            rows.fence_counter += 1
            workflow = HeldGuard(binding.digest, None, None, rows.fence_counter)
            rows.guards[closure.workflow_guard_resource_id] = workflow
            return Admission(binding.workflow_execution_id, binding.digest, tuple(operations))

        return self.control.commit(acquire)

    def read_admission(self, workflow_execution_binding_sha256: str) -> Admission | None:
        """The admission of an execution with the latest attempt of every operation."""
        latest = [
            attempts[-1]
            for _, attempts in sorted(self.control.rows.attempts.items())
            if attempts[-1].attempt.workflow_execution_binding_sha256 == workflow_execution_binding_sha256
        ]
        if not latest:
            return None
        return Admission(
            latest[0].attempt.workflow_execution_id, workflow_execution_binding_sha256, tuple(latest)
        )

    def plan_of(self, operation_id: str) -> tuple[str, str] | None:
        """(deployment_id, plan_bundle_sha256) of an admitted operation."""
        return self.control.rows.plan_of.get(operation_id)

    def guards(self, resource_ids: tuple[str, ...]) -> tuple[GuardRow, ...]:
        """Those guards that were ever acquired."""
        held = self.control.rows.guards
        return tuple(
            GuardRow(name, row.status, row.fence, row.execution, row.operation, row.attempt)
            for name in resource_ids
            if (row := held.get(name)) is not None
        )

    def guard_quiescence(self, operation_id: str) -> tuple[int, bool] | None:
        """Whether sessions of the operation's latest attempt are alive."""
        attempts = self.control.rows.attempts.get(operation_id)
        if attempts is None:
            return None
        alive = attempts[-1].attempt.digest in self.control.live_attempts
        return (1, False) if alive else (0, True)

    def continue_attempt(
        self,
        continuation: AttemptContinuationReceipt,
        termination: TrustedAttemptTerminationReceipt,
        worker: WorkerIdentity,
    ) -> EffectResult[AdmittedOperation]:
        """Hand one operation to the immediate successor try."""

        def hand_over(rows: ControlRows) -> AdmittedOperation:
            attempts = rows.attempts.get(continuation.operation_id, [])
            if not attempts:
                raise RefusedError("DPONE_ADMISSION_ABSENT", "the operation was never admitted")
            if len(attempts) > 1:
                if attempts[-1].attempt.pod_uid == worker.pod_uid:
                    return attempts[-1]
                raise _chain("the operation has been continued once already")
            original = attempts[0].attempt
            if worker.dag_run_id != original.dag_run_id or worker.try_number != original.try_number + 1:
                raise _chain("a continuation goes to the immediate successor try of the same DagRun")
            _require_same(continuation, termination, original)
            require_fence(rows, original)
            built = rows.build_receipts.get(original.operation_id)
            if (
                built is None
                or ModelBuildReceipt.from_bytes(built).digest != continuation.build_receipt_sha256
            ):
                raise RefusedError(
                    "DPONE_CONTINUATION_NOT_COMMITTED", "the stored build receipt is another one"
                )
            rows.fence_counter += 1
            successor = AdmittedOperation(
                original.operation_id,
                _attempt(original, worker, rows.fence_counter),
                attempts[0].guard_resource_id,
                attempts[0].reservation_id,
                attempts[0].allocations,
            )
            for document in (termination, continuation, successor.attempt):
                put_document(rows, document, original.operation_id)
            guard = rows.guards[successor.guard_resource_id]
            guard.attempt, guard.fence = successor.attempt.digest, rows.fence_counter
            attempts.append(successor)
            return successor

        return self.control.commit(hand_over)

    def record_intent(self, attempt: AttemptBinding) -> EffectResult[None]:
        """Persist INVOCATION_INTENT once."""

        def record(rows: ControlRows) -> None:
            require_fence(rows, attempt)
            if attempt.digest in rows.intents or attempt.digest in rows.fates:
                raise RefusedError("DPONE_ATTEMPT_ALREADY_INVOKED", "this attempt has been launched before")
            rows.intents.add(attempt.digest)

        return self.control.commit(record)

    def journal(self, operation_id: str) -> tuple[JournalEntry, ...]:
        """All entries of an operation."""
        return tuple(self.control.rows.journals.get(operation_id, ()))

    def append(
        self, attempt: AttemptBinding, expected: OperationState, state: OperationState, proof: Document
    ) -> EffectResult[JournalEntry]:
        """Append one entry behind the fence; the very entry again is found."""
        return self.control.commit(lambda rows: self._append(rows, attempt, expected, state, proof))

    def append_prepared(self, entries: tuple[tuple[AttemptBinding, Document], ...]) -> EffectResult[None]:
        """Move every operation from PREPARING to PREPARED together."""

        def prepare(rows: ControlRows) -> None:
            for attempt, proof in entries:
                self._append(rows, attempt, OperationState.PREPARING, OperationState.PREPARED, proof)

        return self.control.commit(prepare)

    def publication_rows(self, operation_id: str) -> PublicationRows:
        """Heads, checkpoint and journal of an operation."""
        return _publication_rows(self.control.rows, operation_id)

    def publish(
        self, attempt: AttemptBinding, before: PublicationRows, after: PublicationRows, receipt: Document
    ) -> EffectResult[PublicationRows]:
        """Replace `before` by `after` under the attempt's fence."""

        def replace(rows: ControlRows) -> PublicationRows:
            require_fence(rows, attempt)
            there = _publication_rows(rows, attempt.operation_id)
            if there == after:
                return after
            if (
                there != before
                or after.target_head is None
                or after.scope_head is None
                or after.checkpoint is None
            ):
                raise RefusedError(
                    "DPONE_PUBLICATION_ROWS_MOVED", "the rows are not what the publication starts from"
                )
            rows.target_heads[after.target_head.target_authority_id] = after.target_head
            scope = (after.scope_head.scope_family_id, after.scope_head.scope_start)
            rows.scope_heads[scope] = after.scope_head
            rows.checkpoints[after.checkpoint.scope_family_id] = after.checkpoint
            self._append(rows, attempt, before.journal_state, after.journal_state, receipt)
            return _publication_rows(rows, attempt.operation_id)

        return self.control.commit(replace)

    def persist_summary(self, binding: WorkflowExecutionBinding, summary: Document) -> EffectResult[str]:
        """Store the summary that the journals justify and release the guards."""

        def persist(rows: ControlRows) -> str:
            there = rows.summaries.get(binding.digest)
            if there is not None and there[1] != summary.digest:
                raise RefusedError("DPONE_SUMMARY_CONFLICT", "the execution has another summary")
            durable = isinstance(summary, DurableWorkflowSummary)
            ended = OperationState.COMPLETE if durable else OperationState.FAILED_PRE_COMMIT
            held = [guard for guard in rows.guards.values() if guard.execution == binding.digest]
            states = {
                guard.operation: rows.journals[guard.operation][-1].state for guard in held if guard.operation
            }
            if set(states.values()) - {ended}:
                raise RefusedError("DPONE_SUMMARY_INCOMPLETE", f"not every operation is {ended}")
            put_document(rows, summary, None)
            rows.summaries[binding.digest] = (summary.SCHEMA, summary.digest)
            for guard in held:
                guard.status = "RELEASED" if durable or guard.operation is None else "CLEANUP_REQUIRED"
            return summary.digest

        return self.control.commit(persist)

    def read_summary(self, workflow_execution_binding_sha256: str) -> bytes | None:
        """The stored summary of an execution."""
        rows = self.control.rows
        there = rows.summaries.get(workflow_execution_binding_sha256)
        return None if there is None else rows.documents[there]

    def _start(
        self,
        rows: ControlRows,
        binding: WorkflowExecutionBinding,
        plan: OperationPlan,
        worker: WorkerIdentity,
        resource: str,
        amounts: AllocationAmounts,
    ) -> AdmittedOperation:
        rows.fence_counter += 1
        attempt = AttemptBinding.build(
            dag_run_id=worker.dag_run_id,
            fencing_epoch=rows.fence_counter,
            operation_id=plan.operation_id,
            operation_plan_sha256=plan.digest,
            owner_id=worker.owner_id,
            pod_uid=worker.pod_uid,
            task_id=worker.task_id,
            try_number=worker.try_number,
            workflow_execution_id=binding.workflow_execution_id,
            workflow_execution_binding_sha256=binding.digest,
        )
        reservation = f"reservation-{binding.digest[7:39]}-{plan.operation_id[7:39]}"
        allocations = tuple(
            (allocation_id(plan.operation_id, reservation, kind), kind, int(getattr(amounts, kind)))
            for kind in RESOURCE_KINDS
        )
        put_document(rows, attempt, plan.operation_id)
        rows.guards[resource] = HeldGuard(
            binding.digest, plan.operation_id, attempt.digest, attempt.fencing_epoch
        )
        rows.journals[plan.operation_id] = []
        self._entry(rows, attempt, OperationState.PREPARING, attempt)
        admitted = AdmittedOperation(plan.operation_id, attempt, resource, reservation, allocations)
        rows.attempts[plan.operation_id] = [admitted]
        return admitted

    def _append(
        self,
        rows: ControlRows,
        attempt: AttemptBinding,
        expected: OperationState,
        state: OperationState,
        proof: Document,
    ) -> JournalEntry:
        require_fence(rows, attempt)
        last = rows.journals[attempt.operation_id][-1]
        if (last.state, last.attempt_binding_sha256, last.receipt_sha256) == (
            state,
            attempt.digest,
            proof.digest,
        ):
            return last
        if last.state is not expected:
            raise RefusedError(
                "DPONE_JOURNAL_EDGE_REFUSED", f"the journal is at {last.state}, not at {expected}"
            )
        put_document(rows, proof, attempt.operation_id)
        return self._entry(rows, attempt, state, proof)

    def _entry(
        self, rows: ControlRows, attempt: AttemptBinding, state: OperationState, proof: Document
    ) -> JournalEntry:
        entries = rows.journals[attempt.operation_id]
        head = reduce_journal(entries)
        entry = JournalEntry(
            operation_id=attempt.operation_id,
            version=head.version + 1 if head else 1,
            state=state,
            predecessor=head.state if head else None,
            attempt_binding_sha256=attempt.digest,
            receipt_schema=proof.SCHEMA,
            receipt_sha256=proof.digest,
            recorded_at=self.clock.now(),
        )
        after = advance(head, entry)
        if isinstance(after, EntryRefused):
            raise RefusedError(
                "DPONE_JOURNAL_EDGE_REFUSED", f"{after.rule}: {after.observed}", rule=after.rule
            )
        entries.append(entry)
        return entry


def require_fence(rows: ControlRows, attempt: AttemptBinding) -> None:
    """Refuse unless the operation's guard is exactly this attempt's, ACTIVE, under its fence."""
    wanted = (attempt.operation_id, attempt.digest, attempt.fencing_epoch, "ACTIVE")
    held = ((guard.operation, guard.attempt, guard.fence, guard.status) for guard in rows.guards.values())
    if wanted not in held:
        raise RefusedError(
            "DPONE_FENCE_LOST", "the guard is not held by this attempt under this fencing epoch"
        )


def _require_predecessors(rows: ControlRows, plan: OperationPlan, target: PlanTarget) -> None:
    owner = rows.owners.get(target.clickhouse_target_authority_id)
    if owner is None or owner[:2] != (plan.deployment_id, plan.model_unique_id):
        raise RefusedError(
            "DPONE_TARGET_OWNED", "the target is not owned by this plan's deployment and model"
        )
    head = rows.target_heads[target.clickhouse_target_authority_id]
    if (head.generation_id, head.target_uuid) != (
        plan.target_predecessor_generation_id,
        target.clickhouse_target_uuid,
    ):
        raise RefusedError("DPONE_TARGET_HEAD_MOVED", "the target's head is not the planned predecessor")
    scope = rows.scope_heads.get((plan.scope_family_id, plan.scope_start))
    found = (0, None) if scope is None else (scope.scope_revision, scope.operation_id)
    if found != (plan.scope_revision - 1, plan.scope_predecessor_operation_id):
        raise RefusedError("DPONE_SCOPE_HEAD_MOVED", f"the scope stands at revision {found[0]}")


def _require_free(rows: ControlRows, resources: list[str]) -> None:
    held = {}
    for resource in resources:
        guard = rows.guards.get(resource)
        if guard is None or guard.status == "RELEASED":
            continue
        if guard.status == "ACTIVE":
            holder, attempt = guard.operation or "workflow", guard.attempt or "workflow"
            held[resource] = f"{holder} attempt {attempt} fence {guard.fence}"
            continue
        if guard.operation not in rows.acknowledged:
            raise RefusedError("DPONE_CLEANUP_REQUIRED", "a failed operation has not been cleaned up")
    if held:
        raise RefusedError("DPONE_GUARD_HELD", "another run holds a guard", **held)


def _require_same(
    receipt: AttemptContinuationReceipt,
    termination: TrustedAttemptTerminationReceipt,
    original: AttemptBinding,
) -> None:
    same = (
        receipt.original_attempt_binding_sha256 == original.digest
        and receipt.fencing_epoch == original.fencing_epoch
        and receipt.original_attempt_termination_receipt_sha256 == termination.digest
        and original.operation_id in termination.operation_ids
        and termination.pod_uid == original.pod_uid
    )
    if not same:
        raise RefusedError("DPONE_CONTINUATION_MISMATCH", "a receipt speaks of another attempt")


def _attempt(original: AttemptBinding, worker: WorkerIdentity, fence: int) -> AttemptBinding:
    return AttemptBinding.build(
        dag_run_id=original.dag_run_id,
        fencing_epoch=fence,
        operation_id=original.operation_id,
        operation_plan_sha256=original.operation_plan_sha256,
        owner_id=worker.owner_id,
        pod_uid=worker.pod_uid,
        task_id=worker.task_id,
        try_number=worker.try_number,
        workflow_execution_id=original.workflow_execution_id,
        workflow_execution_binding_sha256=original.workflow_execution_binding_sha256,
    )


def _chain(observed: str) -> RefusedError:
    return RefusedError("DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED", observed)


def _publication_rows(rows: ControlRows, operation_id: str) -> PublicationRows:
    bundle = bundle_of(rows, operation_id)
    if bundle is None:
        raise RefusedError("DPONE_ADMISSION_ABSENT", "the operation was never admitted")
    plan = next(plan for plan in bundle.operation_plans if plan.operation_id == operation_id)
    target = next(target for target in bundle.targets if target.model_unique_id == plan.model_unique_id)
    last = rows.journals[operation_id][-1]
    return PublicationRows(
        target_head=rows.target_heads.get(target.clickhouse_target_authority_id),
        scope_head=rows.scope_heads.get((plan.scope_family_id, plan.scope_start)),
        checkpoint=rows.checkpoints.get(plan.scope_family_id),
        journal_state=last.state,
        journal_version=last.version,
    )
