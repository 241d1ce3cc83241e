"""The declared differences from SQL Server: each row of the reference page, shown."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.odbc import SqlClient

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "lab-non-equivalences.md"

REFUSED: dict[str, list[tuple[str, int]]] = {
    "merge": [("MERGE {s}.t AS t USING {s}.t AS u ON t.id = u.id WHEN MATCHED THEN DELETE;", 40517)],
    "cursor": [("DECLARE c CURSOR FOR SELECT 1", 40517)],
    "table-variable": [("DECLARE @t TABLE (a int)", 40517)],
    "routine": [
        ("CREATE PROCEDURE {s}.p AS SELECT 1", 40517),
        ("CREATE FUNCTION {s}.f() RETURNS int AS BEGIN RETURN 1 END", 40517),
        ("CREATE SEQUENCE {s}.q", 40517),
        ("CREATE SYNONYM {s}.y FOR {s}.t", 40517),
        ("CREATE TYPE {s}.k FROM int", 40517),
    ],
    "type": [
        (f"CREATE TABLE {{s}}.m (a {name})", 40517)
        for name in ("money", "datetimeoffset", "xml", "rowversion")
    ],
    "for-clause": [
        ("SELECT id FROM {s}.t FOR JSON PATH", 40517),
        ("SELECT id FROM {s}.t FOR XML RAW", 40517),
    ],
    "pivot": [
        ("SELECT * FROM {s}.t PIVOT (SUM(n) FOR d IN ([a])) AS p", 40517),
        ("SELECT d, SUM(n) FROM {s}.t GROUP BY ROLLUP (d)", 40517),
    ],
    "dirty-read": [
        ("SELECT id FROM {s}.t WITH (NOLOCK)", 40517),
        ("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", 40517),
        ("SET TRANSACTION ISOLATION LEVEL SNAPSHOT", 40517),
    ],
    "table-feature": [
        ("CREATE TABLE {s}.m (a int, b AS a + 1)", 40517),
        ("CREATE TABLE {s}.m (a int, INDEX i (a))", 40517),
        ("CREATE TABLE {s}.m (a int REFERENCES {s}.t (id) ON DELETE CASCADE)", 40517),
        ("CREATE CLUSTERED COLUMNSTORE INDEX i ON {s}.t", 40517),
        ("CREATE UNIQUE INDEX i ON {s}.t (n) WITH (IGNORE_DUP_KEY = ON)", 40517),
        ("ALTER TABLE {s}.t NOCHECK CONSTRAINT ALL", 40517),
    ],
    "set-option": [("SET ANSI_NULLS OFF", 40517), ("SET ROWCOUNT 5", 40517)],
    "assignment": [
        ("INSERT {s}.t (id) EXEC('SELECT 3')", 40517),
        ("DECLARE @n int; UPDATE {s}.t SET @n = n = 1", 40517),
    ],
    "control": [
        ("RAISERROR('x', 16, 1)", 40517),
        ("WAITFOR TIME '10:00'", 40517),
        ("EXECUTE AS USER = 'dbo'", 40517),
        ("again: GOTO again", 102),
    ],
    "other-database": [
        ("SELECT * FROM srv.db.{s}.t", 117),
        ("SELECT * FROM elsewhere.{s}.t", 911),
        ("USE master", 911),
    ],
    "administration": [
        (statement, 40517)
        for statement in (
            "DBCC CHECKDB",
            "BACKUP DATABASE DW TO DISK = 'x'",
            "KILL 99",
            "UPDATE STATISTICS {s}.t",
        )
    ],
    "grant-form": [
        ("GRANT SELECT (n) ON {s}.t TO public", 40517),
        ("REVOKE GRANT OPTION FOR SELECT ON {s}.t FROM public", 40517),
    ],
    "collation": [
        ("CREATE TABLE {s}.m (a nvarchar(5) COLLATE SQL_Latin1_General_CP1_CI_AS)", 448),
        ("CREATE TABLE {s}.m (a varchar(5) COLLATE Chinese_Traditional_Stroke_Count_100_BIN2_UTF8)", 40517),
    ],
    "identifier-length": [
        (statement.replace("*", "n" * 64), 40517)
        for statement in (
            "SELECT 1 FROM {s}.*",
            "SELECT 1 AS *",
            "SELECT 1 AS '*'",
            "SELECT 1 '*'",
            "SELECT 1 FROM {s}.t AS *",
            "WITH * AS (SELECT 1 AS a) SELECT a FROM *",
            "CREATE SCHEMA *",
            "CREATE TABLE {s}.* (a int)",
            'CREATE TABLE {s}."*" (a int)',
            "CREATE TABLE {s}.m ([*] int)",
            "CREATE TABLE {s}.m (a int CONSTRAINT * PRIMARY KEY)",
            "CREATE TABLE #* (a int)",
            "SELECT 1 AS a INTO {s}.*",
            "CREATE VIEW {s}.* AS SELECT 1 AS a",
            "CREATE INDEX * ON {s}.t (n)",
            "CREATE TRIGGER {s}.* ON {s}.t AFTER DELETE AS THROW 50001, N'x', 1",
            "ALTER TABLE {s}.t ADD * int",
            "EXEC sp_rename '{s}.t', '*'",
            "EXEC('SELECT 1 AS *')",
        )
    ]
    + [(f"SELECT 1 AS [{'é' * 32}]", 40517)],
    "hash": [("SELECT HASHBYTES('SHA1', 'x')", 40517)],
    "trigger-body": [("CREATE TRIGGER {s}.r ON {s}.t AFTER INSERT AS DELETE FROM {s}.t", 40517)],
    "hint": [
        ("SELECT id FROM {s}.t WITH (INDEX(1))", 40517),
        ("SELECT id FROM {s}.t OPTION (FORCE ORDER)", 40517),
    ],
    "sampling": [
        ("SELECT TOP (5) PERCENT id FROM {s}.t", 40517),
        ("SELECT id FROM {s}.t TABLESAMPLE (10 PERCENT)", 40517),
    ],
    "rowset": [
        ("SELECT * FROM OPENJSON('[]')", 40517),
        ("SELECT {s}.f(1)", 40517),
        ("SELECT * FROM OPENROWSET('a', 'b', 'c') AS x", 156),
        ("SELECT FORMAT(1, 'N')", 195),
    ],
    "convert-style": [("SELECT CONVERT(varchar(30), GETDATE(), 100)", 281)],
    "unclear-text": [
        ("SELECT CAST(1e0 AS varchar(30))", 40517),
        ("SELECT CAST(GETDATE() AS varchar(30))", 40517),
    ],
    "date-arithmetic": [("SELECT GETDATE() + 1", 40517)],
    "recursion": [
        ("WITH c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c", 40517)
    ],
    "indirect-change": [
        ("WITH c AS (SELECT id FROM {s}.t) DELETE FROM c", 40517),
        ("SELECT id INTO #made FROM {s}.numbered", 40517),
    ],
    "catalog-view": [("SELECT * FROM sys.dm_exec_query_stats", 208)],
}
SHOWN: set[str] = set()


Test = TypeVar("Test", bound="Callable[..., None]")


def shows(name: str) -> Callable[[Test], Test]:
    """Mark a test as the one of a row of the page's second table; it is about the lab, not about SQL Server."""
    SHOWN.add(name)

    def mark(test: Test) -> Test:
        marked: Test = pytest.mark.engine(pytest.mark.usefixtures("lab_only")(test))
        return marked

    return mark


