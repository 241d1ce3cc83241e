"""The independent judge of the fault matrix: each rule turns one broken standing down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpone_lab.fault_matrix_check import Entry, Heads, Model, Standing, judge

STATES = ("PREPARING", "PREPARED", "COMMITTING", "TARGET_COMMITTED", "COMPLETE")
ENTRIES = tuple(
    Entry(number, state, STATES[number - 2] if number > 1 else None, "first", "receipt")
    for number, state in enumerate(STATES, 1)
)
BEFORE = Model(
    name="m",
    operation="op",
    built=True,
    sql="successor",
    clickhouse="predecessor",
    target_uuid="old",
    attempts=("first", "second"),
    journal=ENTRIES[:1],
    heads=Heads(1, "old", "baseline", 0, "2026-08-08"),
    tables=(),
)
AFTER = replace(
    BEFORE,
    clickhouse="successor",
    target_uuid="new",
    journal=ENTRIES,
    heads=Heads(2, "new", "op", 1, "2026-08-09"),
)


def standing(model: Model, summary: str | None = None) -> Standing:
    return Standing((model,), summary, (("manifest.json", "sha"),))


def judged(model: Model, summary: str | None = None, *, success: bool = False) -> str:
    return " ".join(judge(standing(BEFORE), standing(BEFORE), standing(model, summary), success=success))


def test_predecessor_successor_and_a_typed_unknown_are_right() -> None:
    assert judged(BEFORE) == ""
    assert judged(AFTER, "summary", success=True) == ""
    assert judged(replace(BEFORE, journal=ENTRIES[:3])) == ""
    assert judged(replace(BEFORE, journal=ENTRIES[:3], clickhouse="successor", target_uuid="new")) == ""


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (replace(AFTER, clickhouse="neither"), "neither the predecessor's nor the successor's rows"),
        (replace(AFTER, clickhouse="predecessor"), "at COMPLETE over the predecessor's rows"),
        (replace(BEFORE, clickhouse="successor"), "at PREPARING over the successor's rows"),
        (replace(BEFORE, sql="predecessor"), "SQL Server's target holds the predecessor's rows"),
        (replace(BEFORE, heads=AFTER.heads), "heads moved without a complete journal"),
        (replace(AFTER, heads=BEFORE.heads), "another UUID"),
        (replace(AFTER, journal=()), "changed or lost"),
        (replace(AFTER, journal=(ENTRIES[0], replace(ENTRIES[4], version=2))), "is no edge"),
        (replace(AFTER, journal=(replace(ENTRIES[0], attempt="second"), *ENTRIES[1:])), "lost its fence"),
        (replace(AFTER, journal=(replace(ENTRIES[0], attempt="nobody"), *ENTRIES[1:])), "of no attempt"),
    ],
)
def test_a_broken_standing_is_turned_down(model: Model, said: str) -> None:
    assert said in judged(model)


def test_success_needs_a_summary_and_a_summary_complete_journals() -> None:
    assert "announced without a summary" in judged(AFTER, success=True)
    assert "not complete" in judged(BEFORE, "summary")


def test_an_object_may_never_be_replaced() -> None:
    now = replace(standing(BEFORE), objects=(("manifest.json", "other"),))
    assert judge(standing(BEFORE), standing(BEFORE), now, success=False) == [
        "object manifest.json was replaced or lost"
    ]
