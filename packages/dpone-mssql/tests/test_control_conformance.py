"""The SQL Server adapters pass the suites that every control store passes."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.testing.control_suite import ActivationStoreSuite, DocumentStoreSuite, RefreshStateSuite
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle
from dpone_contracts.testing.revocation_suite import RevocationLogSuite
from dpone_mssql.activation import MssqlActivationStore
from dpone_mssql.documents import MssqlDocumentStore
from dpone_mssql.revocations import MssqlRevocationLog
from dpone_mssql.state import MssqlRefreshState

if TYPE_CHECKING:
    from dpone_mssql.connection import SqlServerConfig
    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine


@pytest.fixture
def models(flight: ExampleModel, keys_only: ExampleModel) -> tuple[ExampleModel, ...]:
    """Models of this test alone: for them the shared store is empty."""
    return tuple(replace(model, name=f"{model.name}_{token_hex(4)}") for model in (flight, keys_only))


@pytest.fixture
def workflow() -> str:
    return f"workflow-{token_hex(4)}"


@pytest.fixture
def example(models: tuple[ExampleModel, ...], workflow: str, database: str) -> Example:
    return example_bundle(models, database=database, workflow=workflow)


@pytest.fixture
def rival(models: tuple[ExampleModel, ...], workflow: str, database: str) -> Example:
    return example_bundle(models, database=database, workflow=workflow, limits={"max_dbt_temp_rows": 7})


@pytest.fixture
def documents(runtime: SqlServerConfig, names: ControlNames) -> MssqlDocumentStore:
    return MssqlDocumentStore(runtime, names)


@pytest.fixture
def activations(runtime: SqlServerConfig, names: ControlNames) -> MssqlActivationStore:
    return MssqlActivationStore(runtime, names)


@pytest.fixture
def state(runtime: SqlServerConfig, names: ControlNames) -> MssqlRefreshState:
    return MssqlRefreshState(runtime, names)


@pytest.fixture
def revocations(runtime: SqlServerConfig, names: ControlNames) -> MssqlRevocationLog:
    return MssqlRevocationLog(runtime, names)


class TestRevocationLog(RevocationLogSuite):
    """Revocation indexes in SQL Server, remembered by the runtime."""


class TestDocumentStore(DocumentStoreSuite):
    """Documents in SQL Server."""


class TestActivationStore(ActivationStoreSuite):
    """Activations in SQL Server."""


class TestRefreshState(RefreshStateSuite):
    """State of runs in SQL Server."""
