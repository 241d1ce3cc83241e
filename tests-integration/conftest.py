"""One demo and one deployed lab for all integration tests of a session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpone_lab.deployment import Deployment, deploy
from dpone_lab.profile import LabProfile, running_lab

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
class DeployedLab:
    """A running lab with the sample workflow deployed; its first day is activated and not run."""

    profile: LabProfile
    deployment: Deployment
    day: date


@pytest.fixture(scope="session")
def deployed() -> Iterator[DeployedLab]:
    with tempfile.TemporaryDirectory(prefix="dpone-lab-") as parent:
        Path(parent).chmod(0o711)
        with running_lab(Path(parent) / "lab") as profile:
            yield DeployedLab(profile, deploy(profile, DAY, lambda _name: nullcontext()), DAY)
