"""The control schema on an engine: who it is, and that the runtime can't change what was written."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from dpone_contracts.effects import Applied, NotApplied
from dpone_contracts.errors import DponeError
from dpone_contracts.relations import SqlRelation
from dpone_contracts.testing.plan_example import ExampleModel, made_up
from dpone_mssql.catalog import MssqlDdlFreeze
from dpone_mssql.connection import Session, SqlServerConfig, SqlServerError
from dpone_mssql.control_schema import (
    COMPARE_AND_SET,
    CREATE_ONLY,
    FREEZE,
    ControlNames,
    identity,
    install,
)
from dpone_mssql.documents import MssqlDocumentStore
from dpone_mssql.testing.refreshed import Refreshed, applied, refreshed

pytestmark = pytest.mark.engine

# Tables that the path of `built` leaves empty, each with a row made of what is there.
_ATTEMPT = "a.[binding_schema], a.[attempt_binding_sha256] FROM [dpone_control].[attempts] AS a WHERE a.[ordinal] = 1;"
_RUN = "e.[workflow_execution_binding_sha256]"
NO_ROW_YET = {
    "revocation_indexes": f"VALUES (N'made up', 1, 0x{'5e' * 32});",
    "continuations": f"SELECT a.[operation_id], a.[attempt_binding_sha256], a.[attempt_binding_sha256], {_ATTEMPT}",
    "cleanup_acknowledgements": f"SELECT a.[operation_id], {_ATTEMPT}",
    "replacement_successors": f"SELECT {_RUN}, {_RUN}, {_RUN} FROM [dpone_control].[executions] AS e;",
    "summaries": f"SELECT {_RUN}, e.[binding_schema], {_RUN} FROM [dpone_control].[executions] AS e;",
}
DAY = "('2026-08-08', 1), ('2026-08-08', 2)"


@pytest.fixture(scope="module")
def built(installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel) -> Refreshed:
    """A store in which every table of the path has a row."""
    found = refreshed(installer, names, (keys_only,), rows=DAY)
    admitted = found.started()
    found.run_batch(admitted, f"SELECT * FROM {found.table}")
    return found


def test_installing_again_leaves_the_store_as_it_is(installer: SqlServerConfig, names: ControlNames) -> None:
    first = applied(install(installer, names))
    assert applied(install(installer, names)) == first
    assert first.schema_version == 1
    assert len(first.store_id) == len(first.recovery_fork) == 36


def test_a_database_without_a_store_is_refused_by_name(installer: SqlServerConfig) -> None:
    with Session(installer) as session, pytest.raises(DponeError) as refused:
        identity(session, ControlNames(control="nowhere"))
    assert refused.value.code == "DPONE_CONTROL_SCHEMA_ABSENT"


@pytest.mark.parametrize(("version", "age"), [(0, "older"), (2, "newer")])
def test_another_version_is_refused_by_name(
    installer: SqlServerConfig, names: ControlNames, version: int, age: str
) -> None:
    other = replace(names, control=f"other_{age}", images=f"other_images_{age}")
    with Session(installer) as session:
        session.rows(f"CREATE SCHEMA [{other.control}];")
        session.rows(
            f"CREATE TABLE [{other.control}].[store] ([id] tinyint NOT NULL, [store_id] nvarchar(36) NOT NULL, "
            "[schema_version] int NOT NULL);"
        )
        session.rows(f"INSERT INTO [{other.control}].[store] VALUES (1, N'x', {version});")
        with pytest.raises(DponeError) as refused:
            identity(session, other)
    assert refused.value.code == "DPONE_CONTROL_SCHEMA_VERSION"
    assert age in refused.value.observed


def tables_there(config: SqlServerConfig) -> dict[str, bool]:
    """Every table of the control schema as the engine has it, and whether a trigger refuses UPDATE and DELETE on it."""
    with Session(config) as session:
        rows = session.rows(
            "SELECT t.[name], (SELECT COUNT(*) FROM sys.triggers AS g WHERE g.[parent_id] = t.[object_id] "
            "AND g.[is_disabled] = 0 AND g.[is_instead_of_trigger] = 1) FROM sys.tables AS t "
            "INNER JOIN sys.schemas AS s ON s.[schema_id] = t.[schema_id] WHERE s.[name] = N'dpone_control';"
        )
    return {str(name): triggers > 0 for name, triggers in rows}


def test_every_table_that_is_there_has_its_kind_and_none_is_forgotten(
    built: Refreshed,
) -> None:
    assert tables_there(built.config) == {
        **dict.fromkeys(("store", *CREATE_ONLY), True),
        **dict.fromkeys((*COMPARE_AND_SET, *FREEZE, "pins"), False),
    }


def errors_of(config: SqlServerConfig, statement: str, tables: tuple[str, ...]) -> dict[str, int]:
    """The error number that a statement about each table gives; 0 where it was accepted."""
    found = {}
    with Session(config) as session:
        for table in tables:
            column = session.rows(
                "SELECT MIN(c.[name]) FROM sys.columns AS c "
                f"WHERE c.[object_id] = OBJECT_ID(N'[dpone_control].[{table}]');"
            )[0][0]
            found[table] = 0
            try:
                session.rows(statement.format(table=table, column=column))
            except SqlServerError as error:
                found[table] = error.number
    return found


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("UPDATE [dpone_control].[{table}] SET [{column}] = [{column}];", 51100),
        ("DELETE FROM [dpone_control].[{table}];", 51100),
        ("TRUNCATE TABLE [dpone_control].[{table}];", 4712),
    ],
)
def test_not_even_the_installer_changes_what_was_written(
    built: Refreshed, statement: str, number: int
) -> None:
    changing = {*COMPARE_AND_SET, *FREEZE, "pins"}
    tables = tuple(name for name in tables_there(built.config) if name not in changing)
    assert errors_of(built.config, statement, tables) == dict.fromkeys(tables, number)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE [dpone_control].[{table}] SET [{column}] = [{column}];",
        "DELETE FROM [dpone_control].[{table}];",
        "TRUNCATE TABLE [dpone_control].[{table}];",
        "ALTER TABLE [dpone_control].[{table}] ADD [more] int NULL;",
        "DISABLE TRIGGER [create_only_{table}] ON [dpone_control].[{table}];",
        "DROP TRIGGER [dpone_control].[create_only_{table}];",
        "DROP TABLE [dpone_control].[{table}];",
    ],
)
def test_the_runtime_has_no_right_to_change_what_was_written(
    built: Refreshed, runtime: SqlServerConfig, statement: str
) -> None:
    no_permission = {229, 1088, 3701, 4701, 4902}
    tables = tuple(name for name in tables_there(built.config) if name not in COMPARE_AND_SET)
    found = errors_of(runtime, statement, tables)
    assert {table: number for table, number in found.items() if number not in no_permission} == {}


def test_the_runtime_does_not_delete_compare_and_set_rows(built: Refreshed, runtime: SqlServerConfig) -> None:
    found = errors_of(runtime, "DELETE FROM [dpone_control].[{table}];", COMPARE_AND_SET)
    assert found == dict.fromkeys(COMPARE_AND_SET, 229)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO [dpone_control].[{table}] SELECT * FROM [dpone_control].[{table}];",
        "UPDATE [dpone_control].[{table}] SET [{column}] = [{column}];",
        "DELETE FROM [dpone_control].[{table}];",
    ],
)
def test_the_runtime_neither_covers_nor_uncovers_nor_counts_back(
    built: Refreshed, runtime: SqlServerConfig, statement: str
) -> None:
    assert errors_of(runtime, statement, FREEZE) == dict.fromkeys(FREEZE, 229)


def test_ddl_of_the_runtime_itself_moves_the_epoch(
    built: Refreshed, runtime: SqlServerConfig, names: ControlNames
) -> None:
    """dbt's login may alter its schema: the trigger counts that as dbo, who may write the epoch."""
    freeze, name = MssqlDdlFreeze(built.config, names), f"{built.models[0].name}_read"
    built.sql(f"CREATE TABLE [mart].[{name}] ([id] int NULL);")
    target = SqlRelation(built.target.mssql_control_database, "mart", name)
    first = applied(freeze.cover(target, ()))
    with Session(runtime) as session:
        session.rows(f"ALTER TABLE [mart].[{name}] ADD [more] int NULL;")
    assert (first, freeze.epoch(target)) == (1, 2)


