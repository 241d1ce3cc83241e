"""What every document store, activation store and refresh state must do over one control store.

An adapter's tests subclass these and give the fixtures `documents`, `activations` and `state` over one empty
disposable store, `example`, a bundle of two or more models, and `rival`, the same with another resource limit:
another plan over the same targets and baselines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpone_contracts.effects import NotApplied
from dpone_contracts.journal import OperationState, reduce_journal
from dpone_contracts.ports.activation_store import StoredPlan
from dpone_contracts.ports.refresh_state import AllocationAmounts, WorkerIdentity
from dpone_contracts.run_receipts import ExchangeReceipt, OutcomeObservation
from dpone_contracts.summaries import FailedWorkflowSummary
from dpone_contracts.testing.memory_ports import activation_of
from dpone_contracts.testing.plan_example import made_up
from dpone_contracts.testing.results import applied, not_applied
from dpone_contracts.worker_stage import bind_execution

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.documents import DocumentStore
    from dpone_contracts.ports.refresh_state import Admission, RefreshState
    from dpone_contracts.testing.plan_example import Example

WORKER = WorkerIdentity(
    "manual__suite", "semantic_refresh", 1, "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01", "worker-1"
)
AMOUNTS = AllocationAmounts(
    clickhouse_staging_bytes=1 << 40,
    prepared_models=1,
    retained_generation_bytes=1 << 40,
    sealed_extract_bytes=1 << 40,
    shadow_bytes=1 << 40,
)


def observation(operation_id: str, attempt: str, finding: str) -> OutcomeObservation:
    """A document that proves that an outcome is unknown."""
    return OutcomeObservation.build(
        operation_id=operation_id,
        attempt_binding_sha256=attempt,
        boundary="SQL",
        findings=[finding],
        observed_at="2026-08-09T01:00:00.000000Z",
    )


def activated(activations: ActivationStore, example: Example) -> None:
    """Adopt the example's baselines and activate its bundle."""
    for baseline, plan in zip(example.baselines, example.bundle.operation_plans, strict=True):
        applied(activations.adopt_baseline(baseline, plan.scope_family_id))
    applied(activations.activate(activation_of(example, activations.identity())))


def admitted(state: RefreshState, example: Example, worker: WorkerIdentity = WORKER) -> Admission:
    """Bind the example to the worker's DagRun and admit it."""
    binding = bind_execution(example.bundle, worker.dag_run_id)
    applied(state.bind_execution(binding, example.bundle, worker.dag_run_id))
    amounts = dict.fromkeys((plan.operation_id for plan in example.bundle.operation_plans), AMOUNTS)
    return applied(state.admit(binding, example.bundle, worker, amounts))


class DocumentStoreSuite:
    """Every document store passes all of these."""

    def test_what_is_persisted_reads_back_as_the_same_bytes(self, documents: DocumentStore) -> None:
        document = observation(made_up("op"), made_up("attempt"), "seen")
        digest = applied(documents.persist(None, document))
        assert digest == document.digest
        assert documents.read(document.SCHEMA, digest) == document.to_bytes()

    def test_the_same_document_again_is_applied(self, documents: DocumentStore) -> None:
        document = observation(made_up("op"), made_up("attempt"), "again")
        assert applied(documents.persist(None, document)) == applied(documents.persist(None, document))

    def test_an_absent_document_is_none(self, documents: DocumentStore) -> None:
        assert documents.read(OutcomeObservation.SCHEMA, made_up("nothing")) is None
        assert documents.list_for(made_up("no operation")) == ()


