"""The independent check sees every cell, every row and every multiplicity, in both databases."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpone_lab import independent_check
from dpone_lab.expected import MARTS
from dpone_lab.fixture import _base_rows, baseline_rows, day_start
from dpone_lab.independent_check import Snapshot, judge

DAY = dt.date(2013, 6, 12)
BASE = _base_rows([DAY + dt.timedelta(days=offset) for offset in range(-14, 2)])
BEFORE_ROWS = {mart.name: Counter(baseline_rows(mart, BASE, DAY)) for mart in MARTS}
BEFORE = Snapshot(BEFORE_ROWS, BEFORE_ROWS)


def refreshed() -> dict[str, Any]:
    start = day_start(DAY)
    tables = {}
    for mart in MARTS:
        rows = {mart.key_of(row): row for row in BEFORE_ROWS[mart.name]}
        rows |= {mart.key_of(row): row for row in mart.rows(BASE, start, start + dt.timedelta(days=1))}
        tables[mart.name] = Counter(rows.values())
    return tables


AFTER_ROWS = refreshed()
AFTER = Snapshot(AFTER_ROWS, AFTER_ROWS)


def test_a_right_refresh_has_a_true_verdict() -> None:
    report = judge(BEFORE, AFTER, BASE, day_start(DAY))
    assert report["verdict"] is True
    flights = report["models"][1]
    assert (flights["source_rows"], flights["kept_without_input"]) == (983, 1)
    assert flights["updated"] > 0
    assert flights["inserted"] > 0
    assert flights["unchanged_in_scope"] > 0


def test_no_refresh_at_all_has_a_false_verdict() -> None:
    assert judge(BEFORE, BEFORE, BASE, day_start(DAY))["verdict"] is False


def other(value: object) -> object:
    match value:
        case None:
            return 0
        case bool():
            return not value
        case int():
            return value + 1
        case Decimal():
            return value + Decimal("0.001")
        case dt.datetime():
            return value + dt.timedelta(microseconds=1)
        case _:
            return f"{value} "


@pytest.mark.parametrize("engine", ["sql", "clickhouse"])
@settings(max_examples=25)
@given(data=st.data())
def test_one_flipped_cell_makes_the_verdict_false(engine: str, data: st.DataObject) -> None:
    mart = data.draw(st.sampled_from(MARTS))
    rows = AFTER_ROWS[mart.name]
    row = data.draw(st.sampled_from(sorted(rows, key=repr)[::97]))
    place = data.draw(st.integers(0, len(row) - 1))
    flipped = rows - Counter([row]) + Counter([(*row[:place], other(row[place]), *row[place + 1 :])])
    after = replace(AFTER, **{engine: {**AFTER_ROWS, mart.name: flipped}})
    assert judge(BEFORE, after, BASE, day_start(DAY))["verdict"] is False


def test_a_row_that_stands_twice_makes_the_verdict_false() -> None:
    rows = AFTER_ROWS["airport_hour_event"]
    doubled = rows + Counter([next(iter(rows))])
    after = replace(AFTER, clickhouse={**AFTER_ROWS, "airport_hour_event": doubled})
    assert judge(BEFORE, after, BASE, day_start(DAY))["verdict"] is False


def test_the_check_imports_nothing_of_the_product() -> None:
    folder = Path(independent_check.__file__).parent
    for name in ("independent_check.py", "expected.py"):
        imports = [
            line for line in (folder / name).read_text().splitlines() if line.startswith(("import ", "from "))
        ]
        assert [line for line in imports if "dpone" in line] == (
            ["from dpone_lab.expected import MARTS, BaseRows, Mart, Row"]
            if name == "independent_check.py"
            else []
        )
