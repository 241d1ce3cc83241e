"""The proof finds every difference, on what was rebuilt and on what was attached, and nothing where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from dpone_clickhouse import shadow as sql
from dpone_clickhouse.connection import Tag
from dpone_clickhouse.target import TargetTable
from dpone_clickhouse.types import TargetColumn
from dpone_contracts.effects import Applied
from dpone_contracts.relations import ClickHouseRelation

pytestmark = pytest.mark.engine

WIDE = (
    ("at", "datetime2(6)", "DateTime64(6,'UTC')", False, "EFFECTIVE_KEY_EVENT_TIME"),
    ("carrier", "decimal(38,0)", "Decimal(38,0)", False, "EFFECTIVE_KEY"),
    ("flight", "uniqueidentifier", "UUID", False, "EFFECTIVE_KEY"),
    ("delay", "int", "Int32", False, "MUTABLE_VALUE"),
)
REBUILT, ATTACHED = "toDate(at) = '2013-01-02'", "toDate(at) = '2013-01-01'"


@pytest.mark.parametrize("place", [REBUILT, ATTACHED], ids=["rebuilt", "attached"])
@pytest.mark.parametrize(
    ("tamper", "differences"),
    [
        ("ALTER TABLE {shadow} UPDATE delay = delay + 0.01 WHERE {place} AND flight IN (6, 1006)", 2),
        ("ALTER TABLE {shadow} UPDATE delay = 0 WHERE {place} AND delay IS NULL AND flight IN (5, 1005)", 2),
        ("ALTER TABLE {shadow} UPDATE note = '' WHERE {place} AND note IS NULL AND flight IN (7, 1008)", 2),
        ("ALTER TABLE {shadow} UPDATE note = concat(note, ' ') WHERE {place} AND flight IN (6, 1006)", 2),
        ("ALTER TABLE {shadow} UPDATE late = NOT late WHERE {place} AND flight IN (6, 1006)", 2),
        ("INSERT INTO {shadow} SELECT * FROM {shadow} WHERE {place} AND flight IN (6, 1006)", 1),
        ("ALTER TABLE {shadow} DELETE WHERE {place} AND flight IN (6, 1006)", 1),
        ("ALTER TABLE {shadow} DELETE WHERE {place} AND flight IN (7, 1007)", 1),
        ("DELETE FROM {shadow} WHERE {place} AND flight IN (6, 1006)", 1),
        ("INSERT INTO {shadow} SELECT * REPLACE (500000 AS flight) FROM (SELECT * FROM {shadow} WHERE {place} AND flight IN (6, 1006))", 1),
    ],
    ids=["payload", "null-0", "null-empty", "blank", "bit", "duplicate", "missing", "missing-unstaged", "masked", "extra"],
)  # fmt: skip
def test_one_tampered_row_is_a_difference(flights: Any, tamper: str, differences: int, place: str) -> None:
    scratch, build = flights.built()
    flights.run(tamper.format(shadow=f"db.{scratch.shadow.name}", place=place), mutations_sync=2)
    assert flights.prove(scratch, build).differences == differences


def _read_by(flights: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries of a proof that compare rows place by place or by count."""
    seen: list[str] = []
    for form in ("by_place_sql", "same_rows_sql"):
        real = getattr(sql, form)

        def noted(*arguments: Any, real: Any = real) -> str:
            seen.append(str(arguments))
            return str(real(*arguments))

        monkeypatch.setattr(sql, form, noted)
    scratch, build = flights.built()
    if name:
        flights.run(name.format(shadow=f"db.{scratch.shadow.name}"), mutations_sync=2)
    assert flights.prove(scratch, build).differences == 0
    return [query for query in seen if "20130101" in query or "20130103" in query]


