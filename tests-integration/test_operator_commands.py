"""The operator's commands end to end on the lab's real engines: each result, each refusal, a kill and its next try."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyodbc
import pytest
from typer.testing import CliRunner

import dpone_mssql.control_schema
from dpone.cli.refresh import app as product
from dpone_airflow_pack.index import read_index
from dpone_lab.cli import app as lab_app
from dpone_lab.platform import PodRegistry

if TYPE_CHECKING:
    from conftest import DeployedLab, Told

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("deployed"), pytest.mark.timeout(900)]

HOLD = "COMMIT/flight_departure_event/publisher.exchange/1:after"
PRODUCTION = "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"
RUN = "manual__2013-06-12T00:00:00+00:00"
INSTALL = ("--install", "--login-timeout=15", "--lock-timeout=10000", "--statement-timeout=60")


def control_rows(deployed: DeployedLab) -> dict[str, int]:
    names = "SELECT t.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id WHERE s.name = 'dpone_control'"
    with closing(pyodbc.connect(deployed.profile.mssql_dsn, autocommit=True)) as connection:
        tables = [row[0] for row in connection.execute(names).fetchall()]
        return {
            n: connection.execute(f"SELECT COUNT(*) FROM dpone_control.{n}").fetchone()[0] for n in tables
        }


def invoke(environment: dict[str, str | None], *arguments: str) -> tuple[int, str, str]:
    """One command of the product itself."""
    done = CliRunner().invoke(product, list(arguments), env=environment)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def reached(deployed: DeployedLab, **changed: str | None) -> dict[str, str | None]:
    settings = deployed.deployment.settings
    return {
        "DPONE_MSSQL_DSN": settings.mssql_dsn,
        "DPONE_CLICKHOUSE_DSN": settings.clickhouse_dsn,
        "DPONE_OBJECT_STORE": settings.object_store,
        "DPONE_ARTIFACT_KEY": f"file:{settings.artifact_key}",
        **changed,
    }


def writing_commands(deployed: DeployedLab) -> list[tuple[str, ...]]:
    """Every command that would write, over the lab's deployment."""
    settings, folder = deployed.deployment.settings, deployed.folder
    index = str(settings.index)
    return [
        ("adopt-baseline", "--deployment", folder, "--format=json"),
        (
            "activate",
            f"--deployment={folder}",
            f"--index={index}",
            f"--day={deployed.day}",
            "--format=json",
        ),
        ("advance", f"--deployment={folder}", f"--index={index}", "--format=json"),
        (
            "run",
            f"--deployment={folder}",
            f"--plan=sha256:{'0' * 64}",
            "--dag-run-id=any",
            "--try-number=1",
            "--pod-uid=11111111-1111-4111-8111-111111111111",
            "--owner-id=tests",
            f"--project={settings.project}",
            f"--manifest={settings.manifest}",
            f"--work={settings.directory}/work",
            "--format=json",
        ),
    ]


@dataclass(frozen=True)
class Crash:
    """A day advanced to, its run killed behind the first try's EXCHANGE, and what status said around it."""

    advanced: dict[str, Any]
    planned: Told
    alive: Told
    killed: Told
    resumed: subprocess.CompletedProcess[str]
    after: Told

    @property
    def activation(self) -> dict[str, Any]:
        found: dict[str, Any] = self.advanced["activation"]
        return found


def run_command(deployed: DeployedLab, plan: str, try_number: int, *group: str) -> list[str]:
    command = [sys.executable, "-m", "dpone", "lab", "refresh", "-d", deployed.profile.directory, *group]
    command += ["run", "--deployment", deployed.folder, "--plan", plan, "--dag-run-id", RUN]
    return [*command, "--try-number", str(try_number), "--format", "json"]


def dag_file(deployed: DeployedLab) -> Path:
    return Path(deployed.profile.directory) / "dags" / "flights.py"


def advance(deployed: DeployedLab) -> Told:
    return deployed.refresh(
        "advance",
        f"--index={deployed.deployment.settings.index}",
        f"--dag-file={dag_file(deployed)}",
        "--worker-services=platform_services:services",
        "--format=json",
    )


