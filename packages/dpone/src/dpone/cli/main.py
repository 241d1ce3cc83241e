"""Entry point of the `dpone` command."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from dpone.cli import evidence, schemas

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(schemas.app, name="schemas")
app.add_typer(evidence.app, name="evidence")


def run() -> None:
    """Attach the commands that other distributions contribute and run."""
    for plugin in entry_points(group="dpone.cli"):
        app.add_typer(plugin.load(), name=plugin.name)
    app()
