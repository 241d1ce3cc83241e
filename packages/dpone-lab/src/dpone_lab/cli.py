"""The `dpone lab` commands."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dpone.cli.errors import fail
from dpone_contracts.errors import DponeError
from dpone_lab import profile
from dpone_lab.certify_command import app as certify
from dpone_lab.demo_command import demo
from dpone_lab.faults_command import faults
from dpone_lab.profile import LabError
from dpone_lab.refresh_command import app as refresh

app = typer.Typer(no_args_is_help=True, help="The disposable local profile.")
app.command()(demo)
app.command()(faults)
app.add_typer(refresh, name="refresh")
app.add_typer(certify, name="certify")

Directory = Annotated[
    Path, typer.Option("--directory", "-d", help="The lab's directory; made by up, removed by down.")
]


class OutputFormat(StrEnum):
    """How a command prints its result."""

    TEXT = "text"
    JSON = "json"


Format = Annotated[OutputFormat, typer.Option("--format", help="How to print the result.")]


@app.command()
def up(
    directory: Directory = profile.DEFAULT_DIRECTORY,
    mssql_port: Annotated[int, typer.Option(help="Port of the SQL Server endpoint; 0 for a free one.")] = 0,
    clickhouse_port: Annotated[int, typer.Option(help="Port of ClickHouse; 0 for a free one.")] = 0,
    driver: Annotated[str | None, typer.Option(help="ODBC driver, by name or path.")] = None,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Start the engines and print how to reach them."""
    try:
        running = profile.up(directory, mssql_port=mssql_port, clickhouse_port=clickhouse_port, driver=driver)
    except DponeError as error:
        fail(error, output)
    except OSError as fault:
        fail(LabError("DPONE_LAB_ENGINE_FAILED", fault.strerror or type(fault).__name__), output)
    if output is OutputFormat.JSON:
        typer.echo(
            json.dumps({**running.environment(), "marker": running.marker, "directory": running.directory})
        )
        return
    typer.echo(
        f"# lab in {running.directory}, ODBC driver {running.odbc_driver}; evidence from it is UNVERIFIED for production"
    )
    for name, value in running.environment().items():
        typer.echo(f"export {name}={shlex.quote(value)}")


@app.command()
def down(directory: Directory = profile.DEFAULT_DIRECTORY) -> None:
    """Stop the engines that up started and remove the directory."""
    try:
        stopped = profile.down(directory)
    except DponeError as error:
        fail(error)
    names = ", ".join(process.name for process in stopped) or "nothing was running"
    typer.echo(f"stopped: {names}; {directory} removed")