@pytest.fixture
def table(sql: SqlClient, schema: str) -> str:
    sql.run(
        f"CREATE TABLE {schema}.t (id int PRIMARY KEY, n int CHECK (n > 0), d nvarchar(9) DEFAULT N'x');"
        f"INSERT {schema}.t VALUES (1, 1, N'a'), (2, 2, N'A'); CREATE TABLE {schema}.numbered (id int IDENTITY)"
    )
    return f"{schema}.t"


def test_the_page_and_the_tests_list_the_same() -> None:
    named = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(), flags=re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == set(REFUSED) | SHOWN


@pytest.mark.engine
@pytest.mark.usefixtures("lab_only")
@pytest.mark.parametrize(
    ("statement", "number"),
    [
        pytest.param(*case, id=f"{name}-{place}")
        for name, cases in REFUSED.items()
        for place, case in enumerate(cases)
    ],
)
def test_refused(sql: SqlClient, schema: str, table: str, statement: str, number: int) -> None:
    assert sql.error(statement.format(s=schema)) == number


@pytest.mark.engine
@pytest.mark.usefixtures("lab_only")
def test_a_refusal_comes_before_any_effect(sql: SqlClient, table: str) -> None:
    assert sql.error(f"DELETE FROM {table}; SELECT 1 FOR JSON PATH") == 40517
    assert sql.one(f"SELECT COUNT(*) FROM {table}") == 2


