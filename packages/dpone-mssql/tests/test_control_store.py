"""The control schema on an engine: who it is, and that the runtime can't change what was written."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from dpone_contracts.effects import Applied, NotApplied
from dpone_contracts.errors import DponeError
from dpone_contracts.testing.plan_example import ExampleModel, made_up
from dpone_mssql.connection import Session, SqlServerConfig, SqlServerError
from dpone_mssql.control_schema import COMPARE_AND_SET, CREATE_ONLY, ControlNames, identity, install
from dpone_mssql.documents import MssqlDocumentStore
from dpone_mssql.testing.refreshed import Refreshed, applied, refreshed

pytestmark = pytest.mark.engine

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
    tables = ("store", *CREATE_ONLY)
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
    found = errors_of(runtime, statement, ("store", *CREATE_ONLY))
    assert {table: number for table, number in found.items() if number not in no_permission} == {}


def test_the_runtime_does_not_delete_compare_and_set_rows(built: Refreshed, runtime: SqlServerConfig) -> None:
    found = errors_of(runtime, "DELETE FROM [dpone_control].[{table}];", COMPARE_AND_SET)
    assert found == dict.fromkeys(COMPARE_AND_SET, 229)


def test_a_second_row_under_a_key_is_refused(built: Refreshed, runtime: SqlServerConfig) -> None:
    insert = (
        "INSERT INTO [dpone_control].[attempt_fates] SELECT f.[attempt_binding_sha256], N'ABANDONED', 1, "
        "f.[recorded_at] FROM [dpone_control].[attempt_fates] AS f;"
    )
    with Session(runtime) as session, pytest.raises(SqlServerError) as refused:
        session.rows(insert)
    assert (refused.value.number, refused.value.rule) == (2627, "pk_attempt_fates")


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