def test_partitions_that_are_the_same_files_are_not_read(
    flights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _read_by(flights, "", monkeypatch) == []


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {shadow} UPDATE late = late WHERE toDate(at) = '2013-01-01'",
        "ALTER TABLE {shadow} MODIFY COLUMN note COMMENT 'another definition'",
    ],
    ids=["rewritten", "definition"],
)
def test_partitions_that_are_other_files_with_the_same_rows_are_read_and_equal(
    flights: Any, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _read_by(flights, change, monkeypatch)


def test_equal_files_that_are_read_otherwise_are_told_apart(flights: Any) -> None:
    """The same part reads other values where a column with a default was added after it, or a patch lies over it."""
    scratch, build = flights.built()
    shadow = f"db.{scratch.shadow.name}"
    flights.run(f"ALTER TABLE {shadow} DROP COLUMN late")
    flights.run(f"ALTER TABLE {shadow} ADD COLUMN late Bool DEFAULT true")
    assert flights.prove(scratch, build).differences > 0


def test_a_day_that_is_replaced_whole_is_proven_against_staging_alone(flights: Any) -> None:
    scratch, build = flights.built(
        "SELECT * REPLACE (NOT late AS late) FROM db.flights WHERE toDate(at) = '2013-01-02'"
    )
    proof = flights.prove(scratch, build)
    assert (proof.staged_rows, proof.rebuilt_rows, proof.differences) == (1000, 1000, 0)
    flights.run(
        f"ALTER TABLE db.{scratch.shadow.name} UPDATE late = NOT late WHERE flight = 1006", mutations_sync=2
    )
    assert flights.prove(scratch, build).differences == 2


def test_an_extra_row_of_defaults_in_a_partition_of_its_own_is_a_difference(flights: Any) -> None:
    scratch, build = flights.built()
    flights.run(f"INSERT INTO db.{scratch.shadow.name} (carrier) VALUES (0)")
    assert flights.prove(scratch, build).differences == 1


def test_a_partition_that_was_not_attached_is_a_difference(flights: Any) -> None:
    scratch, build = flights.built()
    flights.run(f"ALTER TABLE db.{scratch.shadow.name} DROP PARTITION ID '20130103'")
    assert flights.prove(scratch, build).differences == 1000


def test_duplicates_of_the_target_are_kept_with_their_number(flights: Any) -> None:
    flights.run("INSERT INTO db.flights SELECT * FROM db.flights WHERE flight IN (3, 1003, 1003)")
    scratch, build = flights.built()
    proof = flights.prove(scratch, build)
    assert (proof.rebuilt_rows, proof.attached_rows, proof.differences) == (1051, 2001, 0)


@pytest.mark.parametrize(
    ("partition", "strategy", "rebuilt"),
    [("", "full", ("all",)), ("PARTITION BY late", "full", ("0", "1")), ("PARTITION BY toYYYYMM(at)", "partition", ("201301",))],
    ids=["none", "payload", "month"],
)  # fmt: skip
def test_the_strategy_follows_the_partition_key(
    case: Any, partition: str, strategy: str, rebuilt: tuple[str, ...]
) -> None:
    case.create_target(partition)
    case.fill_target()
    scratch, build = case.built()
    assert (build.strategy, build.rebuilt_partitions, build.row_count) == (strategy, rebuilt, 3050)
    assert case.prove(scratch, build).differences == 0
    case.run(f"ALTER TABLE db.{scratch.shadow.name} DELETE WHERE flight = 6", mutations_sync=2)
    assert case.prove(scratch, build).differences == 1


def test_an_order_with_ties_is_no_difference(case: Any) -> None:
    case.create_target(order="carrier")
    case.fill_target()
    case.run("INSERT INTO db.flights SELECT * REPLACE ('twin' AS note) FROM db.flights WHERE flight = 4")
    scratch, build = case.built()
    assert case.prove(scratch, build).differences == 0


def test_a_key_too_wide_for_an_exact_set_is_proven_by_count(case: Any) -> None:
    case.columns = WIDE
    case.create_target()
    case.run(
        "INSERT INTO db.flights SELECT toDateTime64('2013-01-01 00:00:00', 6, 'UTC') + toIntervalHour(number),"
        " toDecimal128('99999999999999999999999999999999999999', 0) - number,"
        " toUUID('00112233-4455-6677-8899-aabbccddeeff'), number FROM numbers(72)"
    )
    scratch, build = case.built(
        "SELECT * REPLACE (toInt32(100) AS delay) FROM (SELECT * FROM db.flights WHERE toDate(at) = '2013-01-02' AND delay % 2 = 0)"
    )
    assert case.prove(scratch, build).differences == 0
    case.run(f"ALTER TABLE db.{scratch.shadow.name} UPDATE delay = 7 WHERE delay = 25", mutations_sync=2)
    assert case.prove(scratch, build).differences == 2


def test_by_count_tells_minus_zero_null_and_default_apart(case: Any) -> None:
    columns = (
        TargetColumn("k", "int", "Int32", nullable=False),
        TargetColumn("v", "float", "Nullable(Float64)", nullable=True),
    )
    for name, value in (("target", "-0.0"), ("shadow", "0.0"), ("staging", "NULL")):
        case.run(f"CREATE TABLE db.{name} (k Int32, v Nullable(Float64)) ENGINE = MergeTree ORDER BY k")
        case.run(f"INSERT INTO db.{name} SELECT 1, {value} WHERE '{name}' != 'staging'")
    relation = {name: ClickHouseRelation(case.database, name) for name in ("target", "shadow", "staging")}
    table = TargetTable(relation["target"], columns, ("k",), "k")
    query = sql.by_count_sql(table, relation["shadow"], relation["staging"], "1")
    connection = case.connection()
    assert connection.scalar(query, Tag("t-", "proof")) == 2
    connection.close()


def test_a_write_to_the_target_after_the_build_is_a_difference_and_another_shadow_none(flights: Any) -> None:
    from dpone_contracts.errors import DponeError

    scratch, build = flights.built()
    flights.run("INSERT INTO db.flights SELECT * FROM db.flights WHERE flight = 6")
    proof = flights.prove(scratch, build)
    assert proof.differences == 1
    result = flights.publisher.exchange(flights.target, flights.admitted(), scratch, flights.target_uuid())
    assert isinstance(result, Applied)
    with pytest.raises(DponeError) as drift:
        flights.prove(scratch, build)
    assert drift.value.code == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"
