"""Deaths: of a client, of the endpoint, of PostgreSQL. What was committed stays, nothing else does, no lock outlives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import psutil
import pyodbc
import pytest

from dpone_lab.sqlserver.cluster import Cluster, ClusterInUseError
from dpone_lab.sqlserver.server import Endpoint

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.engine

Sql = Callable[..., list[list[tuple[Any, ...]]]]
Dsn = Callable[..., str]


class EndpointProcess:
    """The endpoint as its users run it."""

    def __init__(self, data: Path, password: str) -> None:
        self._data = data
        self._secret = data / "password"
        data.mkdir(exist_ok=True)
        self._secret.write_text(password)
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "dpone_lab.sqlserver", "--data", str(self._data), "--password-file"]
        self.process = subprocess.Popen(
            [*command, str(self._secret)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read() if self.process.stderr else ""
        self.ready = json.loads(line)
        self.port = int(self.ready["port"])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def running(data_directory: Path, password: str) -> Iterator[EndpointProcess]:
    process = EndpointProcess(data_directory, password)
    yield process
    if process.process.poll() is None:
        assert process.stop() == 0


def test_the_ready_line_names_port_process_and_database(running: EndpointProcess) -> None:
    assert running.ready == {
        "ready": True,
        "port": running.port,
        "pid": running.process.pid,
        "database": "lab",
    }


def test_a_killed_endpoint_keeps_what_was_committed_and_nothing_else(
    running: EndpointProcess, driver: str, dsn: Dsn, sql: Sql
) -> None:
    db = pyodbc.connect(dsn(driver, running.port), autocommit=True)
    sql(db, "CREATE TABLE dbo.c (i int NOT NULL PRIMARY KEY); INSERT dbo.c VALUES (1)")
    sql(db, "BEGIN TRAN; INSERT dbo.c VALUES (2); CREATE TABLE dbo.never (i int)")
    running.kill()
    running.start()
    again = pyodbc.connect(dsn(driver, running.port), autocommit=True)
    sql(again, "SET LOCK_TIMEOUT 0")
    assert sql(again, "SELECT i FROM dbo.c")[-1] == [(1,)]
    assert sql(again, "SELECT OBJECT_ID(N'dbo.never') AS i")[-1] == [(None,)]
    sql(again, "INSERT dbo.c VALUES (2)")
    again.close()


def ended(process: psutil.Process) -> bool:
    """Tell whether a process has ended; where nobody reaps an orphan it stays a zombie."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="other systems end PostgreSQL at the next start")
def test_a_killed_endpoint_takes_its_postgresql_with_it(
    running: EndpointProcess, data_directory: Path
) -> None:
    postgres = psutil.Process(
        int((data_directory / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    )
    running.kill()
    deadline = time.monotonic() + 120
    while not ended(postgres) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ended(postgres)


def test_postgresql_restarted_ends_open_sessions_and_keeps_what_was_committed(
    data_directory: Path, password: str, driver: str, dsn: Dsn, sql: Sql
) -> None:
    with Endpoint(data_directory, password) as endpoint:
        db = pyodbc.connect(dsn(driver, endpoint.port), autocommit=True)
        sql(db, "CREATE TABLE dbo.c (i int NOT NULL PRIMARY KEY); INSERT dbo.c VALUES (1)")
        sql(db, "BEGIN TRAN; INSERT dbo.c VALUES (2)")
        endpoint.cluster.crash()
        endpoint.cluster.restart()
        with pytest.raises(pyodbc.Error):
            sql(db, "COMMIT")
        with pytest.raises(pyodbc.Error):
            sql(db, "SELECT 1 AS a")
        again = pyodbc.connect(dsn(driver, endpoint.port), autocommit=True)
        sql(again, "SET LOCK_TIMEOUT 0")
        assert sql(again, "SELECT i FROM dbo.c")[-1] == [(1,)]
        again.close()


CLIENT = """
import pyodbc, sys
db = pyodbc.connect(sys.argv[1], autocommit=True)
db.execute("BEGIN TRAN; INSERT dbo.k VALUES (2)")
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_killed_client_leaves_neither_rows_nor_locks(
    endpoint: Endpoint, connect: Callable[..., pyodbc.Connection], driver: str, dsn: Dsn, sql: Sql
) -> None:
    db = connect()
    sql(
        db,
        "DROP TABLE IF EXISTS dbo.k; CREATE TABLE dbo.k (i int NOT NULL PRIMARY KEY); INSERT dbo.k VALUES (1)",
    )
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, dsn(driver, endpoint.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        os.kill(client.pid, signal.SIGKILL)
    assert sql(db, "SELECT i FROM dbo.k")[-1] == [(1,)]


def test_a_second_endpoint_on_the_same_data_is_refused(data_directory: Path, password: str) -> None:
    with Endpoint(data_directory, password), pytest.raises(ClusterInUseError):
        Cluster(data_directory, "lab").start()


def test_a_taken_port_is_one_line_and_exit_1(endpoint: Endpoint, data_directory: Path, password: str) -> None:
    secret = data_directory / "password"
    secret.write_text(password)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dpone_lab.sqlserver",
            "--data",
            str(data_directory / "d"),
            "--port",
            str(endpoint.port),
            "--password-file",
            str(secret),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "cannot start the SQL Server endpoint" in done.stderr
    assert not (data_directory / "d").exists()


def test_while_postgresql_is_down_a_login_is_refused(
    data_directory: Path, password: str, driver: str, dsn: Dsn, sql: Sql
) -> None:
    with Endpoint(data_directory, password) as endpoint:
        endpoint.cluster.crash()
        with pytest.raises(pyodbc.Error, match="17142"):
            pyodbc.connect(dsn(driver, endpoint.port))
        endpoint.cluster.restart()
        db = pyodbc.connect(dsn(driver, endpoint.port), autocommit=True)
        assert sql(db, "SELECT 1 AS a")[-1] == [(1,)]
        db.close()
