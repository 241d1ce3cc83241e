"""The Airflow DAG of a published index: parsed without I/O, stable, and green only over a durable summary."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpone_airflow_pack.index import dag_file_text, write_index
from dpone_contracts.projection import DagProjection

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("airflow")]

HERE = Path(__file__).parent
PUBLISHED = (
    HERE.parent / "packages/dpone-contracts/tests/vectors/published-0.74/valid/v2-dag-projection.normal.json"
)
SERVICES = "no_such_module:services"
SUMMARY = "semantic_refresh__durable_workflow_summary"
PREPARE = "semantic_refresh__prepare__model_pricing_competitor_{}_event"
COMMIT = "semantic_refresh__commit__{}__model_pricing_competitor_{}_event"


def airflow(home: Path, script: str, *arguments: Path, **environment: str) -> None:
    """Run a script in a process whose Airflow knows nothing but a fresh home."""
    home.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@dataclass(frozen=True)
class Folder:
    """A folder of DAG files beside a published index."""

    path: Path
    index_file: Path

    def parse(self, name: str, **environment: str) -> bytes:
        output = self.path / f"{name}.json"
        airflow(self.path / "home", "airflow_parse.py", self.path / "dags", output, **environment)
        return output.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    path = tmp_path_factory.mktemp("airflow")
    projection = DagProjection.from_bytes(PUBLISHED.read_bytes())
    index_file = write_index(path / "index", [projection])
    (path / "dags").mkdir()
    (path / "dags" / "pricing.py").write_text(dag_file_text(index_file, path / "dags", SERVICES))
    spoiled = index_file.with_name("deployment-index-latest.json")
    spoiled.write_bytes(index_file.read_bytes())
    (path / "dags" / "spoiled.py").write_text(dag_file_text(spoiled, path / "dags", SERVICES))
    (path / "dags" / "talkative.py").write_text(
        '"""An airflow dag file."""\n\nimport socket\n\nsocket.gethostbyname("localhost")\n'
    )
    return Folder(path, index_file)


@pytest.fixture(scope="module")
def parsed(folder: Folder) -> bytes:
    return folder.parse("first", PYTHONHASHSEED="1")


@pytest.fixture(scope="module")
def dag(parsed: bytes) -> dict[str, Any]:
    (found,) = json.loads(parsed)["dags"].values()
    plain: dict[str, Any] = found["dag"]
    return plain


def tasks_of(dag: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {task["__var"]["task_id"]: task["__var"] for task in dag["tasks"]}


def test_parsing_again_gives_the_same_bytes(folder: Folder, parsed: bytes) -> None:
    assert (
        folder.parse("second", PYTHONHASHSEED="2", AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS="True")
        == parsed
    )


def test_parsing_reaches_for_no_socket_database_or_process(parsed: bytes) -> None:
    report = json.loads(parsed)
    assert report["forbidden"] == ["socket.gethostbyname"]  # that of the file that does it on purpose
    assert [Path(dag["dag"]["fileloc"]).name for dag in report["dags"].values()] == ["pricing.py"]


def test_a_file_over_a_spoiled_index_is_an_import_error_and_no_dag(parsed: bytes) -> None:
    errors = {Path(file).name: error for file, error in json.loads(parsed)["errors"].items()}
    assert errors.keys() == {"spoiled.py", "talkative.py"}
    assert "DPONE_DEPLOYMENT_INDEX_REFUSED" in errors["spoiled.py"]


def test_the_tasks_are_one_build_parallel_prepares_sequential_commits_one_summary(
    dag: dict[str, Any],
) -> None:
    downstream = {name: sorted(task.get("downstream_task_ids", [])) for name, task in tasks_of(dag).items()}
    assert downstream == {
        "semantic_refresh__dbt_build_test": [PREPARE.format("price"), PREPARE.format("stock")],
        PREPARE.format("price"): [COMMIT.format("0000", "price")],
        PREPARE.format("stock"): [COMMIT.format("0000", "price")],
        COMMIT.format("0000", "price"): [COMMIT.format("0001", "stock")],
        COMMIT.format("0001", "stock"): [SUMMARY],
        SUMMARY: [],
    }
    assert {name: task.get("trigger_rule", "all_success") for name, task in tasks_of(dag).items()} == {
        **dict.fromkeys(downstream, "all_success"),
        SUMMARY: "all_done",
    }


def test_outlets_stand_on_the_summary_alone(dag: dict[str, Any]) -> None:
    outlets = {
        name: [asset["__var"]["uri"] for asset in task["outlets"]]
        for name, task in tasks_of(dag).items()
        if "outlets" in task
    }
    assert outlets == {
        SUMMARY: [
            "clickhouse://clickhouse-pricing-eu1/pricing/competitor_price_event",
            "clickhouse://clickhouse-pricing-eu1/pricing/competitor_stock_event",
        ]
    }


def test_every_task_carries_its_plan_and_nothing_is_retried_or_rendered(dag: dict[str, Any]) -> None:
    projection = DagProjection.from_bytes(PUBLISHED.read_bytes())
    for task in tasks_of(dag).values():
        assert task["dag_projection_sha256"] == projection.digest
        assert task["plan_bundle_sha256"] == projection.plan_bundle_sha256
        assert task.get("retries", 0) == 0
        assert task["template_fields"] == []
        assert task["do_xcom_push"] is False
        assert task["owner"] == "pricing-data"


def test_the_policy_is_the_projections(dag: dict[str, Any]) -> None:
    assert {
        name: dag[name] for name in ("catchup", "max_active_runs", "max_active_tasks", "tags", "timezone")
    } == {
        "catchup": False,
        "max_active_runs": 1,
        "max_active_tasks": 4,
        "tags": ["dbt", "dpone", "pricing", "semantic-refresh-v2"],
        "timezone": "UTC",
    }
    assert dag["start_date"] == 1782864000.0  # 2026-07-01
    assert dag["timetable"]["__type"] == "airflow.timetables.trigger.CronTriggerTimetable"
    assert dag["timetable"]["__var"]["expression"] == "30 4 * * *"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("airflow-days")
    (path / "dags").mkdir()
    output = path / "report.json"
    airflow(
        path / "home",
        "airflow_day.py",
        path / "index",
        path / "dags",
        output,
        AIRFLOW__CORE__DAGS_FOLDER=str(path / "dags"),
        DPONE_POD_UID="6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01",
    )
    report: dict[str, Any] = json.loads(output.read_bytes())
    return report


def test_a_good_day_is_green_and_announces_its_assets(days: dict[str, Any]) -> None:
    good = days["good"]
    assert set(good["tasks"].values()) == {"success"}
    assert good["run"] == "success"
    assert good["operations"] == ["COMPLETE", "COMPLETE"]
    assert good["bound_to_this_run"]
    assert good["asset_events"] == ["clickhouse://example/arrivals", "clickhouse://example/departures"]


def test_after_a_failed_prepare_the_summary_fails_and_no_asset_is_announced(days: dict[str, Any]) -> None:
    failing = days["failing"]
    assert failing["tasks"] == {
        "semantic_refresh__dbt_build_test": "success",
        "semantic_refresh__prepare__model_example_arrivals": "success",
        "semantic_refresh__prepare__model_example_departures": "failed",
        "semantic_refresh__commit__0000__model_example_arrivals": "upstream_failed",
        "semantic_refresh__commit__0001__model_example_departures": "upstream_failed",
        SUMMARY: "failed",
    }
    assert failing["run"] == "failed"
    assert failing["operations"] == ["PREPARING", "PREPARING"]
    assert failing["asset_events"] == []
