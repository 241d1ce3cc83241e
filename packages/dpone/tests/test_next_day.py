"""Which day is next: forward day by day, closed days only, never over an open or failed plan, never before coverage."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dpone.application.next_day import NextDay, Verdict, next_day
from dpone.application.planned import PlannedDay, Standing

START = dt.date(2026, 8, 8)
DAYS = st.integers(0, 6)
HOURS = st.integers(0, 12 * 24)
PLANS = st.lists(st.tuples(DAYS, st.sampled_from(Standing)), max_size=6)


def text(offset: int) -> str:
    return f"{START + dt.timedelta(days=offset)}T00:00:00Z"


def plan(offset: int, standing: Standing) -> PlannedDay:
    return PlannedDay(f"plan {offset}", "workflow", text(offset), standing)


def decided(plans: list[tuple[int, Standing]], *, covered: int = 0, now: float = 30, lag: int = 0) -> NextDay:
    clock = dt.datetime.combine(START, dt.time(), dt.UTC) + dt.timedelta(days=now)
    return next_day(
        {"a": text(covered), "b": text(covered)},
        [plan(*each) for each in plans],
        clock.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        lag,
    )


def test_the_first_day_is_the_baselines_coverage_end() -> None:
    found = decided([])
    assert (found.verdict, found.day.start_text) == (Verdict.PLAN, text(0))


def test_a_day_that_is_not_over_is_not_planned() -> None:
    found = decided([], now=0.999)
    assert (found.verdict, found.closes_at) == (Verdict.NOT_CLOSED, text(1))
    assert decided([], now=1).verdict is Verdict.PLAN


def test_the_policys_lag_keeps_a_day_open_longer() -> None:
    assert decided([], now=2.999, lag=2).verdict is Verdict.NOT_CLOSED
    assert decided([], now=3, lag=2).verdict is Verdict.PLAN


def test_a_day_that_is_planned_already_is_named_with_its_plan() -> None:
    for standing in (Standing.PLANNED, Standing.BOUND):
        found = decided([(0, standing)])
        assert (found.verdict, found.plan_bundle_sha256) == (Verdict.ALREADY_PLANNED, "plan 0")


def test_a_failed_plan_blocks_until_a_later_plan_of_the_day_is_complete() -> None:
    assert decided([(0, Standing.FAILED)]).verdict is Verdict.BLOCKED
    found = decided([(0, Standing.FAILED), (0, Standing.COMPLETE)], covered=1)
    assert (found.verdict, found.day.start_text) == (Verdict.PLAN, text(1))


def test_models_that_are_covered_to_different_days_block() -> None:
    found = next_day({"a": text(0), "b": text(1)}, [], f"{text(30)[:-1]}.000000Z", 0)
    assert (found.verdict, found.day.start_text) == (Verdict.BLOCKED, text(0))


def test_a_day_that_was_published_ahead_is_passed_over() -> None:
    found = decided([(1, Standing.COMPLETE)], covered=1)
    assert (found.verdict, found.day.start_text) == (Verdict.PLAN, text(2))


@given(PLANS, DAYS, HOURS, st.integers(0, 3))
def test_what_is_planned_is_closed_uncovered_unplanned_and_after_complete_days_only(
    plans: list[tuple[int, Standing]], covered: int, now: int, lag: int
) -> None:
    found = decided(plans, covered=covered, now=now / 24, lag=lag)
    if found.verdict is not Verdict.PLAN:
        return
    offset = (found.day.start.date() - START).days
    complete = {day for day, standing in plans if standing is Standing.COMPLETE}
    assert offset >= covered
    assert now >= 24 * (offset + 1 + lag)
    assert offset not in {day for day, _ in plans}
    assert set(range(covered, offset)) <= complete
    assert {day for day, _ in plans} <= complete


@given(PLANS, DAYS, HOURS, HOURS)
def test_waiting_only_ever_closes_a_day(
    plans: list[tuple[int, Standing]], covered: int, now: int, more: int
) -> None:
    sooner, later = (decided(plans, covered=covered, now=at / 24) for at in (now, now + more))
    assert sooner.day == later.day
    if sooner.verdict is not Verdict.NOT_CLOSED:
        assert replace(later, closes_at=None) == replace(sooner, closes_at=None)


@given(st.integers(0, 4), HOURS)
def test_called_again_and_again_it_goes_day_by_day_without_a_gap_and_stops_at_the_open_day(
    lag: int, now: int
) -> None:
    plans: list[tuple[int, Standing]] = []
    while (found := decided(plans, covered=len(plans), now=now / 24, lag=lag)).verdict is Verdict.PLAN:
        assert found.day.start_text == text(len(plans))
        plans.append((len(plans), Standing.PLANNED))
        assert (
            decided(plans, covered=len(plans) - 1, now=now / 24, lag=lag).verdict is Verdict.ALREADY_PLANNED
        )
        plans[-1] = (plans[-1][0], Standing.COMPLETE)
    assert found.verdict is Verdict.NOT_CLOSED
    assert len(plans) == max(0, now // 24 - lag)