@pytest.mark.parametrize("table", sorted(CREATE_ONLY))
def test_a_second_row_under_a_key_is_refused(built: Refreshed, runtime: SqlServerConfig, table: str) -> None:
    if table in NO_ROW_YET and not built.sql(f"SELECT COUNT(*) FROM [dpone_control].[{table}];")[0][0]:
        built.sql(f"INSERT INTO [dpone_control].[{table}] {NO_ROW_YET[table]}")
    columns = [
        str(row[0])
        for row in built.sql(
            "SELECT c.[name] FROM sys.columns AS c "
            f"WHERE c.[object_id] = OBJECT_ID(N'[dpone_control].[{table}]') ORDER BY c.[column_id];"
        )
    ]
    names = ", ".join(f"[{column}]" for column in columns)
    insert = f"INSERT INTO [dpone_control].[{table}] ({names}) SELECT {names} FROM [dpone_control].[{table}];"
    with Session(runtime) as session, pytest.raises(SqlServerError) as refused:
        session.rows(insert)
    assert (refused.value.number, (refused.value.rule or "")[:3]) in {(2627, "pk_"), (2627, "uq_")}


@pytest.mark.parametrize(
    ("table", "digest"), [("documents", "bytes_sha256"), ("build_receipts", "bytes_sha256")]
)
def test_other_bytes_under_a_key_that_is_there_are_refused(
    built: Refreshed, runtime: SqlServerConfig, table: str, digest: str
) -> None:
    other = sha256(b"other").hexdigest()
    keys = {
        "documents": "[schema_id], [digest]",
        "build_receipts": "[operation_id], [operation_plan_sha256], [attempt_binding_sha256], [fate], [receipt_sha256]",
    }[table]
    more, values = ("[stored_at]", "[stored_at]") if table == "documents" else ("", "")
    columns = ", ".join(part for part in (keys, "[bytes]", f"[{digest}]", more) if part)
    chosen = ", ".join(
        part for part in (keys, "CAST('other' AS varbinary(max))", f"0x{other}", values) if part
    )
    insert = (
        f"INSERT INTO [dpone_control].[{table}] ({columns}) SELECT {chosen} FROM [dpone_control].[{table}];"
    )
    with Session(runtime) as session, pytest.raises(SqlServerError) as refused:
        session.rows(insert)
    assert (refused.value.number, refused.value.rule) == (2627, f"pk_{table}")


