"""`dpone lab certify`: the certifying command that writes the control schema, over a running lab and its guard."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from dpone.cli.freeze import freeze_command
from dpone_lab import profile
from dpone_lab.composition import lab_composition, settings_of

if TYPE_CHECKING:
    from dpone.composition.operator import Composition

app = typer.Typer(no_args_is_help=True, help="`dpone certify freeze`, over the lab of a directory.")
_MEANT = [profile.DEFAULT_DIRECTORY]


@app.callback()
def _lab(
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="The running lab's directory.")
    ] = profile.DEFAULT_DIRECTORY,
) -> None:
    """Remember which lab is meant."""
    _MEANT[0] = directory


def _compose() -> Composition:
    return lab_composition(settings_of(profile.read_profile(_MEANT[0])))


app.command("freeze")(freeze_command(_compose))
