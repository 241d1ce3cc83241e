"""Fixtures of the SQL Server adapter's tests: one example plan, and a store on an engine where there is one."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.bindings import AttemptBinding
from dpone_contracts.effects import Applied
from dpone_contracts.ports.refresh_state import AdmittedOperation
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle
from dpone_mssql.connection import Session, SqlServerConfig
from dpone_mssql.control_schema import ControlNames, install

if TYPE_CHECKING:
    from collections.abc import Iterator

FLIGHT = ExampleModel(
    "flight",
    (
        ("time_hour", "datetime2(6)", False),
        ("carrier_id", "smallint", False),
        ("flight", "int", False),
        ("dep_delay", "decimal(9,2)", True),
        ("tail_number", "nvarchar(20)", True),
        ("cancelled", "bit", False),
    ),
    ("time_hour", "carrier_id", "flight"),
)
WEATHER = ExampleModel(
    "weather",
    (
        ("day", "date", False),
        ("station", "uniqueidentifier", False),
        ("note", "nvarchar(max)", True),
        ("raw", "varbinary(10)", True),
        ("seen_on", "date", True),
    ),
    ("day", "station"),
)
KEYS_ONLY = ExampleModel("seen", (("day", "date", False), ("id", "bigint", False)), ("day", "id"))


@pytest.fixture(scope="session")
def example() -> Example:
    return example_bundle((FLIGHT, WEATHER, KEYS_ONLY), database="lab")


@pytest.fixture(scope="session")
def admitted(example: Example) -> dict[str, AdmittedOperation]:
    """One attempt a model, as an admission would give them."""
    binding = example.binding("run-1")
    found = {}
    for epoch, (plan, target) in enumerate(
        zip(example.bundle.operation_plans, example.bundle.targets, strict=True), 1
    ):
        attempt = AttemptBinding.build(
            dag_run_id="run-1",
            fencing_epoch=epoch,
            operation_id=plan.operation_id,
            operation_plan_sha256=plan.digest,
            owner_id="worker/o'brien",
            pod_uid="cf66ab73-a0ba-441d-9199-3a434e3852a3",
            task_id="build",
            try_number=1,
            workflow_execution_id="run-1",
            workflow_execution_binding_sha256=binding.digest,
        )
        found[plan.model_unique_id] = AdmittedOperation(
            plan.operation_id, attempt, target.target_resource_id, f"reservation-{epoch}", ()
        )
    return found


@pytest.fixture(scope="session")
def flight() -> ExampleModel:
    return FLIGHT


@pytest.fixture(scope="session")
def weather() -> ExampleModel:
    return WEATHER


@pytest.fixture(scope="session")
def keys_only() -> ExampleModel:
    return KEYS_ONLY


@pytest.fixture(scope="session")
def connection_string() -> Iterator[str]:
    """The installer's connection to a real server by DPONE_MSSQL_DSN, or to the lab's endpoint."""
    given = os.environ.get("DPONE_MSSQL_DSN")
    if given:
        yield given
        return
    if find_spec("dpone_lab") is None:
        pytest.skip("no SQL Server: neither DPONE_MSSQL_DSN nor the lab is there")
    from dpone_lab.odbc import find_driver

    # Not below pytest's own directory: under root, PostgreSQL runs as another user, who must get through to it.
    folder = Path(tempfile.mkdtemp(prefix="dpone-mssql-"))
    password = secrets.token_hex(12)
    (folder / "password").write_text(password)
    command = [sys.executable, "-m", "dpone_lab.sqlserver", "--data", str(folder / "data")]
    command += ["--password-file", str(folder / "password"), "--log", str(folder / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as endpoint:
        assert endpoint.stdout is not None
        ready = json.loads(endpoint.stdout.readline())
        yield (
            f"DRIVER={{{find_driver(None)}}};SERVER=127.0.0.1,{ready['port']};PORT={ready['port']};DATABASE=lab;"
            f"UID=sa;PWD={password};Encrypt=no;TDS_Version=7.4"
        )
        endpoint.terminate()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def names() -> ControlNames:
    return ControlNames()


@pytest.fixture(scope="session")
def installer(connection_string: str, names: ControlNames) -> SqlServerConfig:
    """The installer's configuration of a database that has the control schema."""
    config = SqlServerConfig(connection_string, 15, 5_000, 60)
    assert isinstance(install(config, names), Applied)
    return config


@pytest.fixture(scope="session")
def database(installer: SqlServerConfig) -> str:
    """The name of the database that the connection string leads to."""
    with Session(installer) as session:
        return str(session.rows("SELECT DB_NAME();")[0][0])


@pytest.fixture(scope="session")
def runtime(installer: SqlServerConfig, names: ControlNames) -> SqlServerConfig:
    """A login that is a member of the runtime role and nothing else, with rights on the models' schema.

    It is that of DPONE_MSSQL_RUNTIME_DSN, whose login and user must be there, or made here by the installer.
    """
    given = os.environ.get("DPONE_MSSQL_RUNTIME_DSN")
    if given:
        config = SqlServerConfig(given, 15, 5_000, 60)
        with Session(config) as session:
            user = str(session.rows("SELECT USER_NAME();")[0][0])
        with Session(installer) as session:
            if str(session.rows("SELECT USER_NAME();")[0][0]) == user:
                pytest.fail("DPONE_MSSQL_RUNTIME_DSN and DPONE_MSSQL_DSN lead to the same principal")
    else:
        user, password = "dpone_worker", "W0rker-" + secrets.token_hex(8)
        with Session(installer) as session:
            session.rows(f"CREATE LOGIN [{user}] WITH PASSWORD = '{password}';")
            session.rows(f"CREATE USER [{user}] FOR LOGIN [{user}];")
            session.rows(f"GRANT VIEW SERVER STATE TO [{user}];")
        config = replace(installer, connection_string=as_login(installer.connection_string, user, password))
    with Session(installer) as session:
        if session.rows("SELECT SCHEMA_ID(N'mart');")[0][0] is None:
            session.rows("CREATE SCHEMA [mart];")
        session.rows(f"ALTER ROLE [{names.runtime_role}] ADD MEMBER [{user}];")
        session.rows(f"GRANT SELECT, INSERT, UPDATE, ALTER ON SCHEMA::[mart] TO [{user}];")
    return config


def as_login(connection_string: str, user: str, password: str) -> str:
    """The same server under another login."""
    parts = [part for part in connection_string.split(";") if part[:4].upper() not in ("UID=", "PWD=")]
    return ";".join([*parts, f"UID={user}", f"PWD={password}"])
