"""One operation of a run, and the run as later stages see it: protected state, never the caller's word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dpone_contracts.document import Document

if TYPE_CHECKING:
    from dpone.application.services import Services
    from dpone_contracts.bindings import WorkflowExecutionBinding
    from dpone_contracts.journal import JournalEntry
    from dpone_contracts.plan_bundle import PlanBundle, PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import Admission, AdmittedOperation

D = TypeVar("D", bound=Document)


@dataclass(frozen=True, slots=True)
class Operation:
    """A planned operation with its physical target and the attempt that holds it."""

    plan: OperationPlan
    target: PlanTarget
    admitted: AdmittedOperation

    @property
    def model(self) -> str:
        """The dbt unique id of the model."""
        return self.plan.model_unique_id


@dataclass(frozen=True, slots=True)
class Run:
    """An admitted workflow: the plan bundle, its binding to a DagRun, and its operations in plan order.

    `recovery_fork` is the fork of the control database that the activation was made on.
    """

    bundle: PlanBundle
    binding: WorkflowExecutionBinding
    recovery_fork: str
    operations: tuple[Operation, ...]


def run_of(
    bundle: PlanBundle, binding: WorkflowExecutionBinding, recovery_fork: str, admission: Admission
) -> Run:
    """Join plans, targets and attempts by operation."""
    targets = {target.model_unique_id: target for target in bundle.targets}
    admitted = {operation.operation_id: operation for operation in admission.operations}
    return Run(
        bundle,
        binding,
        recovery_fork,
        tuple(
            Operation(plan, targets[plan.model_unique_id], admitted[plan.operation_id])
            for plan in bundle.operation_plans
        ),
    )


def head_of(services: Services, operation: Operation) -> JournalEntry:
    """The latest journal entry of an operation."""
    return services.state.journal(operation.plan.operation_id)[-1]


def query_id_prefix(operation: Operation) -> str:
    """The prefix of every ClickHouse query id of an operation's execution."""
    binding = operation.admitted.attempt.workflow_execution_binding_sha256.removeprefix("sha256:")
    return f"dpone-semref-{binding[:20]}-{operation.plan.operation_id.removeprefix('sha256:')[:20]}-"


def stored(services: Services, operation_id: str, kind: type[D]) -> D | None:
    """The latest document of a kind that is stored for an operation, verified, or None."""
    digests = [
        digest for schema, digest in services.documents.list_for(operation_id) if schema == kind.SCHEMA
    ]
    if not digests:
        return None
    data = services.documents.read(kind.SCHEMA, digests[-1])
    return None if data is None else kind.from_bytes(data)