@shows("table-locks")
def test_writers_of_different_rows_wait(
    sql: SqlClient, connect: Callable[..., SqlClient], table: str
) -> None:
    sql.run(f"BEGIN TRAN; UPDATE {table} SET n = 5 WHERE id = 1")
    assert connect().error(f"SET LOCK_TIMEOUT 0; UPDATE {table} SET n = 5 WHERE id = 2") == 1222


@shows("catalog-locks")
def test_a_reader_of_the_catalog_waits_for_unrelated_definitions(
    sql: SqlClient, connect: Callable[..., SqlClient], schema: str, table: str
) -> None:
    sql.run(f"BEGIN TRAN; CREATE TABLE {schema}.made (a int)")
    other = connect()
    query = f"SELECT 1 FROM sys.tables WHERE name = 't' AND schema_id = SCHEMA_ID('{schema}')"
    assert other.error(f"SET LOCK_TIMEOUT 0; {query}") == 1222
    assert other.error(f"SELECT OBJECT_ID('{table}')") == 1222


@shows("doomed-reader")
def test_a_doomed_reader_sees_the_state_before_the_transaction(sql: SqlClient, table: str) -> None:
    assert (
        sql.one(
            f"SET XACT_ABORT ON; BEGIN TRAN; INSERT {table} (id) VALUES (9); BEGIN TRY INSERT {table} (id) VALUES (9); END TRY "
            f"BEGIN CATCH SELECT COUNT(*) FROM {table}; ROLLBACK; END CATCH"
        )
        == 2
    )


@shows("identifier-case")
def test_names_ignore_case_and_text_does_not(sql: SqlClient, table: str) -> None:
    assert sql.rows(f"SELECT ID FROM {table.upper()} WHERE D = N'A'") == [(2,)]


@shows("seventh-digit")
def test_the_seventh_digit_is_rounded_away(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.d (a datetime2(7)); INSERT {schema}.d VALUES ('2021-01-01 00:00:00.1234567')"
    )
    assert sql.one(f"SELECT CONVERT(varchar(40), a, 126) FROM {schema}.d").startswith(
        "2021-01-01T00:00:00.123457"
    )


@shows("blank-sets")
def test_distinct_unions_and_keys_tell_trailing_blanks_apart(sql: SqlClient, schema: str) -> None:
    source = "(VALUES ('a'), ('a ')) AS v (x)"
    assert sql.one(f"SELECT COUNT(*) FROM (SELECT DISTINCT x FROM {source}) AS d") == 2
    assert sql.one(f"SELECT COUNT(*) FROM (SELECT x FROM {source} GROUP BY x) AS d") == 1
    sql.run(f"CREATE TABLE {schema}.b (x varchar(5) PRIMARY KEY); INSERT {schema}.b VALUES ('a'), ('a ')")
    assert sql.one(f"SELECT COUNT(*) FROM {schema}.b WHERE x = 'a'") == 2


@shows("blank-order")
def test_text_sorts_without_its_trailing_blanks_and_without_padding(sql: SqlClient) -> None:
    rows = sql.rows("SELECT n FROM (VALUES (1, 'a' + CHAR(9)), (2, 'a')) AS v (n, x) ORDER BY x + ''")
    assert rows == [(2,), (1,)]


