"""The incident card of a plan: what is proven, what is unknown, who holds the fence, and the one safe next command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpone.application.admission import load_activation
from dpone.application.operation import Run, run_of, stored
from dpone.application.planned import PlannedDay, Standing, planned_days
from dpone.application.recovery_evidence import Reading, read_operation
from dpone.application.stages import Stage, StageKind, stages_of
from dpone_contracts.artifacts import SealedArtifactManifest
from dpone_contracts.bindings import WorkflowExecutionBinding
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.journal import OperationState
from dpone_contracts.recovery import Action, Decision, Holder, decide
from dpone_contracts.run_receipts import BuildGateReceipt, PreparedReceipt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpone.application.services import EvidenceServices
    from dpone_contracts.plan_bundle import PlanBundle
    from dpone_contracts.ports.refresh_state import GuardRow


@dataclass(frozen=True, slots=True)
class Next:
    """The one safe next command, and what happens if one waits instead."""

    command: str
    if_waiting: str


@dataclass(frozen=True, slots=True)
class OperationCard:
    """One operation: what was read of it, and the decision over that."""

    reading: Reading
    decision: Decision

    @property
    def exit_class(self) -> ExitClass:
        """How sure one may be of this operation's outcome; that its attempt may still live makes no outcome known."""
        if self.reading.is_corrupt:
            return ExitClass.CORRUPTION
        if self.reading.unreadable:
            return ExitClass.UNVERIFIED
        behind_it = decide(replace(self.reading.evidence, attempt_ended=True)).action
        return ExitClass.UNKNOWN if behind_it in _IN_DOUBT else ExitClass.DONE


@dataclass(frozen=True, slots=True)
class PlanCard:
    """One activated plan; without an admission it has no operations, guards or attempts yet."""

    planned: PlannedDay
    bundle: PlanBundle
    deployment_id: str
    stages: tuple[tuple[Stage, bool], ...]
    guards: tuple[GuardRow, ...]
    operations: tuple[OperationCard, ...]
    next: Next

    @property
    def exit_class(self) -> ExitClass:
        """The worst of its operations: corruption, then unknown, then unverified."""
        found = {card.exit_class for card in self.operations}
        order = (ExitClass.CORRUPTION, ExitClass.UNKNOWN, ExitClass.UNVERIFIED)
        return next((one for one in order if one in found), ExitClass.DONE)


_IN_DOUBT = frozenset(
    {
        Action.RECONCILE_SQL,
        Action.RECONCILE_ARTIFACT,
        Action.RECONCILE_EXCHANGE,
        Action.RECONCILE_PUBLICATION,
        Action.RECORD_COMMIT_UNKNOWN,
        Action.RECORD_INCOMPLETE,
        Action.STOP_FOR_OPERATOR,
    }
)
_NEEDS_OPERATOR = frozenset(
    {Action.RECONCILE_SQL, Action.FAIL_PRE_COMMIT, Action.REPLACE, Action.STOP_FOR_OPERATOR}
)
"""What a next try of the run refuses to do."""

OPERATOR = "stop and call the platform's owner"
"""Where no command of this version settles what stands."""
STATUS = "dpone refresh status"
ADVANCE = "dpone refresh advance"


def status_of_operation(services: EvidenceServices, deployment_id: str, operation_id: str) -> PlanCard:
    """The card of the plan that an operation belongs to, admitted or only planned."""
    found = services.state.plan_of(operation_id)
    for planned in planned_days(services.activations, deployment_id):
        if found is None:
            bundle, _ = load_activation(services, deployment_id, planned.plan_bundle_sha256)
            if operation_id in {plan.operation_id for plan in bundle.operation_plans}:
                return plan_card(services, deployment_id, planned)
        elif found == (deployment_id, planned.plan_bundle_sha256):
            return plan_card(services, deployment_id, planned)
    raise _not_known("no operation of this deployment has this id", operation_id=operation_id)


def status_of_scope(services: EvidenceServices, deployment_id: str, scope_start: str) -> tuple[PlanCard, ...]:
    """The cards of every plan of one day."""
    days = planned_days(services.activations, deployment_id)
    cards = _cards(services, deployment_id, (day for day in days if day.scope_start == scope_start))
    if not cards:
        raise _not_known("the day is not planned in this deployment", scope_start=scope_start)
    return cards


def status_of_workflow(
    services: EvidenceServices, deployment_id: str, workflow_name: str
) -> tuple[PlanCard, ...]:
    """The cards of every plan of a workflow that is not COMPLETE, and of the last one."""
    days = [
        day for day in planned_days(services.activations, deployment_id) if day.workflow_name == workflow_name
    ]
    if not days:
        raise _not_known("the workflow has no plan in this deployment", workflow=workflow_name)
    return _cards(
        services,
        deployment_id,
        (day for day in days if day is days[-1] or day.standing is not Standing.COMPLETE),
    )


