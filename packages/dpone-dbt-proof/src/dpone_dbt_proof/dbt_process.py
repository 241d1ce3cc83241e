"""The one module that starts dbt: as a child process in its own group, with a chosen environment and a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

INHERITED_VARIABLES: Final = (
    "PATH",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "ODBCSYSINI",
    "ODBCINI",
    "FREETDSCONF",
    "TDSVER",
)
"""What dbt and the ODBC driver may see of the caller's environment; everything else is left behind."""

_QUIET: Final = {
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_ENTRY: Final = """
import gc, json, os, sys
gc.disable()
from dbt.cli.main import cli
gc.freeze()
gc.set_threshold(100_000, 50, 50)
gc.enable()
told = json.loads(sys.stdin.readline() or sys.exit(0))
os.environ.update(told["environment"])
os.chdir(told["directory"])
sys.argv[1:] = told["arguments"]
sys.stdin = open(os.devnull)
cli()
"""
"""Imports dbt, which takes seconds, then waits for one command; without one it ends when its standard input does."""
_SQLSTATE: Final = re.compile(r"\[([0-9A-Z]{5})\]")
_NATIVE_ERROR: Final = re.compile(r"\((\d{1,7})\) \(SQL")
_OWN_CODE: Final = re.compile(r"\bDPONE_[A-Z_]+\b")
_KILL_GRACE_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class NodeResult:
    """How dbt reports one node; the message itself may hold row values and stays in the log."""

    unique_id: str
    status: str
    sqlstate: str | None
    native_error: int | None
    own_code: str | None


@dataclass(frozen=True, slots=True)
class DbtExit:
    """How a dbt process ended; a projection, never evidence of what a database did."""

    finished: bool
    exit_code: int | None
    results: tuple[NodeResult, ...]
    log_path: Path
    output: str
    """What dbt printed; for offline commands only, it can quote values of a database."""
    messages: Mapping[str, str]
    """dbt's own message of each node that failed; for offline commands only, likewise."""


class DbtProcess:
    """A dbt process that has been started and runs one command, or none."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _ENTRY],
            env={**_inherited(), **_QUIET, "HOME": os.devnull},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )

    def run(
        self,
        arguments: Sequence[str],
        *,
        project: Path,
        profiles: Path,
        output: Path,
        environment: Mapping[str, str],
        timeout_seconds: float,
    ) -> DbtExit:
        """Run the one command and reap the process with all its children before returning.

        `output` receives target and log files. After `timeout_seconds` the whole process group is killed and
        `finished` is false; what the process had sent to a server by then is unknown.
        """
        target = output / "target"
        told = {
            "arguments": [
                *("--no-use-colors", "--log-format", "text", "--log-path", str(output / "logs")),
                *arguments,
                *(
                    "--project-dir",
                    str(project),
                    "--profiles-dir",
                    str(profiles),
                    "--target-path",
                    str(target),
                ),
            ],
            "directory": str(project),
            "environment": {"HOME": str(output), **environment},
        }
        results_path = target / "run_results.json"
        results_path.unlink(missing_ok=True)
        try:
            printed, _ = self._process.communicate(json.dumps(told) + "\n", timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return _ended(None, results_path, output, "")
        except BaseException:
            self.kill()
            raise
        return _ended(self._process.returncode, results_path, output, printed)

    def kill(self) -> None:
        """Kill dbt and whatever it started, and wait until the kernel has let go of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate(timeout=_KILL_GRACE_SECONDS)


def _ended(code: int | None, results_path: Path, output: Path, printed: str) -> DbtExit:
    """Describe the end of a process; None and negative codes are those of a killed one."""
    finished = code is not None and code >= 0
    entries = _entries(results_path)
    return DbtExit(
        finished=finished,
        exit_code=code if finished else None,
        results=read_results(results_path),
        log_path=output / "logs" / "dbt.log",
        output=printed,
        messages={
            str(entry["unique_id"]): " ".join(str(entry.get("message")).split())
            for entry in entries
            if entry["status"] in ("error", "fail", "runtime error")
        },
    )


def _inherited() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}


def read_results(path: Path) -> tuple[NodeResult, ...]:
    """Read how each node ended from `run_results.json`, without its message; nothing where dbt wrote none."""
    return tuple(_result(entry) for entry in _entries(path))


def _entries(path: Path) -> list[dict[str, Any]]:
    """Read `run_results.json`; a process that died before writing it has no results."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return []
    return list(document["results"])


def _result(entry: Mapping[str, Any]) -> NodeResult:
    message = str(entry.get("message") or "")
    native = _NATIVE_ERROR.search(message)
    sqlstate = _SQLSTATE.search(message)
    own = _OWN_CODE.search(message)
    return NodeResult(
        unique_id=str(entry["unique_id"]),
        status=str(entry["status"]),
        sqlstate=sqlstate.group(1) if sqlstate else None,
        native_error=int(native.group(1)) if native else None,
        own_code=own.group(0) if own else None,
    )