@shows("code-page")
def test_varchar_is_utf_8_under_any_collation(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.p (x varchar(5) COLLATE Latin1_General_BIN2); INSERT {schema}.p VALUES (N'ä☃')"
    )
    assert sql.rows(f"SELECT x, DATALENGTH(x) FROM {schema}.p") == [("ä☃", 5)]


@pytest.mark.engine
@pytest.mark.usefixtures("lab_only")
def test_names_of_63_bytes_are_kept_and_told_apart(sql: SqlClient, schema: str) -> None:
    one, other = (f"{'n' * 62}{last}" for last in "ab")
    for name, number in ((one, 50001), (other, 50002)):
        sql.run(f"CREATE TABLE {schema}.{name} ({name} int)")
        trigger = f"{'t' * 62}{name[-1]}"
        sql.run(
            f"CREATE TRIGGER {schema}.{trigger} ON {schema}.{name} AFTER DELETE AS THROW {number}, N'x', 1"
        )
    assert [sql.error(f"DELETE {schema}.{name}") for name in (one, other)] == [50001, 50002]
    assert sql.one(f"SELECT OBJECT_ID('{schema}.{one}x')") is None


@shows("collation-name")
def test_a_binary_collation_of_any_name_is_taken(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.q (a nvarchar(5) COLLATE Atlantis_100_BIN2)")
    query = f"SELECT collation_name FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.q')"
    assert sql.one(query) == "Atlantis_100_BIN2"


@shows("characters")
def test_len_and_its_like_count_characters(sql: SqlClient) -> None:
    assert sql.one("SELECT LEN(N'\U0001f600')") == 1
    assert sql.one("SELECT DATALENGTH(N'\U0001f600')") == 4


@shows("computed-null")
def test_select_into_makes_computed_columns_nullable(sql: SqlClient, schema: str) -> None:
    sql.run(f"SELECT 1 AS a, 1 + 1 AS b, ISNULL(1 + 1, 0) AS c, COUNT(*) AS d INTO {schema}.made")
    assert sql.rows(
        f"SELECT name, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.made') ORDER BY column_id"
    ) == [("a", False), ("b", True), ("c", False), ("d", True)]


@shows("guid-order")
def test_guids_sort_by_their_text(sql: SqlClient) -> None:
    first, second = "00000000-0000-0000-0000-010000000000", "01000000-0000-0000-0000-000000000000"
    rows = sql.rows(
        f"SELECT CONVERT(char(36), g) FROM (VALUES (CAST('{second}' AS uniqueidentifier)), "
        f"(CAST('{first}' AS uniqueidentifier))) AS v (g) ORDER BY g"
    )
    assert rows == [(first,), (second,)]


@shows("key-value")
def test_messages_of_duplicate_keys_print_no_value(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.k (a int PRIMARY KEY); INSERT {schema}.k VALUES (918273)")
    found = sql.fault(f"INSERT {schema}.k VALUES (918273)")
    assert found is not None
    assert "918273" not in found.text


@shows("constraint-text")
def test_definitions_of_constraints_are_postgresqls(sql: SqlClient, table: str) -> None:
    assert (
        sql.one(f"SELECT definition FROM sys.check_constraints WHERE parent_object_id = OBJECT_ID('{table}')")
        == "(n > 0)"
    )
    assert sql.one(
        f"SELECT name FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('{table}')"
    ).startswith("DF__t__d__")


@shows("schema-visibility")
def test_every_schema_is_listed(schema: str, login: Callable[[str], SqlClient]) -> None:
    assert login("bob").one(f"SELECT COUNT(*) FROM sys.schemas WHERE name = '{schema}'") == 1


@shows("variant")
def test_variants_are_text(sql: SqlClient) -> None:
    assert isinstance(sql.one("SELECT SERVERPROPERTY('EngineEdition')"), str)


@shows("server-scope")
def test_server_permissions_are_granted_anywhere(sql: SqlClient, login: Callable[[str], SqlClient]) -> None:
    bob = login("bob")
    sql.run(f"GRANT VIEW SERVER STATE TO {bob.user}")
    assert bob.one("SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')") == 1


@shows("ownership-chain")
def test_a_view_is_checked_alone(sql: SqlClient, login: Callable[[str], SqlClient], table: str) -> None:
    owner, reader = login("owner"), login("reader")
    own = f"o_{owner.user}"
    sql.run(f"CREATE SCHEMA {own} AUTHORIZATION {owner.user}")
    sql.run(f"CREATE VIEW {own}.v AS SELECT n FROM {table}")
    sql.run(f"GRANT SELECT ON {own}.v TO {reader.user}")
    assert reader.one(f"SELECT COUNT(*) FROM {own}.v") == 2


@shows("view-identity")
def test_a_view_with_other_columns_is_another_object(
    sql: SqlClient, schema: str, login: Callable[[str], SqlClient]
) -> None:
    bob = login("bob")
    sql.run(f"CREATE VIEW {schema}.v AS SELECT 1 AS a")
    sql.run(f"GRANT SELECT ON {schema}.v TO {bob.user}")
    before = sql.one(f"SELECT OBJECT_ID('{schema}.v')")
    sql.run(f"ALTER VIEW {schema}.v AS SELECT 2 AS a")
    assert sql.one(f"SELECT OBJECT_ID('{schema}.v')") == before
    sql.run(f"ALTER VIEW {schema}.v AS SELECT 1 AS a, 2 AS b")
    assert sql.one(f"SELECT OBJECT_ID('{schema}.v')") != before
    assert bob.error(f"SELECT a FROM {schema}.v") == 229


@shows("second-error")
def test_a_missing_server_permission_is_300_alone(login: Callable[[str], SqlClient]) -> None:
    found = login("bob").fault("SELECT COUNT(*) FROM sys.dm_tran_locks")
    assert found is not None
    assert re.findall(r"\((\d+)\) \(SQL", found.text) == ["300"]


@shows("password-policy")
def test_any_password_is_taken(sql: SqlClient, connect: Callable[..., SqlClient]) -> None:
    name = f"weak_{secrets.token_hex(4)}"
    sql.run(f"CREATE LOGIN {name} WITH PASSWORD = 'a'")
    sql.run(f"CREATE USER {name} FOR LOGIN {name}")
    assert connect(name, "a").one("SELECT 1") == 1


@shows("declared-objects")
def test_objects_can_be_declared(sql: SqlClient, schema: str, table: str) -> None:
    sql.run(f"EXEC sp_lab_declare_object '{schema}', 'syn', 'SN', '{table}'")
    sql.run(f"EXEC sp_lab_declare_object '{schema}', 'fn', 'FN', @definition = N'CREATE FUNCTION fn …'")
    assert sql.rows(
        f"SELECT name, base_object_name FROM sys.synonyms WHERE schema_id = SCHEMA_ID('{schema}')"
    ) == [("syn", table)]
    assert sql.one(f"SELECT OBJECT_DEFINITION(OBJECT_ID('{schema}.fn'))") == "CREATE FUNCTION fn …"
    assert sql.error(f"SELECT * FROM {schema}.syn") == 208


@shows("log-size")
def test_log_and_version_store_are_empty(sql: SqlClient, table: str) -> None:
    sql.run(f"BEGIN TRANSACTION; INSERT {table} (id) VALUES (77)")
    logged = "SELECT MAX(database_transaction_log_bytes_used) FROM sys.dm_tran_database_transactions"
    assert sql.one(logged) == 0
    assert sql.one("SELECT SUM(reserved_space_kb) FROM sys.dm_tran_version_store_space_usage") == 0
    assert sql.one("SELECT used_log_space_in_bytes FROM sys.dm_db_log_space_usage") == 0
    sql.run("ROLLBACK TRANSACTION")


@shows("partition-rows")
def test_partition_rows_are_counted(sql: SqlClient, table: str) -> None:
    query = f"SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('{table}')"
    assert sql.one(query) == 2
    sql.run(f"DELETE FROM {table}")
    assert sql.one(query) == 0


@shows("agent-jobs")
def test_there_are_no_jobs_and_everybody_may_ask(login: Callable[[str], SqlClient]) -> None:
    assert login("bob").rows("SELECT name FROM msdb.dbo.sysjobs") == []
    assert login("bob").rows("SELECT command FROM msdb.dbo.sysjobsteps") == []
