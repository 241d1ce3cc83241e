"""Scratch is the attempt's alone: refused where taken, filled with exact bytes, inside budgets, removed by exact UUID."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from dpone_clickhouse import shadow as sql
from dpone_clickhouse.connection import Connection, Endpoint, Tag
from dpone_clickhouse.preparation import content
from dpone_clickhouse.publisher import ClickHousePublisher
from dpone_clickhouse.settings import PINNED
from dpone_clickhouse.target import table_of
from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.engine

OTHER_ATTEMPT = "sha256:" + "0c" * 32


def _code(result: object) -> str:
    assert isinstance(result, (NotApplied, Unknown)), result
    return result.reason.code


def test_scratch_has_the_attempts_names_and_the_targets_design(
    flights: Any, applied: Callable[..., Any]
) -> None:
    scratch = applied(flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted()))
    assert scratch.staging.name == "dpone_staging_0a0a0a0a0a0a0a0a_0b0b0b0b0b0b0b0b"
    assert scratch.shadow.name == "dpone_shadow_0a0a0a0a0a0a0a0a_0b0b0b0b0b0b0b0b"
    designs = flights.rows(
        "SELECT DISTINCT engine_full FROM system.tables WHERE database = currentDatabase()".replace(
            "currentDatabase()", f"'{flights.database}'"
        )
    )
    assert len(designs) == 1
    assert flights.publisher.find_scratch(flights.plan, flights.target, flights.admitted()) == scratch
    assert (
        flights.publisher.find_scratch(flights.plan, flights.target, flights.admitted(OTHER_ATTEMPT)) is None
    )


def test_a_taken_name_is_not_applied_and_left_alone(flights: Any) -> None:
    flights.run("CREATE TABLE db.dpone_shadow_0a0a0a0a0a0a0a0a_0b0b0b0b0b0b0b0b (a Int8) ENGINE = Memory")
    result = flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted())
    assert _code(result) == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"
    assert flights.rows(
        f"SELECT name FROM system.tables WHERE database = '{flights.database}' ORDER BY name"
    ) == [
        ("dpone_shadow_0a0a0a0a0a0a0a0a_0b0b0b0b0b0b0b0b",),
        ("flights",),
    ]


def test_the_empty_half_of_a_cut_off_attempt_is_made_anew_and_a_filled_one_is_not(
    flights: Any, applied: Callable[..., Any]
) -> None:
    first = applied(flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted()))
    flights.run(f"DROP TABLE db.{first.shadow.name} SYNC")
    second = applied(flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted()))
    assert (second.staging, second.staging_uuid == first.staging_uuid) == (first.staging, False)
    flights.run(f"DROP TABLE db.{second.shadow.name} SYNC")
    flights.run(f"INSERT INTO db.{second.staging.name} SELECT * FROM db.flights WHERE flight = 1006")
    third = flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted())
    assert _code(third) == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"


def test_staging_has_the_digest_of_what_was_loaded(flights: Any) -> None:
    first = flights.staged()
    rows, digest = flights.publisher.staging_content(flights.plan, flights.target, flights.admitted(), first)
    assert rows == 550
    flights.publisher.load_chunk(flights.target, flights.admitted(), first, 2, flights.parquet(flights.day()))
    twice, other = flights.publisher.staging_content(flights.plan, flights.target, flights.admitted(), first)
    assert (twice, other == digest) == (1100, False)


def test_the_digest_follows_the_plans_order_of_the_key(flights: Any) -> None:
    scratch = flights.staged()
    _, in_table_order = flights.publisher.staging_content(
        flights.plan, flights.target, flights.admitted(), scratch
    )
    flights.key = ("carrier", "at", "flight")
    _, in_plan_order = flights.publisher.staging_content(
        flights.plan, flights.target, flights.admitted(), scratch
    )
    table = table_of(flights.target, flights.plan)
    connection = flights.connection()
    by_carrier = content(connection, table, scratch.staging, Tag("dpone-test-", "content"))
    connection.close()
    assert (table.key, by_carrier) == (("carrier", "at", "flight"), (550, in_plan_order))
    assert in_plan_order != in_table_order


@pytest.mark.parametrize(
    "chunk",
    [
        "SELECT * REPLACE (NULL::Nullable(Bool) AS late) FROM db.flights WHERE flight = 1006",
        "SELECT * EXCEPT (note) FROM db.flights WHERE flight = 1006",
    ],
    ids=["null", "missing-column"],
)
def test_a_chunk_that_does_not_fit_is_not_applied(
    flights: Any, chunk: str, applied: Callable[..., Any]
) -> None:
    scratch = applied(flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted()))
    result = flights.publisher.load_chunk(
        flights.target, flights.admitted(), scratch, 1, flights.parquet(chunk)
    )
    assert isinstance(result, NotApplied)
    assert _code(result) == "DPONE_CLICKHOUSE_STATEMENT_REFUSED"


def test_torn_bytes_are_not_applied(flights: Any, applied: Callable[..., Any]) -> None:
    scratch = applied(flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted()))
    torn = flights.parquet(flights.day())[:-20]
    result = flights.publisher.load_chunk(flights.target, flights.admitted(), scratch, 1, torn)
    assert isinstance(result, NotApplied)


def test_rows_outside_the_scope_are_refused_before_the_shadow_is_built(flights: Any) -> None:
    scratch = flights.staged("SELECT * FROM db.flights WHERE flight IN (1006, 2006)")
    result = flights.publisher.build_shadow(flights.plan, flights.target, flights.admitted(), scratch)
    assert _code(result) == "DPONE_STAGING_MISMATCH"


def test_a_shadow_that_holds_rows_is_not_filled_again(flights: Any) -> None:
    scratch, _ = flights.built()
    result = flights.publisher.build_shadow(flights.plan, flights.target, flights.admitted(), scratch)
    assert _code(result) == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"


def test_another_table_under_a_scratch_name_is_refused(flights: Any) -> None:
    scratch = flights.staged()
    flights.run(f"RENAME TABLE db.{scratch.shadow.name} TO db.away")
    flights.run(f"CREATE TABLE db.{scratch.shadow.name} AS db.flights")
    with pytest.raises(DponeError) as refused:
        flights.publisher.build_shadow(flights.plan, flights.target, flights.admitted(), scratch)
    assert refused.value.code == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"


@pytest.mark.parametrize("kind", ["shadow_bytes", "retained_generation_bytes"])
def test_an_allocation_below_the_need_is_refused_with_both_figures(flights: Any, kind: str) -> None:
    flights.amounts = {kind: 10}
    result = flights.publisher.build_shadow(
        flights.plan, flights.target, flights.admitted(), flights.staged()
    )
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_CLICKHOUSE_BUDGET"
    assert (result.reason.evidence["allowed"], int(result.reason.evidence["needed"]) > 10) == ("10", True)


@pytest.mark.parametrize("limit", ["max_target_scope_rows", "max_clickhouse_total_transient_bytes"])
def test_a_policy_limit_below_the_need_is_refused(flights: Any, limit: str) -> None:
    flights.limits = {limit: 10}
    result = flights.publisher.build_shadow(
        flights.plan, flights.target, flights.admitted(), flights.staged()
    )
    assert _code(result) == "DPONE_CLICKHOUSE_BUDGET"


def test_staging_and_disk_budgets_are_checked_before_the_bytes_are_sent(
    flights: Any, engine: Any, applied: Callable[..., Any]
) -> None:
    scratch = applied(flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted()))
    flights.amounts = {"clickhouse_staging_bytes": 100}
    chunk = flights.parquet(flights.day())
    refused = flights.publisher.load_chunk(flights.target, flights.admitted(), scratch, 1, chunk)
    assert _code(refused) == "DPONE_CLICKHOUSE_BUDGET"
    connection = flights.connection()
    full = ClickHousePublisher(
        connection, disk_reserve_bytes=1 << 60, policies_from_plan=engine.face == "chdb"
    )
    assert (
        _code(full.create_scratch(flights.plan, flights.target, flights.admitted(OTHER_ATTEMPT)))
        == "DPONE_CLICKHOUSE_BUDGET"
    )
    assert (
        flights.publisher.staging_content(flights.plan, flights.target, flights.admitted(), scratch)[0] == 0
    )
    connection.close()


def test_staging_that_grew_beyond_its_allocation_with_its_last_chunk_builds_no_shadow(flights: Any) -> None:
    scratch = flights.staged()
    ((size,),) = flights.rows(
        f"SELECT total_bytes FROM system.tables WHERE database = '{flights.database}' AND name = '{scratch.staging.name}'"
    )
    flights.amounts = {"clickhouse_staging_bytes": size - 1}
    result = flights.publisher.build_shadow(flights.plan, flights.target, flights.admitted(), scratch)
    assert isinstance(result, NotApplied)
    assert result.reason.evidence == {"needed": str(size), "allowed": str(size - 1)}
    assert flights.rows(f"SELECT count() FROM db.{scratch.shadow.name}") == [(0,)]


def test_a_killed_shadow_insert_is_named_publishes_nothing_and_its_shadow_is_only_fit_to_be_dropped(
    flights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, before = flights.staged(), flights.publisher.authority(flights.target)
    real = sql.keep_unstaged_sql
    slow = {
        "max_block_size": "1",
        "max_threads": "1",
        "function_sleep_max_microseconds_per_block": "9999999999",
    }
    with monkeypatch.context() as slowed:
        slowed.setattr(
            sql, "keep_unstaged_sql", lambda *arguments: f"{real(*arguments)} AND sleepEachRow(0.05) = 0"
        )
        slowed.setattr(sql, "COMPARING", {**sql.COMPARING, **slow})
        with ThreadPoolExecutor() as pool:
            building = pool.submit(
                flights.publisher.build_shadow, flights.plan, flights.target, flights.admitted(), scratch
            )
            found: list[tuple[Any, ...]] = []
            while not found and not building.done():
                found = flights.rows(
                    "SELECT query_id FROM system.processes WHERE query_kind = 'Insert'"
                    f" AND position(query, '{scratch.shadow.name}') > 0"
                )
            flights.run(f"KILL QUERY WHERE query_id = '{found[0][0]}' SYNC")
            result = building.result()
    assert isinstance(result, Unknown)
    assert result.reason.code == "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"
    assert result.reason.evidence["clickhouse_error"] == "QUERY_WAS_CANCELLED"
    after = flights.publisher.authority(flights.target)
    assert (after.uuid, after.parts_digest, after.refusals) == (before.uuid, before.parts_digest, ())
    again = flights.publisher.build_shadow(flights.plan, flights.target, flights.admitted(), scratch)
    assert _code(again) == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"
    for relation, uuid in ((scratch.shadow, scratch.shadow_uuid), (scratch.staging, scratch.staging_uuid)):
        assert flights.publisher.drop_scratch(flights.target, flights.admitted(), relation, uuid) == Applied(
            None
        )
    scratch, build = flights.built()
    assert flights.prove(scratch, build).differences == 0


def test_every_overflow_mode_that_the_server_has_is_pinned(connection: Connection, tag: Tag) -> None:
    modes = connection.rows(
        "SELECT name FROM system.settings WHERE alias_for = '' AND match(name, 'overflow_mode|overflow_behavior')",
        tag,
    )
    assert {name for (name,) in modes} - PINNED.keys() == set()


def test_scratch_is_dropped_by_exact_uuid_and_proven_absent(flights: Any) -> None:
    scratch, _ = flights.built()
    drop = flights.publisher.drop_scratch
    wrong = drop(flights.target, flights.admitted(), scratch.shadow, scratch.staging_uuid)
    assert _code(wrong) == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"
    assert drop(flights.target, flights.admitted(), scratch.shadow, scratch.shadow_uuid) == Applied(None)
    assert drop(flights.target, flights.admitted(), scratch.shadow, scratch.shadow_uuid) == Applied(None)
    assert flights.rows(
        f"SELECT count() FROM system.dropped_tables WHERE database = '{flights.database}'"
    ) == [(0,)]
    assert flights.publisher.find_scratch(flights.plan, flights.target, flights.admitted()) is None


def test_neither_target_nor_predecessor_is_ever_taken_for_scratch(flights: Any) -> None:
    scratch, _ = flights.built()
    predecessor = flights.target_uuid()
    drop = flights.publisher.drop_scratch
    refused = drop(
        flights.target, flights.admitted(), ClickHouseRelation(flights.database, "flights"), predecessor
    )
    assert _code(refused) == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"
    flights.publisher.exchange(flights.target, flights.admitted(), scratch, predecessor)
    published = drop(flights.target, flights.admitted(), scratch.shadow, scratch.shadow_uuid)
    assert _code(published) == "DPONE_CLICKHOUSE_SCRATCH_CONFLICT"
    assert flights.rows(f"SELECT count() FROM db.{scratch.shadow.name}") == [(3000,)]


def test_rows_of_the_scope_are_counted_from_its_start_to_before_its_end(flights: Any) -> None:
    flights.run(
        "INSERT INTO db.flights SELECT arrayJoin(['2013-01-01 23:59:59.999999', '2013-01-02 23:59:59.999999',"
        " '2013-01-03 00:00:00.000000'])::DateTime64(6, 'UTC'), 1, 90000, NULL, NULL, false"
    )
    assert flights.publisher.scope_rows(flights.plan, flights.target) == 1001


def test_a_running_statement_is_seen_under_its_attempts_prefix(flights: Any) -> None:
    import threading

    connection = flights.connection()
    slow = threading.Thread(
        target=connection.scalar,
        args=("SELECT sum(sleepEachRow(0.01)) FROM numbers(150)", Tag("dpone-slow-", "wait")),
        kwargs={"max_block_size": "1"},
    )
    slow.start()
    seen: tuple[str, ...] = ()
    while not seen and slow.is_alive():
        seen = flights.publisher.active_queries("dpone-slow-")
    slow.join()
    assert seen
    assert seen[0].startswith("dpone-slow-wait")
    assert flights.publisher.active_queries("dpone-slow-") == ()
    connection.close()


def test_a_setting_that_changes_meaning_is_found(flights: Any, tag: Tag) -> None:
    from dpone_clickhouse.settings import OBSERVE_SQL, findings

    connection = flights.connection()
    assert connection.setting_findings(tag) == ()
    observed = connection.rows(
        OBSERVE_SQL, tag, None, final="1", distinct_overflow_mode="break", max_rows_in_join="5"
    )
    seen = [what for _, what in findings([(str(n), str(v), int(c)) for n, v, c in observed])]
    assert seen == [
        "distinct_overflow_mode has another value than the pinned one",
        "final has another value than the pinned one",
        "max_rows_in_join is changed and not on the allowlist",
    ]
    connection.close()


def test_no_password_prints_and_a_bad_dsn_does_not_print_itself() -> None:
    endpoint = Endpoint.from_dsn("http://u:s3cret%21@h:1/", connect_timeout=1, statement_timeout=1)
    assert endpoint.password == "s3cret!"
    assert "s3cret" not in repr(endpoint)
    assert "s3cret" not in repr(Connection(endpoint))
    with pytest.raises(ValueError, match="ClickHouse DSN") as refused:
        Endpoint.from_dsn("postgres://u:s3cret@h/", connect_timeout=1, statement_timeout=1)
    assert "s3cret" not in str(refused.value)


def test_a_wrong_password_is_one_error_without_it(flights: Any) -> None:
    from dataclasses import replace

    connection = Connection(replace(flights.endpoint, password="wrong-s3cret"))
    publisher = ClickHousePublisher(connection, disk_reserve_bytes=1)
    with pytest.raises(DponeError) as refused:
        publisher.authority(flights.target)
    assert refused.value.evidence == {"clickhouse_code": "516", "clickhouse_error": "AUTHENTICATION_FAILED"}
    assert "s3cret" not in str(refused.value.diagnostics())
