"""The incident card for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from dpone_contracts.errors import ExitClass
from dpone_contracts.journal import TERMINAL_STATES
from dpone_contracts.recovery import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone.application.status import OperationCard, PlanCard

SCHEMA: Final = "dpone.refresh-status.v1"
NO_SWITCH: Final = (
    "There is no switch to assume a commit, force a writer, delete missing rows or resume in another DagRun."
)

_MEANING: Final = {
    ExitClass.DONE: "no outcome is in doubt",
    ExitClass.UNKNOWN: "an outcome is unknown",
    ExitClass.UNVERIFIED: "something could not be read",
    ExitClass.CORRUPTION: "stored facts contradict each other",
}


def exit_class_of(cards: Sequence[PlanCard]) -> ExitClass:
    """The class that the command ends with: the worst card's."""
    found = {card.exit_class for card in cards}
    order = (ExitClass.CORRUPTION, ExitClass.UNKNOWN, ExitClass.UNVERIFIED)
    return next((one for one in order if one in found), ExitClass.DONE)


def as_json(cards: Sequence[PlanCard]) -> str:
    """The cards as one JSON document."""
    told = {
        "schema": SCHEMA,
        "verdict": exit_class_of(cards).name,
        "plans": [_plan(card) for card in cards],
        "no_switch": NO_SWITCH,
    }
    return json.dumps(told, indent=2)


def _plan(card: PlanCard) -> dict[str, Any]:
    return {
        "deployment_id": card.deployment_id,
        "plan_bundle_sha256": card.planned.plan_bundle_sha256,
        "workflow": card.planned.workflow_name,
        "scope_start": card.planned.scope_start,
        "standing": card.planned.standing.value,
        "dag_run_id": card.planned.dag_run_id,
        "verdict": card.exit_class.name,
        "stages": [
            {
                "kind": stage.kind.value,
                "task_id": stage.task_id,
                "model": stage.model_unique_id,
                "done": done,
            }
            for stage, done in card.stages
        ],
        "guards": [
            {
                "resource_id": row.resource_id,
                "status": row.status,
                "fencing_epoch": row.fencing_epoch,
                "operation_id": row.operation_id,
                "attempt_binding_sha256": row.attempt_binding_sha256,
            }
            for row in card.guards
        ],
        "operations": [_operation(each) for each in card.operations],
        "next_command": card.next.command,
        "if_one_waits": card.next.if_waiting,
    }


def _operation(card: OperationCard) -> dict[str, Any]:
    reading, attempt = card.reading, card.reading.operation.admitted.attempt
    seen = reading.evidence
    return {
        "operation_id": reading.operation.plan.operation_id,
        "model": reading.operation.model,
        "state": seen.state.value,
        "verdict": card.exit_class.name,
        "attempt": {
            "attempt_binding_sha256": attempt.digest,
            "try_number": attempt.try_number,
            "task_id": attempt.task_id,
            "pod_uid": attempt.pod_uid,
            "owner_id": attempt.owner_id,
            "fencing_epoch": attempt.fencing_epoch,
            "ended": seen.attempt_ended,
        },
        "outcomes": {
            "sql": seen.sql.value,
            "gate": seen.gate.value,
            "artifact": seen.artifact.value,
            "exchange": seen.exchange.value,
            "publication": seen.publication.value,
        },
        "journal": [
            {
                "version": entry.version,
                "state": entry.state.value,
                "receipt_schema": entry.receipt_schema,
                "receipt_sha256": entry.receipt_sha256,
                "recorded_at": entry.recorded_at,
            }
            for entry in reading.journal
        ],
        "proven": reading.proven,
        "unknown": reading.unknown,
        "not_readable": reading.unreadable,
        "permitted": card.decision.action.value,
        "forbidden": [
            {"action": action.value, "lacks": list(lacks)} for action, lacks in card.decision.refused
        ],
    }


def as_text(cards: Sequence[PlanCard]) -> str:
    """The cards for people."""
    return "\n\n".join(_plan_text(card) for card in cards)


def _plan_text(card: PlanCard) -> str:
    planned = card.planned
    lines = [
        f"{planned.workflow_name} {planned.scope_start}: {planned.standing.value}, {_MEANING[card.exit_class]}",
        f"  plan      {planned.plan_bundle_sha256}",
        f"  DagRun    {planned.dag_run_id or 'none is bound'}",
        "  stages    "
        + ", ".join(
            _stage(stage.kind.value, card, stage.model_unique_id, done) for stage, done in card.stages
        ),
    ]
    if not card.operations:
        lines.append("  nothing was admitted: no guard is held for it and no operation has begun")
    for row in card.guards:
        holder = row.operation_id or "the workflow"
        lines.append(f"  guard     {row.resource_id}: {row.status}, epoch {row.fencing_epoch}, {holder}")
    for operation in card.operations:
        lines += _operation_text(operation)
    lines += [f"  next      {card.next.command}", f"  waiting   {card.next.if_waiting}", f"  {NO_SWITCH}"]
    return "\n".join(lines)


def _stage(kind: str, card: PlanCard, model: str | None, done: bool) -> str:  # noqa: FBT001 - a plain fact
    named = (
        kind if model is None or len(card.bundle.operation_plans) == 1 else f"{kind} {model.split('.')[-1]}"
    )
    return f"{named} {'done' if done else 'open'}"


def _operation_text(card: OperationCard) -> list[str]:
    reading, attempt = card.reading, card.reading.operation.admitted.attempt
    lines = [
        f"  {reading.operation.model}: {reading.evidence.state.value}",
        f"    operation  {reading.operation.plan.operation_id}",
        f"    attempt    try {attempt.try_number}, pod {attempt.pod_uid}, fence {attempt.fencing_epoch}, {attempt.owner_id}",
    ]
    lines += [f"    proven     {text}" for text in reading.proven]
    lines += [f"    unknown    {text}" for text in reading.unknown]
    lines += [f"    not read   {text}" for text in reading.unreadable]
    if reading.evidence.state not in TERMINAL_STATES:
        lines.append(f"    permitted  {card.decision.action.value}")
        lines += [
            f"    forbidden  {', '.join(actions)}: missing is that {lack}"
            for lack, actions in _forbidden(card).items()
        ]
    return lines


def _forbidden(card: OperationCard) -> dict[str, list[str]]:
    """The other actions by the first condition that each lacks."""
    found: dict[str, list[str]] = {}
    for action, lacks in card.decision.refused:
        if action is not Action.STOP_FOR_OPERATOR:
            found.setdefault(lacks[0], []).append(action.value)
    return found
