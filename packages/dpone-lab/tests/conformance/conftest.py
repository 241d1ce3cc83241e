"""A SQL Server to hold against its documentation: the one of DPONE_MSSQL_DSN, else the lab's endpoint, per driver."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpone_lab import odbc
from dpone_lab.odbc import SqlClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REAL = os.environ.get("DPONE_MSSQL_DSN")
_PASSWORD = "Conformance-1"


def _drivers() -> list[Any]:
    if REAL:
        return [pytest.param(None, id="real")]
    packaged = odbc.packaged_driver()
    skipped = pytest.mark.skip(
        reason="the package mssql-python-odbc with Microsoft's driver is not installed"
    )
    return [
        pytest.param(odbc.FREETDS, id="freetds"),
        pytest.param(packaged, id="microsoft", marks=() if packaged else skipped),
    ]


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A folder that the database's account can pass to: below pytest's own it could not."""
    with tempfile.TemporaryDirectory(prefix="dpone-lab-test-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture(scope="session")
def port(folder: Path) -> Iterator[int]:
    """Run one endpoint for the whole session."""
    (folder / "password").write_text(_PASSWORD)
    command = [
        sys.executable,
        "-m",
        "dpone_lab.sqlserver",
        "--data",
        str(folder / "data"),
        "--database",
        "DW",
    ]
    command += ["--password-file", str(folder / "password"), "--log", str(folder / "log")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout is not None
        yield int(json.loads(child.stdout.readline())["port"])
    finally:
        child.terminate()
        child.wait(30)


@pytest.fixture(scope="session", params=_drivers())
def server(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Open raw connections with one driver; user and password default to the administrator's."""

    def connect(user: str | None = None, password: str | None = None) -> Any:
        if REAL:
            dsn = (
                REAL
                if user is None
                else re.sub(r"(UID|PWD)=[^;]*;?", "", REAL) + f";UID={user};PWD={password}"
            )
            return odbc.open_connection(dsn)
        port = request.getfixturevalue("port")
        return odbc.open_connection(
            f"DRIVER={{{request.param}}};SERVER=127.0.0.1,{port};PORT={port};DATABASE=DW;UID={user or 'sa'};"
            f"PWD={password or _PASSWORD};Encrypt=no;TDS_Version=7.4"
        )

    return connect


@pytest.fixture
def connect(server: Callable[..., Any]) -> Iterator[Callable[..., SqlClient]]:
    """Open clients that end with the test."""
    with contextlib.ExitStack() as opened:

        def one(user: str | None = None, password: str | None = None) -> SqlClient:
            client = SqlClient(server(user, password), user or "", in_master=bool(REAL))
            opened.callback(client.close)
            return client

        yield one


@pytest.fixture
def sql(connect: Callable[..., SqlClient]) -> SqlClient:
    """The administrator's client."""
    return connect()


@pytest.fixture
def schema(server: Callable[..., Any]) -> Iterator[str]:
    """A schema of the test's own, removed with all it holds."""
    name = f"c_{secrets.token_hex(4)}"
    with contextlib.closing(server()) as connection:
        SqlClient(connection).run(f"CREATE SCHEMA {name}")
    yield name
    if not REAL:
        return
    with contextlib.closing(server()) as connection:
        client = SqlClient(connection)
        keys = client.rows(
            "SELECT t.name, f.name FROM sys.foreign_keys f JOIN sys.tables t ON t.object_id = f.parent_object_id"
            f" WHERE f.schema_id = SCHEMA_ID('{name}')"
        )
        for table, key in keys:
            client.run(f"ALTER TABLE {name}.[{table}] DROP CONSTRAINT [{key}]")
        for kind, view in (("VIEW", "views"), ("TABLE", "tables")):
            for (item,) in client.rows(f"SELECT name FROM sys.{view} WHERE schema_id = SCHEMA_ID('{name}')"):
                client.run(f"DROP {kind} {name}.[{item}]")
        client.run(f"DROP SCHEMA {name}")


@pytest.fixture
def login(sql: SqlClient, connect: Callable[..., SqlClient]) -> Iterator[Callable[[str], SqlClient]]:
    """Make a login that is a user of the same name, and connect as it."""
    made: list[str] = []

    def make(prefix: str) -> SqlClient:
        name = f"{prefix}_{secrets.token_hex(4)}"
        sql.run(f"CREATE LOGIN {name} WITH PASSWORD = 'Aa1!{name}'")
        sql.run(f"CREATE USER {name} FOR LOGIN {name}")
        made.append(name)
        return connect(name, f"Aa1!{name}")

    yield make
    if REAL:
        for name in made:
            sql.run(f"DROP USER {name}")
            sql.at_server(f"DROP LOGIN {name}")


@pytest.fixture
def lab_only() -> None:
    """Skip what is about the lab alone when a real server is at hand."""
    if REAL:
        pytest.skip("DPONE_MSSQL_DSN names a real server; this is about the lab")
