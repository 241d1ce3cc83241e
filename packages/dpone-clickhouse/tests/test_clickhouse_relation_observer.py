"""A baseline's relation is observed whole, or refused for what a target must not be."""

from __future__ import annotations

from typing import Any

import pytest

from dpone_clickhouse import relation_observer
from dpone_clickhouse.preparation import content
from dpone_clickhouse.relation_observer import ClickHouseRelationObserver
from dpone_contracts.errors import DponeError

pytestmark = pytest.mark.engine

KEY = ("at", "carrier", "flight")


def _observed(case: Any, engine: Any) -> Any:
    connection = case.connection()
    observer = ClickHouseRelationObserver(connection, policies_from_plan=engine.face == "chdb")
    try:
        return observer.observe(f"{case.database}.flights", case.target.writable_columns, KEY, "at")
    finally:
        connection.close()


def test_rows_span_keys_and_uuid_are_what_the_table_has(flights: Any, engine: Any) -> None:
    seen = _observed(flights, engine)
    assert (seen.row_count, seen.duplicate_keys, seen.uuid) == (3000, 0, flights.target_uuid())
    assert (seen.first_event, seen.last_event) == (
        "2013-01-01T00:00:00.000000Z",
        "2013-01-03T00:16:39.000000Z",
    )
    assert seen.physical_sha256 == flights.publisher.authority(flights.target).digest


def test_keys_that_stand_more_than_once_are_counted(flights: Any, engine: Any) -> None:
    flights.run(
        "INSERT INTO db.flights SELECT * REPLACE (NULL AS note) FROM db.flights WHERE flight IN (6, 7)"
    )
    seen = _observed(flights, engine)
    assert (seen.row_count, seen.duplicate_keys) == (3002, 2)


def test_an_empty_relation_has_no_span(case: Any, engine: Any) -> None:
    case.create_target()
    seen = _observed(case, engine)
    assert (seen.row_count, seen.first_event, seen.last_event) == (0, None, None)


def test_a_relation_with_a_writer_is_no_baseline(flights: Any, engine: Any) -> None:
    flights.run("CREATE MATERIALIZED VIEW db.v ENGINE = Null AS SELECT * FROM db.flights")
    with pytest.raises(DponeError) as refused:
        _observed(flights, engine)
    assert refused.value.code == "DPONE_CLICKHOUSE_MATERIALIZED_VIEW"


def test_a_relation_that_is_written_while_it_is_observed_is_no_baseline(
    flights: Any, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(*arguments: Any) -> tuple[int, str]:
        flights.run("INSERT INTO db.flights SELECT * FROM db.flights WHERE flight = 6")
        return content(*arguments)

    monkeypatch.setattr(relation_observer, "content", written)
    with pytest.raises(DponeError) as refused:
        _observed(flights, engine)
    assert refused.value.code == "DPONE_CLICKHOUSE_TARGET_CHANGED"
