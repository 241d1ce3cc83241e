"""`dpone lab refresh`: the product's operator commands over a running lab, its guard, platform and engines."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from dpone.application.stages import BUILD_TASK
from dpone.cli.errors import fail
from dpone.cli.refresh import add_operator_commands
from dpone.cli.run import run_command
from dpone.cli.schemas import Format, FormatOption
from dpone_contracts.errors import DponeError
from dpone_lab import profile
from dpone_lab.composition import lab_composition, settings_of
from dpone_lab.demo import parse_day
from dpone_lab.faults import Injection
from dpone_lab.platform import PodRegistry, run_pod

if TYPE_CHECKING:
    from dpone.composition.operator import Composition

app = typer.Typer(no_args_is_help=True, help="The commands of `dpone refresh`, over the lab of a directory.")


@app.callback()
def _lab(
    ctx: typer.Context,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="The running lab's directory.")
    ] = profile.DEFAULT_DIRECTORY,
    hold_at: Annotated[
        str | None,
        typer.Option(
            help="Boundary at which a run waits for SIGKILL, `STAGE/model/port.method/n:before|after`."
        ),
    ] = None,
) -> None:
    """Remember which lab is meant."""
    ctx.obj = (directory, hold_at)


def _meant() -> tuple[Path, str | None]:
    meant: tuple[Path, str | None] = click.get_current_context().obj
    return meant


def _compose() -> Composition:
    directory, hold = _meant()
    settings = settings_of(profile.read_profile(directory))
    return lab_composition(settings, None if hold is None else Injection.parse(hold))


@app.command()
def prepare(
    day: Annotated[str, typer.Option(help="UTC day of 2013 that the baseline ends before, YYYY-MM-DD.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Load the sample's tables, prove and release its project, and write the deployment's folder; once."""
    try:
        from dpone_lab import deployment  # noqa: PLC0415 - dbt and the engines' adapters take a while

        folder = deployment.prepare(
            profile.read_profile(_meant()[0]), parse_day(day), lambda _: nullcontext()
        )
    except DponeError as error:
        fail(error, output)
    typer.echo(str(folder))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    ctx: typer.Context, try_number: Annotated[int, typer.Option(min=1, help="Number of this try.")]
) -> None:
    """Run as a pod of the lab's platform, which vouches for its end; the other options are those of `dpone refresh run`."""
    directory, hold = _meant()
    settings = settings_of(profile.read_profile(directory))
    held = [] if hold is None else ["--hold-at", hold]
    command = [sys.executable, "-m", "dpone", "lab", "refresh", "--directory", str(directory), *held, "pod"]
    command += ["--project", settings.project, "--manifest", settings.manifest]
    command += ["--work", str(Path(settings.directory) / "work"), "--owner-id", "dpone-lab/worker"]
    command += ["--try-number", str(try_number), *ctx.args]
    raise typer.Exit(run_pod(PodRegistry(settings.pods), command, BUILD_TASK, try_number))


add_operator_commands(app, _compose)
app.command("pod", hidden=True)(run_command(_compose))
