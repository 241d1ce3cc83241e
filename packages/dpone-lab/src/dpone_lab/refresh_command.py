"""`dpone lab refresh`: the product's operator commands over a running lab, its guard, platform and engines."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpone.application.stages import BUILD_TASK
from dpone.cli.errors import fail
from dpone.cli.refresh import add_operator_commands
from dpone.cli.run import run_command
from dpone.cli.schemas import Format, FormatOption
from dpone_contracts.errors import DponeError
from dpone_lab import profile
from dpone_lab.composition import lab_composition, settings_of
from dpone_lab.faults import Injection
from dpone_lab.platform import PodRegistry, run_pod

if TYPE_CHECKING:
    from dpone.composition.operator import Composition

app = typer.Typer(no_args_is_help=True, help="The commands of `dpone refresh`, over the lab of a directory.")


@dataclass(slots=True)
class _Meant:
    """Which lab the command line means; set by the group before a command runs."""

    directory: Path = profile.DEFAULT_DIRECTORY
    hold: Injection | None = None


_MEANT = _Meant()


@app.callback()
def _lab(
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="The running lab's directory.")
    ] = profile.DEFAULT_DIRECTORY,
    hold_at: Annotated[
        str | None,
        typer.Option(help="Where a run waits for SIGKILL: STAGE/model/port.method/n:before or :after."),
    ] = None,
) -> None:
    """Remember which lab is meant."""
    _MEANT.directory = directory
    try:
        _MEANT.hold = None if hold_at is None else Injection.parse(hold_at)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--hold-at") from None


def _compose() -> Composition:
    return lab_composition(settings_of(profile.read_profile(_MEANT.directory)), _MEANT.hold)


@app.command()
def prepare(
    day: Annotated[str, typer.Option(help="UTC day of 2013 that the baseline ends before, YYYY-MM-DD.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Load the sample's tables, prove and release its project, and write the deployment's folder; once."""
    try:
        from dpone_lab import deployment  # noqa: PLC0415 - dbt and the engines' adapters take a while
        from dpone_lab.demo import parse_day  # noqa: PLC0415

        folder = deployment.prepare(
            profile.read_profile(_MEANT.directory), parse_day(day), lambda _: nullcontext()
        )
    except DponeError as error:
        fail(error, output)
    typer.echo(str(folder))


@app.command()
def load(
    day: Annotated[str, typer.Option(help="UTC day of 2013 that the history ends before, YYYY-MM-DD.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Load only what is there before dpone comes, and print where the author's project is; `prepare` does the rest."""
    try:
        from dpone_lab import deployment  # noqa: PLC0415 - dbt and the engines' adapters take a while
        from dpone_lab.demo import parse_day  # noqa: PLC0415

        project = deployment.load(
            profile.read_profile(_MEANT.directory), parse_day(day), lambda _: nullcontext()
        )
    except DponeError as error:
        fail(error, output)
    typer.echo(str(project))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    ctx: typer.Context, try_number: Annotated[int, typer.Option(min=1, help="Number of this try.")]
) -> None:
    """Run as a pod of the lab's platform, which vouches for its end; the other options are those of `dpone refresh run`."""
    directory, hold = _MEANT.directory, _MEANT.hold
    try:
        settings = settings_of(profile.read_profile(directory))
    except DponeError as error:
        fail(error)
    held = [] if hold is None else ["--hold-at", hold.name]
    command = [sys.executable, "-m", "dpone", "lab", "refresh", "--directory", str(directory), *held, "pod"]
    command += ["--project", settings.project, "--manifest", settings.manifest]
    command += ["--work", str(Path(settings.directory) / "work"), "--owner-id", "dpone-lab/worker"]
    command += ["--try-number", str(try_number), *ctx.args]
    raise typer.Exit(run_pod(PodRegistry(settings.pods), command, BUILD_TASK, try_number))


add_operator_commands(app, _compose)
app.command("pod", hidden=True)(run_command(_compose))