class ActivationStoreSuite:
    """Every activation store passes all of these."""

    def test_an_adopted_baseline_is_the_head_and_the_checkpoint(
        self, activations: ActivationStore, example: Example
    ) -> None:
        baseline, plan = example.baselines[0], example.bundle.operation_plans[0]
        head = applied(activations.adopt_baseline(baseline, plan.scope_family_id))
        assert applied(activations.adopt_baseline(baseline, plan.scope_family_id)) == head
        assert activations.target_head(baseline.clickhouse_target_authority_id) == head
        assert head.generation_id == plan.target_predecessor_generation_id
        checkpoint = activations.checkpoint(plan.scope_family_id)
        assert checkpoint is not None
        assert checkpoint.covered_until == baseline.coverage_end
        assert activations.scope_head(plan.scope_family_id, plan.scope_start) is None

    def test_a_target_has_one_owner(self, activations: ActivationStore, example: Example) -> None:
        baseline, plan = example.baselines[0], example.bundle.operation_plans[0]
        applied(activations.adopt_baseline(baseline, plan.scope_family_id))
        not_applied(activations.adopt_baseline(baseline, made_up("another family")), "DPONE_TARGET_OWNED")

    def test_an_activation_reads_back_and_is_create_only(
        self, activations: ActivationStore, example: Example
    ) -> None:
        record = activation_of(example, activations.identity())
        digest = applied(activations.activate(record))
        assert applied(activations.activate(record)) == digest
        assert activations.read_activation(record.deployment_id, record.plan_bundle_sha256) == record
        other = activation_of(example, replace(activations.identity(), recovery_fork=str(_OTHER_FORK)))
        not_applied(activations.activate(other), "DPONE_ACTIVATION_CONFLICT")
        assert activations.read_activation(record.deployment_id, record.plan_bundle_sha256) == record

    def test_the_plans_of_a_deployment_are_listed_with_what_they_are_bound_to(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        record = activation_of(example, activations.identity())
        assert activations.plans_of(record.deployment_id) == (StoredPlan(record.receipt, None, None),)
        assert activations.plans_of(made_up("no deployment")) == ()
        binding = bind_execution(example.bundle, WORKER.dag_run_id)
        applied(state.bind_execution(binding, example.bundle, WORKER.dag_run_id))
        bound = StoredPlan(record.receipt, WORKER.dag_run_id, None)
        assert activations.plans_of(record.deployment_id) == (bound,)

    def test_there_is_no_latest_activation(self, activations: ActivationStore, example: Example) -> None:
        record = activation_of(example, activations.identity())
        applied(activations.activate(record))
        assert activations.read_activation(record.deployment_id, made_up("another bundle")) is None


_OTHER_FORK = "11111111-2222-4333-8444-555555555555"


class RefreshStateSuite:
    """Every refresh state passes all of these."""

    def test_a_plan_binds_one_dag_run(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        binding = bind_execution(example.bundle, WORKER.dag_run_id)
        digest = applied(state.bind_execution(binding, example.bundle, WORKER.dag_run_id))
        assert applied(state.bind_execution(binding, example.bundle, WORKER.dag_run_id)) == digest
        other = bind_execution(example.bundle, "manual__other")
        not_applied(
            state.bind_execution(other, example.bundle, "manual__other"), "DPONE_PLAN_BOUND_TO_OTHER_RUN"
        )
        bound = state.resolve_execution(binding.deployment_id, example.bundle.digest)
        assert bound == (WORKER.dag_run_id, binding.to_bytes())

    def test_admission_gives_every_operation_an_attempt_a_fence_and_a_journal(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        admission = admitted(state, example)
        assert state.read_admission(admission.workflow_execution_binding_sha256) == admission
        ids = sorted(plan.operation_id for plan in example.bundle.operation_plans)
        assert [operation.operation_id for operation in admission.operations] == ids
        fences = {operation.attempt.fencing_epoch for operation in admission.operations}
        assert len(fences) == len(ids)
        for operation in admission.operations:
            head = reduce_journal(state.journal(operation.operation_id))
            assert head is not None
            assert (head.state, head.version) == (OperationState.PREPARING, 1)
            assert len({allocation for allocation, _, _ in operation.allocations}) == 5

    def test_an_admitted_operation_names_its_plan_and_its_guards_their_holders(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        bundle, operation = example.bundle, example.bundle.operation_plans[0].operation_id
        names = (
            bundle.run_guard_closure.workflow_guard_resource_id,
            *bundle.run_guard_closure.resource_guard_ids,
        )
        assert state.plan_of(operation) is None
        assert state.guards(names) == ()
        admission = admitted(state, example)
        assert state.plan_of(operation) == (
            bundle.release_deployment_authority.deployment_id,
            bundle.digest,
        )
        held = {row.resource_id: row for row in state.guards((*names, "no such guard"))}
        assert set(held) == set(names)
        assert {row.status for row in held.values()} == {"ACTIVE"}
        for one in admission.operations:
            row = held[one.guard_resource_id]
            assert (row.operation_id, row.attempt_binding_sha256, row.fencing_epoch) == (
                one.operation_id,
                one.attempt.digest,
                one.attempt.fencing_epoch,
            )
        assert held[names[0]].operation_id is None

    def test_an_execution_is_admitted_once(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        admission = admitted(state, example)
        binding = bind_execution(example.bundle, WORKER.dag_run_id)
        amounts = dict.fromkeys((plan.operation_id for plan in example.bundle.operation_plans), AMOUNTS)
        not_applied(state.admit(binding, example.bundle, WORKER, amounts), "DPONE_ADMISSION_EXISTS")
        assert state.read_admission(binding.digest) == admission

    def test_an_execution_that_is_not_bound_is_not_admitted(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        binding = bind_execution(example.bundle, WORKER.dag_run_id)
        amounts = dict.fromkeys((plan.operation_id for plan in example.bundle.operation_plans), AMOUNTS)
        not_applied(state.admit(binding, example.bundle, WORKER, amounts), "DPONE_EXECUTION_NOT_BOUND")
        assert state.read_admission(binding.digest) is None

    def test_an_attempt_is_invoked_once(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        attempt = admitted(state, example).operations[0].attempt
        applied(state.record_intent(attempt))
        not_applied(state.record_intent(attempt), "DPONE_ATTEMPT_ALREADY_INVOKED")

    def test_a_foreign_fence_writes_nothing(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        attempt = admitted(state, example).operations[0].attempt
        fenced = with_fence(attempt, attempt.fencing_epoch + 1_000)
        proof = observation(attempt.operation_id, fenced.digest, "late writer")
        result = state.append(fenced, OperationState.PREPARING, OperationState.COMMIT_UNKNOWN, proof)
        not_applied(result, "DPONE_FENCE_LOST")
        assert len(state.journal(attempt.operation_id)) == 1

    def test_the_journal_takes_an_edge_once_and_refuses_what_is_none(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        attempt = admitted(state, example).operations[0].attempt
        proof = observation(attempt.operation_id, attempt.digest, "unresolved")
        preparing, unknown = OperationState.PREPARING, OperationState.COMMIT_UNKNOWN
        entry = applied(state.append(attempt, preparing, unknown, proof))
        assert applied(state.append(attempt, preparing, unknown, proof)) == entry
        assert state.journal(attempt.operation_id)[-1] == entry
        for target in (OperationState.COMPLETE, OperationState.TARGET_COMMITTED, OperationState.PREPARING):
            result = state.append(attempt, unknown, target, proof)
            assert isinstance(result, NotApplied), result
        assert len(state.journal(attempt.operation_id)) == 2

    def test_an_operation_that_intended_no_commit_is_never_committed(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        attempt = admitted(state, example).operations[0].attempt
        proof = observation(attempt.operation_id, attempt.digest, "unresolved")
        unknown = OperationState.COMMIT_UNKNOWN
        applied(state.append(attempt, OperationState.PREPARING, unknown, proof))
        receipt = _exchange_receipt(attempt)
        result = state.append(attempt, unknown, OperationState.TARGET_COMMITTED, receipt)
        assert isinstance(result, NotApplied), result
        assert state.journal(attempt.operation_id)[-1].state is unknown

    def test_a_publication_starts_from_the_rows_that_are_there(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        attempt = admitted(state, example).operations[0].attempt
        before = state.publication_rows(attempt.operation_id)
        assert (before.journal_state, before.journal_version, before.scope_head) == (
            OperationState.PREPARING,
            1,
            None,
        )
        moved = replace(before, journal_version=7)
        proof = observation(attempt.operation_id, attempt.digest, "no publication")
        not_applied(
            state.publish(attempt, moved, replace(moved, journal_version=8), proof),
            "DPONE_PUBLICATION_ROWS_MOVED",
        )
        assert state.publication_rows(attempt.operation_id) == before

    def test_a_summary_that_the_journals_do_not_justify_is_refused(
        self, activations: ActivationStore, state: RefreshState, example: Example
    ) -> None:
        activated(activations, example)
        admission = admitted(state, example)
        binding = bind_execution(example.bundle, WORKER.dag_run_id)
        summary = FailedWorkflowSummary.build(
            expected_operation_ids=[operation.operation_id for operation in admission.operations],
            models=[
                {
                    "attempt_binding_sha256": operation.attempt.digest,
                    "mssql_evidence_sha256": made_up("evidence"),
                    "mssql_outcome": "ROLLED_BACK",
                    "operation_id": operation.operation_id,
                }
                for operation in admission.operations
            ],
            status="FAILED_PRE_COMMIT",
            workflow_execution_binding_sha256=binding.digest,
            workflow_id=example.bundle.workflow_plan.workflow_name,
            workflow_plan_sha256=example.bundle.workflow_plan.digest,
        )
        not_applied(state.persist_summary(binding, summary), "DPONE_SUMMARY_INCOMPLETE")
        assert state.read_summary(binding.digest) is None

    def test_another_run_of_the_same_targets_waits_for_the_guards(
        self, activations: ActivationStore, state: RefreshState, example: Example, rival: Example
    ) -> None:
        activated(activations, example)
        admitted(state, example)
        applied(activations.activate(activation_of(rival, activations.identity())))
        binding = bind_execution(rival.bundle, "manual__rival")
        applied(state.bind_execution(binding, rival.bundle, "manual__rival"))
        amounts = dict.fromkeys((plan.operation_id for plan in rival.bundle.operation_plans), AMOUNTS)
        worker = replace(WORKER, dag_run_id="manual__rival")
        not_applied(state.admit(binding, rival.bundle, worker, amounts), "DPONE_GUARD_HELD")
        assert state.read_admission(binding.digest) is None


def with_fence(attempt: AttemptBinding, fence: int) -> AttemptBinding:
    """The attempt under another fence."""
    plain = {
        name: value
        for name, value in attempt.to_plain().items()
        if name not in ("schema", attempt.DIGEST_FIELD)
    }
    return type(attempt).build(**{**plain, "fencing_epoch": fence})


def _exchange_receipt(attempt: AttemptBinding) -> ExchangeReceipt:
    predecessor, successor = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-8999-aaaaaaaaaaaa"
    return ExchangeReceipt.build(
        operation_id=attempt.operation_id,
        operation_plan_sha256=attempt.operation_plan_sha256,
        attempt_binding_sha256=attempt.digest,
        prepared_receipt_sha256=made_up("prepared"),
        target_relation="example.target",
        burned_relation="example.sent",
        shadow_relation="example.shadow",
        predecessor_uuid=predecessor,
        successor_uuid=successor,
        observed_target_uuid=successor,
        observed_shadow_uuid=predecessor,
        physical_authority_sha256=made_up("authority"),
        predecessor_parts_sha256=made_up("parts"),
        observed_at="2026-08-09T01:00:00.000000Z",
    )
