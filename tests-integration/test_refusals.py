"""One clear error each: code, exit class, no row value in it, no trace left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psutil
import pyodbc
import pytest

from dpone.application.admission import admit
from dpone.composition.guard import ProductionGuard
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_lab import deployment as lab_deployment
from dpone_lab.composition import lab_services
from dpone_lab.profile import mark_disposable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import DeployedLab
    from dpone_lab.composition import LabSettings

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("deployed")]

CONTROL_TABLES = "SELECT t.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id WHERE s.name = 'dpone_control'"


class Quiet:
    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """Nobody listens."""


def worker(dag_run_id: str, try_number: int = 1) -> WorkerIdentity:
    return WorkerIdentity(
        dag_run_id,
        "semantic_refresh__dbt_build_test",
        try_number,
        "11111111-1111-4111-8111-111111111111",
        "tests",
    )


def control_rows(settings: LabSettings) -> dict[str, int]:
    with closing(pyodbc.connect(settings.mssql_dsn, autocommit=True)) as connection:
        names = [row[0] for row in connection.execute(CONTROL_TABLES).fetchall()]
        return {n: connection.execute(f"SELECT COUNT(*) FROM dpone_control.{n}").fetchone()[0] for n in names}


def refused(settings: LabSettings, ids: tuple[str, str], run: str, **changed: Any) -> DponeError:
    services = replace(lab_services(settings, Quiet()), **changed)
    with pytest.raises(DponeError) as caught:
        admit(services, *ids, worker(run))
    return caught.value


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dpone", "lab", "demo", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


@pytest.fixture(scope="module")
def ids(deployed: DeployedLab) -> tuple[str, str]:
    return deployed.activate_open_day()


def test_a_day_that_is_no_day_is_a_usage_error() -> None:
    done = command("--day", "12.06.2013")
    assert done.returncode == 2
    assert done.stderr.startswith("DPONE_LAB_DAY_NOT_A_DAY")


def test_a_day_without_events_is_refused_with_the_days_that_have_some() -> None:
    done = command("--day", "2012-06-12", "--format", "json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["code"]) == (1, "DPONE_LAB_DAY_WITHOUT_EVENTS")
    assert told["evidence"] == {"first_day": "2013-01-01", "last_day": "2014-01-01"}


def test_a_disk_that_fills_during_the_demo_is_one_clear_error_and_leaves_no_trace(
    small_disk: Callable[[int], Path],
) -> None:
    disk = small_disk(640)
    done = subprocess.Popen(
        [sys.executable, "-m", "dpone", "lab", "demo", "--format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(disk)},
    )  # fmt: skip
    assert done.stderr is not None
    told = next(line for line in done.stderr if "start the engines:" in line)
    with (disk / "filler").open("wb", buffering=0) as filler:
        while done.poll() is None:
            try:
                filler.write(bytes(2**20))
            except OSError:
                # What an engine gives back is taken too.
                time.sleep(0.05)
    error, rest = json.loads(done.stdout.read() if done.stdout else ""), done.stderr.read()
    assert (done.returncode, error["code"]) == (1, "DPONE_LAB_NO_SPACE"), told + rest
    assert "Traceback" not in rest
    assert [path.name for path in disk.iterdir()] == ["filler"]
    commands = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    assert [command for command in commands if str(disk) in command] == []


def test_the_shipped_guard_refuses_before_any_write(deployed: DeployedLab, ids: tuple[str, str]) -> None:
    settings = deployed.deployment.settings
    before = control_rows(settings)
    error = refused(settings, ids, "guarded", guard=ProductionGuard())
    assert error.code == "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"
    assert control_rows(settings) == before


def test_another_marker_than_the_databases_is_refused_before_any_write(
    deployed: DeployedLab, ids: tuple[str, str]
) -> None:
    settings = replace(deployed.deployment.settings, marker="00000000-0000-4000-8000-000000000000")
    before = control_rows(settings)
    error = refused(settings, ids, "unmarked")
    assert error.code == "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"
    assert control_rows(settings) == before


def test_a_wrong_password_is_refused_and_named_nowhere(deployed: DeployedLab, ids: tuple[str, str]) -> None:
    settings = deployed.deployment.settings
    there = settings.worker_login.read_text()
    settings.worker_login.write_text(json.dumps([json.loads(there)[0], "canary-password"]))
    try:
        error = refused(settings, ids, "login")
    finally:
        settings.worker_login.write_text(there)
    assert error.code == "DPONE_MSSQL_LOGIN_FAILED"
    assert "canary-password" not in json.dumps(error.diagnostics())


def test_an_unknown_plan_is_refused(deployed: DeployedLab, ids: tuple[str, str]) -> None:
    error = refused(deployed.deployment.settings, (ids[0], "sha256:" + "0" * 64), "unknown")
    assert error.code == "DPONE_ACTIVATION_NOT_FOUND"


def test_a_model_without_a_contract_is_refused_with_the_reason(deployed: DeployedLab, tmp_path: Path) -> None:
    settings = deployed.deployment.settings
    project = tmp_path / "project"
    shutil.copytree(settings.project, project)
    config = project / "dbt_project.yml"
    config.write_text(config.read_text().replace("enforced: true", "enforced: false"))
    changed = replace(settings, project=str(project), manifest=str(tmp_path / "manifest.json"))
    compiled_project = lab_deployment._compile(changed, tmp_path / "compile")
    compiled = lab_deployment._prove(changed, deployed.deployment.platform, compiled_project)
    with pytest.raises(DponeError) as caught:
        lab_deployment._release(
            changed,
            deployed.deployment.clickhouse,
            deployed.deployment.platform,
            compiled,
            deployed.day,
            tmp_path / "deployment",
        )
    assert caught.value.code == "DPONE_PROOF_INCOMPLETE"
    assert "CONTRACT" in caught.value.observed.upper()


def test_a_target_that_does_not_exist_is_refused_at_adoption(deployed: DeployedLab, tmp_path: Path) -> None:
    this = deployed.deployment
    gone = replace(this.clickhouse, database="nowhere")
    changed = replace(this.settings, manifest=str(tmp_path / "manifest.json"))
    project = lab_deployment._compile(changed, tmp_path / "compile")
    compiled = lab_deployment._prove(changed, this.platform, project)
    folder = tmp_path / "deployment"
    lab_deployment._release(this.settings, gone, this.platform, compiled, deployed.day, folder)
    with pytest.raises(DponeError) as caught:
        lab_deployment._adopted(this.settings, gone, folder)
    assert caught.value.code == "DPONE_CLICKHOUSE_TARGET_ABSENT"


def test_a_plan_binds_one_dag_run_for_ever(deployed: DeployedLab, ids: tuple[str, str]) -> None:
    settings = deployed.deployment.settings
    admit(lab_services(settings, Quiet()), *ids, worker("first"))
    error = refused(settings, ids, "second")
    assert error.code == "DPONE_PLAN_BOUND_TO_OTHER_RUN"


def test_a_server_without_the_marker_is_refused_by_the_demo_before_any_write(deployed: DeployedLab) -> None:
    with closing(pyodbc.connect(deployed.profile.mssql_dsn, autocommit=True)) as connection:
        connection.execute("EXEC sys.sp_dropextendedproperty @name = N'dpone.lab.marker'")
    try:
        tables = control_rows(deployed.deployment.settings)
        for marker in ("", deployed.profile.marker):
            with pytest.raises(DponeError) as caught:
                lab_deployment.deploy(
                    replace(deployed.profile, marker=marker), deployed.day, lambda _: nullcontext()
                )
            assert caught.value.code == "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"
        assert control_rows(deployed.deployment.settings) == tables
    finally:
        mark_disposable(deployed.profile.mssql_dsn, deployed.profile.marker)
