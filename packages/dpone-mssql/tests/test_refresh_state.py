"""Admission, continuation, journal, publication and summary on an engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.effects import Applied, NotApplied
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.ports.activation_store import Checkpoint, ScopeHead
from dpone_contracts.summaries import DurableWorkflowSummary
from dpone_contracts.testing.plan_example import ExampleModel, made_up
from dpone_mssql.connection import SqlServerError
from dpone_mssql.testing.refreshed import POD, Refreshed, applied, refreshed
from dpone_mssql.testing.run_documents import exchanged, intent, prepared, published, published_empty

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_mssql.connection import SqlServerConfig
    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine

DAY = "('2026-08-08', 1), ('2026-08-08', 2)"
S = OperationState


@pytest.fixture
def one(
    runtime: SqlServerConfig, names: ControlNames, installer: SqlServerConfig, keys_only: ExampleModel
) -> Refreshed:
    """One model, prepared by the installer and used by the runtime."""
    return as_runtime(refreshed(installer, names, (keys_only,), rows=DAY), runtime)


def as_runtime(found: Refreshed, runtime: SqlServerConfig) -> Refreshed:
    return replace(found, config=runtime)


def code(result: object) -> str:
    assert isinstance(result, NotApplied), result
    return result.reason.code


def test_adoption_and_activation_replay_and_refuse_others(one: Refreshed) -> None:
    baseline, plan = one.example.baselines[0], one.plan
    head = applied(one.activations.adopt_baseline(baseline, plan.scope_family_id))
    assert head == one.activations.target_head(head.target_authority_id)
    assert (head.generation, head.owner_operation_id) == (1, baseline.digest)
    assert one.activations.checkpoint(plan.scope_family_id) == Checkpoint(
        plan.scope_family_id, plan.scope_start
    )
    assert code(one.activations.adopt_baseline(baseline, made_up("another family"))) == "DPONE_TARGET_OWNED"
    record = one.record()
    digest = applied(one.activations.activate(record))
    assert applied(one.activations.activate(record)) == digest
    assert one.activations.read_activation(plan.deployment_id, record.plan_bundle_sha256) == record
    assert one.activations.read_activation(plan.deployment_id, made_up("other")) is None
    assert (
        code(one.activations.activate(replace(record, release_id=made_up("r2"))))
        == "DPONE_DEPLOYMENT_CONFLICT"
    )


def test_one_plan_binds_one_dag_run_for_ever(one: Refreshed) -> None:
    binding, other = one.example.binding("run-1"), one.example.binding("run-2")
    assert one.state.bind_execution(binding, one.example.bundle, "run-1") == Applied(binding.digest)
    assert one.state.bind_execution(binding, one.example.bundle, "run-1") == Applied(binding.digest)
    refused = one.state.bind_execution(other, one.example.bundle, "run-2")
    assert code(refused) == "DPONE_PLAN_BOUND_TO_OTHER_RUN"
    assert one.state.resolve_execution(one.plan.deployment_id, one.example.bundle.digest) == (
        "run-1",
        binding.to_bytes(),
    )


def test_admission_acquires_everything_and_reads_back(
    installer: SqlServerConfig,
    runtime: SqlServerConfig,
    names: ControlNames,
    flight: ExampleModel,
    weather: ExampleModel,
) -> None:
    two = as_runtime(refreshed(installer, names, (flight, weather)), runtime)
    admission = applied(two.admit())
    assert two.state.read_admission(admission.workflow_execution_binding_sha256) == admission
    assert [o.operation_id for o in admission.operations] == sorted(
        plan.operation_id for plan in two.example.bundle.operation_plans
    )
    epochs = [o.attempt.fencing_epoch for o in admission.operations]
    assert epochs == sorted(set(epochs))
    for operation in admission.operations:
        assert [kind for _, kind, _ in operation.allocations] == [
            "clickhouse_staging_bytes",
            "prepared_models",
            "retained_generation_bytes",
            "sealed_extract_bytes",
            "shadow_bytes",
        ]
        journal = two.state.journal(operation.operation_id)
        assert [(entry.version, entry.state, entry.predecessor) for entry in journal] == [
            (1, S.PREPARING, None)
        ]
        assert journal[0].receipt_sha256 == operation.attempt.digest
        assert two.state.guard_quiescence(operation.operation_id) == (0, True)
    assert code(two.admit()) == "DPONE_ADMISSION_EXISTS"


def test_a_held_guard_is_refused_with_its_holder_and_leaves_nothing(
    installer: SqlServerConfig, names: ControlNames, flight: ExampleModel, weather: ExampleModel
) -> None:
    two = refreshed(installer, names, (flight, weather))
    contested = two.example.bundle.targets[1].target_resource_id
    two.sql(
        "INSERT INTO [dpone_control].[guards] ([resource_id], [workflow_execution_binding_sha256], [operation_id], "
        "[operation_plan_sha256], [attempt_binding_sha256], [fencing_epoch], [owner_id], [status]) "
        f"VALUES (N'{contested}', 0x{'01' * 32}, 0x{'02' * 32}, NULL, NULL, 1, N'x', N'ACTIVE');"
    )
    refused = two.admit()
    assert code(refused) == "DPONE_GUARD_HELD"
    assert isinstance(refused, NotApplied)
    assert list(refused.reason.evidence) == [contested]
    assert "sha256:" + "02" * 32 in refused.reason.evidence[contested]
    binding = two.example.binding("run-1")
    assert two.state.read_admission(binding.digest) is None
    assert all(two.state.journal(plan.operation_id) == () for plan in two.example.bundle.operation_plans)


def test_a_moved_head_or_scope_is_refused(one: Refreshed, installer: SqlServerConfig) -> None:
    plan, authority = one.plan, one.target.clickhouse_target_authority_id
    as_installer = replace(one, config=installer)
    as_installer.sql(
        "INSERT INTO [dpone_control].[scope_heads] VALUES "
        f"(0x{plan.scope_family_id[7:]}, N'{plan.scope_start}', 1, 0x{'03' * 32});"
    )
    assert code(one.admit()) == "DPONE_SCOPE_HEAD_MOVED"
    as_installer.sql(
        f"UPDATE [dpone_control].[target_heads] SET [generation] = 2 WHERE [target_authority_id] = N'{authority}';"
    )
    assert code(one.admit()) == "DPONE_TARGET_HEAD_MOVED"


def test_of_many_workers_over_one_plan_exactly_one_is_admitted(one: Refreshed) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: one.admit(), range(4)))
    assert sum(isinstance(result, Applied) for result in results) == 1
    assert {code(result) for result in results if not isinstance(result, Applied)} == {
        "DPONE_ADMISSION_EXISTS"
    }


def test_the_journal_takes_each_edge_once_and_refuses_others(one: Refreshed) -> None:
    attempt = one.started().attempt
    proof, other = prepared(attempt), one.example.binding("run-1")
    assert (
        code(one.state.append(attempt, S.PREPARED, S.COMMITTING, intent(attempt)))
        == "DPONE_JOURNAL_EDGE_REFUSED"
    )
    assert code(one.state.append(attempt, S.PREPARING, S.COMPLETE, proof)) == "DPONE_JOURNAL_EDGE_REFUSED"
    assert code(one.state.append(attempt, S.PREPARING, S.PREPARED, other)) == "DPONE_JOURNAL_EDGE_REFUSED"
    assert one.state.append_prepared(((attempt, proof),)) == Applied(None)
    assert one.state.append_prepared(((attempt, proof),)) == Applied(None)
    journal = one.state.journal(one.plan.operation_id)
    assert [(e.version, e.state, e.predecessor) for e in journal] == [
        (1, S.PREPARING, None),
        (2, S.PREPARED, S.PREPARING),
    ]
    assert journal[1].receipt_sha256 == proof.digest
    assert len(journal[1].recorded_at) == len("2026-08-09T01:00:00.000000Z")


def test_the_table_itself_refuses_what_is_no_edge(one: Refreshed) -> None:
    attempt = one.started().attempt
    insert = (
        "INSERT INTO [dpone_control].[journal] SELECT j.[operation_id], 2, N'COMPLETE', 1, N'PREPARING', "
        "j.[attempt_binding_sha256], j.[receipt_schema], j.[receipt_sha256], j.[recorded_at] "
        f"FROM [dpone_control].[journal] AS j WHERE j.[operation_id] = 0x{attempt.operation_id[7:]};"
    )
    with pytest.raises(SqlServerError) as refused:
        one.sql(insert)
    assert (refused.value.number, refused.value.rule) == (547, "ck_journal_edge")


def test_an_attempt_is_launched_once(one: Refreshed) -> None:
    admitted = one.started()
    assert code(one.state.record_intent(admitted.attempt)) == "DPONE_ATTEMPT_ALREADY_INVOKED"


def test_a_continuation_fences_the_original_attempt_and_has_no_successor(one: Refreshed) -> None:
    admitted = one.started()
    one.run_batch(admitted, f"SELECT * FROM {one.table}")
    receipt, termination = one.continuation(admitted)
    worker = one.worker("run-1", try_number=2, pod_uid=receipt.pod_uid)
    third = one.worker("run-1", try_number=3, pod_uid=POD)
    unsupported = "DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED"
    assert code(one.state.continue_attempt(receipt, termination, third)) == unsupported
    assert (
        code(one.state.continue_attempt(receipt, termination, replace(worker, dag_run_id="run-2")))
        == unsupported
    )
    continued = applied(one.state.continue_attempt(receipt, termination, worker))
    assert continued.attempt.fencing_epoch > admitted.attempt.fencing_epoch
    assert one.state.continue_attempt(receipt, termination, worker) == Applied(continued)
    late, proof = prepared(admitted.attempt), prepared(continued.attempt)
    assert code(one.state.append(admitted.attempt, S.PREPARING, S.PREPARED, late)) == "DPONE_FENCE_LOST"
    assert isinstance(one.state.append(continued.attempt, S.PREPARING, S.PREPARED, proof), Applied)
    read = one.state.read_admission(admitted.attempt.workflow_execution_binding_sha256)
    assert read is not None
    assert read.operations == (continued,)
    assert one.evidence(continued).attempt_binding_sha256 == admitted.attempt.digest


def test_publication_moves_every_row_or_none(one: Refreshed) -> None:
    attempt, plan = one.started().attempt, one.plan
    applied(one.state.append(attempt, S.PREPARING, S.PREPARED, prepared(attempt)))
    applied(one.state.append(attempt, S.PREPARED, S.COMMITTING, intent(attempt)))
    applied(one.state.append(attempt, S.COMMITTING, S.TARGET_COMMITTED, exchanged(attempt)))
    before = one.state.publication_rows(plan.operation_id)
    assert before.target_head is not None
    assert before.scope_head is None
    after = replace(
        before,
        target_head=replace(
            before.target_head,
            generation=2,
            generation_id=made_up("generation 2"),
            target_uuid="64a4c26e-8769-4759-9d9d-2ba78255c9a1",
            owner_operation_id=plan.operation_id,
            terminal_receipt_sha256=exchanged(attempt).digest,
        ),
        scope_head=ScopeHead(plan.scope_family_id, plan.scope_start, 1, plan.operation_id),
        checkpoint=Checkpoint(plan.scope_family_id, plan.scope_end),
        journal_state=S.COMPLETE,
        journal_version=before.journal_version + 1,
    )
    proof = published(attempt, before, after)
    stale = replace(before, journal_version=before.journal_version - 1)
    refused = one.state.publish(attempt, stale, after, proof)
    assert code(refused) == "DPONE_PUBLICATION_ROWS_MOVED"
    assert one.state.publication_rows(plan.operation_id) == before
    assert one.state.publish(attempt, before, after, proof) == Applied(after)
    assert one.state.publication_rows(plan.operation_id) == after
    assert one.state.publish(attempt, before, after, proof) == Applied(after)
    assert one.state.journal(plan.operation_id)[-1].state is S.COMPLETE


def summary_of(one: Refreshed, admitted: AdmittedOperation) -> DurableWorkflowSummary:
    attempt = admitted.attempt
    return DurableWorkflowSummary.build(
        expected_operation_ids=[attempt.operation_id],
        publications=[
            {
                "artifact_manifest_sha256": made_up("manifest"),
                "attempt_binding_sha256": attempt.digest,
                "clickhouse_terminal_receipt_sha256": made_up("terminal"),
                "operation_id": attempt.operation_id,
                "operation_plan_sha256": attempt.operation_plan_sha256,
                "scope_revision": 1,
                "status": "COMPLETE",
                "target_generation": 2,
                "terminal_receipt_sha256": made_up("publication"),
                "workflow_execution_binding_sha256": attempt.workflow_execution_binding_sha256,
            }
        ],
        status="FULLY_COMPLETE",
        workflow_execution_binding_sha256=attempt.workflow_execution_binding_sha256,
        workflow_execution_id=attempt.workflow_execution_id,
        workflow_plan_sha256=one.example.bundle.workflow_plan.digest,
    )


def test_a_summary_waits_for_every_journal_and_releases_the_guards(one: Refreshed) -> None:
    admitted = one.started()
    attempt, binding, summary = admitted.attempt, one.example.binding("run-1"), summary_of(one, admitted)
    assert code(one.state.persist_summary(binding, summary)) == "DPONE_SUMMARY_INCOMPLETE"
    applied(one.state.append(attempt, S.PREPARING, S.PREPARED, prepared(attempt)))
    before = one.state.publication_rows(one.plan.operation_id)
    after = replace(
        before,
        scope_head=ScopeHead(one.plan.scope_family_id, one.plan.scope_start, 1, one.plan.operation_id),
        checkpoint=Checkpoint(one.plan.scope_family_id, one.plan.scope_end),
        journal_state=S.COMPLETE,
        journal_version=3,
    )
    proof = published_empty(attempt, before, after)
    assert one.state.publish(attempt, before, after, proof) == Applied(after)
    assert one.state.persist_summary(binding, summary) == Applied(summary.digest)
    assert one.state.persist_summary(binding, summary) == Applied(summary.digest)
    assert one.state.read_summary(binding.digest) == summary.to_bytes()
    states = one.sql(
        f"SELECT DISTINCT g.[status] FROM [dpone_control].[guards] AS g "
        f"WHERE g.[workflow_execution_binding_sha256] = 0x{binding.digest[7:]};"
    )
    assert states == [("RELEASED",)]
    assert code(one.state.append(admitted.attempt, S.COMPLETE, S.COMPLETE, proof)) == "DPONE_FENCE_LOST"


def test_rows_of_an_operation_that_was_never_admitted_are_refused(one: Refreshed) -> None:
    with pytest.raises(DponeError) as refused:
        one.state.publication_rows(made_up("no operation"))
    assert refused.value.code == "DPONE_ADMISSION_ABSENT"
