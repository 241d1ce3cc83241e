"""`dpone dbt check` and `explain`: one verdict a model, stable shapes and exit classes, nothing written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema
from typer.testing import CliRunner

from dpone.cli.dbt import app
from dpone.cli.explanation import REPLAY

if TYPE_CHECKING:
    from pathlib import Path

SQL = "select s.sold_at, s.sale_id\nfrom raw.sales as s"


def model(name: str, sql: str, **config: Any) -> dict[str, Any]:
    return {
        "unique_id": f"model.shop.{name}",
        "resource_type": "model",
        "package_name": "shop",
        "name": name,
        "alias": name,
        "fqn": ["shop", name],
        "original_file_path": f"models/{name}.sql",
        "language": "sql",
        "database": "shop",
        "schema": "mart",
        "relation_name": f'"shop"."mart"."{name}"',
        "raw_code": sql,
        "compiled_code": sql,
        "config": {
            "materialized": "incremental",
            "incremental_strategy": "dpone_scope_merge",
            "on_schema_change": "fail",
            "contract": {"enforced": True},
            "unique_key": ["sold_at", "sale_id"],
            "meta": {"dpone": {"publish": {"enabled": True, "profile": "to_mart", "workflow": "sales"}}},
            **config,
        },
        "columns": {
            column: {"name": column, "data_type": kind, "constraints": [{"type": "not_null"}]}
            for column, kind in {"sold_at": "datetime2(6)", "sale_id": "int"}.items()
        },
        "depends_on": {"nodes": [], "macros": []},
    }


def project(root: Path, *models: dict[str, Any]) -> Path:
    (root / "target").mkdir(parents=True)
    document = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "dbt_version": "1.10.13",
            "adapter_type": "sqlserver",
            "project_name": "shop",
        },
        "nodes": {item["unique_id"]: item for item in models},
        **{group: {} for group in ("sources", "unit_tests", "exposures", "macros")},
    }
    (root / "target" / "manifest.json").write_text(json.dumps(document))
    return root


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_json_has_the_fixed_shape(tmp_path: Path) -> None:
    root = project(tmp_path, model("good", SQL), model("dirty", SQL + " with (nolock)"))
    code, out, _ = run("check", str(root), "--format", "json", "--scope-of-proof", "definition")
    assert code == 1
    assert json.loads(out) == {
        "schema": "dpone.dbt-check.v1",
        "verdict": "NONCONFORMANT",
        "models": [
            {
                "unique_id": "model.shop.dirty",
                "status": "NONCONFORMANT",
                "reads": ["shop.raw.sales"],
                "reasons": [
                    {
                        "code": "DPONE_PROOF_SQL_DIRTY_READ",
                        "message": "NOLOCK is not admitted",
                        "path": "models/dirty.sql",
                        "line": 2,
                        "column": 27,
                    }
                ],
            },
            {"unique_id": "model.shop.good", "status": "PROVEN", "reads": ["shop.raw.sales"], "reasons": []},
        ],
    }


@pytest.mark.parametrize(
    ("sql", "scope", "code"),
    [
        (SQL, "definition", 0),
        (SQL, "full", 4),
        ("select from where", "definition", 4),
        (SQL + " with (nolock)", "definition", 1),
    ],
)
def test_the_exit_class_is_that_of_the_verdict(tmp_path: Path, sql: str, scope: str, code: int) -> None:
    assert run("check", str(project(tmp_path, model("m", sql))), "--scope-of-proof", scope)[0] == code


def test_without_a_manifest_the_command_to_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: shop")
    code, out, err = run("check", str(tmp_path))
    assert (code, out) == (2, "")
    assert "run dbt parse" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "nowhere"], "nowhere is no directory"),
        (["check", "file"], "file is no directory"),
        (["check", "empty"], "empty is no dbt project: it has no dbt_project.yml"),
        (["check", "torn"], "torn/target/manifest.json: the file is not a dbt manifest"),
        (["check", "folder"], "folder/target/manifest.json can't be read: Is a directory"),
        (["check", "good", "--diff", "nowhere"], "--diff nowhere: there is no such manifest"),
        (["check", "good", "--diff", "empty"], "empty/manifest.json does not exist"),
        (["check", "good", "--platform-policy", "file"], "file: the file holds no settings"),
        (["check", "good", "--catalog", "empty"], "empty: Is a directory"),
        (["explain", "x", "good"], "x is not a published model of the project: published are m"),
    ],
)
def test_a_wrong_call_is_one_error_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    project(tmp_path / "good", model("m", SQL))
    for folder in ("empty", "torn/target", "folder/target/manifest.json"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "torn" / "target" / "manifest.json").write_text("{")
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"DPONE_USAGE: {says}")
    code, out, err = run(*arguments, "--format", "json")
    plain = json.loads(out)
    assert (code, err, plain["schema"], plain["code"]) == (2, "", "dpone.error.v1", "DPONE_USAGE")
    assert says in plain["observed"]


def test_nothing_published_is_nothing_proven(tmp_path: Path) -> None:
    code, out, _ = run("check", str(project(tmp_path, model("m", SQL, meta={}))))
    assert code == 4
    assert "No model has meta.dpone.publish" in out


def test_v1_models_keep_their_selector(tmp_path: Path) -> None:
    root = project(tmp_path, model("old", SQL, incremental_strategy="merge"))
    code, out, _ = run("check", str(root), "--format", "json")
    assert code == 0
    assert json.loads(out)["v1_models"] == [
        {"unique_id": "model.shop.old", "workflow": "sales", "selector": "+fqn:shop.old"}
    ]


def test_nothing_is_written(tmp_path: Path) -> None:
    root = project(tmp_path, model("m", SQL))
    before = sorted(path.as_posix() for path in root.rglob("*"))
    run("check", str(root))
    run("explain", "m", str(root))
    assert sorted(path.as_posix() for path in root.rglob("*")) == before


def test_diff_names_the_edit_that_lost_the_proof(tmp_path: Path) -> None:
    base = project(tmp_path / "base", model("m", SQL))
    root = project(tmp_path / "now", model("m", SQL + " with (nolock)", tags=["x"]))
    _, out, _ = run(
        "check",
        str(root),
        "--diff",
        str(base / "target"),
        "--format",
        "json",
        "--scope-of-proof",
        "definition",
    )
    (lost,) = json.loads(out)["lost"]
    assert lost["edits"] == ["models/m.sql line 2: changed", "config tags: None -> ['x']"]
    assert [reason["code"] for reason in lost["reasons"]] == ["DPONE_PROOF_SQL_DIRTY_READ"]


def test_sarif_points_at_file_and_line_with_the_change_that_helps(tmp_path: Path) -> None:
    root = project(tmp_path, model("m", SQL + " with (nolock)"))
    _, out, _ = run("check", str(root), "--format", "sarif", "--scope-of-proof", "definition")
    (result,) = json.loads(out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "models/m.sql"},
        "region": {"startLine": 2, "startColumn": 27},
    }
    assert result["message"]["text"].endswith("Remove NOLOCK, READUNCOMMITTED or READPAST.")


def test_sarif_is_of_the_published_schema(tmp_path: Path) -> None:
    """The classes are generated from the schema of SARIF 2.1.0 and closed; `nox -s sarif` takes the schema itself."""
    odd = {**model("m ä", "select getdate( as x"), "original_file_path": "models/ä b.sql"}
    root = project(tmp_path, odd, model("n", SQL + " with (nolock)", grants={"select": ["x"]}))
    out = ""
    for scope in ("definition", "full"):
        _, out, _ = run("check", str(root), "--format", "sarif", "--scope-of-proof", scope)
        report = StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(out)
        rules = report.runs[0].tool.driver.rules or []
        for result in report.runs[0].results or []:
            assert rules[result.ruleIndex].id == result.ruleId
    with pytest.raises(ValidationError):
        StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(
            out.replace("startLine", "row")
        )


def test_ci_gets_paths_from_where_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path / "analytics", model("m", SQL + " with (nolock)"))
    monkeypatch.chdir(tmp_path)
    _, out, _ = run("check", "analytics", "--format", "annotations", "--scope-of-proof", "definition")
    assert out.startswith("::error file=analytics/models/m.sql,line=2,")
    _, out, _ = run("check", "analytics", "--format", "sarif", "--scope-of-proof", "definition")
    assert '"uri": "analytics/models/m.sql"' in out
    _, out, _ = run("check", "analytics", "--format", "json", "--scope-of-proof", "definition")
    assert '"path": "models/m.sql"' in out


def test_annotations_are_one_line_a_reason(tmp_path: Path) -> None:
    root = project(tmp_path, model("m", SQL + " with (nolock)"))
    _, out, _ = run("check", str(root), "--format", "annotations", "--scope-of-proof", "definition")
    assert out.startswith("::error file=models/m.sql,line=2,col=27,title=DPONE_PROOF_SQL_DIRTY_READ::")


def test_explain_shows_key_types_stages_and_that_replay_removes_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, model("m", SQL), model("n", SQL))
    code, out, _ = run("explain", "m", str(root), "--format", "json", "--scope-of-proof", "definition")
    plain = json.loads(out)
    assert code == 0
    assert plain["effective_key"] == ["sold_at", "sale_id"]
    assert plain["event_time"] == "sold_at"
    assert [column["target_type"] for column in plain["columns"]] == ["DateTime64(6,'UTC')", "Int32"]
    assert [stage["kind"] for stage in plain["stages"]] == [
        *("ADMIT", "BUILD", "SEAL", "PREPARE", "COMMIT", "PUBLISH", "SUMMARISE")
    ]
    assert plain["replay"] == REPLAY
    assert REPLAY in run("explain", "model.shop.m", str(root))[1]


def test_explain_numbers_stages_in_commit_order_upstream_first(tmp_path: Path) -> None:
    first = model("zone", SQL)
    second = {
        **model("area", SQL.replace("raw.sales", "mart.zone")),
        "depends_on": {"nodes": ["model.shop.zone"]},
    }
    root = project(tmp_path, first, second)
    _, out, _ = run("explain", "area", str(root), "--format", "json", "--scope-of-proof", "definition")
    plain = json.loads(out)
    assert plain["depends_on"] == ["model.shop.zone"]
    assert [stage["task_id"] for stage in plain["stages"] if stage["kind"] == "COMMIT"] == [
        "semantic_refresh__commit__0001__model_shop_area"
    ]


def test_explain_of_an_unknown_model_is_a_usage_error(tmp_path: Path) -> None:
    code, _, err = run("explain", "nothing", str(project(tmp_path, model("m", SQL))))
    assert code == 2
    assert "nothing is not a published model" in err


def test_a_bad_input_file_is_a_usage_error(tmp_path: Path) -> None:
    root = project(tmp_path, model("m", SQL))
    (tmp_path / "catalog.json").write_text("[]")
    assert run("check", str(root), "--catalog", str(tmp_path / "catalog.json"))[0] == 2
    assert run("check", str(root), "--catalog", str(tmp_path / "none.json"))[0] == 2
    (tmp_path / "policy.yml").write_text("schema: dpone.platform-policy.v1\nprofiles: {to_mart: v2}\n")
    code, _, err = run("check", str(root), "--platform-policy", str(tmp_path / "policy.yml"))
    assert (code, "read_budget" in err) == (2, True)
