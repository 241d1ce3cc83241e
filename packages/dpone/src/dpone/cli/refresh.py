"""`dpone refresh`: from a proven project to a reconciled run; one command a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from dpone.cli.activation import activate_command, adopt_baseline_command, advance_command
from dpone.cli.catalog import catalog_command
from dpone.cli.compile import compile_command
from dpone.cli.control_schema import control_schema_command
from dpone.cli.release import release_command
from dpone.cli.run import run_command
from dpone.cli.status import status_command
from dpone.composition.operator import product

if TYPE_CHECKING:
    from dpone.cli.deployment_folder import Compose


def add_operator_commands(app: typer.Typer, compose: Compose) -> None:
    """Add the commands of the deployment stage and of operation over a composition; the lab adds them over its own."""
    app.command("control-schema")(control_schema_command(compose))
    app.command("adopt-baseline")(adopt_baseline_command(compose))
    app.command("activate")(activate_command(compose))
    app.command("advance")(advance_command(compose))
    app.command("status")(status_command(compose))


app = typer.Typer(name="refresh", help="Compile, activate, run and recover semantic refreshes.")
app.command("catalog")(catalog_command(product))
app.command("compile")(compile_command)
app.command("release")(release_command)
add_operator_commands(app, product)
app.command("run")(run_command(product))
