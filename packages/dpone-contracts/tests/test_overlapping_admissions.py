"""Admissions over overlapping targets, in every order: disjoint sets win, losers learn who holds what."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from dpone_contracts.effects import Applied
from dpone_contracts.testing.memory_ports import memory_ports
from dpone_contracts.testing.overlapping_plans import (
    activate_all,
    admit_one,
    overlapping_plans,
    require_disjoint_winners,
)

TARGETS = st.frozensets(st.integers(0, 7), min_size=1, max_size=3)


@given(wanted=st.lists(TARGETS, min_size=2, max_size=7))
def test_whatever_is_wanted_in_whatever_order_a_maximal_disjoint_set_is_admitted(
    wanted: list[frozenset[int]],
) -> None:
    ports, plans = memory_ports(), overlapping_plans(wanted, database="memory", prefix="target")
    activate_all(ports.activations, ports.state, plans)
    results = [admit_one(ports.state, plan) for plan in plans]
    require_disjoint_winners(ports.state, plans, results)
    # One after the other nobody is refused without cause: the first wins, and whoever overlaps with no winner.
    taken: set[int] = set()
    for targets, result in zip(wanted, results, strict=True):
        assert isinstance(result, Applied) is taken.isdisjoint(targets)
        taken |= targets if isinstance(result, Applied) else set()


def test_a_loser_is_told_every_holder() -> None:
    wanted = [frozenset({0}), frozenset({1, 2}), frozenset({0, 2, 3})]
    for order in itertools.permutations(wanted[:2]):
        ports = memory_ports()
        plans = overlapping_plans([*order, wanted[2]], database="memory", prefix="target")
        activate_all(ports.activations, ports.state, plans)
        results = [admit_one(ports.state, plan) for plan in plans]
        assert require_disjoint_winners(ports.state, plans, results) == 2
        assert not isinstance(results[2], Applied)
        assert {name.rsplit(".", 1)[-1] for name in results[2].reason.evidence} == {"target_0", "target_2"}
