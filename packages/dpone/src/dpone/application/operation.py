"""One operation of a run, and the run as later stages see it: protected state, never the caller's word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dpone.application.services import require
from dpone_contracts import names
from dpone_contracts.bindings import AttemptContinuationReceipt
from dpone_contracts.document import Document

if TYPE_CHECKING:
    from dpone.application.services import EvidenceServices, Services
    from dpone_contracts.bindings import WorkflowExecutionBinding
    from dpone_contracts.journal import JournalEntry
    from dpone_contracts.plan_bundle import PlanBundle, PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import Admission, AdmittedOperation

D = TypeVar("D", bound=Document)


@dataclass(frozen=True, slots=True)
class Operation:
    """A planned operation with its physical target and the attempt that holds it.

    `since` is the durable instant at which the try that holds it was admitted, or continued it.
    """

    plan: OperationPlan
    target: PlanTarget
    admitted: AdmittedOperation
    since: str

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
    services: EvidenceServices,
    bundle: PlanBundle,
    binding: WorkflowExecutionBinding,
    recovery_fork: str,
    admission: Admission,
) -> Run:
    """Join plans, targets and attempts by operation."""
    targets = {target.model_unique_id: target for target in bundle.targets}
    admitted = {operation.operation_id: operation for operation in admission.operations}
    return Run(
        bundle,
        binding,
        recovery_fork,
        tuple(
            Operation(
                plan,
                targets[plan.model_unique_id],
                admitted[plan.operation_id],
                _since(services, plan.operation_id),
            )
            for plan in bundle.operation_plans
        ),
    )


def _since(services: EvidenceServices, operation_id: str) -> str:
    """Durable, so that a worker that starts again does not start its clock again."""
    continued = stored(services, operation_id, AttemptContinuationReceipt)
    if continued is not None:
        return continued.verified_at
    return services.state.journal(operation_id)[0].recorded_at


def head_of(services: EvidenceServices, operation: Operation) -> JournalEntry:
    """The latest journal entry of an operation."""
    return services.state.journal(operation.plan.operation_id)[-1]


def query_id_prefix(operation: Operation) -> str:
    """The prefix of every ClickHouse query id of an operation's execution."""
    binding = operation.admitted.attempt.workflow_execution_binding_sha256
    return names.query_id_prefix(binding, operation.plan.operation_id)


def stored(services: EvidenceServices, operation_id: str, kind: type[D]) -> D | None:
    """The document of a kind that was stored first for an operation, verified, or None.

    The first one stands: what an attempt sent and gave up may still be stored late, and may not replace what its
    successor has built on. Whoever stores a document of an own kind reads back which one stands.
    """
    return _read_one(services, operation_id, kind, 0)


def last_stored(services: EvidenceServices, operation_id: str, kind: type[D]) -> D | None:
    """The document of a kind that was stored last, for kinds that only the fenced journal stores."""
    return _read_one(services, operation_id, kind, -1)


def _read_one(services: EvidenceServices, operation_id: str, kind: type[D], place: int) -> D | None:
    digests = [
        digest for schema, digest in services.documents.list_for(operation_id) if schema == kind.SCHEMA
    ]
    if not digests:
        return None
    data = services.documents.read(kind.SCHEMA, digests[place])
    return None if data is None else kind.from_bytes(data)


def settled(services: Services, operation_id: str, document: D) -> D:
    """Store a document, and return the one of its kind that stands."""
    require(services.documents.persist(operation_id, document))
    there = stored(services, operation_id, type(document))
    return document if there is None else there
