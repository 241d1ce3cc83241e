"""BUILD: one dbt build and test gate; what it committed is read from the engine, never from its exit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dpone.application.deadlines import stage_time
from dpone.application.operation import Operation, Run, stored
from dpone.application.services import EvidenceServices, Services, refuse_first, require
from dpone.application.stages import StageKind
from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.document import DocumentError
from dpone_contracts.errors import DponeError
from dpone_contracts.outcomes import BuildIdentity, ReceiptClaims, SqlClassification, SqlOutcome, classify_sql
from dpone_contracts.ports.model_build import BuildRequest
from dpone_contracts.run_receipts import BuildGateReceipt

if TYPE_CHECKING:
    from dpone_contracts.ports.model_build import BuildExit


def settle(
    services: EvidenceServices, operation: Operation, recovery_fork: str
) -> tuple[SqlClassification, ModelBuildReceipt | None]:
    """The classified outcome of an attempt's mutation and, where it committed, its receipt.

    `recovery_fork` is the fork that the activation was made on: a restored database proves nothing.
    """
    evidence = services.mutation.evidence(operation.plan, operation.target, operation.admitted)
    receipt = _valid_receipt(evidence.receipt)
    attempt = operation.admitted.attempt
    expected = BuildIdentity(
        operation.plan.operation_id, attempt.digest, attempt.fencing_epoch, recovery_fork
    )
    found = classify_sql(evidence, expected, None if receipt is None else _claims(receipt))
    return found, receipt if found.outcome is SqlOutcome.COMMITTED_WITH_IMAGES else None


def _valid_receipt(data: bytes | None) -> ModelBuildReceipt | None:
    if data is None:
        return None
    try:
        return ModelBuildReceipt.from_bytes(data)
    except DocumentError:
        return None


def _claims(receipt: ModelBuildReceipt) -> ReceiptClaims:
    return ReceiptClaims(
        BuildIdentity(
            receipt.operation_id, receipt.attempt_binding_sha256, receipt.fencing_epoch, receipt.recovery_fork
        ),
        receipt.before_image_row_count,
        receipt.before_image_sha256,
        receipt.after_image_row_count,
        receipt.after_image_sha256,
    )


def build(services: Services, run: Run) -> None:
    """Build what has not committed, prove every model's outcome, and pass the test gate once.

    Raises `DponeError`: a model that rolled back, whose commit is unknown, or whose tests failed stops the run
    before anything is sealed.
    """
    first = run.operations[0].plan.operation_id
    if stored(services, first, BuildGateReceipt) is not None:
        return
    pending = tuple(o for o in run.operations if not _has_committed(services, run, o))
    exit_ = _invoke(services, run, pending)
    for operation in pending:
        found, receipt = settle_after(services, run, operation)
        if receipt is None:
            _stop(operation, found, exit_)
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


def _has_committed(services: Services, run: Run, operation: Operation) -> bool:
    """Whether the mutation is done and its receipt stored; refuses unless otherwise nothing was ever announced.

    A process that died between the commit and the storing of the receipt left a commit that is reconciled here.
    """
    if stored(services, operation.plan.operation_id, ModelBuildReceipt) is not None:
        return True
    evidence = services.mutation.evidence(operation.plan, operation.target, operation.admitted)
    announced = evidence.intent_recorded or evidence.fate is not None or evidence.receipt is not None
    if evidence.reachable and not announced:
        return False
    found, receipt = settle(services, operation, run.recovery_fork)
    if receipt is None:
        _stop(operation, found)
    require(services.documents.persist(operation.plan.operation_id, receipt))
    return True


def _invoke(services: Services, run: Run, pending: tuple[Operation, ...]) -> BuildExit:
    time = stage_time(services, StageKind.BUILD, *run.operations)
    for operation in pending:
        refuse_first(services.mutation.preflight(operation.plan, operation.target))
    batches = []
    for operation in pending:
        time.require()
        require(services.mutation.create_images(operation.plan, operation.target, operation.admitted))
        batches.append(services.mutation.render(operation.plan, operation.target, operation.admitted))
    # Intents and launch are one step: an intent without a launch would have to be settled by its fate row.
    time.require()
    for operation in pending:
        require(services.state.record_intent(operation.admitted.attempt))
    policies = [operation.target.resource_policy for operation in run.operations]
    return services.build.build(
        BuildRequest(
            workflow_execution_binding_sha256=run.binding.digest,
            batches=tuple(batches),
            tested_models=tuple(operation.model for operation in run.operations),
            timeout_seconds=time.at_most(sum(policy.max_statement_seconds for policy in policies)),
            query_timeout_seconds=time.at_most(min(policy.max_statement_seconds for policy in policies)),
        )
    )


def settle_after(
    services: Services, run: Run, operation: Operation
) -> tuple[SqlClassification, ModelBuildReceipt | None]:
    """The outcome after the process was reaped; a missing receipt is settled by the attempt's fate row."""
    found, receipt = settle(services, operation, run.recovery_fork)
    if receipt is None and found.outcome is SqlOutcome.COMMIT_UNKNOWN:
        require(services.mutation.abandon(operation.admitted))
        return settle(services, operation, run.recovery_fork)
    return found, receipt


def _stop(operation: Operation, found: SqlClassification, exit_: BuildExit | None = None) -> NoReturn:
    unknown = found.outcome is SqlOutcome.COMMIT_UNKNOWN
    evidence = {
        "operation_id": operation.plan.operation_id,
        "outcome": found.outcome.value,
        **{f"finding_{number}": finding for number, finding in enumerate(found.findings, 1)},
    }
    if exit_ is not None:
        evidence |= {
            "log": exit_.log_path,
            "dbt_status": exit_.node_status.get(operation.model, "not reported"),
        }
    raise DponeError(
        "DPONE_SQL_OUTCOME_UNKNOWN" if unknown else "DPONE_BUILD_NOT_COMMITTED",
        f"{operation.model}: {found.outcome.value}",
        evidence,
    )
