"""Polling is bounded: so many looks, delays that grow to a longest one, jitter that only shortens."""

from __future__ import annotations

import pytest

from dpone_contracts.policies import PollingPolicy
from dpone_contracts.polling import delays


def policy(**changes: int) -> PollingPolicy:
    limits = {
        "max_attempts": 7,
        "initial_delay_milliseconds": 100,
        "max_delay_milliseconds": 1_000,
        "multiplier_percent": 200,
        "jitter_percent": 0,
    }
    return PollingPolicy(**{**limits, **changes})


def test_delays_grow_to_the_longest_and_end_with_the_attempts() -> None:
    assert list(delays(policy(), "any")) == [100, 200, 400, 800, 1_000, 1_000]
    assert list(delays(policy(max_attempts=1), "any")) == []


@pytest.mark.parametrize("jitter", [20, 100])
def test_jitter_shortens_a_delay_by_no_more_than_its_share_and_not_alike_for_everything(jitter: int) -> None:
    whole = list(delays(policy(), "any"))
    each = {of: list(delays(policy(jitter_percent=jitter), of)) for of in map(str, range(20))}
    for shortened in each.values():
        pairs = list(zip(shortened, whole, strict=True))
        assert all(max(1, full * (100 - jitter) / 100 - 1) <= short <= full for short, full in pairs)
    assert len({tuple(shortened) for shortened in each.values()}) == len(each)
    assert each["0"] == list(delays(policy(jitter_percent=jitter), "0"))
