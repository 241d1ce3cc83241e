"""Which day a workflow is refreshed for next: a pure decision over coverage, plans and the clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from dpone.application.planned import Standing
from dpone_contracts.scalars import instant
from dpone_contracts.scope import DayScope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpone.application.planned import PlannedDay


class Verdict(StrEnum):
    """What a daily schedule does now."""

    PLAN = "PLAN"
    """Activate the day: it is closed, uncovered, unplanned, and every plan before it is COMPLETE."""
    ALREADY_PLANNED = "ALREADY_PLANNED"
    """A plan that is not terminal stands: it runs to its end first."""
    NOT_CLOSED = "NOT_CLOSED"
    """The day is not over yet, or its lag has not passed."""
    BLOCKED = "BLOCKED"
    """The failed plan or the models' coverage needs an operator."""


@dataclass(frozen=True, slots=True)
class NextDay:
    """The decision: the day that it is about, why, the plan that stands in the way, and when the day closes."""

    verdict: Verdict
    day: DayScope
    reason: str
    plan_bundle_sha256: str | None = None
    closes_at: str | None = None


def next_day(coverage: Mapping[str, str], plans: Sequence[PlannedDay], now: str, lag_days: int) -> NextDay:
    """Decide from each model's end of coverage, the workflow's plans, the clock and the policy's lag.

    Goes forward day by day from the end of coverage, over days that are COMPLETE already; it never plans a day
    before it, and never while an earlier plan is open.
    """
    day = _scope(min(coverage.values()))
    complete = {plan.scope_start for plan in plans if plan.standing is Standing.COMPLETE}
    unresolved = sorted(
        (plan for plan in plans if plan.scope_start not in complete),
        key=lambda plan: (plan.standing is not Standing.FAILED, plan.scope_start),
    )
    if unresolved:
        first = unresolved[0]
        failed = first.standing is Standing.FAILED
        return NextDay(
            Verdict.BLOCKED if failed else Verdict.ALREADY_PLANNED,
            _scope(first.scope_start),
            "its plan failed before the commit, and nothing has replaced it" if failed else "it is planned",
            first.plan_bundle_sha256,
        )
    if len(set(coverage.values())) > 1:
        reason = "its models are covered to different days"
        return NextDay(Verdict.BLOCKED, day, reason)
    while day.start_text in complete:
        day = day.next()
    closes = closing_time(day, lag_days)
    if instant(now) < instant(closes):
        return NextDay(Verdict.NOT_CLOSED, day, f"it closes at {closes}", closes_at=closes)
    return NextDay(Verdict.PLAN, day, "it is the first uncovered closed day")


def closing_time(day: DayScope, lag_days: int) -> str:
    """When a day may be planned: its end and the policy's lag."""
    return DayScope(day.end + timedelta(days=lag_days)).start_text


def _scope(start: str) -> DayScope:
    return DayScope(instant(start))
