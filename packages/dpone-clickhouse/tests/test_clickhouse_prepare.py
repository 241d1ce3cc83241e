"""Staging, shadow and proof on a real engine."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.engine

EXPECTED = """
    SELECT * FROM db.flights WHERE NOT (toDate(at) = '2013-01-02' AND flight % 2 = 0)
    UNION ALL SELECT * FROM ({day})
"""


def test_the_day_replaces_staged_keys_and_keeps_the_rest(flights: Any) -> None:
    scratch, build = flights.built()
    proof = flights.prove(scratch, build)
    assert (build.strategy, build.attached_partitions, build.rebuilt_partitions) == (
        "partition",
        ("20130101", "20130103"),
        ("20130102",),
    )
    assert (proof.staged_rows, proof.rebuilt_rows, proof.attached_rows, proof.differences) == (
        550,
        1050,
        2000,
        0,
    )
    expected = EXPECTED.format(day=flights.day())
    shadow = f"db.{scratch.shadow.name}"
    assert flights.rows(f"SELECT count() FROM (({expected}) EXCEPT ALL (SELECT * FROM {shadow}))") == [(0,)]
    assert flights.rows(f"SELECT count() FROM ((SELECT * FROM {shadow}) EXCEPT ALL ({expected}))") == [(0,)]
