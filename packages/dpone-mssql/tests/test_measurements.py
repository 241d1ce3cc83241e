"""What the catalog of an engine shows of writers, DDL freeze and UTC semantics, by SQL Server's documented rules."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.errors import DponeError
from dpone_contracts.measurements import (
    DdlFreezeMeasurement,
    RuntimeAssurancePolicy,
    WriterMeasurement,
    changed,
    freeze_findings,
    utc_findings,
    writer_findings,
)
from dpone_contracts.relations import SqlRelation
from dpone_contracts.testing.results import applied
from dpone_mssql.catalog import MssqlDdlFreeze
from dpone_mssql.connection import Session, SqlServerConfig
from dpone_mssql.measurer import MssqlMeasurer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine

AT = "2026-08-09T00:30:00.000000Z"


@pytest.fixture
def sql(installer: SqlServerConfig) -> Callable[..., list[tuple[object, ...]]]:
    def run(statement: str) -> list[tuple[object, ...]]:
        with Session(installer) as session:
            return session.rows(statement)

    return run


@pytest.fixture
def target(sql: Callable[[str], object], runtime: SqlServerConfig) -> SqlRelation:
    """A table of its own in the runtime's model schema."""
    name = f"t_{token_hex(4)}"
    sql(f"CREATE TABLE [mart].[{name}] ([at] datetime2(6) NOT NULL, [id] int NOT NULL);")
    return SqlRelation("lab", "mart", name)


@pytest.fixture
def stranger(sql: Callable[[str], object]) -> Iterator[str]:
    """A user of the database without any permission; gone with all its permissions after the test."""
    name = f"u_{token_hex(4)}"
    sql(
        f"CREATE LOGIN [{name}] WITH PASSWORD = 'Stranger-{token_hex(8)}'; CREATE USER [{name}] FOR LOGIN [{name}];"
    )
    yield name
    sql(
        f"DROP TABLE IF EXISTS [s_{name}].[t]; DROP SCHEMA IF EXISTS [s_{name}]; DROP USER [{name}]; DROP LOGIN [{name}];"
    )


@pytest.fixture
def measurer(installer: SqlServerConfig, names: ControlNames) -> MssqlMeasurer:
    return MssqlMeasurer(installer, names)


def policy(**fields: object) -> RuntimeAssurancePolicy:
    given: dict[str, object] = {
        "environment": "disposable",
        "acl_policy_version": "test 1",
        "runtime_principals": ["dpone_worker"],
        "installer_principals": [],
        "administrator_logins": ["sa"],
        "allowed_ways": [],
        "external_jobs": "MEASURED",
    }
    return RuntimeAssurancePolicy.build(**given | fields)


def who(measured: WriterMeasurement) -> dict[str, tuple[str, ...]]:
    return {writer.principal: writer.ways for writer in measured.writers}


def codes(found: tuple[object, ...]) -> set[str]:
    return {reason.code for reason in found}  # type: ignore[attr-defined]


def test_the_runtime_and_the_administrator_write_and_nobody_else(
    measurer: MssqlMeasurer, target: SqlRelation
) -> None:
    measured = measurer.writers(target, AT)
    assert set(who(measured)) == {"dpone_worker", "sa"}
    assert "UPDATE on schema mart" in who(measured)["dpone_worker"]
    assert "fixed role sysadmin" in who(measured)["sa"]
    assert measured.unseen == ()
    assert measured.jobs_seen
    assert writer_findings(measured, policy()) == ()


@pytest.mark.parametrize(
    ("grant", "way"),
    [
        ("GRANT INSERT ON [mart].[{table}] TO [{who}];", "INSERT on table mart.{table}"),
        ("GRANT DELETE ON SCHEMA::[mart] TO [{who}];", "DELETE on schema mart"),
        ("GRANT UPDATE TO [{who}];", "UPDATE on database lab"),
        ("GRANT ALTER ON [mart].[{table}] TO [{who}];", "ALTER on table mart.{table}"),
        ("GRANT CONTROL ON SCHEMA::[mart] TO [{who}];", "CONTROL on schema mart"),
        ("GRANT ALTER ANY SCHEMA TO [{who}];", "ALTER ANY SCHEMA on database lab"),
        ("GRANT TAKE OWNERSHIP ON [mart].[{table}] TO [{who}];", "TAKE OWNERSHIP on table mart.{table}"),
        ("GRANT ALTER ON SCHEMA::[raw_{who}] TO [{who}];", "ALTER on schema raw_{who} of its owner"),
        ("GRANT INSERT ON [mart].[v_{table}] TO [{who}];", "INSERT on view mart.v_{table} over it"),
        ("ALTER ROLE [db_datawriter] ADD MEMBER [{who}];", "fixed role db_datawriter"),
        ("ALTER ROLE [db_owner] ADD MEMBER [{who}];", "fixed role db_owner"),
        ("ALTER ROLE [db_ddladmin] ADD MEMBER [{who}];", "fixed role db_ddladmin"),
        ("ALTER ROLE [r_{who}] ADD MEMBER [{who}];", "UPDATE on table mart.{table} through role r_{who}"),
    ],
)
def test_a_stranger_who_can_write_is_named_with_the_way(
    measurer: MssqlMeasurer,
    target: SqlRelation,
    stranger: str,
    sql: Callable[[str], object],
    grant: str,
    way: str,
) -> None:
    places = {"table": target.name, "who": stranger}
    if "[raw_" in grant:
        sql(f"CREATE SCHEMA [raw_{stranger}];")
    if "[v_" in grant:
        sql(f"CREATE VIEW [mart].[v_{target.name}] AS SELECT [at], [id] FROM [mart].[{target.name}];")
    if "[r_" in grant:
        sql(f"CREATE ROLE [r_{stranger}]; GRANT UPDATE ON [mart].[{target.name}] TO [r_{stranger}];")
    assert stranger not in who(measurer.writers(target, AT))
    sql(grant.format(**places))
    measured = measurer.writers(target, AT)
    assert way.format(**places) in who(measured)[stranger]
    first, *_ = writer_findings(measured, policy())
    assert first.code == "DPONE_WRITER_NOT_EXCLUSIVE"
    assert stranger in first.observed


