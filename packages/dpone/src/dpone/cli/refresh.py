"""`dpone refresh`: from a proven project to a reconciled run; one command a module."""

from __future__ import annotations

import typer

from dpone.cli.compile import compile_command

app = typer.Typer(name="refresh", help="Compile, activate, run and recover semantic refreshes.")
app.command("compile")(compile_command)


@app.callback()
def _group() -> None:
    """Keep `compile` a subcommand while it is the only one."""
