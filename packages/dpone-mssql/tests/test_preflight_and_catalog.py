"""What preflight finds, what the catalog shows of a read closure, and what moves a DDL epoch, on an engine."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.catalog import CatalogSnapshot, ClosureBudget, ObjectKind
from dpone_contracts.effects import Applied, NotApplied
from dpone_contracts.relations import SqlRelation
from dpone_mssql import preflight as preflight_module
from dpone_mssql.catalog import MssqlCatalog, MssqlDdlFreeze
from dpone_mssql.connection import Session, SqlServerConfig, SqlServerError, read_committed
from dpone_mssql.relation_observer import MssqlRelationObserver
from dpone_mssql.testing.refreshed import Refreshed, applied, refreshed

if TYPE_CHECKING:
    from dpone_contracts.testing.plan_example import ExampleModel
    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine

BUDGET = ClosureBudget(max_depth=4, max_nodes=8, max_edges=8, max_definition_bytes=10_000)
ROWS = "('2026-08-08', 1), ('2026-08-08', 2)"


@pytest.fixture
def found(installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel) -> Refreshed:
    return refreshed(installer, names, (keys_only,), rows=ROWS)


def codes(found: Refreshed) -> set[str]:
    return {code for code, _ in found.mutation.preflight(found.plan, found.target)}


def relation(found: Refreshed, suffix: str = "") -> SqlRelation:
    return SqlRelation(found.target.mssql_control_database, "mart", found.models[0].name + suffix)


def test_a_fit_target_has_no_finding(found: Refreshed, runtime: SqlServerConfig) -> None:
    assert found.mutation.preflight(found.plan, found.target) == ()
    as_runtime = replace(found, config=runtime)
    assert as_runtime.mutation.preflight(found.plan, found.target) == ()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DROP TABLE {table};", "DPONE_TARGET_ABSENT"),
        (
            "DROP TABLE {table}; CREATE TABLE {table} ([id] bigint NOT NULL, [day] date NOT NULL);",
            "DPONE_TARGET_SCHEMA_DRIFT",
        ),
        ("DROP TABLE {table}; EXEC('CREATE VIEW {table} AS SELECT 1 AS [one]');", "DPONE_TARGET_ABSENT"),
        ("CREATE TABLE [mart].[{name}__dbt_tmp__dbt_tmp_vw] ([id] int NULL);", "DPONE_SCRATCH_CONFLICT"),
        ("CREATE VIEW [mart].[{name}__dbt_tmp] AS SELECT 1 AS [one];", "DPONE_SCRATCH_CONFLICT"),
        ("ALTER TABLE {table} ADD [more] int NULL;", "DPONE_TARGET_SCHEMA_DRIFT"),
        ("ALTER TABLE {table} ALTER COLUMN [id] int NOT NULL;", "DPONE_TARGET_SCHEMA_DRIFT"),
        ("ALTER TABLE {table} ALTER COLUMN [id] bigint NULL;", "DPONE_TARGET_SCHEMA_DRIFT"),
        ("ALTER TABLE {table} ADD CONSTRAINT [df_{name}] DEFAULT 0 FOR [id];", "DPONE_TARGET_UNFIT"),
        (
            "CREATE TRIGGER [mart].[t_{name}] ON {table} INSTEAD OF UPDATE AS THROW 51200, N'no', 1;",
            "DPONE_TARGET_UNFIT",
        ),
        ("CREATE INDEX [dbt_idx_{name}] ON {table} ([id]);", "DPONE_TARGET_UNFIT"),
        ("CREATE INDEX [ix_{name}] ON {table} ([id]);", "DPONE_DDL_EPOCH_MOVED"),
        ("CREATE TABLE [mart].[{name}__dbt_tmp] ([id] int NULL);", "DPONE_SCRATCH_CONFLICT"),
        ("CREATE TABLE [mart].[{name}__dbt_backup] ([id] int NULL);", "DPONE_SCRATCH_CONFLICT"),
        ("CREATE VIEW [mart].[{name}__dbt_tmp__dbt_tmp_vw] AS SELECT 1 AS [one];", "DPONE_SCRATCH_CONFLICT"),
    ],
)
def test_preflight_refuses(found: Refreshed, change: str, code: str) -> None:
    found.sql(change.format(table=found.table, name=found.models[0].name))
    assert code in codes(found)


def test_a_view_on_dbts_temp_view_is_a_conflict(found: Refreshed) -> None:
    view = f"[mart].[{found.models[0].name}__dbt_tmp__dbt_tmp_vw]"
    found.sql(f"CREATE VIEW {view} AS SELECT 1 AS [one];")
    found.sql(f"CREATE VIEW [mart].[on_{found.models[0].name}] AS SELECT [one] FROM {view};")
    observed = [text for _, text in found.mutation.preflight(found.plan, found.target)]
    assert any(f"on_{found.models[0].name} depends" in text for text in observed)


def test_a_locked_catalog_is_unverified_and_not_absent(found: Refreshed) -> None:
    hasty = replace(found, config=replace(found.config, lock_timeout_ms=200))
    with Session(found.config) as session:
        session.rows("BEGIN TRANSACTION;")
        session.rows(f"CREATE TABLE {found.temp} ([id] int NULL);")
        assert codes(hasty) == {"DPONE_PREFLIGHT_UNVERIFIED"}


def test_a_column_whose_text_is_not_utf_8_is_unfit(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel
) -> None:
    texts = replace(keys_only, columns=(*keys_only.columns, ("note", "varchar(20)", True)))
    found = refreshed(installer, names, (texts,))
    found.sql(
        f"DROP TABLE {found.table}; CREATE TABLE {found.table} ([day] date NOT NULL, [id] bigint NOT NULL, "
        "[note] varchar(20) COLLATE Latin1_General_100_BIN2 NULL);"
    )
    findings = found.mutation.preflight(found.plan, found.target)
    assert any(code == "DPONE_TARGET_UNFIT" and "not UTF-8" in text for code, text in findings)


def test_a_statement_that_takes_too_long_is_unverified_and_not_absent(
    found: Refreshed, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = read_committed
    hasty = replace(found, config=replace(found.config, statement_timeout_seconds=1))

    def slow(config: SqlServerConfig, work: object) -> object:
        def waiting(session: Session) -> object:
            session.rows("WAITFOR DELAY '00:00:30';")
            return work(session)  # type: ignore[operator]

        return real(config, waiting)

    monkeypatch.setattr(preflight_module, "read_committed", slow)
    began = time.monotonic()
    assert codes(hasty) == {"DPONE_PREFLIGHT_UNVERIFIED"}
    assert time.monotonic() - began < 25


def test_a_principal_that_may_not_write_the_target_is_unverified(
    found: Refreshed, connection_string: str
) -> None:
    login, password = f"reader_{found.models[0].name}", "Re4der-pass-word"
    found.sql(f"CREATE LOGIN [{login}] WITH PASSWORD = '{password}';")
    found.sql(f"CREATE USER [{login}] FOR LOGIN [{login}];")
    found.sql(f"GRANT SELECT, VIEW DEFINITION ON SCHEMA::[mart] TO [{login}];")
    found.sql(f"GRANT SELECT ON SCHEMA::[dpone_control] TO [{login}];")
    found.sql(f"GRANT VIEW SERVER STATE TO [{login}];")
    parts = [part for part in connection_string.split(";") if part[:4].upper() not in ("UID=", "PWD=")]
    config = replace(found.config, connection_string=";".join([*parts, f"UID={login}", f"PWD={password}"]))
    findings = replace(found, config=config).mutation.preflight(found.plan, found.target)
    assert [code for code, _ in findings] == ["DPONE_PREFLIGHT_UNVERIFIED"]
    assert "no INSERT, UPDATE for this principal" in findings[0][1]


def test_a_budget_of_log_space_is_held_before_dbt_starts(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel
) -> None:
    greedy = refreshed(installer, names, (keys_only,), limits={"min_mssql_log_free_bytes": 1 << 60})
    assert codes(greedy) == {"DPONE_BUDGET_EXCEEDED"}


def test_another_database_or_schema_than_planned_is_refused(found: Refreshed) -> None:
    elsewhere = replace(found, names=replace(found.names, images="elsewhere"))
    assert codes(elsewhere) == {"DPONE_DATABASE_DIFFERS"}


def test_the_closure_goes_through_views_to_base_tables(found: Refreshed) -> None:
    name = found.models[0].name
    found.sql(f"CREATE INDEX [ix_{name}] ON [mart].[{name}] ([id]);")
    found.sql(f"CREATE VIEW [mart].[v1_{name}] AS SELECT [day], [id] FROM [mart].[{name}];")
    found.sql(f"CREATE VIEW [mart].[v2_{name}] AS SELECT [day] FROM [mart].[v1_{name}];")
    database = found.target.mssql_control_database
    root = SqlRelation(database, "mart", f"v2_{name}")
    snapshot = MssqlCatalog(found.config).snapshot((root,), BUDGET)
    kinds = {seen.relation.name: seen.kind for seen in snapshot.objects}
    assert kinds == {
        f"v2_{name}": ObjectKind.VIEW,
        f"v1_{name}": ObjectKind.VIEW,
        name: ObjectKind.BASE_TABLE,
    }
    assert (snapshot.database, snapshot.depth, snapshot.exceeded, snapshot.unreadable) == (
        database,
        2,
        (),
        (),
    )
    assert {edge.to_name for edge in snapshot.edges} == {f"v1_{name}", name}
    table = next(seen for seen in snapshot.objects if seen.kind is ObjectKind.BASE_TABLE)
    assert [(c.name, c.type_name, c.nullable) for c in table.columns] == list(found.models[0].columns)
    assert f"ix_{name}" in table.indexes
    view = snapshot.object(dict(snapshot.roots)[root] or 0)
    assert view is not None
    assert view.definition is not None
    assert not view.encrypted
    assert not view.schema_bound


@pytest.mark.parametrize("limit", ["max_nodes", "max_depth", "max_edges", "max_definition_bytes"])
def test_a_closure_beyond_its_budget_says_so(found: Refreshed, limit: str) -> None:
    name = found.models[0].name
    found.sql(f"CREATE VIEW [mart].[v1_{name}] AS SELECT [day], [id] FROM [mart].[{name}];")
    found.sql(f"CREATE VIEW [mart].[v2_{name}] AS SELECT [day] FROM [mart].[v1_{name}];")
    root = SqlRelation(found.target.mssql_control_database, "mart", f"v2_{name}")
    tight = replace(BUDGET, **{limit: 1})
    assert [text.split(":")[0] for text in MssqlCatalog(found.config).snapshot((root,), tight).exceeded] == [
        limit
    ]


def test_an_absent_or_foreign_root_has_no_id(found: Refreshed) -> None:
    absent, foreign = relation(found, "_absent"), SqlRelation("elsewhere", "mart", "x")
    snapshot = MssqlCatalog(found.config).snapshot((absent, foreign), BUDGET)
    assert dict(snapshot.roots) == {absent: None, foreign: None}
    assert snapshot.objects == ()


def test_what_a_principal_may_not_see_is_said(found: Refreshed, connection_string: str) -> None:
    login, password = f"blind_{found.models[0].name}", "B1ind-pass-word"
    view = f"[mart].[w_{found.models[0].name}]"
    found.sql(f"CREATE VIEW {view} AS SELECT [id] FROM {found.table};")
    found.sql(f"CREATE LOGIN [{login}] WITH PASSWORD = '{password}';")
    found.sql(f"CREATE USER [{login}] FOR LOGIN [{login}];")
    found.sql(f"GRANT SELECT ON {view} TO [{login}];")
    parts = [part for part in connection_string.split(";") if part[:4].upper() not in ("UID=", "PWD=")]
    blind = replace(found.config, connection_string=";".join([*parts, f"UID={login}", f"PWD={password}"]))
    root = SqlRelation(found.target.mssql_control_database, "mart", view[8:-1])
    snapshot: CatalogSnapshot = MssqlCatalog(blind).snapshot((root,), BUDGET)
    assert snapshot.unreadable
    assert all(seen.definition is None for seen in snapshot.objects)


def test_ddl_on_the_target_or_its_closure_moves_the_epoch_and_other_ddl_does_not(found: Refreshed) -> None:
    freeze, target, name = MssqlDdlFreeze(found.config, found.names), relation(found), found.models[0].name
    assert freeze.epoch(target) == 1
    found.sql(f"CREATE TABLE [mart].[read_{name}] ([id] int NULL);")
    read_id = found.sql(f"SELECT OBJECT_ID(N'[mart].[read_{name}]');")[0][0]
    assert freeze.epoch(target) == 1
    assert freeze.cover(target, (read_id,)) == Applied(2)
    assert freeze.cover(target, (read_id,)) == Applied(2)
    for number, change in enumerate(
        (
            f"ALTER TABLE [mart].[read_{name}] ADD [more] int NULL;",
            f"CREATE INDEX [ix_{name}] ON [mart].[{name}] ([id]);",
            f"DROP INDEX [ix_{name}] ON [mart].[{name}];",
            f"DROP TABLE [mart].[read_{name}];",
        ),
        3,
    ):
        found.sql(change)
        assert freeze.epoch(target) == number
    found.sql(f"CREATE TABLE [mart].[other_{name}] ([id] int NULL);")
    found.sql(f"CREATE VIEW [mart].[dbt_test_{name}] AS SELECT [id] FROM [mart].[{name}];")
    assert freeze.epoch(target) == 6


def test_an_absent_target_is_not_covered(found: Refreshed) -> None:
    freeze = MssqlDdlFreeze(found.config, found.names)
    assert isinstance(freeze.cover(relation(found, "_absent"), ()), NotApplied)
    assert freeze.epoch(relation(found, "_absent")) is None


def test_ddl_on_a_covered_object_fails_while_a_mutation_holds_the_freeze(found: Refreshed) -> None:
    with Session(found.config) as mutation:
        mutation.rows("BEGIN TRANSACTION;")
        mutation.rows(
            "EXEC sys.sp_getapplock @Resource = N'dpone:ddl-freeze', @LockMode = N'Shared', "
            "@LockOwner = N'Transaction', @LockTimeout = 0;"
        )
        with pytest.raises(SqlServerError) as refused:
            found.sql(f"CREATE INDEX [ix_frozen] ON {found.table} ([id]);")
    assert (refused.value.number, refused.value.name) == (51101, "DPONE_MSSQL_DDL_FROZEN")
    assert MssqlDdlFreeze(found.config, found.names).epoch(relation(found)) == 1


def test_a_relation_is_observed_whole(found: Refreshed) -> None:
    observer = MssqlRelationObserver(found.config, found.names)
    columns, name = found.target.writable_columns, str(relation(found))
    seen = observer.observe(name, columns, ("day", "id"), "day")
    assert (seen.row_count, seen.duplicate_keys, seen.uuid) == (2, 0, None)
    assert (seen.first_event, seen.last_event) == (
        "2026-08-08T00:00:00.000000Z",
        "2026-08-08T00:00:00.000000Z",
    )
    assert (seen.row_count, seen.content_sha256) == found.mutation.current_scope(found.plan, found.target)
    found.sql(f"INSERT INTO {found.table} VALUES ('2026-08-09', 1), ('2026-08-09', 1);")
    later = observer.observe(name, columns, ("day", "id"), "day")
    assert (later.row_count, later.duplicate_keys, later.last_event) == (4, 1, "2026-08-09T00:00:00.000000Z")
    assert later.content_sha256 != seen.content_sha256
    assert (later.schema_sha256, later.physical_sha256) == (seen.schema_sha256, seen.physical_sha256)


def test_a_scope_beyond_the_continuation_gate_is_refused(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel
) -> None:
    small = refreshed(installer, names, (keys_only,), rows=ROWS, limits={"max_after_image_bytes": 20})
    with pytest.raises(Exception, match="DPONE_CONTINUATION_TOO_LARGE"):
        small.mutation.current_scope(small.plan, small.target)
    assert applied(small.admit()).operations
