"""What a principal may not see a server shows it as absent: hidden metadata is UNVERIFIED by name, and never a pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dpone_clickhouse.connection import Connection, Endpoint
from dpone_clickhouse.publisher import ClickHousePublisher
from dpone_contracts.effects import Applied, NotApplied, Reason
from dpone_contracts.errors import CATALOGUE, DponeError, ExitClass
from dpone_contracts.ports.publisher import UuidMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.engine

# The grants that docs/how-to/put-a-real-engine-in-place.md names, over the databases of these tests.
GRANTS = (
    "GRANT SELECT, INSERT, ALTER TABLE, CREATE TABLE, DROP TABLE ON t_*.*",
    "GRANT SELECT ON system.*",
    "GRANT TABLE ENGINE ON MergeTree",
    "GRANT SHOW, SHOW ROW POLICIES ON *.*",
)
WITHOUT = {
    "blind": ("GRANT SHOW, SHOW ROW POLICIES ON *.*", "GRANT SHOW ON t_*.*"),
    "revoked": ("GRANT SHOW, SHOW ROW POLICIES ON *.*", "GRANT SHOW ON *.*"),
    "policyless": ("GRANT SHOW, SHOW ROW POLICIES ON *.*", "GRANT SHOW ON *.*"),
    "systemless": ("GRANT SELECT ON system.*", "GRANT SELECT ON system.one"),
    "reader": ("SELECT, INSERT, ALTER TABLE, CREATE TABLE, DROP TABLE", "SELECT"),
    "nobody": ("GRANT SELECT, INSERT, ALTER TABLE, CREATE TABLE, DROP TABLE ON t_*.*", "GRANT SELECT ON x.y"),
}
"""User: (what of the grants it has otherwise, how)."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, server_library: Path) -> Iterator[Any]:
    """A real server with one principal for each grant that is lacking."""
    process = pytest.importorskip("dpone_lab.clickhouse.process", reason="the lab's wheel is not installed")
    faces = pytest.importorskip("dpone_lab.clickhouse.server_face")
    directory = tmp_path_factory.mktemp("principals")
    lacking = {
        user: tuple(grant.replace(full, less) for grant in GRANTS) for user, (full, less) in WITHOUT.items()
    }
    lacking["revoked"] += ("REVOKE SHOW ON hidden.*",)
    users = [
        faces.LabUser("lab", "secret"),
        faces.LabUser("worker", "secret", GRANTS),
        *(faces.LabUser(user, "secret", grants) for user, grants in lacking.items()),
        faces.LabUser("bent", "secret", GRANTS),
    ]
    configuration = faces.write_configuration(directory, users)
    document, user, rest = (directory / "users.xml").read_text().partition("<bent>")
    bent = "<bent><prefer_column_name_to_alias>1</prefer_column_name_to_alias></bent></profiles>"
    rest = rest.replace("<profile>default</profile>", "<profile>bent</profile>")
    (directory / "users.xml").write_text(document.replace("</profiles>", bent) + user + rest)
    running = process.start(
        directory / "db", face="server", library=server_library, password="secret", config_file=configuration
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def endpoint(engine: Any) -> Endpoint:
    return Endpoint.from_dsn(engine.dsn, connect_timeout=10, statement_timeout=120)


@pytest.fixture
def publisher_of(endpoint: Endpoint) -> Iterator[Callable[[str], ClickHousePublisher]]:
    """The publisher under another principal."""
    opened: list[Connection] = []

    def publisher(user: str) -> ClickHousePublisher:
        opened.append(Connection(replace(endpoint, user=user)))
        return ClickHousePublisher(opened[-1], disk_reserve_bytes=1)

    yield publisher
    for connection in opened:
        connection.close()


def test_the_grants_that_are_documented_are_enough_to_publish(
    flights: Any, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    flights.publisher = publisher_of("worker")
    assert flights.publisher.authority(flights.target).refusals == ()
    digest, before = flights.publisher.authority(flights.target).digest, flights.target_uuid()
    scratch, build = flights.built()
    proof = flights.prove(scratch, build)
    refusals = flights.publisher.exchange_refusals(flights.target, flights.admitted(), scratch, proof, digest)
    assert refusals == ()
    exchanged = flights.publisher.exchange(flights.target, flights.admitted(), scratch, before)
    assert exchanged == Applied(UuidMap(scratch.shadow_uuid, before))
    burned = flights.publisher.burn_shadow_name(flights.target, flights.admitted(), scratch, before)
    assert isinstance(burned, Applied)
    dropped = flights.publisher.drop_scratch(
        flights.target, flights.admitted(), scratch.staging, scratch.staging_uuid
    )
    assert dropped == Applied(None)


@pytest.mark.parametrize("user", ["blind", "revoked"])
def test_a_follower_that_is_hidden_from_the_principal_does_not_make_the_target_admissible(
    flights: Any, user: str, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    flights.run("CREATE DATABASE IF NOT EXISTS hidden ENGINE = Atomic")
    flights.run(
        f"CREATE TABLE hidden.buffer_{flights.database} AS db.flights"
        f" ENGINE = Buffer({flights.database}, flights, 1, 9, 9, 99, 99, 999, 999)"
    )
    seen = [code for code, _ in publisher_of("worker").authority(flights.target).refusals]
    hidden = [code for code, _ in publisher_of(user).authority(flights.target).refusals]
    flights.run(f"DROP TABLE hidden.buffer_{flights.database} SYNC")
    assert seen == ["DPONE_CLICKHOUSE_BUFFER"]
    assert hidden == ["DPONE_CLICKHOUSE_METADATA_UNVERIFIED", "DPONE_CLICKHOUSE_ROW_POLICY_UNVERIFIED"]
    assert {CATALOGUE[code].exit_class for code in hidden} == {ExitClass.UNVERIFIED}


def test_policies_that_may_not_be_listed_are_unverified_although_the_list_reads_as_empty(
    flights: Any, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    refusals = publisher_of("policyless").authority(flights.target).refusals
    assert [code for code, _ in refusals] == ["DPONE_CLICKHOUSE_ROW_POLICY_UNVERIFIED"]


def test_a_principal_that_may_not_read_system_tables_learns_nothing(
    flights: Any, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    with pytest.raises(DponeError) as unread:
        publisher_of("systemless").authority(flights.target)
    assert unread.value.code == "DPONE_CLICKHOUSE_UNREADABLE"
    assert unread.value.evidence["clickhouse_error"] == "ACCESS_DENIED"


def test_a_principal_that_may_not_read_the_target_learns_nothing(
    flights: Any, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    with pytest.raises(DponeError) as unread:
        publisher_of("nobody").authority(flights.target)
    assert unread.value.code == "DPONE_CLICKHOUSE_UNREADABLE"


def test_a_principal_that_may_only_read_makes_no_scratch(
    flights: Any, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    refused = publisher_of("reader").create_scratch(flights.plan, flights.target, flights.admitted())
    assert isinstance(refused, NotApplied)
    assert refused.reason.code == "DPONE_CLICKHOUSE_STATEMENT_REFUSED"
    assert refused.reason.evidence["clickhouse_error"] == "ACCESS_DENIED"
    assert flights.rows(f"SELECT name FROM system.tables WHERE database = '{flights.database}'") == [
        ("flights",)
    ]


def test_a_drop_that_is_not_granted_is_not_applied_and_the_scratch_stands(
    flights: Any, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    scratch = flights.staged()
    refused = publisher_of("reader").drop_scratch(
        flights.target, flights.admitted(), scratch.staging, scratch.staging_uuid
    )
    assert isinstance(refused, NotApplied)
    assert refused.reason.evidence["clickhouse_error"] == "ACCESS_DENIED"
    assert flights.publisher.find_scratch(flights.plan, flights.target, flights.admitted()) == scratch


def test_a_profile_that_changes_what_statements_mean_refuses_the_target_and_names_the_setting(
    flights: Any, publisher_of: Callable[[str], ClickHousePublisher]
) -> None:
    refusal = (
        "DPONE_CLICKHOUSE_SETTING_REFUSED",
        "prefer_column_name_to_alias is changed and not on the allowlist",
    )
    assert publisher_of("bent").authority(flights.target).refusals == (refusal,)
    made = publisher_of("bent").create_scratch(flights.plan, flights.target, flights.admitted())
    assert made == NotApplied(Reason(*refusal))
