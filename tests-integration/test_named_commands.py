"""What an error or a status card tells a person to type is a command that exists; a missing driver manager is one error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest
import typer

from dpone.application import status
from dpone.cli.main import GROUPS
from dpone_contracts.errors import CATALOGUE

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "dpone"
NOT_COMMANDS = {status.OPERATOR}
NAMED = {entry.next_command for entry in CATALOGUE.values()} | {status.STATUS, status.ADVANCE}


def _commands() -> dict[str, Any]:
    groups = {name: import_module(module).app for name, module in GROUPS.items()}
    groups |= {plugin.name: plugin.load() for plugin in entry_points(group="dpone.cli")}
    return {name: typer.main.get_command(group) for name, group in groups.items()}


@pytest.mark.parametrize("line", sorted(NAMED - NOT_COMMANDS))
def test_the_next_command_of_an_error_exists(line: str) -> None:
    root, *words = line.split()
    assert root == ROOT
    known: dict[str, Any] = _commands()
    at: Any = None
    for word in words:
        if word.startswith("-") or word.isupper():
            break
        assert word in known, f"{line}: no {word}"
        at = known[word]
        known = getattr(at, "commands", {})
    options = {name for parameter in (at.params if at else []) for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options | {"--help"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("lab", "demo"), "DPONE_LAB_DRIVER_MISSING"),
        (("lab", "up"), "DPONE_LAB_DRIVER_MISSING"),
        (("refresh", "control-schema", "--install", "--format", "json"), "DPONE_ODBC_MISSING"),
    ],
    ids=" ".join,
)
def test_a_missing_driver_manager_is_one_error_and_no_trace(
    arguments: tuple[str, ...], code: str, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "pyodbc.py").write_text("raise ImportError('libodbc.so.2: cannot open shared object file')\n")
    ended = subprocess.run(
        [sys.executable, "-m", ROOT, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(broken), "DPONE_MSSQL_DSN": "DRIVER=x;SERVER=127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    told = json.loads(ended.stdout)["code"] if "json" in arguments else ended.stderr.split(":")[0]
    assert told == code
    assert "Traceback" not in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]
