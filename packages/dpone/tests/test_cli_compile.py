"""`dpone refresh compile`: usage errors before dbt starts, and a bundle that is never overwritten."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from dpone.cli.compile import compile_command

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer()
app.command()(compile_command)


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "models").mkdir(parents=True)
    (root / "dbt_project.yml").write_text("name: shop\nprofile: p\n")
    (root / "models" / "sale_event.sql").write_text(
        "{{ config(materialized='incremental', incremental_strategy='dpone_scope_merge', meta={'dpone': "
        "{'publish': {'enabled': true, 'profile': 'p', 'workflow': 'w'}}}) }}\nselect s.at from raw.sales s\n"
    )
    return root


def test_a_folder_without_project_is_a_usage_error(tmp_path: Path) -> None:
    code, _, err = run(str(tmp_path))
    assert code == 2
    assert "no dbt_project.yml" in err


def test_an_error_is_json_where_json_is_asked_for(tmp_path: Path) -> None:
    code, out, _ = run(str(tmp_path), "--format", "json")
    plain = json.loads(out)
    assert (code, plain["schema"], plain["code"]) == (2, "dpone.error.v1", "DPONE_DBT_PROJECT_UNFIT")


@pytest.mark.engine
def test_a_project_that_dbt_cant_read_is_unverified_with_dbts_message(project: Path) -> None:
    (project / "macros").mkdir()
    (project / "macros" / "broken.sql").write_text("{% macro a() %}{% if x %}{% endmacro %}")
    code, _, err = run(str(project), "--database", "d", "--schema", "s")
    assert (code, err.partition(":")[0]) == (4, "DPONE_COMPILE_FAILED")
    assert "endmacro" in err


def test_database_and_schema_must_come_from_somewhere(project: Path) -> None:
    code, _, err = run(str(project))
    assert code == 2
    assert "--database and --schema" in err


@pytest.mark.parametrize("content", ["p: [", "- p", "p: {target: '{{ x( }}', outputs: {}}"])
def test_profiles_that_cant_be_read_are_a_usage_error(project: Path, content: str) -> None:
    (project / "profiles.yml").write_text(content)
    code, out, err = run(str(project))
    assert (code, out) == (2, "")
    assert "profiles.yml can't be read" in err


def test_a_file_in_place_of_the_project_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = run(str(tmp_path / "file"))
    assert (code, "can't be read" in err) == (2, True)


def test_an_existing_bundle_is_not_overwritten(project: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle.json").write_text("kept")
    code, _, err = run(
        str(project), "--database", "d", "--schema", "s", "--out", str(tmp_path / "bundle.json")
    )
    assert code == 2
    assert "never overwritten" in err
    assert (tmp_path / "bundle.json").read_text() == "kept"


@pytest.mark.engine
def test_verdicts_on_stdout_and_the_bundle_in_its_file(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle.json"
    code, stdout, _ = run(
        str(project), "--database", "Shop", "--schema", "mart", "--out", str(out), "--format", "json"
    )
    report = json.loads(stdout)
    assert code == 1
    assert report["schema"] == "dpone.refresh-compile.v1"
    assert [model["reads"] for model in report["models"]] == [["Shop.raw.sales"]]
    assert {"DPONE_PROOF_CONTRACT", "DPONE_PROOF_KEY_MISSING"} <= {
        reason["code"] for reason in report["models"][0]["reasons"]
    }
    bundle = json.loads(out.read_bytes())
    digest = bundle.pop("bundle_sha256")
    canonical = json.dumps(bundle, sort_keys=True, separators=(",", ":"))
    assert digest == f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
    assert sorted(path.name for path in project.rglob("*")) == ["dbt_project.yml", "models", "sale_event.sql"]
