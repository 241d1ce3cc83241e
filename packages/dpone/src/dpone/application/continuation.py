"""The same operation in the immediate successor try: only over trusted termination and exact quiescence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpone.application.build import settle
from dpone.application.deadlines import BINDING, StageTime
from dpone.application.operation import Operation, Run, head_of, query_id_prefix, stored
from dpone.application.polling import observed
from dpone.application.services import Services, require
from dpone_contracts.bindings import AttemptContinuationReceipt
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState
from dpone_contracts.outcomes import SqlOutcome

if TYPE_CHECKING:
    from dpone_contracts.build_receipt import ModelBuildReceipt
    from dpone_contracts.ports.refresh_state import WorkerIdentity

GUARD_FREE = "EXCLUSIVE_ACQUIRED"


def continue_run(services: Services, run: Run, worker: WorkerIdentity, time: StageTime) -> Run:
    """Hand every operation that is not COMPLETE to this try; what this worker holds already, or is done, stays.

    Raises `DponeError`: the earlier attempt is not proven to have ended, something of it still runs, it is not
    the immediate predecessor, or its mutation is not proven committed (specification, Airflow, retry, replay,
    and state). Heartbeats grant nothing.
    """
    others = [o for o in run.operations if not _is_held_by(worker, o)]
    states = [(o, head_of(services, o).state) for o in others]
    open_operations = [o for o, state in states if state is not OperationState.COMPLETE]
    if not open_operations:
        return run
    if not {state for _, state in states} <= {OperationState.COMPLETE, *BINDING}:
        time = time.unbounded()
    held = tuple(sorted(o.plan.operation_id for o in open_operations))
    continued = {
        o.plan.operation_id: _continue(services, run, o, held, worker, time) for o in open_operations
    }
    return replace(run, operations=tuple(continued.get(o.plan.operation_id, o) for o in run.operations))


def _is_held_by(worker: WorkerIdentity, operation: Operation) -> bool:
    attempt = operation.admitted.attempt
    return (attempt.pod_uid, attempt.try_number) == (worker.pod_uid, worker.try_number)


def _continue(
    services: Services,
    run: Run,
    operation: Operation,
    held: tuple[str, ...],
    worker: WorkerIdentity,
    time: StageTime,
) -> Operation:
    _refuse_a_chain(services, operation, worker)
    attempt = operation.admitted.attempt
    termination = services.observer.termination(attempt, held)
    if termination is None:
        raise DponeError(
            "DPONE_ATTEMPT_NOT_TERMINATED",
            f"{operation.model}: nothing trusted proves that the earlier attempt has ended",
            {"pod_uid": attempt.pod_uid, "try_number": str(attempt.try_number)},
        )

    def look() -> tuple[tuple[int, bool] | None, tuple[str, ...]]:
        sessions = services.state.guard_quiescence(operation.plan.operation_id)
        return sessions, services.publisher.active_queries(query_id_prefix(operation))

    quiet = ((0, True), ())
    quiescence, running = observed(services, attempt.digest, look, lambda seen: seen == quiet)
    if (quiescence, running) != quiet:
        raise DponeError(
            "DPONE_ATTEMPT_NOT_QUIESCENT",
            f"{operation.model}: something of the earlier attempt is still there, or can't be seen",
            {
                "mssql": "not visible"
                if quiescence is None
                else f"{quiescence[0]} sessions, guard free {quiescence[1]}",
                "clickhouse_queries": str(len(running)),
            },
        )
    found, receipt = settle(services, operation, run.recovery_fork)
    if receipt is None:
        unknown = found.outcome is SqlOutcome.COMMIT_UNKNOWN
        raise DponeError(
            "DPONE_SQL_OUTCOME_UNKNOWN" if unknown else "DPONE_CONTINUATION_NOT_COMMITTED",
            f"{operation.model}: {found.outcome.value}",
            {"operation_id": operation.plan.operation_id, **dict.fromkeys(found.findings, "seen")},
        )
    _require_unchanged(services, operation, receipt)
    time.require()
    require(services.documents.persist(operation.plan.operation_id, receipt))
    continuation = AttemptContinuationReceipt.build(
        after_image_sha256=receipt.after_image_sha256,
        build_receipt_sha256=receipt.digest,
        clickhouse_cluster_authority_id=operation.target.clickhouse_cluster_authority_id,
        clickhouse_query_id_prefix=query_id_prefix(operation),
        fencing_epoch=attempt.fencing_epoch,
        guard_resource_id=operation.admitted.guard_resource_id,
        mssql_active_session_count=0,
        mssql_guard_lock_status=GUARD_FREE,
        operation_id=operation.plan.operation_id,
        operation_plan_sha256=operation.plan.digest,
        original_attempt_binding_sha256=attempt.digest,
        original_attempt_termination_receipt_sha256=termination.digest,
        pod_uid=worker.pod_uid,
        status="VERIFIED",
        task_id=worker.task_id,
        try_number=worker.try_number,
        verified_at=services.clock.now(),
        workflow_execution_binding_sha256=attempt.workflow_execution_binding_sha256,
    )
    time.require()
    admitted = require(services.state.continue_attempt(continuation, termination, worker))
    return Operation(operation.plan, operation.target, admitted, continuation.verified_at)


def _refuse_a_chain(services: Services, operation: Operation, worker: WorkerIdentity) -> None:
    """No try after N+1, and none after a continuation (specification, admission, 9); the store checks it again."""
    admitted_try = operation.admitted.attempt.try_number
    continued = stored(services, operation.plan.operation_id, AttemptContinuationReceipt) is not None
    if worker.try_number > admitted_try + (0 if continued else 1):
        raise DponeError(
            "DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED",
            f"{operation.model}: try {admitted_try} holds it{' as a continuation' if continued else ''}, "
            f"this is try {worker.try_number}",
            {"operation_id": operation.plan.operation_id},
        )


def _require_unchanged(services: Services, operation: Operation, receipt: ModelBuildReceipt) -> None:
    """Compare the scope as it stands, under the original fence, with the after image (specification, admission, 9)."""
    rows, digest = services.mutation.current_scope(operation.plan, operation.target)
    if (rows, digest) != (receipt.after_image_row_count, receipt.after_image_sha256):
        raise DponeError(
            "DPONE_SCOPE_DIVERGED",
            f"{operation.model}: the scope is no longer what the mutation left",
            {"rows": f"{rows} of {receipt.after_image_row_count}", "content": digest},
        )