def plan_card(services: EvidenceServices, deployment_id: str, planned: PlannedDay) -> PlanCard:
    """Read one plan's evidence and decide; nothing is changed."""
    bundle, recovery_fork = load_activation(services, deployment_id, planned.plan_bundle_sha256)
    run = _run(services, bundle, recovery_fork, deployment_id)
    readings = [] if run is None else [read_operation(services, run, each) for each in run.operations]
    cards = tuple(OperationCard(reading, decide(reading.evidence)) for reading in readings)
    closure = bundle.run_guard_closure
    return PlanCard(
        planned=planned,
        bundle=bundle,
        deployment_id=deployment_id,
        stages=_stages(services, planned, bundle, readings),
        guards=services.state.guards((closure.workflow_guard_resource_id, *closure.resource_guard_ids)),
        operations=cards,
        next=_next(planned, cards),
    )


def _run(
    services: EvidenceServices, bundle: PlanBundle, recovery_fork: str, deployment_id: str
) -> Run | None:
    bound = services.state.resolve_execution(deployment_id, bundle.digest)
    if bound is None:
        return None
    binding = WorkflowExecutionBinding.from_bytes(bound[1])
    admission = services.state.read_admission(binding.digest)
    return None if admission is None else run_of(services, bundle, binding, recovery_fork, admission)


def _cards(
    services: EvidenceServices, deployment_id: str, days: Iterable[PlannedDay]
) -> tuple[PlanCard, ...]:
    return tuple(plan_card(services, deployment_id, day) for day in days)


def _stages(
    services: EvidenceServices, planned: PlannedDay, bundle: PlanBundle, readings: Sequence[Reading]
) -> tuple[tuple[Stage, bool], ...]:
    """The plan's stages, each with whether evidence shows it done."""
    by_model = {reading.operation.model: reading for reading in readings}
    past_commit = {
        OperationState.TARGET_COMMITTED,
        OperationState.COMMITTED_INCOMPLETE,
        OperationState.COMPLETE,
    }

    def is_done(stage: Stage) -> bool:
        reading = by_model.get(stage.model_unique_id or next(iter(by_model), ""))
        if reading is None:
            return False
        operation_id, state = reading.operation.plan.operation_id, reading.evidence.state
        match stage.kind:
            case StageKind.ADMIT:
                return True
            case StageKind.BUILD:
                return stored(services, operation_id, BuildGateReceipt) is not None
            case StageKind.SEAL:
                return stored(services, operation_id, SealedArtifactManifest) is not None
            case StageKind.PREPARE:
                return stored(services, operation_id, PreparedReceipt) is not None
            case StageKind.COMMIT:
                return state in past_commit
            case StageKind.PUBLISH:
                return state is OperationState.COMPLETE
            case StageKind.SUMMARISE:
                return planned.standing is Standing.COMPLETE

    models = [plan.model_unique_id for plan in bundle.operation_plans]
    return tuple((stage, is_done(stage)) for stage in stages_of(models))


def _next(planned: PlannedDay, cards: Sequence[OperationCard]) -> Next:
    """The one command: the most cautious one that any operation needs."""
    actions = {card.decision.action for card in cards}
    if any(card.exit_class is ExitClass.CORRUPTION for card in cards):
        return Next(
            OPERATOR,
            "nothing is repaired by itself; the guards stay held, so nothing else writes these targets",
        )
    if any(card.reading.unreadable for card in cards):
        return Next(STATUS, "nothing changes; ask again once what could not be read answers")
    if planned.standing is Standing.COMPLETE:
        return Next(ADVANCE, "nothing happens: the day is published and its guards are released")
    if planned.standing is Standing.FAILED:
        return Next(OPERATOR, "the day stays at its predecessor, and no later day is planned before it")
    if not cards:
        return Next(
            _run_command(planned, planned.dag_run_id or "<DagRun id>", 1),
            "nothing happens: no guard is held, and the day stays at its predecessor",
        )
    if Action.WAIT_FOR_ATTEMPT_END in actions:
        return Next(
            STATUS,
            "the attempt goes on if it lives; if it died, its guards stay held until its platform vouches for its end "
            "and both engines are quiet. No time that passes grants a takeover",
        )
    open_cards = [card for card in cards if card.decision.action is not Action.NOTHING]
    if actions & _NEEDS_OPERATOR or any(
        card.reading.evidence.holder is Holder.OPERATOR for card in open_cards
    ):
        return Next(OPERATOR, "the guards stay held and the day stays open; nothing is lost or repeated")
    attempt = cards[0].reading.operation.admitted.attempt
    later = max(card.reading.operation.admitted.attempt.try_number for card in cards) + 1
    return Next(
        _run_command(planned, attempt.dag_run_id, later),
        "nothing is lost: journal, receipts and UUIDs stay as they are, and the guards stay held",
    )


def _run_command(planned: PlannedDay, dag_run_id: str, try_number: int) -> str:
    return (
        f"dpone refresh run --plan {planned.plan_bundle_sha256} --dag-run-id {dag_run_id} "
        f"--try-number {try_number}"
    )


def _not_known(observed: str, **evidence: str) -> DponeError:
    return DponeError("DPONE_OPERATION_NOT_FOUND", observed, evidence)
