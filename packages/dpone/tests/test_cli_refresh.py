"""The operator's commands before any connection: usage, documents, and the printed control schema."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dpone.cli.refresh import app

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "sha256:" + "0" * 64


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), env={"DPONE_MSSQL_DSN": None})
    return result.exit_code, result.stdout, result.stderr


def test_the_printed_control_schema_is_the_script_of_its_digest() -> None:
    code, out, _ = run("control-schema", "--format", "json")
    told = json.loads(out)
    assert (code, told["schema"]) == (0, "dpone.refresh-control-schema.v1")
    assert told["script_sha256"] == f"sha256:{hashlib.sha256(told['script'].encode()).hexdigest()}"
    code, text, _ = run("control-schema")
    first, _, script = text.partition("\n")
    assert (code, script) == (0, told["script"])
    assert told["script_sha256"] in first
    assert first.startswith("--")


def test_an_installation_needs_every_limit_and_the_variable() -> None:
    code, _, err = run("control-schema", "--install", "--login-timeout=1", "--lock-timeout=1")
    assert (code, err.partition(":")[0]) == (2, "DPONE_USAGE")
    limits = ("--login-timeout=1", "--lock-timeout=1", "--statement-timeout=1")
    code, _, err = run("control-schema", "--install", *limits)
    assert (code, err.partition(":")[0]) == (2, "DPONE_DSN_ABSENT")


@pytest.mark.parametrize(
    "subject",
    [
        (),
        ("--workflow=a", "--scope=2026-08-08"),
        ("--operation=sha256:0",),
        ("--scope=08.08.2026",),
    ],
)
def test_status_is_asked_for_one_well_spelled_subject(tmp_path: Path, subject: tuple[str, ...]) -> None:
    code, out, _ = run("status", "--deployment", str(tmp_path), *subject, "--format", "json")
    assert (code, json.loads(out)["code"]) == (2, "DPONE_USAGE")


def test_a_plan_is_named_by_a_whole_digest(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text("{}")
    worker = ("--dag-run-id=a", "--try-number=1", "--pod-uid=b", "--owner-id=c")
    files = (f"--project={tmp_path}", f"--manifest={manifest}", f"--work={tmp_path}")
    code, out, _ = run(
        "run", f"--deployment={tmp_path}", "--plan=latest", *worker, *files, "--format", "json"
    )
    assert (code, json.loads(out)["code"]) == (2, "DPONE_USAGE")


def test_a_promotion_names_both_the_file_and_its_services(tmp_path: Path) -> None:
    code, out, _ = run(
        "advance", f"--deployment={tmp_path}", f"--index={tmp_path}", "--dag-file=dag.py", "--format=json"
    )
    assert (code, json.loads(out)["code"]) == (2, "DPONE_USAGE")


@pytest.mark.parametrize(
    "command",
    [
        ("adopt-baseline",),
        ("activate", "--index=index", "--day=2026-08-08"),
        ("advance", "--index=index"),
        ("status", f"--operation={DIGEST}"),
    ],
)
def test_a_folder_without_documents_is_refused_and_nothing_is_written(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    code, out, _ = run(*command, f"--deployment={tmp_path}", "--format=json")
    assert (code, json.loads(out)["code"]) == (1, "DPONE_DEPLOYMENT_DOCUMENTS")
    assert list(tmp_path.iterdir()) == []