@pytest.fixture(scope="module")
def crash(deployed: DeployedLab) -> Crash:
    advanced = advance(deployed)
    assert advanced.exit_code == 0, advanced
    plan = advanced.plain["activation"]["plan_bundle_sha256"]
    status = ("status", f"--scope={deployed.day}", "--format=json")
    planned = deployed.refresh(*status)
    worker = subprocess.Popen(
        run_command(deployed, plan, 1, "--hold-at", HOLD), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert worker.stderr is not None
    seen = []
    for line in worker.stderr:
        seen.append(line)
        if line.startswith(b"held"):
            break
    else:
        pytest.fail(f"the run ended before its EXCHANGE: {b''.join(seen)!r}")
    alive = deployed.refresh(*status)
    attempt = next(each for each in alive.plain["plans"][0]["operations"] if each["state"] == "COMMITTING")
    pod = PodRegistry(deployed.deployment.settings.pods).read(attempt["attempt"]["pod_uid"])
    assert pod is not None
    os.kill(pod.pid, signal.SIGKILL)
    assert worker.wait(60) == 128 + signal.SIGKILL
    killed = deployed.refresh(*status)
    resumed = subprocess.run(
        run_command(deployed, plan, 2), capture_output=True, text=True, check=False, timeout=600
    )
    return Crash(advanced.plain, planned, alive, killed, resumed, deployed.refresh(*status))


def operations(told: Told) -> dict[str, dict[str, Any]]:
    (plan,) = told.plain["plans"]
    return {each["model"].rsplit(".", 1)[-1]: each for each in plan["operations"]}


def test_the_control_schema_was_installed_by_its_command_and_is_left_as_it_is(deployed: DeployedLab) -> None:
    assert (deployed.installed.exit_code, deployed.installed.plain["result"]) == (0, "installed")
    code, out, _ = invoke(reached(deployed), "control-schema", *INSTALL, "--format=json")
    again = json.loads(out)
    assert (code, again["result"]) == (0, "already there")
    assert again["store_id"] == deployed.installed.plain["store_id"]


@pytest.mark.parametrize(("release", "age"), [(2, "older"), (0, "newer")])
def test_a_store_of_another_version_is_refused_by_name(
    deployed: DeployedLab, monkeypatch: pytest.MonkeyPatch, release: int, age: str
) -> None:
    monkeypatch.setattr(dpone_mssql.control_schema, "SCHEMA_VERSION", release)
    code, out, _ = invoke(reached(deployed), "control-schema", *INSTALL, "--format=json")
    told = json.loads(out)
    assert (code, told["code"]) == (1, "DPONE_CONTROL_SCHEMA_VERSION")
    assert f"{age} version 1" in told["observed"]


def test_every_baseline_is_adopted_up_to_the_day(deployed: DeployedLab) -> None:
    told = deployed.adopted.plain
    assert {each["covered_until"] for each in told["models"]} == {f"{deployed.day}T00:00:00Z"}
    before = control_rows(deployed)
    again = deployed.refresh("adopt-baseline", "--format=json")
    assert (again.exit_code, again.plain) == (0, told)
    assert control_rows(deployed) == before


def test_the_product_refuses_every_write_before_it_happens(deployed: DeployedLab) -> None:
    before = control_rows(deployed)
    for command in writing_commands(deployed):
        code, out, _ = invoke(reached(deployed), *command)
        assert (code, json.loads(out)["code"]) == (1, PRODUCTION), command
    assert control_rows(deployed) == before


def test_a_variable_that_is_not_set_is_named_and_nothing_is_defaulted(deployed: DeployedLab) -> None:
    commands = [*writing_commands(deployed), ("control-schema", *INSTALL, "--format=json")]
    commands.append(("status", f"--deployment={deployed.folder}", "--workflow=any", "--format=json"))
    for command in commands:
        code, out, _ = invoke(reached(deployed, DPONE_MSSQL_DSN=None), *command)
        told = json.loads(out)
        assert (code, told["code"]) == (2, "DPONE_DSN_ABSENT"), command
        assert told["evidence"] == {"variable": "DPONE_MSSQL_DSN"}


def test_a_wrong_login_is_refused_and_its_password_named_nowhere(deployed: DeployedLab) -> None:
    dsn = deployed.deployment.settings.mssql_dsn
    start = dsn.index("PWD={") + 5
    wrong = dsn.replace(dsn[start : dsn.index("}", start)], "canary-password")
    for command in (("control-schema", *INSTALL), writing_commands(deployed)[1]):
        code, out, err = invoke(reached(deployed, DPONE_MSSQL_DSN=wrong), *command)
        assert code == 1
        assert "DPONE_MSSQL_LOGIN_FAILED" in out + err
        assert "canary-password" not in out + err


def test_advance_plans_the_day_after_the_baseline_and_promotes_its_index(
    deployed: DeployedLab, crash: Crash
) -> None:
    assert (crash.advanced["verdict"], crash.advanced["day"]) == ("PLAN", f"{deployed.day}T00:00:00Z")
    (current,) = read_index(Path(crash.activation["index"]))
    assert current.projection.digest == crash.activation["dag_projection_sha256"]
    assert current.plan_bundles == (crash.activation["plan_bundle_sha256"],)


def test_status_of_a_planned_day_holds_nothing_and_is_run_next(crash: Crash) -> None:
    (plan,) = crash.planned.plain["plans"]
    assert (crash.planned.exit_code, plan["standing"]) == (0, "PLANNED")
    assert (plan["guards"], plan["operations"]) == ([], [])
    assert crash.activation["plan_bundle_sha256"] in plan["next_command"]


def test_status_of_a_live_worker_says_to_wait_while_its_exchange_is_unresolved(crash: Crash) -> None:
    (plan,) = crash.alive.plain["plans"]
    waiting = operations(crash.alive)["flight_departure_event"]
    assert (crash.alive.exit_code, waiting["permitted"]) == (3, "WAIT_FOR_ATTEMPT_END")
    assert waiting["outcomes"]["exchange"] == "EXCHANGE_UNKNOWN"
    assert plan["next_command"] == "dpone refresh status"
    held = {guard["resource_id"]: guard for guard in plan["guards"]}
    assert {guard["status"] for guard in held.values()} == {"ACTIVE"}
    assert waiting["attempt"]["fencing_epoch"] in {guard["fencing_epoch"] for guard in held.values()}


def test_status_after_the_kill_names_the_next_try_and_the_open_stages(crash: Crash) -> None:
    (plan,) = crash.killed.plain["plans"]
    found = operations(crash.killed)
    assert crash.killed.exit_code == 3
    assert found["flight_departure_event"]["permitted"] == "RECONCILE_EXCHANGE"
    assert found["airport_hour_event"]["state"] == "COMPLETE"
    assert plan["next_command"].endswith(f"--dag-run-id {RUN} --try-number 2")
    still_open = {(stage["kind"], stage["model"]) for stage in plan["stages"] if not stage["done"]}
    model = "model.flight_mart.flight_departure_event"
    assert still_open == {("COMMIT", model), ("PUBLISH", model), ("SUMMARISE", None)}


def test_the_next_try_continues_to_the_summary_with_progress_apart_from_the_result(crash: Crash) -> None:
    assert crash.resumed.returncode == 0, crash.resumed.stderr
    told = json.loads(crash.resumed.stdout)
    assert (told["status"], told["try_number"]) == ("FULLY_COMPLETE", 2)
    assert {each["operation_id"] for each in told["publications"]} == set(
        crash.activation["operations"].values()
    )
    assert "SUMMARISE" in crash.resumed.stderr


def test_status_of_a_published_day_has_released_guards_and_advances_next(crash: Crash) -> None:
    (plan,) = crash.after.plain["plans"]
    assert (crash.after.exit_code, plan["standing"]) == (0, "COMPLETE")
    assert {guard["status"] for guard in plan["guards"]} == {"RELEASED"}
    assert all(stage["done"] for stage in plan["stages"])
    assert plan["next_command"] == "dpone refresh advance"


def test_status_finds_an_operation_and_a_workflow_and_refuses_what_it_does_not_know(
    deployed: DeployedLab, crash: Crash
) -> None:
    operation = next(iter(crash.activation["operations"].values()))
    for subject in (f"--operation={operation}", "--workflow=flight_events"):
        told = deployed.refresh("status", subject)
        assert told.exit_code == 0
        assert operation in told.stdout
    for subject in (f"--operation=sha256:{'0' * 64}", "--workflow=another", "--scope=2013-01-01"):
        told = deployed.refresh("status", subject, "--format=json")
        assert (told.exit_code, told.plain["code"]) == (1, "DPONE_OPERATION_NOT_FOUND")
    assert deployed.refresh("status").exit_code == 2


def test_advance_after_the_summary_plans_the_next_day_once(deployed: DeployedLab, crash: Crash) -> None:
    first = advance(deployed)
    assert (first.exit_code, first.plain["verdict"]) == (0, "PLAN")
    assert first.plain["day"] == "2013-06-13T00:00:00Z"
    before, text = control_rows(deployed), dag_file(deployed).read_text()
    assert Path(first.plain["activation"]["index"]).name in text
    again = advance(deployed)
    assert again.plain["verdict"] == "ALREADY_PLANNED"
    assert again.plain["activation"] == first.plain["activation"]
    assert (control_rows(deployed), dag_file(deployed).read_text()) == (before, text)
    assert Path(crash.activation["index"]).exists()


def test_an_activation_beside_an_open_plan_lists_both_and_is_not_promoted(
    deployed: DeployedLab, crash: Crash
) -> None:
    advance(deployed)
    text = dag_file(deployed).read_text()
    ahead = ("activate", f"--index={deployed.deployment.settings.index}", "--day=2013-06-20", "--format=json")
    promoting = (f"--dag-file={dag_file(deployed)}", "--worker-services=platform_services:services")
    before = control_rows(deployed)
    refused = deployed.refresh(*ahead, *promoting)
    assert (refused.exit_code, refused.plain["code"]) == (1, "DPONE_INDEX_NOT_PROMOTABLE")
    assert (control_rows(deployed), dag_file(deployed).read_text()) == (before, text)


def test_a_deployment_with_a_changed_document_is_refused_before_any_connection(
    deployed: DeployedLab, tmp_path: Path
) -> None:
    for file in Path(deployed.folder).glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    seal = next(tmp_path.glob("semantic-refresh-seal-policy.*.json"))
    seal.write_bytes(seal.read_bytes().replace(b'"retention_days":1', b'"retention_days":2'))
    code, out, _ = invoke(
        {"DPONE_MSSQL_DSN": None}, "adopt-baseline", f"--deployment={tmp_path}", "--format=json"
    )
    told = json.loads(out)
    assert (code, told["code"]) == (1, "DPONE_DEPLOYMENT_DOCUMENTS")
    assert told["evidence"]["file"] == seal.name


def test_no_baseline_is_adopted_without_a_trust_policy_or_signatures(
    deployed: DeployedLab, tmp_path: Path
) -> None:
    """A copy without `frozen/` is a deployment whose baselines this command has never adopted."""
    before = control_rows(deployed)
    for number, (kind, code) in enumerate(
        (("trust-policy", "DPONE_TRUST_POLICY_MISSING"), ("document-signature", "DPONE_SIGNATURE_MISSING"))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        for file in Path(deployed.folder).glob("*.json"):
            if not file.name.startswith(f"semantic-refresh-{kind}."):
                (folder / file.name).write_bytes(file.read_bytes())
        command = ["refresh", "-d", deployed.profile.directory, "adopt-baseline", f"--deployment={folder}"]
        done = CliRunner().invoke(lab_app, [*command, "--format=json"])
        assert (done.exit_code, json.loads(done.stdout)["code"]) == (1, code)
        assert not (folder / "frozen").exists()
    assert control_rows(deployed) == before
