"""Run admission: everything that a workflow needs in one transaction, or nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from dpone_contracts.bindings import AttemptBinding
from dpone_contracts.cleanup import RESOURCE_KINDS, allocation_id
from dpone_contracts.effects import Reason
from dpone_contracts.ports.refresh_state import Admission, AdmittedOperation, GuardHolder, GuardRow
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused
from dpone_mssql.heads import require_one
from dpone_mssql.literals import digest_bytes, digest_text

if TYPE_CHECKING:
    from dpone_contracts.bindings import WorkflowExecutionBinding
    from dpone_contracts.closure import WorkflowMode
    from dpone_contracts.plan_bundle import PlanBundle, PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import AllocationAmounts, WorkerIdentity
    from dpone_mssql.connection import Transaction
    from dpone_mssql.control_schema import ControlNames
    from dpone_mssql.documents import StoredDocuments
    from dpone_mssql.heads import Heads
    from dpone_mssql.journal import Journal


def reservation_id(workflow_execution_binding_sha256: str, operation_id: str) -> str:
    """Name the reservation of one operation of one execution."""
    execution = workflow_execution_binding_sha256.removeprefix("sha256:")[:32]
    return f"reservation-{execution}-{operation_id.removeprefix('sha256:')[:32]}"


def require_admissible_mode(workflow_mode: WorkflowMode) -> None:
    """Refuse a replacement: its restore of a before image is not part of the mutation that this release renders."""
    match workflow_mode:
        case "normal" | "complete_scope_replay":
            return
        case "failed_precommit_replacement":
            raise Refused(
                Reason(
                    "DPONE_REPLACEMENT_UNSUPPORTED",
                    "this release restores no before image, so it admits no replacement",
                    {"workflow_mode": workflow_mode},
                )
            )
        case _:
            assert_never(workflow_mode)


class AdmissionRows:
    """Execution bindings, guards, fences, attempts and reservations as parts of a transaction."""

    def __init__(
        self, names: ControlNames, documents: StoredDocuments, journal: Journal, heads: Heads
    ) -> None:
        self._sql = Statements("state/admission.sql", control=names.schema)
        self._owner_sql = Statements("state/activation.sql", control=names.schema)
        self._documents = documents
        self._journal = journal
        self._heads = heads

    def bind(
        self, tx: Transaction, binding: WorkflowExecutionBinding, plan_bundle_sha256: str, dag_run_id: str
    ) -> str:
        """Bind a plan to a DagRun, or find that very binding; one plan binds one DagRun, for ever."""
        key = (digest_bytes(binding.deployment_id), digest_bytes(plan_bundle_sha256))
        there = tx.one(self._sql["execution"], *key)
        if there is None:
            self._documents.put(tx, binding)
            tx.write(
                self._sql["insert_execution"], *key, digest_bytes(binding.digest), binding.SCHEMA, dag_run_id
            )
        elif (digest_text(there[0]), str(there[1])) != (binding.digest, dag_run_id):
            raise Refused(
                Reason(
                    "DPONE_PLAN_BOUND_TO_OTHER_RUN",
                    "the plan is bound to another DagRun",
                    {"dag_run_id": str(there[1]), "plan_bundle_sha256": plan_bundle_sha256},
                )
            )
        return binding.digest

    def resolve(self, tx: Transaction, deployment_id: str, plan_bundle_sha256: str) -> tuple[str, str] | None:
        """Return (dag_run_id, binding digest) of a plan."""
        found = tx.one(self._sql["execution"], digest_bytes(deployment_id), digest_bytes(plan_bundle_sha256))
        return None if found is None else (str(found[1]), digest_text(found[0]))

    def admit(
        self,
        tx: Transaction,
        binding: WorkflowExecutionBinding,
        bundle: PlanBundle,
        worker: WorkerIdentity,
        amounts: dict[str, AllocationAmounts],
    ) -> Admission:
        """Check, acquire and record in one order: the fence counter first, then guards sorted by resource."""
        require_admissible_mode(bundle.workflow_plan.workflow_mode)
        self._require_bound(tx, binding, bundle, worker)
        epoch = self._lock_counter(tx)
        if int(tx.rows(self._sql["attempts_of_execution"], digest_bytes(binding.digest))[0][0]):
            raise Refused(Reason("DPONE_ADMISSION_EXISTS", "the execution has been admitted before", {}))
        targets = {target.model_unique_id: target for target in bundle.targets}
        plans = sorted(bundle.operation_plans, key=lambda plan: plan.operation_id)
        for plan in plans:
            self._require_predecessors(tx, plan, targets[plan.model_unique_id])
        workflow_guard = bundle.run_guard_closure.workflow_guard_resource_id
        wanted = sorted({*bundle.run_guard_closure.resource_guard_ids, workflow_guard})
        fences = self._lock_guards(tx, wanted)
        last = epoch
        admitted = []
        for plan in plans:
            last += 1
            resource = targets[plan.model_unique_id].target_resource_id
            admitted.append(
                self._start(tx, binding, plan, worker, resource, last, amounts[plan.operation_id], fences)
            )
        last += 1
        self._take_workflow_guard(tx, binding, worker, workflow_guard, last, fences)
        require_one(tx.write(self._sql["advance_fence_counter"], last, epoch), "fence counter")
        return Admission(worker.dag_run_id, binding.digest, tuple(admitted))

    def latest(self, tx: Transaction, workflow_execution_binding_sha256: str) -> Admission | None:
        """Read an execution's admission with the latest attempt of every operation."""
        rows = tx.rows(self._sql["latest_attempts"], digest_bytes(workflow_execution_binding_sha256))
        if not rows:
            return None
        operations = tuple(self._admitted(tx, row) for row in rows)
        return Admission(
            operations[0].attempt.workflow_execution_id, workflow_execution_binding_sha256, operations
        )

    def latest_of(self, tx: Transaction, operation_id: str) -> AdmittedOperation | None:
        """Read the latest attempt of one operation."""
        row = tx.one(self._sql["latest_attempt"], digest_bytes(operation_id))
        return None if row is None else self._admitted(tx, row)

    def plan_of(self, tx: Transaction, operation_id: str) -> tuple[str, str] | None:
        """Read which plan an admitted operation belongs to."""
        row = tx.one(self._sql["plan_of"], digest_bytes(operation_id))
        return None if row is None else (digest_text(row[0]), digest_text(row[1]))

    def guard(self, tx: Transaction, resource_id: str) -> GuardRow | None:
        """Read one guard without locking it for a change."""
        row = tx.one(self._sql["guard"], resource_id)
        if row is None:
            return None
        status, epoch, execution, operation, attempt = row
        return GuardRow(
            resource_id,
            str(status),
            int(epoch),
            digest_text(execution),
            None if operation is None else digest_text(operation),
            None if attempt is None else digest_text(attempt),
        )

    def next_epoch(self, tx: Transaction) -> int:
        """Lock the counter and take one fencing epoch from it."""
        epoch = self._lock_counter(tx)
        require_one(tx.write(self._sql["advance_fence_counter"], epoch + 1, epoch), "fence counter")
        return epoch + 1

    def insert_attempt(
        self, tx: Transaction, attempt: AttemptBinding, ordinal: int, resource_id: str
    ) -> None:
        """Store an attempt binding and its row."""
        self._documents.put(tx, attempt, operation_id=attempt.operation_id)
        tx.write(
            self._sql["insert_attempt"],
            digest_bytes(attempt.digest),
            attempt.SCHEMA,
            digest_bytes(attempt.workflow_execution_binding_sha256),
            digest_bytes(attempt.operation_id),
            ordinal,
            resource_id,
            attempt.fencing_epoch,
        )

    def _require_bound(
        self, tx: Transaction, binding: WorkflowExecutionBinding, bundle: PlanBundle, worker: WorkerIdentity
    ) -> None:
        bound = self.resolve(tx, binding.deployment_id, bundle.digest)
        if bound != (worker.dag_run_id, binding.digest):
            raise Refused(
                Reason(
                    "DPONE_EXECUTION_NOT_BOUND",
                    "the plan is not bound to this DagRun",
                    {"plan_bundle_sha256": bundle.digest, "dag_run_id": worker.dag_run_id},
                )
            )

    def _lock_counter(self, tx: Transaction) -> int:
        found = tx.one(self._sql["lock_fence_counter"])
        require_one(0 if found is None else 1, "fence counter")
        assert found is not None
        return int(found[0])

    def _require_predecessors(self, tx: Transaction, plan: OperationPlan, target: PlanTarget) -> None:
        """Refuse a plan whose target, owner or scope is not what it was planned on."""
        authority = target.clickhouse_target_authority_id
        owner = tx.one(self._owner_sql["owner"], authority)
        if owner is None or (digest_text(owner[0]), str(owner[1])) != (
            plan.deployment_id,
            plan.model_unique_id,
        ):
            raise Refused(
                Reason(
                    "DPONE_TARGET_OWNED", "the target is not owned by this plan's deployment and model", {}
                )
            )
        head = self._heads.target_head(tx, authority)
        planned = (
            target.target_predecessor_generation,
            plan.target_predecessor_generation_id,
            target.clickhouse_target_uuid,
            target.target_predecessor_operation_id,
            target.target_head_terminal_receipt_sha256,
        )
        if head is None or planned != (
            head.generation,
            head.generation_id,
            head.target_uuid,
            head.owner_operation_id,
            head.terminal_receipt_sha256,
        ):
            raise Refused(
                Reason(
                    "DPONE_TARGET_HEAD_MOVED",
                    f"{plan.model_unique_id}: the target's head is not the planned predecessor",
                    {"generation": "none" if head is None else str(head.generation)},
                )
            )
        scope = self._heads.scope_head(tx, plan.scope_family_id, plan.scope_start)
        predecessor = (plan.scope_revision - 1, plan.scope_predecessor_operation_id)
        found = (0, None) if scope is None else (scope.scope_revision, scope.operation_id)
        if found != predecessor:
            raise Refused(
                Reason(
                    "DPONE_SCOPE_HEAD_MOVED",
                    f"{plan.model_unique_id}: the scope stands at revision {found[0]}",
                    {"scope_start": plan.scope_start, "planned_revision": str(plan.scope_revision)},
                )
            )

    def _lock_guards(self, tx: Transaction, resources: list[str]) -> dict[str, int | None]:
        """Lock every guard in order; return the fence of each row that is there. Refuses with all holders."""
        fences: dict[str, int | None] = {}
        holders: list[GuardHolder] = []
        for resource in resources:
            row = tx.one(self._sql["lock_guard"], resource)
            fences[resource] = None if row is None else int(row[4])
            if row is None:
                continue
            status, _, operation, attempt, fence = row
            if str(status) == "ACTIVE":
                holders.append(
                    GuardHolder(
                        resource,
                        "workflow" if operation is None else digest_text(operation),
                        "workflow" if attempt is None else digest_text(attempt),
                        int(fence),
                    )
                )
            elif (
                str(status) == "CLEANUP_REQUIRED"
                and tx.one(self._sql["acknowledged"], bytes(operation)) is None
            ):
                raise Refused(
                    Reason(
                        "DPONE_CLEANUP_REQUIRED",
                        "a failed operation of this target has not been cleaned up",
                        {"resource_id": resource, "operation_id": digest_text(operation)},
                    )
                )
        if holders:
            raise Refused(Reason("DPONE_GUARD_HELD", "another run holds a guard", _shown(holders)))
        return fences

    def _start(
        self,
        tx: Transaction,
        binding: WorkflowExecutionBinding,
        plan: OperationPlan,
        worker: WorkerIdentity,
        resource: str,
        epoch: int,
        amounts: AllocationAmounts,
        fences: dict[str, int | None],
    ) -> AdmittedOperation:
        attempt = AttemptBinding.build(
            dag_run_id=worker.dag_run_id,
            fencing_epoch=epoch,
            operation_id=plan.operation_id,
            operation_plan_sha256=plan.digest,
            owner_id=worker.owner_id,
            pod_uid=worker.pod_uid,
            task_id=worker.task_id,
            try_number=worker.try_number,
            workflow_execution_id=binding.workflow_execution_id,
            workflow_execution_binding_sha256=binding.digest,
        )
        self.insert_attempt(tx, attempt, 1, resource)
        held = (
            digest_bytes(binding.digest),
            digest_bytes(plan.operation_id),
            digest_bytes(plan.digest),
            digest_bytes(attempt.digest),
            epoch,
            worker.owner_id,
        )
        fence = fences[resource]
        if fence is None:
            require_one(tx.write(self._sql["insert_guard"], resource, *held), "guard")
        else:
            require_one(tx.write(self._sql["take_guard"], *held, resource, fence), "guard")
        self._journal.open(tx, attempt)
        reservation = reservation_id(binding.digest, plan.operation_id)
        tx.write(
            self._sql["insert_reservation"],
            reservation,
            digest_bytes(plan.operation_id),
            digest_bytes(binding.digest),
        )
        allocations = tuple(
            (allocation_id(plan.operation_id, reservation, kind), kind, int(getattr(amounts, kind)))
            for kind in RESOURCE_KINDS
        )
        for own, kind, amount in allocations:
            tx.write(
                self._sql["insert_allocation"],
                digest_bytes(own),
                reservation,
                digest_bytes(plan.operation_id),
                kind,
                amount,
            )
        return AdmittedOperation(plan.operation_id, attempt, resource, reservation, allocations)

    def _take_workflow_guard(
        self,
        tx: Transaction,
        binding: WorkflowExecutionBinding,
        worker: WorkerIdentity,
        resource: str,
        epoch: int,
        fences: dict[str, int | None],
    ) -> None:
        held = (digest_bytes(binding.digest), epoch, worker.owner_id)
        fence = fences[resource]
        if fence is None:
            require_one(tx.write(self._sql["insert_workflow_guard"], resource, *held), "workflow guard")
        else:
            require_one(tx.write(self._sql["take_workflow_guard"], *held, resource, fence), "workflow guard")

    def _admitted(self, tx: Transaction, row: tuple[Any, ...]) -> AdmittedOperation:
        operation_id, binding, resource, reservation = row
        allocations = tx.rows(self._sql["allocations"], bytes(operation_id))
        return AdmittedOperation(
            operation_id=digest_text(operation_id),
            attempt=AttemptBinding.from_bytes(bytes(binding)),
            guard_resource_id=str(resource),
            reservation_id=str(reservation),
            allocations=tuple(
                (digest_text(own), str(kind), int(amount)) for own, kind, amount in allocations
            ),
        )


def _shown(holders: list[GuardHolder]) -> dict[str, str]:
    return {
        holder.resource_id: f"{holder.operation_id} attempt {holder.attempt_binding_sha256} "
        f"fence {holder.fencing_epoch}"
        for holder in holders
    }
