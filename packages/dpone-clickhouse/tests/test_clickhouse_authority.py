"""Admission of a target: everything that could write, filter or follow is refused by name; the rest is one digest."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import clickhouse_connect
import pytest

from dpone_clickhouse.authority import refusals
from dpone_clickhouse.connection import Connection, Endpoint, Tag
from dpone_clickhouse.observation import Follower, Observation, observe
from dpone_clickhouse.publisher import ClickHousePublisher
from dpone_clickhouse.target import TargetTable, table_of
from dpone_clickhouse.types import TargetColumn
from dpone_contracts.errors import DponeError
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.engine

COLUMNS = "at DateTime64(6,'UTC'), carrier Int16, flight Int32, delay Nullable(Decimal(9,2)), note Nullable(String), late Bool"


def _refusals(case: Any) -> list[tuple[str, str]]:
    return [
        (code, seen.replace(case.database, "db"))
        for code, seen in case.publisher.authority(case.target).refusals
    ]


def test_a_plain_table_that_nothing_follows_is_admitted(flights: Any) -> None:
    authority = flights.publisher.authority(flights.target)
    assert (authority.refusals, authority.row_count, authority.uuid) == ((), 3000, flights.target_uuid())
    assert authority.byte_count > 0


@pytest.mark.parametrize(
    ("follower", "refusal"),
    [
        ("CREATE MATERIALIZED VIEW db.v TO db.flights AS SELECT * FROM db.source", ("DPONE_CLICKHOUSE_MATERIALIZED_VIEW", "db.v")),
        ("CREATE MATERIALIZED VIEW db.v TO db.source AS SELECT * FROM db.flights", ("DPONE_CLICKHOUSE_MATERIALIZED_VIEW", "db.v")),
        ("CREATE MATERIALIZED VIEW db.v REFRESH EVERY 1 YEAR TO db.flights EMPTY AS SELECT * FROM db.source", ("DPONE_CLICKHOUSE_REFRESHABLE_VIEW", "db.v")),
        ("CREATE TABLE db.v AS db.flights ENGINE = Buffer(db_, flights, 1, 9, 9, 99, 99, 999, 999)", ("DPONE_CLICKHOUSE_BUFFER", "db.v")),
        ("CREATE TABLE db.v ENGINE = Alias(db_, flights)", ("DPONE_CLICKHOUSE_ALIAS", "db.v")),
        ("CREATE TABLE db.v AS db.flights ENGINE = Merge(db_, '^fli')", ("DPONE_CLICKHOUSE_MERGE_TABLE", "db.v")),
        ("CREATE TABLE db.v AS remote('127.0.0.1', db_.flights)", ("DPONE_CLICKHOUSE_DEPENDANT", "db.v")),
        ("CREATE TABLE db.v AS merge('db_', '^fli')", ("DPONE_CLICKHOUSE_DEPENDANT", "db.v")),
        (
            "CREATE DICTIONARY db.v (flight Int32, carrier Int16) PRIMARY KEY flight SOURCE(CLICKHOUSE(TABLE 'flights' DB 'db_')) LAYOUT(FLAT()) LIFETIME(0)",
            ("DPONE_CLICKHOUSE_DICTIONARY", "db.v"),
        ),
    ],
    ids=["mv-writes", "mv-follows", "refreshable", "buffer", "alias", "merge", "remote-function", "merge-function", "dictionary"],
)  # fmt: skip
def test_a_writer_or_follower_is_refused_by_name(
    flights: Any, follower: str, refusal: tuple[str, str]
) -> None:
    flights.run(f"CREATE TABLE db.source ({COLUMNS}) ENGINE = MergeTree ORDER BY at")
    flights.run(follower.replace("db_", flights.database))
    assert _refusals(flights) == [refusal]


def test_what_only_reads_by_name_or_has_rows_of_its_own_is_admitted(flights: Any) -> None:
    flights.run("CREATE VIEW db.readers AS SELECT * FROM db.flights")
    flights.run(
        "CREATE TABLE db.other (flights Int32, s String DEFAULT 'flights') ENGINE = MergeTree ORDER BY flights"
    )
    flights.run("CREATE TABLE db.merged AS db.other ENGINE = Merge(currentDatabase(), '^other$')")
    flights.run(
        "CREATE TABLE db.kept AS remote('127.0.0.1', db.other)".replace(
            "db.other", f"{flights.database}.other"
        )
    )
    flights.run(
        "CREATE TABLE db.flights_buffer AS db.other ENGINE = Buffer('', 'other', 1, 9, 9, 99, 99, 999, 999)"
    )
    assert _refusals(flights) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("ALTER TABLE db.flights ADD PROJECTION p (SELECT count() GROUP BY carrier)", "DPONE_CLICKHOUSE_PROJECTION"),
        ("ALTER TABLE db.flights MODIFY COLUMN late Bool DEFAULT true", "DPONE_CLICKHOUSE_COLUMN_EXPRESSION"),
        ("ALTER TABLE db.flights ADD COLUMN x Int32", "DPONE_CLICKHOUSE_COLUMNS_DIFFER"),
        ("ALTER TABLE db.flights DROP COLUMN note", "DPONE_CLICKHOUSE_COLUMNS_DIFFER"),
        ("ALTER TABLE db.flights MODIFY COLUMN note Nullable(FixedString(90))", "DPONE_CLICKHOUSE_COLUMNS_DIFFER"),
        ("DELETE FROM db.flights WHERE flight = 6", "DPONE_CLICKHOUSE_LIGHTWEIGHT_DELETE"),
    ],
)  # fmt: skip
def test_a_design_that_cannot_be_published_is_refused(flights: Any, change: str, code: str) -> None:
    before = flights.publisher.authority(flights.target).digest
    flights.run(change, mutations_sync=2)
    assert code in [found for found, _ in _refusals(flights)]
    if code != "DPONE_CLICKHOUSE_LIGHTWEIGHT_DELETE":
        assert flights.publisher.authority(flights.target).digest != before


LATER = "toDateTime(at) + INTERVAL 50 YEAR"


@pytest.mark.parametrize(
    "change",
    [
        f"MODIFY TTL {LATER}",
        f"MODIFY TTL {LATER} DELETE WHERE late",
        f"MODIFY TTL {LATER} TO DISK 'default'",
        f"MODIFY TTL {LATER} TO VOLUME 'default'",
        f"MODIFY TTL {LATER} RECOMPRESS CODEC(ZSTD(9))",
        f"MODIFY TTL {LATER} GROUP BY at SET late = max(late)",
        f"MODIFY COLUMN note Nullable(String) TTL {LATER}",
    ],
    ids=["delete", "delete-where", "to-disk", "to-volume", "recompress", "group-by", "column"],
)
def test_a_ttl_that_moves_rewrites_or_removes_is_refused_by_name_and_publishes_nothing(
    flights: Any, change: str
) -> None:
    scratch, build = flights.built()
    proof, before = flights.prove(scratch, build), flights.publisher.authority(flights.target)
    flights.run(f"ALTER TABLE db.flights {change}", mutations_sync=2)
    assert _refusals(flights) == [("DPONE_CLICKHOUSE_TTL", "db.flights has a TTL")]
    gates = flights.publisher.exchange_refusals(
        flights.target, flights.admitted(), scratch, proof, before.digest
    )
    assert gates[0] == ("DPONE_CLICKHOUSE_TTL", f"{flights.relation} has a TTL")
    assert "DPONE_CLICKHOUSE_AUTHORITY_CHANGED" in [code for code, _ in gates]
    after = flights.publisher.authority(flights.target)
    assert (after.uuid, after.row_count) == (before.uuid, before.row_count)


def test_a_ttl_in_a_comment_or_a_name_is_none(case: Any) -> None:
    case.columns = (*case.columns, ("TTL ", "int", "Int32", False, "MUTABLE_VALUE"))
    columns = f"{COLUMNS}, `TTL ` Int32"
    case.run(f"CREATE TABLE db.flights ({columns}) ENGINE = MergeTree ORDER BY at COMMENT 'no TTL at + 1'")
    assert _refusals(case) == []


def test_parts_that_lack_a_column_are_refused_although_the_columns_are_right(flights: Any) -> None:
    flights.run("ALTER TABLE db.flights DROP COLUMN note", mutations_sync=2)
    flights.run("ALTER TABLE db.flights ADD COLUMN note Nullable(String) AFTER delay")
    assert {code for code, _ in _refusals(flights)} == {"DPONE_CLICKHOUSE_PART_LACKS_COLUMN"}


def test_a_mutation_that_is_not_done_is_refused_by_its_id(flights: Any) -> None:
    flights.run("SYSTEM STOP MERGES db.flights")
    flights.run("ALTER TABLE db.flights UPDATE delay = 0 WHERE flight = 6", mutations_sync=0)
    ((code, seen),) = _refusals(flights)
    assert (code, seen.startswith("mutation_")) == ("DPONE_CLICKHOUSE_MUTATION_PENDING", True)
    flights.run("SYSTEM START MERGES db.flights")


def test_patch_parts_are_refused_by_name(case: Any) -> None:
    case.run(
        f"CREATE TABLE db.flights ({COLUMNS}) ENGINE = MergeTree PARTITION BY toDate(at) ORDER BY (at, carrier, flight)"
        " SETTINGS enable_block_number_column = 1, enable_block_offset_column = 1"
    )
    case.fill_target()
    case.run("SYSTEM STOP MERGES db.flights")
    case.run(
        "UPDATE db.flights SET late = true WHERE flight = 6",
        allow_experimental_lightweight_update=1,
        enable_lightweight_update=1,
    )
    codes = [code for code, _ in _refusals(case)]
    assert "DPONE_CLICKHOUSE_PATCH_PART" in codes
    case.run("SYSTEM START MERGES db.flights")


@pytest.mark.parametrize("engine_sql", ["ReplacingMergeTree", "Memory", "Log"])
def test_other_engines_are_refused(case: Any, engine_sql: str) -> None:
    order = " ORDER BY at" if "Tree" in engine_sql else ""
    case.run(f"CREATE TABLE db.flights ({COLUMNS}) ENGINE = {engine_sql}{order}")
    assert "DPONE_CLICKHOUSE_ENGINE_REFUSED" in [code for code, _ in _refusals(case)]


def test_a_database_that_is_not_atomic_is_refused(case: Any) -> None:
    case.run("DROP DATABASE db. SYNC".replace("db.", case.database))
    case.run(f"CREATE DATABASE {case.database} ENGINE = Memory")
    case.run(f"CREATE TABLE db.flights ({COLUMNS}) ENGINE = MergeTree ORDER BY at")
    assert "DPONE_CLICKHOUSE_DATABASE_NOT_ATOMIC" in [code for code, _ in _refusals(case)]


def test_an_absent_target_is_an_error_with_its_name(case: Any) -> None:
    with pytest.raises(DponeError) as absent:
        case.publisher.authority(case.target)
    assert absent.value.code == "DPONE_CLICKHOUSE_TARGET_ABSENT"
    assert "flights" in absent.value.observed


def test_the_digest_follows_the_design_and_not_the_rows(flights: Any) -> None:
    before = flights.publisher.authority(flights.target)
    flights.run("INSERT INTO db.flights SELECT * FROM db.flights WHERE flight = 6")
    after = flights.publisher.authority(flights.target)
    assert after.digest == before.digest
    assert after.parts_digest != before.parts_digest
    flights.run("ALTER TABLE db.flights MODIFY COLUMN note Nullable(String) CODEC(ZSTD(3))")
    assert flights.publisher.authority(flights.target).digest != before.digest


@pytest.mark.parametrize(
    "change",
    ["ALTER TABLE db.flights COMMENT COLUMN note 'x'", "ALTER TABLE db.flights MODIFY SETTING merge_max_block_size = 4096"],
)  # fmt: skip
def test_an_alter_between_proof_and_exchange_is_refused(flights: Any, change: str) -> None:
    scratch, build = flights.built()
    proof = flights.prove(scratch, build)
    digest = flights.publisher.authority(flights.target).digest
    flights.run(change)
    found = flights.publisher.exchange_refusals(flights.target, flights.admitted(), scratch, proof, digest)
    assert [code for code, _ in found] == [
        "DPONE_CLICKHOUSE_AUTHORITY_CHANGED",
        "DPONE_CLICKHOUSE_SCRATCH_DIFFERS",
    ]


def test_a_write_between_proof_and_exchange_is_refused(flights: Any) -> None:
    scratch, build = flights.built()
    proof = flights.prove(scratch, build)
    digest = flights.publisher.authority(flights.target).digest
    flights.run("INSERT INTO db.flights SELECT * FROM db.flights WHERE flight = 6")
    flights.run(f"INSERT INTO db.{scratch.shadow.name} SELECT * FROM db.flights WHERE flight = 6")
    found = flights.publisher.exchange_refusals(flights.target, flights.admitted(), scratch, proof, digest)
    assert [code for code, _ in found] == ["DPONE_CLICKHOUSE_TARGET_CHANGED"] * 2


def test_a_running_writer_of_the_target_is_refused(flights: Any) -> None:
    scratch, build = flights.built()
    proof = flights.prove(scratch, build)
    digest = flights.publisher.authority(flights.target).digest
    writer = threading.Thread(
        target=flights.run,
        args=(
            "INSERT INTO db.flights SELECT * FROM db.flights WHERE flight < 200 AND sleepEachRow(0.01) = 1",
        ),
        kwargs={"max_block_size": 1, "max_threads": 1, "function_sleep_max_microseconds_per_block": 10**9},
    )
    writer.start()
    found: tuple[tuple[str, str], ...] = ()
    while not found and writer.is_alive():
        found = flights.publisher.exchange_refusals(
            flights.target, flights.admitted(), scratch, proof, digest
        )
    writer.join()
    assert "DPONE_CLICKHOUSE_WRITER_ACTIVE" in [code for code, _ in found]


@pytest.mark.parametrize(
    ("engine_name", "definition", "code"),
    [
        ("Distributed", "Distributed('c', 'db', 'flights', rand())", "DPONE_CLICKHOUSE_DISTRIBUTED"),
        ("WindowView", "AS SELECT count() FROM db.flights", "DPONE_CLICKHOUSE_WINDOW_VIEW"),
        ("Kafka", "Kafka SETTINGS kafka_topic_list = 'flights'", "DPONE_CLICKHOUSE_QUEUE_ENGINE"),
        ("TimeSeries", "TimeSeries DATA db.flights", "DPONE_CLICKHOUSE_DEPENDANT"),
    ],
)
def test_followers_that_the_lab_cannot_make_are_refused_too(
    flights: Any, engine_name: str, definition: str, code: str
) -> None:
    follower = Follower(ClickHouseRelation("db", "v"), engine_name, definition, writes_to_target=False)
    observation = replace(_observation(flights), followers=(follower,))
    assert list(refusals(observation, table_of(flights.target), policies_from_plan=True)) == [(code, "db.v")]


def test_rows_in_the_asynchronous_queue_are_refused(flights: Any) -> None:
    observation = replace(_observation(flights), async_inserts=2)
    found = list(refusals(observation, table_of(flights.target), policies_from_plan=True))
    assert found == [("DPONE_CLICKHOUSE_ASYNC_INSERTS", f"2 queued for {flights.relation}")]


def test_an_asynchronous_insert_is_refused_while_it_waits_and_as_a_write_once_it_landed(flights: Any) -> None:
    """An engine without a queue (both of the lab's) writes such an insert at once: it is missed in neither case."""
    scratch, build = flights.built()
    proof, digest = flights.prove(scratch, build), flights.publisher.authority(flights.target).digest
    flights.run(
        "INSERT INTO db.flights VALUES ('2013-01-02 00:00:00', 1, 77777, NULL, NULL, false)",
        async_insert=1,
        wait_for_async_insert=0,
        async_insert_use_adaptive_busy_timeout=0,
        async_insert_busy_timeout_max_ms=600_000,
    )
    queued = f"SELECT count() FROM system.asynchronous_inserts WHERE database = '{flights.database}'"
    gates = (flights.target, flights.admitted(), scratch, proof, digest)
    if flights.rows(queued) != [(0,)]:
        assert [code for code, _ in flights.publisher.exchange_refusals(*gates)] == [
            "DPONE_CLICKHOUSE_ASYNC_INSERTS"
        ]
        flights.run("SYSTEM FLUSH ASYNC INSERT QUEUE")
        assert flights.rows(queued) == [(0,)]
    assert flights.rows("SELECT count() FROM db.flights WHERE flight = 77777") == [(1,)]
    assert [code for code, _ in flights.publisher.exchange_refusals(*gates)] == [
        "DPONE_CLICKHOUSE_TARGET_CHANGED"
    ]


def _observation(case: Any) -> Observation:
    connection = case.connection()
    try:
        return observe(connection, case.relation, Tag("dpone-test-", "observe"))
    finally:
        connection.close()


def test_where_policies_may_not_be_listed_their_absence_is_unverified(flights: Any, engine: Any) -> None:
    if engine.face != "chdb":
        pytest.skip("the lab's server user may list policies")
    connection = Connection(flights.endpoint)
    strict = ClickHousePublisher(connection, disk_reserve_bytes=1)
    assert [code for code, _ in strict.authority(flights.target).refusals] == [
        "DPONE_CLICKHOUSE_ROW_POLICY_UNVERIFIED"
    ]
    connection.close()


def test_a_row_policy_is_refused_by_name_for_any_user_and_by_plan_for_the_filtered_one(
    tmp_path: Path, server_library: Path
) -> None:
    process = pytest.importorskip("dpone_lab.clickhouse.process", reason="the lab's wheel is not installed")
    faces = pytest.importorskip("dpone_lab.clickhouse.server_face")
    users = [
        faces.LabUser("lab", "secret"),
        faces.LabUser("reader", "r", ("GRANT SELECT ON *.*",), {("fact", "flights"): "flight < 9"}),
    ]
    configuration = faces.write_configuration(tmp_path, users)
    running = process.start(
        tmp_path / "db", face="server", library=server_library, password="secret", config_file=configuration
    )
    try:
        client = clickhouse_connect.get_client(
            host=running.host, port=running.port, username="lab", password="secret"
        )
        client.command("CREATE DATABASE fact ENGINE = Atomic")
        client.command(f"CREATE TABLE fact.flights ({COLUMNS}) ENGINE = MergeTree ORDER BY at")
        client.command(
            "INSERT INTO fact.flights SELECT '2013-01-02 00:00:00', 1, number, NULL, NULL, true FROM numbers(20)"
        )
        codes = {
            user: _policies(running, user, secret) for user, secret in (("lab", "secret"), ("reader", "r"))
        }
    finally:
        running.stop()
    assert codes["lab"] == (["reader ON fact.flights"], False)
    assert codes["reader"] == (["reader ON fact.flights"], True)


def _policies(running: Any, user: str, password: str) -> tuple[list[str], bool]:
    """(policies that are refused by name, whether this user's reads are filtered)."""
    endpoint = Endpoint.from_dsn(running.dsn, connect_timeout=10, statement_timeout=60)
    connection = Connection(replace(endpoint, user=user, password=password))
    try:
        observation = observe(
            connection, ClickHouseRelation("fact", "flights"), Tag("dpone-test-", "observe")
        )
    finally:
        connection.close()
    columns = tuple(TargetColumn(c.name, "int", c.type_name, nullable=False) for c in observation.columns)
    table = TargetTable(observation.relation, columns, ("at",), "at")
    found = refusals(observation, table, policies_from_plan=False)
    return [seen for code, seen in found if code == "DPONE_CLICKHOUSE_ROW_POLICY"], observation.row_filtered