def test_an_owner_writes_and_a_reader_does_not(
    measurer: MssqlMeasurer, target: SqlRelation, stranger: str, sql: Callable[[str], object]
) -> None:
    sql(f"GRANT SELECT ON [mart].[{target.name}] TO [{stranger}];")
    sql(f"GRANT VIEW DEFINITION ON [mart].[{target.name}] TO [{stranger}];")
    sql(f"ALTER ROLE [db_datareader] ADD MEMBER [{stranger}];")
    assert stranger not in who(measurer.writers(target, AT))
    own = SqlRelation("lab", f"s_{stranger}", "t")
    sql(f"CREATE SCHEMA [s_{stranger}] AUTHORIZATION [{stranger}];")
    sql(f"CREATE TABLE [s_{stranger}].[t] ([id] int NOT NULL);")
    assert who(measurer.writers(own, AT))[stranger] == (f"owner of s_{stranger}.t",)


def test_a_denied_row_permission_is_none_and_a_denied_owner_is_still_one(
    measurer: MssqlMeasurer, target: SqlRelation, stranger: str, sql: Callable[[str], object]
) -> None:
    sql(
        f"GRANT INSERT ON SCHEMA::[mart] TO [{stranger}]; DENY INSERT ON [mart].[{target.name}] TO [{stranger}];"
    )
    assert stranger not in who(measurer.writers(target, AT))
    sql(f"GRANT CONTROL ON [mart].[{target.name}] TO [{stranger}];")
    assert stranger in who(measurer.writers(target, AT))


def test_a_module_that_names_the_target_is_named_until_the_policy_allows_it(
    measurer: MssqlMeasurer, target: SqlRelation, sql: Callable[[str], object]
) -> None:
    sql(
        f"EXEC sp_lab_declare_object @schema = N'mart', @name = N'p_{target.name}', @type = N'P', "
        f"@definition = N'CREATE PROCEDURE mart.p AS DELETE mart.[{target.name}]';"
    )
    measured = measurer.writers(target, AT)
    assert [reason.code for reason in writer_findings(measured, policy())] == ["DPONE_WRITER_INDIRECT"]
    assert writer_findings(measured, policy(allowed_ways=[f"module:mart.p_{target.name}"])) == ()


def test_what_the_runtime_may_not_see_is_unverified(
    runtime: SqlServerConfig, names: ControlNames, target: SqlRelation
) -> None:
    measured = MssqlMeasurer(runtime, names).writers(target, AT)
    assert any("VIEW ANY DEFINITION" in what for what in measured.unseen)
    assert codes(writer_findings(measured, policy())) == {"DPONE_WRITERS_UNVERIFIED"}


def test_a_denied_view_of_definitions_is_unverified_and_not_absent(
    installer: SqlServerConfig,
    names: ControlNames,
    target: SqlRelation,
    stranger: str,
    sql: Callable[[str], object],
) -> None:
    password = "Reader-" + token_hex(8)
    sql(
        f"CREATE LOGIN [l_{stranger}] WITH PASSWORD = '{password}'; CREATE USER [l_{stranger}] FOR LOGIN [l_{stranger}];"
    )
    sql(f"GRANT VIEW DEFINITION TO [l_{stranger}]; GRANT VIEW ANY DEFINITION TO [l_{stranger}];")
    parts = [p for p in installer.connection_string.split(";") if p[:4].upper() not in ("UID=", "PWD=")]
    reader = SqlServerConfig(";".join([*parts, f"UID=l_{stranger}", f"PWD={password}"]), 15, 5_000, 60)
    sql(f"CREATE TABLE [mart].[other_{stranger}] ([id] int);")
    assert MssqlMeasurer(reader, names).writers(target, AT).unseen == ()
    sql(f"DENY VIEW DEFINITION ON [mart].[other_{stranger}] TO [l_{stranger}];")
    assert MssqlMeasurer(reader, names).writers(target, AT).unseen == (
        "what a DENY of VIEW DEFINITION hides",
    )


