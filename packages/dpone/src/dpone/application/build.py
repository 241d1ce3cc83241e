"""BUILD: one dbt build and test gate; what it committed is read from the engine, never from its exit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.outcomes import MssqlOutcome, classify_mssql

from dpone.application.operation import Operation, Run, stored
from dpone.application.services import Services, refuse_first, require
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.model_build import BuildRequest
from dpone_contracts.run_receipts import BuildGateReceipt, ModelBuildReceipt

if TYPE_CHECKING:
    from dpone_contracts.ports.model_build import BuildExit


def outcome_of(services: Services, operation: Operation) -> tuple[MssqlOutcome, ModelBuildReceipt | None]:
    """The classified outcome of an operation's mutation and, where it committed, its receipt."""
    evidence = services.mutation.evidence(operation.plan, operation.target, operation.admitted)
    outcome = classify_mssql(evidence)
    committed = outcome is MssqlOutcome.COMMITTED_WITH_IMAGES and evidence.receipt is not None
    return outcome, ModelBuildReceipt.from_bytes(evidence.receipt) if committed and evidence.receipt else None


def build(services: Services, run: Run) -> None:
    """Build what has not committed, prove every model's outcome, and pass the test gate once.

    Raises `DponeError`: a model that rolled back, whose commit is unknown, or whose tests failed stops the run
    before anything is sealed.
    """
    first = run.operations[0].plan.operation_id
    if stored(services, first, BuildGateReceipt) is not None:
        return
    outcomes = {operation.model: outcome_of(services, operation)[0] for operation in run.operations}
    pending = tuple(
        operation
        for operation in run.operations
        if outcomes[operation.model] is not MssqlOutcome.COMMITTED_WITH_IMAGES
    )
    for operation in pending:
        if outcomes[operation.model] is not MssqlOutcome.NOT_INVOKED:
            _stop(operation, outcomes[operation.model])
    exit_ = _invoke(services, run, pending)
    for operation in run.operations:
        outcome, receipt = _settled(services, operation)
        if receipt is None:
            _stop(operation, outcome, exit_)
        require(services.documents.persist(operation.plan.operation_id, receipt))
    if exit_.tests_passed is not True:
        raise DponeError(
            "DPONE_BUILD_TEST_GATE_FAILED",
            "every model committed, the workflow's tests did not all pass",
            {"log": exit_.log_path, **exit_.node_status},
        )
    gate = BuildGateReceipt.build(
        workflow_execution_binding_sha256=run.binding.digest,
        model_unique_ids=sorted(operation.model for operation in run.operations),
        tests="PASSED",
        recorded_at=services.clock.now(),
    )
    for operation in run.operations:
        require(services.documents.persist(operation.plan.operation_id, gate))


def _invoke(services: Services, run: Run, pending: tuple[Operation, ...]) -> BuildExit:
    for operation in pending:
        refuse_first(services.mutation.preflight(operation.plan, operation.target))
    batches = []
    for operation in pending:
        require(services.mutation.create_images(operation.plan, operation.target, operation.admitted))
        batches.append(services.mutation.render(operation.plan, operation.target, operation.admitted))
    for operation in pending:
        require(services.state.record_intent(operation.admitted.attempt))
    policies = [operation.target.resource_policy for operation in run.operations]
    return services.build.build(
        BuildRequest(
            workflow_execution_binding_sha256=run.binding.digest,
            batches=tuple(batches),
            tested_models=tuple(operation.model for operation in run.operations),
            timeout_seconds=sum(policy.max_statement_seconds for policy in policies),
            query_timeout_seconds=min(policy.max_statement_seconds for policy in policies),
        )
    )


def _settled(services: Services, operation: Operation) -> tuple[MssqlOutcome, ModelBuildReceipt | None]:
    """The outcome after the process was reaped; a missing receipt is settled by the attempt's fate row."""
    outcome, receipt = outcome_of(services, operation)
    if receipt is None and outcome is MssqlOutcome.COMMIT_UNKNOWN:
        require(services.mutation.abandon(operation.admitted))
        return outcome_of(services, operation)
    return outcome, receipt


def _stop(operation: Operation, outcome: MssqlOutcome, exit_: BuildExit | None = None) -> None:
    code = (
        "DPONE_SQL_OUTCOME_UNKNOWN" if outcome is MssqlOutcome.COMMIT_UNKNOWN else "DPONE_BUILD_NOT_COMMITTED"
    )
    evidence = {"operation_id": operation.plan.operation_id, "outcome": outcome.value}
    if exit_ is not None:
        evidence |= {
            "log": exit_.log_path,
            "dbt_status": exit_.node_status.get(operation.model, "not reported"),
        }
    raise DponeError(code, f"{operation.model}: {outcome.value}", evidence)
