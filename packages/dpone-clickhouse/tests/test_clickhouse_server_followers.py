"""Followers that only a real server makes: Distributed over a cluster, window views, queue engines, their topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dpone_clickhouse.connection import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.engine

CLUSTER = (
    "<remote_servers><lab><shard><replica><host>127.0.0.1</host><port>9000</port></replica></shard></lab>"
    "</remote_servers>"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, server_library: Path) -> Iterator[Any]:
    """A real server that knows a cluster."""
    process = pytest.importorskip("dpone_lab.clickhouse.process", reason="the lab's wheel is not installed")
    faces = pytest.importorskip("dpone_lab.clickhouse.server_face")
    directory = tmp_path_factory.mktemp("clustered")
    configuration = faces.write_configuration(directory, [faces.LabUser("lab", "secret")])
    document = configuration.read_text().replace("</clickhouse>", f"{CLUSTER}</clickhouse>")
    configuration.write_text(document)
    running = process.start(
        directory / "db", face="server", library=server_library, password="secret", config_file=configuration
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def endpoint(engine: Any) -> Endpoint:
    return Endpoint.from_dsn(engine.dsn, connect_timeout=10, statement_timeout=120)


FOLLOWERS = {
    "DPONE_CLICKHOUSE_DISTRIBUTED": """
        CREATE TABLE db.v AS db.flights ENGINE = Distributed('lab', currentDatabase(), 'flights', rand())""",
    "DPONE_CLICKHOUSE_WINDOW_VIEW": """
        CREATE WINDOW VIEW db.v ENGINE = MergeTree ORDER BY w AS
        SELECT count(), tumbleStart(wid) AS w FROM db.flights
        GROUP BY tumble(toDateTime(at), INTERVAL 5 SECOND) AS wid""",
    "DPONE_CLICKHOUSE_QUEUE_ENGINE": """
        CREATE TABLE db.v (i Int32) ENGINE = Kafka SETTINGS kafka_broker_list = '127.0.0.1:1',
        kafka_topic_list = 'flights', kafka_group_name = 'g', kafka_format = 'JSONEachRow'""",
}


@pytest.mark.parametrize("code", FOLLOWERS)
def test_a_follower_of_a_real_server_is_refused_by_name(flights: Any, code: str) -> None:
    flights.run(
        FOLLOWERS[code].replace("currentDatabase()", f"'{flights.database}'"),
        allow_experimental_window_view=1,
        allow_experimental_analyzer=0,
        database=flights.database,
    )
    assert (code, f"{flights.database}.v") in flights.publisher.authority(flights.target).refusals


def test_the_cluster_topology_is_part_of_the_physical_authority(flights: Any) -> None:
    from dpone_clickhouse.connection import Tag
    from dpone_clickhouse.observation import observe

    connection = flights.connection()
    observation = observe(connection, flights.relation, Tag("dpone-test-", "observe"))
    connection.close()
    assert [row[:4] for row in observation.topology] == [("lab", "1", "1", "127.0.0.1")]
