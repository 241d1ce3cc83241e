from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dpone.cli import evidence, schemas
from dpone_contracts import standalone_verify
from dpone_contracts.json_schemas import schema_files
from dpone_contracts.registry import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS = Path(__file__).parents[2] / "dpone-contracts" / "tests" / "vectors" / "published-0.74"
pytestmark = pytest.mark.skipif(not VECTORS.exists(), reason="the wheel's own environment has no repository")
VALID = VECTORS / "valid" / "workflow-plan.normal-day1.json"
LENIENT = VECTORS / "lenient" / "workflow-plan.day-week-date.json"
INVALID = VECTORS / "invalid" / "workflow-plan.text-array-root.json"


def run(app: Any, *arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_validate_prints_a_verdict_a_file_as_json() -> None:
    result = run(schemas.app, "validate", VALID, LENIENT, INVALID, "--format", "json")
    assert result.exit_code == 1
    first, second, third = json.loads(result.stdout)
    assert first == {
        "file": str(VALID),
        "schema": "dpone.semantic-refresh-workflow-plan.v1",
        "digest": "sha256:853b13ee8a88463acc3bfd95717c40544e41dd21020146e6e78c6341ae71eef9",
        "verdict": "valid",
        "code": None,
        "path": None,
        "reason": None,
    }
    assert (second["verdict"], second["code"], second["path"]) == (
        "refused",
        "DPONE_DOCUMENT_SPELLING",
        "scope_start",
    )
    assert second["reason"].startswith("readable but inadmissible")
    assert (third["verdict"], third["code"], third["path"]) == ("refused", "DPONE_DOCUMENT_TEXT", "$")


def test_validate_ends_with_0_when_all_are_valid() -> None:
    result = run(schemas.app, "validate", *sorted((VECTORS / "valid").glob("*.json")))
    assert result.exit_code == 0
    assert result.stdout.count(": valid ") == len(list((VECTORS / "valid").glob("*.json")))


@pytest.mark.parametrize("arguments", [[], ["absent.json"], [VALID, "--format", "yaml"], [VECTORS]])
def test_validate_ends_with_2_for_wrong_usage(arguments: list[object]) -> None:
    assert run(schemas.app, "validate", *arguments).exit_code == 2


def test_list_names_every_schema() -> None:
    assert [
        row["schema"] for row in json.loads(run(schemas.app, "list", "--format", "json").stdout)
    ] == sorted(DOCUMENTS)
    assert len(run(schemas.app, "list").stdout.splitlines()) == len(DOCUMENTS)


def test_export_writes_what_the_models_give(tmp_path: Path) -> None:
    assert run(schemas.app, "export", "--output", tmp_path).exit_code == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == schema_files()
    one = run(schemas.app, "export", "dpone.semantic-refresh-attempt-binding.v1")
    assert json.loads(one.stdout)["$id"] == "urn:dpone.semantic-refresh-attempt-binding.v1"
    assert run(schemas.app, "export", "dpone.no-such.v1").exit_code == 2


def test_verify_ends_with_0_for_a_whole_chain_and_names_the_first_broken_link(tmp_path: Path) -> None:
    whole = run(evidence.app, "verify", VECTORS / "valid", "--format", "json")
    assert whole.exit_code == 0
    assert json.loads(whole.stdout)["verdict"] == "verified"
    for path in (VECTORS / "valid").glob("*.json"):
        if path.name != "route-live-certification-receipt.pass.json":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    broken = run(evidence.app, "verify", tmp_path)
    assert broken.exit_code == 1
    assert broken.stdout.splitlines()[-2].startswith("first broken: route-live-certification-receipt.revoked")
    assert broken.stdout.splitlines()[-1] == "verdict: broken"


def test_verify_asks_for_an_instant_when_told(tmp_path: Path) -> None:
    assert run(evidence.app, "verify", VECTORS / "valid", "--at", "2026-09-15T00:00:00Z").exit_code == 0
    assert run(evidence.app, "verify", VECTORS / "valid", "--at", "2026-10-03T00:00:00Z").exit_code == 1
    assert run(evidence.app, "verify", tmp_path, "--at", "soon").exit_code == 2
    assert run(evidence.app, "verify").exit_code == 2


def test_the_printed_script_runs_by_itself(tmp_path: Path) -> None:
    script = tmp_path / "verify.py"
    script.write_text(run(evidence.app, "verify", "--print-script").stdout, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(script), str(VECTORS / "valid")]
    ran = subprocess.run(command, capture_output=True, check=False, text=True)
    assert ran.returncode == 0
    assert ran.stdout == run(evidence.app, "verify", VECTORS / "valid").stdout


def test_show_tells_the_story_in_the_order_of_the_chain() -> None:
    told = json.loads(run(evidence.app, "show", VECTORS / "valid", "--format", "json").stdout)
    kinds = [item["schema"] for item in told]
    first = kinds.index("dpone.semantic-refresh-operation-plan.v1")
    assert (
        first
        < kinds.index("dpone.semantic-refresh-workflow-plan.v1")
        < kinds.index("dpone.semantic-refresh-attempt-binding.v1")
    )
    assert run(evidence.app, "show", VECTORS / "valid").exit_code == 0


@pytest.mark.parametrize(
    ("data", "code", "schema"),
    [
        (b"", "DPONE_DOCUMENT_TEXT", None),
        (b" \n", "DPONE_DOCUMENT_TEXT", None),
        (b"\xff\xfe{}", "DPONE_DOCUMENT_TEXT", None),
        (b"[1]", "DPONE_DOCUMENT_TEXT", None),
        (b"{}", "DPONE_DOCUMENT_SCHEMA", None),
        (b'{"schema":5}', "DPONE_DOCUMENT_SCHEMA", None),
        (b'{"schema":"dpone.later.v2"}', "DPONE_DOCUMENT_SCHEMA", "dpone.later.v2"),
        (b'{"schema":"\\ud800"}', "DPONE_DOCUMENT_SCHEMA", None),
        (b'{"schema":"\\u001b[31mred"}', "DPONE_DOCUMENT_SCHEMA", None),
        (b'{"schema":"' + b"x" * 10_000 + b'"}', "DPONE_DOCUMENT_SCHEMA", None),
        (
            b'{"schema":"dpone.semantic-refresh-workflow-plan.v1","\\ud800":1}',
            "DPONE_DOCUMENT_FIELD",
            "dpone.semantic-refresh-workflow-plan.v1",
        ),
    ],
)
def test_any_bytes_get_a_verdict_in_both_formats(
    data: bytes, code: str, schema: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "document.json"
    file.write_bytes(data)
    text, told = run(schemas.app, "validate", file), run(schemas.app, "validate", file, "--format", "json")
    assert (text.exit_code, told.exit_code) == (1, 1)
    (verdict,) = json.loads(told.stdout)
    assert (verdict["verdict"], verdict["code"], verdict["schema"]) == ("refused", code, schema)
    assert text.stdout.isascii()
    assert len(text.stdout.splitlines()) == 2


def test_a_file_name_cannot_command_the_terminal(tmp_path: Path) -> None:
    for name in ("evil\x1b[31m.json", "two\nlines.json"):
        file = tmp_path / name
        file.write_bytes(VALID.read_bytes())
        assert len(run(schemas.app, "validate", file).stdout.splitlines()) == 1
    told = run(evidence.app, "verify", tmp_path).stdout
    assert "\x1b" not in told
    assert told.splitlines()[0].endswith("evil\\x1b[31m.json")


def folder_with_a_dangling_link(folder: Path) -> None:
    (folder / "evidence.json").symlink_to("nowhere")


def folder_of_folders(folder: Path) -> None:
    (folder / "evidence.json").mkdir()
    (folder / "evidence.json" / "plan.JSON").write_bytes(b"{}")
    (folder / "self").symlink_to(folder)


@pytest.mark.parametrize(
    ("fill", "code", "last"),
    [
        (folder_with_a_dangling_link, 2, ""),
        (folder_of_folders, 1, "verdict: broken"),
        (lambda _: None, 1, "verdict: broken"),
    ],
)
def test_command_and_script_end_alike_on_odd_folders(
    fill: Callable[[Path], None], code: int, last: str, tmp_path: Path
) -> None:
    fill(tmp_path)
    command = [sys.executable, "-I", "-S", standalone_verify.__file__, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, check=False, text=True)
    ours = run(evidence.app, "verify", tmp_path)
    assert (ran.returncode, ours.exit_code) == (code, code)
    assert ran.stdout == ours.stdout
    assert ran.stdout.rpartition("\n")[0].endswith(last)
    assert "Traceback" not in ran.stderr
    if code == 2:
        assert "cannot read" in ran.stderr
        assert "cannot read" in ours.stderr
    else:
        assert "plan.JSON" in ran.stdout or "nothing is proven" in ran.stdout


SETTINGS = {
    "schema": "dpone.semantic-refresh-release-settings.v1",
    "asset_uris": {"model.a.x": "clickhouse://c/mart/x"},
    "connection_ref": "mssql",
    "database": "Dwh",
    "model_schema": "mart",
    "login_timeout_seconds": 15,
    "query_timeout_seconds": 60,
    "timeout_seconds": 600,
}


def seal(plain: dict[str, Any], tmp_path: Path) -> tuple[Any, Path]:
    written, out = tmp_path / "written.json", tmp_path / "sealed.json"
    written.write_text(json.dumps(plain, indent=2))
    done = CliRunner().invoke(schemas.app, ["seal", str(written), "--out", str(out), "--format", "json"])
    return done, out


def test_a_sealed_file_is_valid_and_sealing_it_again_changes_nothing(tmp_path: Path) -> None:
    done, out = seal(SETTINGS, tmp_path)
    assert done.exit_code == 0, done.output
    kept, told = out.read_bytes(), json.loads(done.stdout)
    assert told["digest"] == json.loads(kept)["release_settings_sha256"]
    assert CliRunner().invoke(schemas.app, ["validate", str(out)]).exit_code == 0
    assert seal(SETTINGS, tmp_path)[0].exit_code == 0
    other, _ = seal({**SETTINGS, "database": "Other"}, tmp_path)
    assert (other.exit_code, json.loads(other.stdout)["code"]) == (2, "DPONE_USAGE")
    assert out.read_bytes() == kept


@pytest.mark.parametrize(
    ("change", "code", "exit_code"),
    [
        ({"database": " Dwh"}, "DPONE_DOCUMENT_SPELLING", 1),
        ({"release_settings_sha256": "sha256:" + "0" * 64}, "DPONE_DOCUMENT_DIGEST", 5),
        (
            {"schema": "dpone.semantic-refresh-runtime-assurance-receipt.v1"},
            "DPONE_DOCUMENT_NOT_HAND_WRITTEN",
            1,
        ),
    ],
)
def test_a_refused_file_leaves_none_and_names_path_and_rule(
    tmp_path: Path, change: dict[str, str], code: str, exit_code: int
) -> None:
    done, out = seal({**SETTINGS, **change}, tmp_path)
    told = json.loads(done.stdout)
    assert (done.exit_code, told["code"]) == (exit_code, code)
    assert not out.exists()
    if "schema" not in change:
        assert set(told["evidence"]) == {"path", "rule"}


def test_a_place_where_no_file_can_be_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "written.json").write_text(json.dumps(SETTINGS))
    for out in (tmp_path, tmp_path / "written.json" / "sealed.json"):
        command = ["seal", str(tmp_path / "written.json"), "--out", str(out), "--format", "json"]
        done = CliRunner().invoke(schemas.app, command)
        assert (done.exit_code, json.loads(done.stdout)["code"]) == (2, "DPONE_USAGE")
    assert [path.name for path in tmp_path.iterdir()] == ["written.json"]