def test_the_table_that_keeps_others_from_being_truncated_takes_no_row(built: Refreshed) -> None:
    with pytest.raises(SqlServerError) as refused:
        built.sql("INSERT INTO [dpone_control].[pins] ([ordinal]) VALUES (NULL);")
    assert (refused.value.number, refused.value.rule) == (547, "ck_pins_empty")


def test_bytes_that_are_not_those_of_their_digest_are_refused(
    built: Refreshed, runtime: SqlServerConfig
) -> None:
    insert = (
        "INSERT INTO [dpone_control].[documents] ([schema_id], [digest], [bytes], [bytes_sha256], [stored_at]) "
        "VALUES (N'x', ?, ?, ?, SYSUTCDATETIME());"
    )
    data = b'{"schema":"x"}'
    with Session(runtime) as session:
        with pytest.raises(SqlServerError) as refused:
            session.rows(insert, sha256(b"k").digest(), data, sha256(b"other").digest())
        session.rows(insert, sha256(b"k").digest(), data, sha256(data).digest())
    assert (refused.value.number, refused.value.rule) == (547, "ck_documents_bytes")


def test_a_document_is_stored_once_linked_in_order_and_read_back(built: Refreshed) -> None:
    store = MssqlDocumentStore(built.config, built.names)
    operation = made_up("an operation of nobody")
    first, second = built.example.baselines[0], built.example.binding("run-1")
    for document in (first, second, first):
        assert store.persist(operation, document) == Applied(document.digest)
    assert store.list_for(operation) == ((first.SCHEMA, first.digest), (second.SCHEMA, second.digest))
    assert store.read(first.SCHEMA, first.digest) == first.to_bytes()
    assert store.read(first.SCHEMA, made_up("absent")) is None


def test_other_bytes_under_a_stored_digest_are_refused(built: Refreshed) -> None:
    record = built.record()
    schema, digest, data = record.documents[0]
    other = replace(
        record,
        plan_bundle_sha256=record.plan_bundle_sha256,
        documents=((schema, digest, data + b" "),),
    )
    result = built.activations.activate(other)
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ACTIVATION_CONFLICT"
