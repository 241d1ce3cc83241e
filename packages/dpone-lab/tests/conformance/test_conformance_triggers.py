"""Triggers: what fires, what a THROW in one undoes, and what passes them by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine


@pytest.fixture
def table(sql: SqlClient, schema: str) -> str:
    sql.run(f"CREATE TABLE {schema}.t (id int PRIMARY KEY); INSERT {schema}.t VALUES (1)")
    return f"{schema}.t"


def count(sql: SqlClient, table: str) -> int:
    return int(sql.one(f"SELECT COUNT(*) FROM {table}"))


def test_an_after_trigger_that_throws_undoes_the_statement_and_the_transaction(
    sql: SqlClient, schema: str, table: str
) -> None:
    sql.run(f"CREATE TRIGGER {schema}.no ON {table} AFTER DELETE AS THROW 51200, N'CREATE_ONLY', 1")
    sql.run("SET XACT_ABORT OFF; BEGIN TRAN")
    assert sql.error(f"DELETE FROM {table}") == 51200
    assert sql.one("SELECT @@TRANCOUNT") == 0
    assert count(sql, table) == 1


def test_an_instead_of_trigger_replaces_the_change(sql: SqlClient, schema: str, table: str) -> None:
    sql.run(
        f"CREATE TRIGGER {schema}.no ON {table} INSTEAD OF UPDATE, DELETE AS THROW 51201, N'CREATE_ONLY', 1"
    )
    assert sql.error(f"UPDATE {table} SET id = 2") == 51201
    assert sql.error(f"DELETE FROM {table}") == 51201
    sql.run(f"INSERT {table} VALUES (2)")
    assert count(sql, table) == 2


def test_a_trigger_fires_for_a_statement_that_touches_no_row(sql: SqlClient, schema: str, table: str) -> None:
    sql.run(f"CREATE TRIGGER {schema}.no ON {table} AFTER DELETE AS THROW 51200, N'no', 1")
    assert sql.error(f"DELETE FROM {table} WHERE 1 = 0") == 51200


def test_a_disabled_trigger_does_not_fire(sql: SqlClient, schema: str, table: str) -> None:
    sql.run(f"CREATE TRIGGER {schema}.no ON {table} AFTER DELETE AS THROW 51200, N'no', 1")
    sql.run(f"DISABLE TRIGGER {schema}.no ON {table}")
    assert sql.one(f"SELECT is_disabled FROM sys.triggers WHERE parent_id = OBJECT_ID('{table}')") is True
    sql.run(f"DELETE FROM {table}; ENABLE TRIGGER {schema}.no ON {table}; INSERT {table} VALUES (1)")
    assert sql.error(f"DELETE FROM {table}") == 51200


def test_truncate_passes_by_triggers(sql: SqlClient, schema: str, table: str) -> None:
    sql.run(f"CREATE TRIGGER {schema}.no ON {table} AFTER DELETE AS THROW 51200, N'no', 1")
    sql.run(f"TRUNCATE TABLE {table}")
    assert count(sql, table) == 0


def test_disable_trigger_needs_alter(
    sql: SqlClient, schema: str, table: str, login: Callable[[str], SqlClient]
) -> None:
    bob = login("bob")
    sql.run(f"CREATE TRIGGER {schema}.no ON {table} AFTER DELETE AS THROW 51200, N'no', 1")
    sql.run(f"GRANT DELETE ON {table} TO {bob.user}")
    assert bob.error(f"DISABLE TRIGGER {schema}.no ON {table}") == 1088


def test_triggers_are_listed_with_their_text(sql: SqlClient, schema: str, table: str) -> None:
    text = f"CREATE TRIGGER {schema}.no ON {table} INSTEAD OF DELETE AS THROW 51200, N'no', 1"
    sql.run(text)
    assert sql.rows(
        "SELECT t.name, t.is_instead_of_trigger, t.is_disabled, m.definition FROM sys.triggers AS t "
        f"JOIN sys.sql_modules AS m ON m.object_id = t.object_id WHERE t.parent_id = OBJECT_ID('{table}')"
    ) == [("no", True, False, text)]
    sql.run(f"DROP TRIGGER {schema}.no")
    sql.run(f"DELETE FROM {table}")


def test_a_database_trigger_runs_inside_the_definition_and_may_refuse_it(sql: SqlClient, schema: str) -> None:
    name = f"ddl_{schema}"
    sql.run(
        f"CREATE TABLE {schema}.epoch (id int PRIMARY KEY, epoch bigint); INSERT {schema}.epoch VALUES (1, 0)"
    )
    sql.run(
        f"CREATE TRIGGER {name} ON DATABASE FOR DDL_DATABASE_LEVEL_EVENTS AS BEGIN SET NOCOUNT ON; "
        "DECLARE @event xml = EVENTDATA(); "
        "DECLARE @object nvarchar(128) = @event.value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(128)'); "
        f"IF @object = N'refused' THROW 51300, N'FROZEN', 1; "
        f"UPDATE {schema}.epoch SET epoch = epoch + 1 WHERE @object = N'seen'; END"
    )
    try:
        epoch = f"SELECT epoch FROM {schema}.epoch"
        sql.run(f"CREATE TABLE {schema}.seen (a int)")
        assert sql.one(epoch) == 1
        sql.run(f"ALTER TABLE {schema}.seen ADD b int")
        assert sql.one(epoch) == 2
        sql.run(f"BEGIN TRAN; ALTER TABLE {schema}.seen ADD c int; ROLLBACK")
        assert sql.one(epoch) == 2
        sql.run(f"CREATE TABLE {schema}.other (a int); CREATE TABLE #seen (a int)")
        assert sql.one(epoch) == 2
        assert sql.error(f"CREATE TABLE {schema}.refused (a int)") == 51300
        assert sql.one(f"SELECT OBJECT_ID('{schema}.refused')") is None
        sql.run(f"TRUNCATE TABLE {schema}.seen")
        assert sql.one(epoch) == 2
    finally:
        sql.run(f"DROP TRIGGER {name} ON DATABASE")


def test_permissions_and_renames_fire_database_triggers(sql: SqlClient, schema: str, table: str) -> None:
    name = f"all_{schema}"
    sql.run(f"CREATE TABLE {schema}.log (event nvarchar(128), object nvarchar(128), target nvarchar(128))")
    value = "@e.value('(/EVENT_INSTANCE/{})[1]', 'nvarchar(128)')".format
    sql.run(
        f"CREATE TRIGGER {name} ON DATABASE FOR DDL_DATABASE_LEVEL_EVENTS AS BEGIN DECLARE @e xml = EVENTDATA(); "
        f"INSERT {schema}.log VALUES ({value('EventType')}, {value('ObjectName')}, {value('TargetObjectName')}); END"
    )
    try:
        sql.run(f"GRANT SELECT ON {table} TO public")
        sql.run(f"CREATE INDEX ix ON {table} (id); DROP INDEX ix ON {table}")
        sql.run(f"CREATE TRIGGER {schema}.tr ON {table} AFTER DELETE AS THROW 51000, N'x', 1")
        sql.run(f"DROP TRIGGER {schema}.tr")
        sql.run(f"EXEC sp_rename '{table}', 'u'")
        found = sql.rows(f"SELECT event, object, target FROM {schema}.log")
    finally:
        sql.run(f"DROP TRIGGER {name} ON DATABASE")
    assert found == [
        ("GRANT_DATABASE", "t", None),
        ("CREATE_INDEX", "ix", "t"),
        ("DROP_INDEX", "ix", "t"),
        ("CREATE_TRIGGER", "tr", "t"),
        ("DROP_TRIGGER", "tr", "t"),
        ("RENAME", "t", None),
    ]
