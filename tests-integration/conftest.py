"""One demo and one deployed lab for all integration tests of a session."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dpone_clickhouse.connection import Endpoint
from dpone_contracts.errors import DponeError
from dpone_lab.cli import app as lab_app
from dpone_lab.clickhouse import process
from dpone_lab.deployment import Deployment, deployment_of
from dpone_lab.odbc import find_driver
from dpone_lab.profile import LabProfile, running_lab
from dpone_mssql.connection import SqlServerConfig
from dpone_mssql.control_schema import ControlNames, install

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = date(2013, 6, 12)


@dataclass(frozen=True)
class Demo:
    """What one run of the demo command left: its exit code, both streams, the evidence, its own temporary folder."""

    exit_code: int
    report: dict[str, Any]
    stdout: str
    stderr: str
    evidence: Path
    scratch: Path


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    evidence = tmp_path_factory.mktemp("demo") / "evidence"
    command = [
        sys.executable,
        "-m",
        "dpone",
        "lab",
        "demo",
        "--format",
        "json",
        "--evidence",
        str(evidence),
    ]
    # Below pytest's own folders the lab's database account could not look.
    scratch = Path(tempfile.mkdtemp(prefix="dpone-demo-"))
    scratch.chmod(0o711)
    environment = {**os.environ, "TMPDIR": str(scratch)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280, env=environment)
    assert done.stdout, done.stderr[-3000:]
    yield Demo(done.returncode, json.loads(done.stdout), done.stdout, done.stderr, evidence, scratch)
    shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True)
class Told:
    """What a command left: its exit code and both streams."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def plain(self) -> dict[str, Any]:
        """Its JSON."""
        told: dict[str, Any] = json.loads(self.stdout)
        return told


def refresh(profile: LabProfile, *arguments: str) -> Told:
    """Run one command of `dpone lab refresh` in this process."""
    done = CliRunner().invoke(lab_app, ["refresh", "--directory", profile.directory, *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Told(done.exit_code, done.stdout, done.stderr)


INSTALL = (
    "control-schema",
    "--install",
    "--login-timeout=15",
    "--lock-timeout=10000",
    "--statement-timeout=60",
    "--format=json",
)


@dataclass(frozen=True)
class DeployedLab:
    """A running lab with the sample workflow deployed by the commands; no day is activated.

    `installed` and `adopted` are what the commands said.
    """

    profile: LabProfile
    deployment: Deployment
    day: date
    installed: Told
    adopted: Told

    @property
    def folder(self) -> str:
        """The deployment's folder."""
        return str(self.deployment.settings.deployment)

    def refresh(self, *arguments: str) -> Told:
        """Run one command over the deployment."""
        return refresh(self.profile, *arguments, "--deployment", self.folder)

    def activate_open_day(self) -> tuple[str, str]:
        """Activate the first day that is not published; (deployment id, plan bundle digest)."""
        day = self.day
        while True:
            try:
                return self.deployment.activate(day)
            except DponeError as error:
                if error.code != "DPONE_SCOPE_HEAD_MOVED":
                    raise
            day += timedelta(days=1)


@pytest.fixture(scope="session")
def deployed() -> Iterator[DeployedLab]:
    with tempfile.TemporaryDirectory(prefix="dpone-lab-") as parent:
        Path(parent).chmod(0o711)
        with running_lab(Path(parent) / "lab") as profile:
            installed = refresh(profile, *INSTALL)
            prepared = refresh(profile, "prepare", "--day", str(DAY))
            assert prepared.exit_code == 0, prepared
            folder = prepared.stdout.strip()
            adopted = refresh(profile, "adopt-baseline", "--deployment", folder, "--format=json")
            yield DeployedLab(profile, deployment_of(profile), DAY, installed, adopted)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    running = process.start(tmp_path_factory.mktemp("clickhouse"), face="chdb", library=None)
    yield Endpoint.from_dsn(running.dsn, connect_timeout=10, statement_timeout=60)
    running.stop()


@pytest.fixture(scope="module")
def sql_server() -> Iterator[SqlServerConfig]:
    folder = Path(tempfile.mkdtemp(prefix="dpone-suites-"))
    password = secrets.token_hex(12)
    (folder / "password").write_text(password)
    command = [sys.executable, "-m", "dpone_lab.sqlserver", "--data", str(folder / "data")]
    command += ["--password-file", str(folder / "password"), "--log", str(folder / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["port"]
        config = SqlServerConfig(
            f"DRIVER={{{find_driver(None)}}};SERVER=127.0.0.1,{port};PORT={port};DATABASE=lab;"
            f"UID=sa;PWD={password};Encrypt=no;TDS_Version=7.4",
            15,
            5_000,
            60,
        )
        install(config, ControlNames())
        yield config
        server.terminate()
    shutil.rmtree(folder)
