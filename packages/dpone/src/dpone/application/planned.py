"""The plans of a deployment and how far each has come: discovered from protected state, authority for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.summaries import DurableWorkflowSummary

if TYPE_CHECKING:
    from dpone_contracts.ports.activation_store import ActivationStore, StoredPlan


class Standing(StrEnum):
    """How far a plan has come; COMPLETE and FAILED are terminal, each by its stored summary."""

    PLANNED = "PLANNED"
    """No DagRun is bound."""
    BOUND = "BOUND"
    """A DagRun is bound, and no summary ends it."""
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing follows."""
        return self in {Standing.COMPLETE, Standing.FAILED}


@dataclass(frozen=True, slots=True)
class PlannedDay:
    """One activated plan of a workflow and day."""

    plan_bundle_sha256: str
    workflow_name: str
    scope_start: str
    standing: Standing
    dag_run_id: str | None = None


def planned_days(activations: ActivationStore, deployment_id: str) -> tuple[PlannedDay, ...]:
    """The plans of a deployment in the order of storing."""
    return tuple(_planned(plan) for plan in activations.plans_of(deployment_id))


def _planned(plan: StoredPlan) -> PlannedDay:
    receipt = ActivationReceipt.from_bytes(plan.receipt)
    return PlannedDay(
        receipt.plan_bundle_sha256,
        receipt.workflow_name,
        receipt.scope_start,
        _standing(plan),
        plan.dag_run_id,
    )


def _standing(plan: StoredPlan) -> Standing:
    if plan.summary_schema is not None:
        return Standing.COMPLETE if plan.summary_schema == DurableWorkflowSummary.SCHEMA else Standing.FAILED
    return Standing.PLANNED if plan.dag_run_id is None else Standing.BOUND
