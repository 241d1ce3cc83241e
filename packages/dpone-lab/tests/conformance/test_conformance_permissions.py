"""Principals, permissions and the silence of invisible metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine


@pytest.fixture
def table(sql: SqlClient, schema: str) -> str:
    sql.run(f"CREATE TABLE {schema}.t (id int PRIMARY KEY, n int); INSERT {schema}.t VALUES (1, 0)")
    return f"{schema}.t"


@pytest.fixture
def bob(login: Callable[[str], SqlClient]) -> SqlClient:
    return login("bob")


def test_a_wrong_password_and_an_unknown_login_are_18456(connect: Callable[..., SqlClient]) -> None:
    for user in ("sa", "nobody_of_that_name"):
        with pytest.raises(Exception, match=r"18456|28000"):
            connect(user, "wrong")


@pytest.mark.parametrize(
    ("statement", "permission"),
    [
        ("SELECT n FROM {t}", "SELECT"),
        ("INSERT {t} VALUES (2, 0)", "INSERT"),
        ("UPDATE {t} SET n = 1", "UPDATE"),
        ("DELETE FROM {t}", "DELETE"),
    ],
)
def test_data_needs_its_permission_or_229(
    sql: SqlClient, bob: SqlClient, table: str, statement: str, permission: str
) -> None:
    assert bob.error(statement.format(t=table)) == 229
    sql.run(f"GRANT {permission} ON {table} TO {bob.user}")
    bob.run(statement.format(t=table))


def test_an_update_with_a_condition_needs_select_too(sql: SqlClient, bob: SqlClient, table: str) -> None:
    sql.run(f"GRANT UPDATE ON {table} TO {bob.user}")
    assert bob.error(f"UPDATE {table} SET n = 1 WHERE id = 1") == 229
    sql.run(f"GRANT SELECT ON {table} TO {bob.user}")
    bob.run(f"UPDATE {table} SET n = 1 WHERE id = 1")


def test_deny_outweighs_grant_and_revoke_takes_both(
    sql: SqlClient, bob: SqlClient, table: str, schema: str
) -> None:
    sql.run(f"GRANT SELECT ON SCHEMA::{schema} TO {bob.user}; DENY SELECT ON {table} TO {bob.user}")
    assert bob.error(f"SELECT n FROM {table}") == 229
    sql.run(f"REVOKE SELECT ON {table} TO {bob.user}")
    assert bob.rows(f"SELECT n FROM {table}") == [(0,)]
    sql.run(f"REVOKE SELECT ON SCHEMA::{schema} FROM {bob.user}")
    assert bob.error(f"SELECT n FROM {table}") == 229


def test_roles_carry_permissions(sql: SqlClient, bob: SqlClient, table: str) -> None:
    role = f"r_{bob.user}"
    sql.run(f"CREATE ROLE {role}; GRANT SELECT ON {table} TO {role}")
    assert bob.error(f"SELECT n FROM {table}") == 229
    sql.run(f"ALTER ROLE {role} ADD MEMBER {bob.user}")
    assert bob.rows(f"SELECT n FROM {table}") == [(0,)]
    assert bob.one(f"SELECT IS_MEMBER('{role}')") == 1
    sql.run(f"ALTER ROLE {role} DROP MEMBER {bob.user}; DROP ROLE {role}")
    assert bob.error(f"SELECT n FROM {table}") == 229


def test_fixed_roles_read_and_write(sql: SqlClient, bob: SqlClient, table: str) -> None:
    sql.run(f"ALTER ROLE db_datareader ADD MEMBER {bob.user}")
    assert bob.rows(f"SELECT n FROM {table}") == [(0,)]
    assert bob.error(f"INSERT {table} VALUES (2, 0)") == 229
    sql.run(f"ALTER ROLE db_datawriter ADD MEMBER {bob.user}")
    bob.run(f"INSERT {table} VALUES (2, 0)")
    assert bob.error(f"TRUNCATE TABLE {table}") == 1088


def test_create_table_needs_the_database_and_the_schema(sql: SqlClient, bob: SqlClient, schema: str) -> None:
    statement = f"CREATE TABLE {schema}.made (a int)"
    assert bob.error(statement) == 262
    sql.run(f"GRANT CREATE TABLE TO {bob.user}")
    assert bob.error(statement) == 2760
    sql.run(f"GRANT ALTER ON SCHEMA::{schema} TO {bob.user}")
    bob.run(statement)


def test_definitions_of_others_hide_behind_not_found(sql: SqlClient, bob: SqlClient, table: str) -> None:
    assert bob.error(f"DROP TABLE {table}") == 3701
    assert bob.error(f"ALTER TABLE {table} ADD x int") == 1088
    assert bob.error(f"TRUNCATE TABLE {table}") == 1088
    assert bob.error(f"CREATE INDEX ix ON {table} (n)") == 1088


def test_truncate_needs_alter(sql: SqlClient, bob: SqlClient, table: str) -> None:
    sql.run(f"GRANT ALTER ON {table} TO {bob.user}")
    bob.run(f"TRUNCATE TABLE {table}")


def test_metadata_is_silently_invisible(sql: SqlClient, bob: SqlClient, table: str, schema: str) -> None:
    listing = f"SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID('{schema}')"
    assert bob.rows(listing) == []
    assert bob.one(f"SELECT OBJECT_ID('{table}')") is None
    assert (
        bob.rows(f"SELECT name FROM sys.columns WHERE object_id = {sql.one(f'SELECT OBJECT_ID({table!r})')}")
        == []
    )
    sql.run(f"GRANT INSERT ON {table} TO {bob.user}")
    assert bob.rows(listing) == [("t",)]
    assert bob.one(f"SELECT OBJECT_ID('{table}')") is not None


def test_view_definition_shows_metadata_and_no_rows(sql: SqlClient, bob: SqlClient, table: str) -> None:
    sql.run(f"GRANT VIEW DEFINITION ON {table} TO {bob.user}")
    assert bob.one(f"SELECT OBJECT_ID('{table}')") is not None
    assert bob.error(f"SELECT n FROM {table}") == 229


def test_the_text_of_a_view_needs_view_definition(
    sql: SqlClient, bob: SqlClient, table: str, schema: str
) -> None:
    sql.run(f"CREATE VIEW {schema}.v AS SELECT n FROM {table}")
    sql.run(f"GRANT SELECT ON {schema}.v TO {bob.user}")
    query = f"SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('{schema}.v')"
    assert bob.rows(query) == [(None,)]
    sql.run(f"GRANT VIEW DEFINITION ON {schema}.v TO {bob.user}")
    assert bob.one(query) is not None


def test_a_view_is_read_without_permission_on_its_tables(
    sql: SqlClient, bob: SqlClient, table: str, schema: str
) -> None:
    sql.run(f"CREATE VIEW {schema}.v AS SELECT n FROM {table}")
    sql.run(f"GRANT SELECT ON {schema}.v TO {bob.user}")
    assert bob.rows(f"SELECT n FROM {schema}.v") == [(0,)]


def test_sessions_of_others_are_silently_invisible(sql: SqlClient, bob: SqlClient) -> None:
    assert bob.rows("SELECT session_id FROM sys.dm_exec_sessions WHERE is_user_process = 1") == [
        (bob.one("SELECT @@SPID"),)
    ]
    assert sql.one("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1") >= 2


@pytest.mark.parametrize(
    "view",
    ["dm_tran_locks", "dm_tran_active_transactions", "dm_tran_session_transactions", "dm_exec_connections"],
)
def test_transaction_views_raise_without_view_server_state(bob: SqlClient, view: str) -> None:
    assert bob.error(f"SELECT COUNT(*) FROM sys.{view}") in (300, 297)


def test_view_server_state_opens_them(sql: SqlClient, bob: SqlClient) -> None:
    sql.at_server(f"GRANT VIEW SERVER STATE TO {bob.user}")
    assert bob.one("SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')") == 1
    assert bob.one("SELECT COUNT(*) FROM sys.dm_tran_locks") >= 0
    sql.at_server(f"REVOKE VIEW SERVER STATE TO {bob.user}")


def test_has_perms_by_name(sql: SqlClient, bob: SqlClient, table: str, schema: str) -> None:
    database = sql.one("SELECT DB_NAME()")
    query = (
        f"SELECT HAS_PERMS_BY_NAME('{table}', 'OBJECT', 'SELECT'), HAS_PERMS_BY_NAME('{schema}', 'SCHEMA', 'ALTER'), "
        f"HAS_PERMS_BY_NAME('{database}', 'DATABASE', 'CREATE TABLE'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')"
    )
    assert bob.rows(query) == [(0, 0, 0, 0)]
    sql.run(f"GRANT SELECT ON {table} TO {bob.user}; GRANT CONTROL ON SCHEMA::{schema} TO {bob.user}")
    assert bob.rows(query) == [(1, 1, 0, 0)]
    assert sql.rows(query) == [(1, 1, 1, 1)]
    assert sql.one("SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'NO SUCH PERMISSION')") is None


def test_the_owner_of_a_schema_controls_what_is_in_it(sql: SqlClient, bob: SqlClient, table: str) -> None:
    own = f"own_{bob.user}"
    sql.run(f"CREATE SCHEMA {own} AUTHORIZATION {bob.user}")
    sql.run(f"CREATE TABLE {own}.t (a int); GRANT CREATE TABLE TO {bob.user}")
    bob.run(
        f"INSERT {own}.t VALUES (1); CREATE TABLE {own}.u (a int); DROP TABLE {own}.t; DROP TABLE {own}.u"
    )
    sql.run(f"DROP SCHEMA {own}")


def test_a_user_may_not_grant_what_it_does_not_control(bob: SqlClient, table: str) -> None:
    assert bob.error(f"GRANT SELECT ON {table} TO {bob.user}") == 15151


def test_permissions_are_listed(sql: SqlClient, bob: SqlClient, table: str) -> None:
    sql.run(f"GRANT SELECT ON {table} TO {bob.user}; DENY DELETE ON {table} TO {bob.user}")
    assert sql.rows(
        "SELECT p.permission_name, p.state_desc FROM sys.database_permissions AS p "
        "JOIN sys.database_principals AS d ON d.principal_id = p.grantee_principal_id "
        f"WHERE d.name = '{bob.user}' AND p.class = 1 ORDER BY p.permission_name"
    ) == [("DELETE", "DENY"), ("SELECT", "GRANT")]


def test_unknown_grantees_and_taken_names(sql: SqlClient, bob: SqlClient, table: str) -> None:
    assert sql.error(f"GRANT SELECT ON {table} TO nobody_of_that_name") == 15151
    assert sql.error(f"CREATE USER {bob.user} FOR LOGIN {bob.user}") == 15023
    assert sql.error(f"CREATE LOGIN {bob.user} WITH PASSWORD = 'Aa1!something'") == 15025


@pytest.mark.parametrize(
    "statement",
    [
        "IF EXISTS (SELECT 1 FROM {t}) SELECT 1",
        "DECLARE @n int = (SELECT MAX(n) FROM {t})",
        "DECLARE @n int; SELECT @n = n FROM {t}",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM {t})",
        "WITH x AS (SELECT n FROM {t}) SELECT n FROM x",
        "SELECT n INTO #copy FROM {t}",
        "EXEC('SELECT n FROM {t}')",
        "EXEC sp_executesql N'SELECT n FROM {t}'",
    ],
)
def test_reading_in_any_place_needs_select(bob: SqlClient, table: str, statement: str) -> None:
    assert bob.error(statement.format(t=table)) == 229


def test_each_table_of_a_change_is_checked(sql: SqlClient, bob: SqlClient, table: str, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.s (id int, n int); GRANT SELECT, UPDATE, INSERT ON {table} TO {bob.user}")
    assert bob.error(f"INSERT {table} SELECT id, n FROM {schema}.s") == 229
    assert bob.error(f"UPDATE t SET n = s.n FROM {table} AS t JOIN {schema}.s AS s ON s.id = t.id") == 229
    sql.run(f"GRANT SELECT ON {schema}.s TO {bob.user}")
    bob.run(f"INSERT {table} SELECT id, n FROM {schema}.s")
    bob.run(f"UPDATE t SET n = s.n FROM {table} AS t JOIN {schema}.s AS s ON s.id = t.id")


def test_a_foreign_key_needs_references(sql: SqlClient, bob: SqlClient, table: str, schema: str) -> None:
    sql.run(f"GRANT CREATE TABLE TO {bob.user}; GRANT ALTER ON SCHEMA::{schema} TO {bob.user}")
    sql.run(f"DENY REFERENCES ON {table} TO {bob.user}")
    statement = f"CREATE TABLE {schema}.child (id int REFERENCES {table} (id))"
    assert bob.error(statement) in (229, 1767)
    sql.run(f"GRANT REFERENCES ON {table} TO {bob.user}")
    bob.run(statement)


def test_grant_option_lets_a_user_pass_its_permission_on(
    sql: SqlClient, login: Callable[[str], SqlClient], table: str
) -> None:
    giver, taker = login("giver"), login("taker")
    sql.run(f"GRANT SELECT ON {table} TO {giver.user} WITH GRANT OPTION")
    giver.run(f"GRANT SELECT ON {table} TO {taker.user}")
    assert taker.rows(f"SELECT n FROM {table}") == [(0,)]
    assert giver.error(f"GRANT INSERT ON {table} TO {taker.user}") == 15151


def test_db_owner_may_all_and_db_ddladmin_defines_without_reading(
    sql: SqlClient, login: Callable[[str], SqlClient], table: str, schema: str
) -> None:
    owner, definer = login("owner"), login("definer")
    sql.run(f"ALTER ROLE db_owner ADD MEMBER {owner.user}; ALTER ROLE db_ddladmin ADD MEMBER {definer.user}")
    owner.run(f"UPDATE {table} SET n = 1; CREATE TABLE {schema}.o (a int); DROP TABLE {schema}.o")
    definer.run(f"CREATE TABLE {schema}.d (a int); ALTER TABLE {table} ADD extra int; DROP TABLE {schema}.d")
    assert definer.error(f"SELECT n FROM {table}") == 229


def test_a_transaction_that_rolls_back_takes_its_grants_with_it(
    sql: SqlClient, bob: SqlClient, table: str
) -> None:
    sql.run(f"BEGIN TRAN; GRANT SELECT ON {table} TO {bob.user}; ROLLBACK")
    assert bob.error(f"SELECT n FROM {table}") == 229


def test_permissions_follow_a_renamed_table_and_die_with_it(
    sql: SqlClient, bob: SqlClient, table: str, schema: str
) -> None:
    sql.run(f"GRANT SELECT ON {table} TO {bob.user}; EXEC sp_rename '{table}', 'u'")
    assert bob.rows(f"SELECT n FROM {schema}.u") == [(0,)]
    sql.run(f"DROP TABLE {schema}.u; CREATE TABLE {schema}.u (n int)")
    assert bob.error(f"SELECT n FROM {schema}.u") == 229
