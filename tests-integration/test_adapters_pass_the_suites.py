"""The suites that the in-memory ports pass, against the real adapters on the lab's engines."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import clickhouse_connect
import pyarrow as pa
import pytest

from dpone_clickhouse.connection import Connection, Endpoint
from dpone_clickhouse.publisher import ClickHousePublisher
from dpone_contracts.ports.image_reader import ImageBatch
from dpone_contracts.testing.control_suite import (
    ActivationStoreSuite,
    DocumentStoreSuite,
    RefreshStateSuite,
    activated,
    admitted,
)
from dpone_contracts.testing.memory_ports import memory_ports
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle
from dpone_contracts.testing.publisher_suite import MODEL, OLD, Generation, PublisherSuite
from dpone_contracts.testing.results import applied
from dpone_contracts.testing.scope_mutation_suite import Built, ImageReaderSuite, ScopeMutationSuite
from dpone_mssql.activation import MssqlActivationStore
from dpone_mssql.connection import SqlServerConfig, SqlServerError
from dpone_mssql.control_schema import ControlNames
from dpone_mssql.documents import MssqlDocumentStore
from dpone_mssql.image_reader import MssqlImageReader
from dpone_mssql.state import MssqlRefreshState
from dpone_mssql.testing.refreshed import refreshed
from dpone_seal.parquet_chunks import ParquetChunkEncoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.testing.memory_rows import Row

pytestmark = pytest.mark.engine


def batch_of(rows: list[Row]) -> ImageBatch:
    """Rows of the suite's model as a reader delivers them."""
    ids, instants, notes = zip(*rows, strict=True)
    columns = {
        "id": pa.array(ids, pa.int32()),
        "at": pa.array(instants, pa.timestamp("us")),
        "note": pa.array(notes, pa.string()),
    }
    return ImageBatch(0, len(rows), pa.RecordBatch.from_pydict(columns))


def chunk(target: PlanTarget, rows: list[Row]) -> bytes:
    """Rows as one sealed chunk."""
    (encoded,) = ParquetChunkEncoder(8_192, 1 << 20, 8_192, 1).encode(target, [batch_of(rows)])
    return encoded.data


class TestClickHousePublisher(PublisherSuite):
    @pytest.fixture
    def publisher(self, endpoint: Endpoint) -> Iterator[ClickHousePublisher]:
        connection = Connection(endpoint)
        yield ClickHousePublisher(connection, disk_reserve_bytes=1, policies_from_plan=True)
        connection.close()

    @pytest.fixture
    def generation(self, endpoint: Endpoint) -> Generation:
        example = example_bundle([MODEL], database="memory")
        ports = memory_ports()
        activated(ports.activations, example)
        plan, target = example.bundle.operation_plans[0], example.bundle.targets[0]
        client = clickhouse_connect.get_client(
            host=endpoint.host, port=endpoint.port, username=endpoint.user, password=endpoint.password
        )
        table = f"{target.publication_database}.{target.publication_target_table}"
        columns = ", ".join(f"{column.name} {column.target_type}" for column in target.writable_columns)
        client.command(f"DROP DATABASE IF EXISTS {target.publication_database} SYNC")
        client.command(f"CREATE DATABASE {target.publication_database} ENGINE = Atomic")
        client.command(
            f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree PARTITION BY toDate(at) ORDER BY (at, id)"
        )
        client.insert(table, OLD, column_names=["id", "at", "note"])
        operation = admitted(ports.state, example).operations[0]
        return Generation(plan, target, operation, lambda rows: chunk(target, rows))


@pytest.fixture
def documents(sql_server: SqlServerConfig) -> MssqlDocumentStore:
    return MssqlDocumentStore(sql_server, ControlNames())


@pytest.fixture
def activations(sql_server: SqlServerConfig) -> MssqlActivationStore:
    return MssqlActivationStore(sql_server, ControlNames())


@pytest.fixture
def state(sql_server: SqlServerConfig) -> MssqlRefreshState:
    return MssqlRefreshState(sql_server, ControlNames())


@pytest.fixture
def models() -> list[ExampleModel]:
    """Models of this test alone, so that tests share one store."""
    suffix = uuid4().hex[:8]
    columns = (("at", "datetime2(6)", False), ("id", "int", False), ("note", "nvarchar(20)", True))
    return [ExampleModel(f"{name}_{suffix}", columns, ("at", "id")) for name in ("arrivals", "departures")]


@pytest.fixture
def example(models: list[ExampleModel]) -> Example:
    return example_bundle(models, database="lab", workflow=models[0].name)


@pytest.fixture
def rival(models: list[ExampleModel]) -> Example:
    return example_bundle(
        models, database="lab", workflow=models[0].name, limits={"max_statement_seconds": 59}
    )


class TestMssqlDocumentStore(DocumentStoreSuite):
    """Fixtures are the module's."""


class TestMssqlActivationStore(ActivationStoreSuite):
    """Fixtures are the module's."""


class TestMssqlRefreshState(RefreshStateSuite):
    """Fixtures are the module's."""


TABLE = (
    "(1, '2026-08-07T00:00:00', N'another day'), "
    "(1, '2026-08-08T01:00:00', N'to be updated'), "
    "(2, '2026-08-08T00:00:00', N'missing in the input')"
)
MODEL_SQL = (
    "SELECT CAST(1 AS int) AS [id], CAST('2026-08-08T01:00:00' AS datetime2(6)) AS [at], "
    "CAST(N'updated' AS nvarchar(20)) AS [note] "
    "UNION ALL SELECT CAST(3 AS int), CAST('2026-08-08T00:00:00' AS datetime2(6)), CAST(NULL AS nvarchar(20))"
)
"""OLD and NEW of the suite in the engine's language."""


@pytest.fixture
def built(sql_server: SqlServerConfig) -> Built:
    found = refreshed(sql_server, ControlNames(), (MODEL,), rows=TABLE)
    operation = applied(found.admit()).operations[0]

    def run() -> bool:
        try:
            found.run_batch(operation, MODEL_SQL)
        except SqlServerError:
            return False
        return True

    def rows() -> list[Row]:
        return [tuple(row) for row in found.sql(f"SELECT [id], [at], [note] FROM {found.table};")]

    return Built(
        mutation=found.mutation,
        reader=MssqlImageReader(sql_server),
        plan=found.plan,
        target=found.target,
        admitted=operation,
        intend=lambda: applied(found.state.record_intent(operation.attempt)),
        run=run,
        roll_back=lambda: found.run_batch(operation, MODEL_SQL, commit=False),
        rows=rows,
        rows_of=lambda batch: [tuple(row.values()) for row in batch.data.to_pylist()],
    )


class TestMssqlScopeMutation(ScopeMutationSuite):
    """Fixtures are the module's."""


class TestMssqlImageReader(ImageReaderSuite):
    """Fixtures are the module's."""
