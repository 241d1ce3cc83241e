"""How an error reads in a terminal and as JSON: code, what was seen, what it means, the next safe command."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from dpone_contracts.errors import DponeError


def fail(error: DponeError, output: str = "text") -> NoReturn:
    """Tell the error on stderr (as JSON on stdout where JSON was asked for) and exit with its class."""
    told = error.diagnostics()
    if output == "json":
        typer.echo(json.dumps({"schema": "dpone.error.v1", **told}, indent=2))
    else:
        typer.echo(rendered(told), err=True)
    raise typer.Exit(int(error.exit_class)) from error


def rendered(told: dict[str, object]) -> str:
    """The error as a few lines; bold code only where a terminal shows it and NO_COLOR is not set."""
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    code = typer.style(str(told["code"]), bold=True) if colour else str(told["code"])
    evidence = told["evidence"]
    lines = [
        f"{code}: {told['observed']}",
        f"  means:   {told['meaning']}",
        f"  look at: {told['look_at']}",
        f"  next:    {told['next_command']}",
    ]
    if isinstance(evidence, dict):
        lines += [f"  {name}: {value}" for name, value in evidence.items()]
    return "\n".join(lines)