def test_an_absent_target_is_refused(measurer: MssqlMeasurer) -> None:
    with pytest.raises(DponeError) as refused:
        measurer.writers(SqlRelation("lab", "mart", "nowhere"), AT)
    assert refused.value.code == "DPONE_TARGET_ABSENT"


@pytest.fixture
def frozen(
    measurer: MssqlMeasurer, installer: SqlServerConfig, names: ControlNames, target: SqlRelation
) -> DdlFreezeMeasurement:
    applied(MssqlDdlFreeze(installer, names).cover(target, ()))
    return measurer.ddl_freeze(target, AT)


def test_a_covered_target_is_frozen_by_the_released_trigger(frozen: DdlFreezeMeasurement) -> None:
    assert (frozen.ddl_epoch, frozen.trigger_state, frozen.trigger_text) == (1, "ENABLED", "AS_RELEASED")
    assert [covered.object_id for covered in frozen.covered] == [frozen.object_id]
    assert {held.principal for held in frozen.controllers} == {"sa"}
    assert freeze_findings(frozen, policy(), 1, ()) == ()


def test_ddl_on_the_target_moves_the_measured_epoch(
    frozen: DdlFreezeMeasurement, measurer: MssqlMeasurer, target: SqlRelation, sql: Callable[[str], object]
) -> None:
    sql(f"ALTER TABLE [mart].[{target.name}] ADD [more] int NULL;")
    moved = measurer.ddl_freeze(target, AT)
    assert codes(freeze_findings(moved, policy(), 1, ())) == {"DPONE_DDL_EPOCH_MOVED"}
    difference = changed(frozen, moved)
    assert difference is not None
    assert "ddl_epoch" in difference.observed


def test_a_disabled_trigger_freezes_nothing(
    frozen: DdlFreezeMeasurement, measurer: MssqlMeasurer, target: SqlRelation, sql: Callable[[str], object]
) -> None:
    assert frozen.trigger_state == "ENABLED"
    sql("DISABLE TRIGGER [dpone_ddl_epoch] ON DATABASE;")
    try:
        found = freeze_findings(measurer.ddl_freeze(target, AT), policy(), 1, ())
    finally:
        sql("ENABLE TRIGGER [dpone_ddl_epoch] ON DATABASE;")
    assert codes(found) == {"DPONE_DDL_TRIGGER_OFF"}


def test_a_runtime_that_could_disable_the_trigger_freezes_nothing(
    frozen: DdlFreezeMeasurement,
    measurer: MssqlMeasurer,
    target: SqlRelation,
    stranger: str,
    sql: Callable[[str], object],
) -> None:
    sql(f"GRANT ALTER ANY DATABASE DDL TRIGGER TO [{stranger}];")
    measured = measurer.ddl_freeze(target, AT)
    for runtime in ([stranger], ["dpone_worker"]):
        assert codes(freeze_findings(measured, policy(runtime_principals=runtime), frozen.ddl_epoch, ())) == {
            "DPONE_DDL_TRIGGER_IN_REACH"
        }


def test_a_covered_name_that_stands_for_another_object_is_told(
    frozen: DdlFreezeMeasurement, measurer: MssqlMeasurer, target: SqlRelation, sql: Callable[[str], object]
) -> None:
    sql(f"DROP TABLE [mart].[{target.name}]; CREATE TABLE [mart].[{target.name}] ([id] int NOT NULL);")
    found = freeze_findings(measurer.ddl_freeze(target, AT), policy(), frozen.ddl_epoch, ())
    assert {"DPONE_DDL_EPOCH_MOVED", "DPONE_DDL_FREEZE_UNCOVERED"} <= codes(found)


def test_an_event_time_of_datetime2_without_a_default_holds(
    measurer: MssqlMeasurer, target: SqlRelation
) -> None:
    measured = measurer.utc_semantics(target, "at", AT)
    assert (measured.type_name, measured.default_clock, measured.server_utc_offset) == (
        "datetime2(6)",
        "NONE",
        "+00:00",
    )
    assert utc_findings(measured) == ()
    assert codes(utc_findings(measurer.utc_semantics(target, "id", AT))) == {"DPONE_UTC_COLUMN_TYPE"}


def test_a_default_that_reads_a_local_clock_is_refused(
    measurer: MssqlMeasurer, target: SqlRelation, sql: Callable[[str], object]
) -> None:
    sql(
        f"ALTER TABLE [mart].[{target.name}] ADD CONSTRAINT [df_{target.name}] DEFAULT SYSDATETIME() FOR [at];"
    )
    assert codes(utc_findings(measurer.utc_semantics(target, "at", AT))) == {"DPONE_UTC_LOCAL_CLOCK"}
