"""Catalog views and functions: what a definition leaves there, by the documentation of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine

COLUMN_FACTS = {
    "bigint": (127, 8, 19, 0),
    "int": (56, 4, 10, 0),
    "smallint": (52, 2, 5, 0),
    "tinyint": (48, 1, 3, 0),
    "bit": (104, 1, 1, 0),
    "decimal(9, 2)": (106, 5, 9, 2),
    "decimal(19, 4)": (106, 9, 19, 4),
    "decimal(28, 4)": (106, 13, 28, 4),
    "numeric(38, 10)": (108, 17, 38, 10),
    "float": (62, 8, 53, 0),
    "real": (59, 4, 24, 0),
    "date": (40, 3, 10, 0),
    "time(3)": (41, 4, 12, 3),
    "datetime": (61, 8, 23, 3),
    "datetime2(0)": (42, 6, 19, 0),
    "datetime2(3)": (42, 7, 23, 3),
    "datetime2(6)": (42, 8, 26, 6),
    "datetime2": (42, 8, 27, 7),
    "uniqueidentifier": (36, 16, 0, 0),
    "varchar(50)": (167, 50, 0, 0),
    "varchar(max)": (167, -1, 0, 0),
    "char(8)": (175, 8, 0, 0),
    "nvarchar(50)": (231, 100, 0, 0),
    "nvarchar(max)": (231, -1, 0, 0),
    "nchar(8)": (239, 16, 0, 0),
    "varbinary(32)": (165, 32, 0, 0),
    "varbinary(max)": (165, -1, 0, 0),
    "binary(32)": (173, 32, 0, 0),
}


def test_columns_tell_type_length_precision_and_scale(sql: SqlClient, schema: str) -> None:
    columns = ", ".join(f"c{number} {kind} NULL" for number, kind in enumerate(COLUMN_FACTS))
    sql.run(f"CREATE TABLE {schema}.t ({columns})")
    found = sql.rows(
        "SELECT system_type_id, max_length, [precision], scale FROM sys.columns "
        f"WHERE object_id = OBJECT_ID('{schema}.t') ORDER BY column_id"
    )
    assert dict(zip(COLUMN_FACTS, found, strict=True)) == COLUMN_FACTS


def test_columns_tell_nullability_identity_and_defaults(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (id int IDENTITY(1, 1) NOT NULL, a int NULL, b int NOT NULL DEFAULT 7)")
    assert sql.rows(
        "SELECT name, column_id, is_nullable, is_identity, is_computed, CASE WHEN default_object_id <> 0 THEN 1 ELSE 0 END "
        f"FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.t') ORDER BY column_id"
    ) == [("id", 1, False, True, False, 0), ("a", 2, True, False, False, 0), ("b", 3, False, False, False, 1)]


def test_text_columns_have_a_collation_and_others_none(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a nvarchar(5) COLLATE Latin1_General_100_BIN2, b int)")
    assert sql.rows(
        f"SELECT collation_name FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.t') ORDER BY column_id"
    ) == [("Latin1_General_100_BIN2",), (None,)]


def test_object_id_finds_names_in_every_spelling(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.[odd name] (a int)")
    found = {
        sql.one(f"SELECT OBJECT_ID(N'{name}')")
        for name in (f"{schema}.[odd name]", f"[{schema}].[odd name]", f'"{schema}"."odd name"')
    }
    assert len(found) == 1
    assert None not in found
    assert sql.one(f"SELECT OBJECT_ID(N'{schema}.[odd name]', N'V')") is None
    assert sql.one(f"SELECT OBJECT_NAME(OBJECT_ID(N'{schema}.[odd name]', N'U'))") == "odd name"


def test_object_id_changes_when_a_table_is_made_again_and_stays_when_it_is_renamed(
    sql: SqlClient, schema: str
) -> None:
    query = f"SELECT OBJECT_ID('{schema}.{{}}')"
    sql.run(f"CREATE TABLE {schema}.t (a int)")
    first = sql.one(query.format("t"))
    sql.run(f"EXEC sp_rename '{schema}.t', 'u'")
    assert sql.one(query.format("u")) == first
    assert sql.one(query.format("t")) is None
    sql.run(f"DROP TABLE {schema}.u; CREATE TABLE {schema}.u (a int)")
    assert sql.one(query.format("u")) != first


def test_objects_list_a_table_with_its_constraints(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.p (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY);"
        f"CREATE TABLE {schema}.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, a int CONSTRAINT uq_t UNIQUE,"
        f" b int CONSTRAINT ck_t CHECK (b > 0), c int CONSTRAINT fk_t REFERENCES {schema}.p (id))"
    )
    found = sql.rows(
        f"SELECT name, RTRIM(type), type_desc FROM sys.objects WHERE parent_object_id = OBJECT_ID('{schema}.t') ORDER BY name"
    )
    assert found == [
        ("ck_t", "C", "CHECK_CONSTRAINT"),
        ("fk_t", "F", "FOREIGN_KEY_CONSTRAINT"),
        ("pk_t", "PK", "PRIMARY_KEY_CONSTRAINT"),
        ("uq_t", "UQ", "UNIQUE_CONSTRAINT"),
    ]


def test_indexes_have_the_documented_ids_and_kinds(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.h (a int); CREATE TABLE {schema}.t (a int NOT NULL PRIMARY KEY, b int, c int);"
        f"CREATE UNIQUE INDEX ix ON {schema}.t (b DESC, c)"
    )
    query = "SELECT index_id, type_desc, is_unique, is_primary_key FROM sys.indexes WHERE object_id = OBJECT_ID('{}') ORDER BY index_id"
    assert sql.rows(query.format(f"{schema}.h")) == [(0, "HEAP", False, False)]
    assert sql.rows(query.format(f"{schema}.t")) == [
        (1, "CLUSTERED", True, True),
        (2, "NONCLUSTERED", True, False),
    ]
    assert sql.rows(
        "SELECT c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column FROM sys.index_columns AS ic "
        "JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id "
        f"WHERE ic.object_id = OBJECT_ID('{schema}.t') AND ic.index_id = 2 ORDER BY ic.key_ordinal"
    ) == [("b", 1, True, False), ("c", 2, False, False)]


def test_index_names_belong_to_their_table(sql: SqlClient, schema: str) -> None:
    for name in ("a", "b"):
        sql.run(f"CREATE TABLE {schema}.{name} (n int); CREATE INDEX same ON {schema}.{name} (n)")
    assert (
        sql.one(
            f"SELECT COUNT(*) FROM sys.indexes AS i JOIN sys.tables AS t ON t.object_id = i.object_id "
            f"WHERE i.name = 'same' AND t.schema_id = SCHEMA_ID('{schema}')"
        )
        == 2
    )
    sql.run(f"DROP INDEX same ON {schema}.a")
    assert (
        sql.one(
            f"SELECT COUNT(*) FROM sys.indexes WHERE name = 'same' AND object_id = OBJECT_ID('{schema}.b')"
        )
        == 1
    )


def test_foreign_keys_tell_both_ends(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.p (a int NOT NULL, b int NOT NULL, PRIMARY KEY (a, b));"
        f"CREATE TABLE {schema}.c (x int, y int, CONSTRAINT fk_c FOREIGN KEY (y, x) REFERENCES {schema}.p (a, b))"
    )
    assert sql.rows(
        "SELECT OBJECT_NAME(f.referenced_object_id), f.delete_referential_action_desc, "
        "COL_NAME(k.parent_object_id, k.parent_column_id), COL_NAME(k.referenced_object_id, k.referenced_column_id) "
        "FROM sys.foreign_keys AS f JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id "
        f"WHERE f.parent_object_id = OBJECT_ID('{schema}.c') ORDER BY k.constraint_column_id"
    ) == [("p", "NO_ACTION", "y", "a"), ("p", "NO_ACTION", "x", "b")]


def test_a_view_binds_late_and_keeps_its_text(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int); INSERT {schema}.t VALUES (1)")
    text = f"CREATE VIEW {schema}.v AS SELECT a FROM {schema}.t"
    sql.run(text)
    assert sql.one(f"SELECT OBJECT_DEFINITION(OBJECT_ID('{schema}.v'))").strip() == text
    sql.run(f"DROP TABLE {schema}.t")
    assert sql.error(f"SELECT * FROM {schema}.v") in (208, 4413)
    sql.run(f"CREATE TABLE {schema}.t (a int, b int); INSERT {schema}.t VALUES (2, 0)")
    assert sql.rows(f"SELECT a FROM {schema}.v") == [(2,)]


def test_a_view_names_what_it_depends_on_as_spelled(sql: SqlClient, schema: str) -> None:
    database = sql.one("SELECT DB_NAME()")
    sql.run(f"CREATE TABLE {schema}.t (a int)")
    sql.run(f"CREATE VIEW {schema}.v AS SELECT a FROM {database}.{schema}.t")
    assert sql.rows(
        "SELECT referenced_database_name, referenced_schema_name, referenced_entity_name, "
        f"CASE WHEN referenced_id = OBJECT_ID('{schema}.t') THEN 1 ELSE 0 END "
        f"FROM sys.sql_expression_dependencies WHERE referencing_id = OBJECT_ID('{schema}.v')"
    ) == [(database, schema, "t", 1)]


def test_create_or_alter_view_changes_its_columns(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE VIEW {schema}.v AS SELECT 1 AS a")
    sql.run(f"CREATE OR ALTER VIEW {schema}.v AS SELECT N'x' AS b, CAST(2 AS bigint) AS c")
    assert sql.rows(
        f"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.v') ORDER BY column_id"
    ) == [
        ("b",),
        ("c",),
    ]


def test_information_schema_lists_tables_and_columns(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a nvarchar(7) NOT NULL, b decimal(9, 2) NULL, c datetime2(3) NULL)")
    assert sql.rows(
        f"SELECT TABLE_CATALOG, TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = '{schema}'"
    ) == [(sql.one("SELECT DB_NAME()"), "t", "BASE TABLE")]
    assert sql.rows(
        "SELECT COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION,"
        f" NUMERIC_SCALE, DATETIME_PRECISION FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = '{schema}' ORDER BY 2"
    ) == [
        ("a", 1, "NO", "nvarchar", 7, None, None, None),
        ("b", 2, "YES", "decimal", None, 9, 2, None),
        ("c", 3, "YES", "datetime2", None, None, None, 3),
    ]


def test_temporary_tables_are_in_tempdb_and_not_here(sql: SqlClient) -> None:
    sql.run("CREATE TABLE #work (a int NOT NULL, b nvarchar(4))")
    assert sql.one("SELECT OBJECT_ID('tempdb..#work')") is not None
    assert sql.rows(
        "SELECT c.name, c.max_length, c.is_nullable FROM tempdb.sys.columns AS c "
        "WHERE c.object_id = OBJECT_ID('tempdb..#work') ORDER BY c.column_id"
    ) == [("a", 4, False), ("b", 8, True)]
    assert sql.rows("SELECT name FROM sys.tables WHERE name LIKE '#work%'") == []


def test_partitions_count_rows(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int); INSERT {schema}.t VALUES (1), (2), (3)")
    assert (
        sql.one(
            f"SELECT SUM(rows) FROM sys.partitions WHERE object_id = OBJECT_ID('{schema}.t') AND index_id IN (0, 1)"
        )
        == 3
    )


def test_extended_properties_are_added_once_changed_and_dropped(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int)")
    levels = f"@level0type = N'SCHEMA', @level0name = N'{schema}', @level1type = N'TABLE', @level1name = N't'"
    column = f"{levels}, @level2type = N'COLUMN', @level2name = N'a'"
    query = (
        "SELECT minor_id, CONVERT(nvarchar(50), value) FROM sys.extended_properties "
        f"WHERE class = 1 AND major_id = OBJECT_ID('{schema}.t') AND name = N'note' ORDER BY minor_id"
    )
    sql.run(f"EXEC sys.sp_addextendedproperty N'note', N'table', {levels}")
    sql.run(f"EXEC sys.sp_addextendedproperty N'note', N'column', {column}")
    assert sql.error(f"EXEC sys.sp_addextendedproperty N'note', N'again', {levels}") == 15233
    sql.run(f"EXEC sys.sp_updateextendedproperty N'note', N'changed', {column}")
    assert sql.rows(query) == [(0, "table"), (1, "changed")]
    sql.run(f"EXEC sys.sp_dropextendedproperty N'note', {levels}")
    assert sql.rows(query) == [(1, "changed")]


def test_sp_rename_of_a_column_and_its_errors(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int, b int); CREATE TABLE {schema}.u (a int)")
    sql.run(f"EXEC sp_rename '{schema}.t.a', 'z', 'COLUMN'")
    assert sql.rows(
        f"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.t') ORDER BY column_id"
    ) == [
        ("z",),
        ("b",),
    ]
    assert sql.error(f"EXEC sp_rename '{schema}.missing', 'x'") == 15225
    assert sql.error(f"EXEC sp_rename '{schema}.t', 'u'") == 15335


def test_odbc_catalog_functions_list_tables_and_columns(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.t (a nvarchar(7) NOT NULL, d datetime2(6)); CREATE TABLE {schema}.u (a int)"
    )
    cursor = sql.connection.cursor()
    assert sorted(row.table_name for row in cursor.tables(schema=schema, tableType="TABLE")) == ["t", "u"]
    found = [
        (row.column_name, row.type_name, row.nullable) for row in cursor.columns(table="t", schema=schema)
    ]
    assert found == [("a", "nvarchar", 0), ("d", "datetime2", 1)]


def test_databases_and_recovery_fork(sql: SqlClient) -> None:
    assert sql.rows("SELECT name FROM sys.databases WHERE database_id = DB_ID()") == [
        (sql.one("SELECT DB_NAME()"),)
    ]
    first = "SELECT recovery_fork_guid FROM sys.database_recovery_status WHERE database_id = DB_ID()"
    assert sql.one(first) == sql.one(first) is not None


def test_object_properties(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int IDENTITY(1, 1) PRIMARY KEY)")
    table = f"OBJECT_ID('{schema}.t')"
    assert sql.rows(
        f"SELECT OBJECTPROPERTY({table}, 'IsUserTable'), OBJECTPROPERTY({table}, 'TableHasPrimaryKey'), "
        f"COLUMNPROPERTY({table}, 'a', 'IsIdentity'), COLUMNPROPERTY({table}, 'a', 'AllowsNull'), COL_LENGTH('{schema}.t', 'a')"
    ) == [(1, 1, 1, 0, 4)]


def test_a_new_server_chains_no_ownership_across_databases(sql: SqlClient) -> None:
    query = "SELECT CONVERT(int, value_in_use) FROM sys.configurations WHERE name = N'{}'"
    assert sql.one(query.format("cross db ownership chaining")) == 0
    assert sql.rows(query.format("no such option")) == []


def test_assemblies_of_users_and_server_triggers_can_be_asked_for(sql: SqlClient) -> None:
    assert sql.rows("SELECT name FROM sys.assemblies WHERE is_user_defined = 1") == []
    assert (
        sql.rows("SELECT name, parent_class, is_disabled FROM sys.server_triggers WHERE is_ms_shipped = 0")
        == []
    )


def test_jobs_are_read_from_msdb_by_three_part_names(sql: SqlClient) -> None:
    found = sql.rows(
        "SELECT j.name, s.step_id, s.subsystem, s.command FROM [msdb].[dbo].[sysjobs] AS j "
        "INNER JOIN [msdb].[dbo].[sysjobsteps] AS s ON s.job_id = j.job_id WHERE j.name = N'no such job'"
    )
    assert found == []


def test_a_session_tells_language_and_date_format(sql: SqlClient) -> None:
    query = "SELECT language, date_format, date_first FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
    assert sql.rows(query) == [("us_english", "mdy", 7)]


def test_modules_tell_whom_they_run_as(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (a int)")
    for clause in ("", "WITH EXECUTE AS CALLER ", "WITH EXECUTE AS OWNER ", "WITH EXECUTE AS 'dbo' "):
        sql.run(
            f"CREATE OR ALTER TRIGGER {schema}.g ON {schema}.t {clause}AFTER DELETE AS THROW 51200, N'no', 1"
        )
        found = sql.one(
            "SELECT execute_as_principal_id FROM sys.sql_modules "
            f"WHERE object_id = (SELECT object_id FROM sys.triggers WHERE parent_id = OBJECT_ID('{schema}.t'))"
        )
        assert found == {"": None, "WITH EXECUTE AS CALLER ": None, "WITH EXECUTE AS OWNER ": -2}.get(
            clause, 1
        )
