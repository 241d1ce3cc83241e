"""The demo, as its command prints it, and its evidence, as both verifiers read it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from dpone_contracts import standalone_verify

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Demo

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("demo")]


def documents(demo: Demo, kind: str) -> list[dict[str, Any]]:
    schema = f"dpone.semantic-refresh-{kind}.v1"
    return [document["content"] for document in demo.report["documents"] if document["schema"] == schema]


def test_the_demo_ends_with_a_true_verdict_and_exit_zero(demo: Demo) -> None:
    assert (demo.report["verdict"], demo.exit_code) == (True, 0)


def test_json_alone_is_on_stdout_and_progress_on_stderr(demo: Demo) -> None:
    assert demo.stdout.startswith("{")
    assert "SIGKILL to pid" in demo.stderr


def test_the_second_days_worker_was_killed_after_the_exchange_and_the_next_try_repeated_nothing(
    demo: Demo,
) -> None:
    first, second = demo.report["runs"][1]["tries"]
    assert (first["killed"], first["exit_code"]) == (True, 137)
    assert first["stages"][-1] == {"stage": "COMMIT", "model": first["stages"][-1]["model"], "seconds": None}
    assert second["exit_code"] == 0
    intents, exchanges = documents(demo, "commit-intent"), documents(demo, "exchange-receipt")
    assert len(intents) == len(exchanges) == 4
    assert len(documents(demo, "model-build-receipt")) == 4


def test_the_day_holds_every_kind_of_row(demo: Demo) -> None:
    for day in demo.report["comparison"]:
        for model in day["models"]:
            kinds = ("inserted", "updated", "unchanged_in_scope", "kept_without_input", "outside_scope")
            assert all(model[kind] > 0 for kind in kinds)


def test_one_number_is_the_content_of_image_chunks_and_staging(demo: Demo) -> None:
    images = {r["operation_id"]: r["after_image_sha256"] for r in documents(demo, "model-build-receipt")}
    sealed = {r["operation_id"]: r["content_sha256"] for r in documents(demo, "content-record")}
    assert images == sealed


def test_a_continued_operation_has_a_termination_receipt_of_the_killed_process(demo: Demo) -> None:
    ended = {
        r["termination_receipt_sha256"]: r for r in documents(demo, "trusted-attempt-termination-receipt")
    }
    continued = documents(demo, "attempt-continuation-receipt")
    assert len(continued) == 2
    for receipt in continued:
        termination = ended[receipt["original_attempt_termination_receipt_sha256"]]
        assert termination["container_terminations"][0]["exit_code"] == 137


def test_every_document_is_kept_as_a_file_and_the_folder_verifies(demo: Demo) -> None:
    assert len(list(demo.evidence.iterdir())) == len({d["digest"] for d in demo.report["documents"]})
    command = [sys.executable, "-m", "dpone", "evidence", "verify", str(demo.evidence)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    alone = [sys.executable, "-I", standalone_verify.__file__, str(demo.evidence)]
    assert subprocess.run(alone, capture_output=True, check=False).returncode == 0


def test_one_changed_digit_of_evidence_breaks_the_chain(demo: Demo, tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    shutil.copytree(demo.evidence, folder)
    victim = next(folder.glob("semantic-refresh-exchange-receipt.*"))
    text = victim.read_text()
    place = text.index('"predecessor_uuid":"') + len('"predecessor_uuid":"')
    victim.write_text(text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :])
    command = [sys.executable, "-m", "dpone", "evidence", "verify", str(folder)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_nothing_is_left_behind(demo: Demo) -> None:
    assert list(demo.scratch.iterdir()) == []
    commands = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    assert [command for command in commands if str(demo.scratch) in command] == []
