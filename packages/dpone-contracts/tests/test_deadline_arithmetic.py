"""Deadlines are arithmetic over instants: they pass when nothing is left, and a clock behind theirs passes none."""

from __future__ import annotations

import pytest

from dpone_contracts.deadlines import Deadline, first_passed, seconds_left

SINCE = "2026-08-09T01:00:00.000000Z"
MINUTE = Deadline("commit_seconds", 60, SINCE)
HOUR = Deadline("overall_seconds", 3600, "2026-08-09T00:30:00Z")


@pytest.mark.parametrize(
    ("now", "left", "passed"),
    [
        ("2026-08-09T00:59:00.000000Z", 60, False),
        (SINCE, 60, False),
        ("2026-08-09T01:00:00.000001Z", 60, False),
        ("2026-08-09T01:00:59.999999Z", 1, False),
        ("2026-08-09T01:01:00.000000Z", 0, True),
        ("2026-08-10T01:00:00.000000Z", 0, True),
    ],
)
def test_a_deadline_passes_at_its_limit_and_not_a_microsecond_before(
    now: str, left: int, *, passed: bool
) -> None:
    assert seconds_left([MINUTE], now) == left
    assert (first_passed([MINUTE], now) is not None) == passed


def test_the_earliest_deadline_says_how_much_is_left() -> None:
    now = "2026-08-09T01:29:30.000000Z"
    later = Deadline("commit_seconds", 60, "2026-08-09T01:29:00.000000Z")
    assert seconds_left([later, HOUR], now) == 30
    assert first_passed([later, HOUR], "2026-08-09T01:30:00.000000Z") == later
    assert first_passed([HOUR], "2026-08-09T01:30:00.000000Z") == HOUR
