"""Entry point of the `dpone` command."""

from __future__ import annotations

from importlib.metadata import entry_points
from importlib.util import find_spec

import typer

from dpone.cli import evidence, schemas

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(schemas.app, name="schemas")
app.add_typer(evidence.app, name="evidence")


def _attach_worker_commands() -> None:
    """Add the commands that need the extra `semantic-refresh`, where it is installed."""
    if find_spec("dpone_dbt_proof") is None:
        return
    from dpone.cli import dbt, refresh  # noqa: PLC0415 - the base installation lacks what they import

    app.add_typer(dbt.app)
    app.add_typer(refresh.app)


def run() -> None:
    """Attach the commands that other distributions contribute and run."""
    _attach_worker_commands()
    for plugin in entry_points(group="dpone.cli"):
        app.add_typer(plugin.load(), name=plugin.name)
    app()
