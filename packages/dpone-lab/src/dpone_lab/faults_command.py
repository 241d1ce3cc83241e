"""`dpone lab faults`: every boundary broken in every way, on a lab of its own, each time judged from outside."""

from __future__ import annotations

import json
import tempfile
import time
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from dpone.cli.errors import fail
from dpone_contracts.errors import DponeError, ExitClass
from dpone_lab.demo_command import leave_on_sigterm

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.fault_matrix import Part, Wanted

DAY = date(2013, 6, 12)


class Only(StrEnum):
    """The two halves of the matrix."""

    BUILD = "build"
    PUBLISH = "publish"


def faults(
    only: Annotated[Only | None, typer.Option(help="One half of the matrix; both without it.")] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Only so many cases of each part: some boundaries are left out.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the sample and the second faults.")] = 0,
    entry: Annotated[str | None, typer.Option(help="Run one entry of a report alone, by its id.")] = None,
    output: Annotated[str, typer.Option("--format", help="text or json")] = "text",
) -> None:
    """Break every boundary of a refresh; exit 0 only when nothing is wrong and no boundary was left out."""
    leave_on_sigterm()
    started = time.monotonic()

    def tell(text: str) -> None:
        typer.echo(f"{time.monotonic() - started:7.1f} s  {text}", err=True)

    try:
        report = _run(only, sample, seed, entry, output, tell)
    except DponeError as error:
        fail(error, output)
    typer.echo(json.dumps(report, indent=2) if output == "json" else account(report))
    raise typer.Exit(int(exit_class(report)))


def exit_class(report: dict[str, Any]) -> ExitClass:
    """Nothing wrong and nothing left out: done; what was left out is unverified."""
    if report["wrong"]:
        return ExitClass.REFUSED
    return ExitClass.UNVERIFIED if report["left_out"] else ExitClass.DONE


def account(report: dict[str, Any]) -> str:
    """The report as lines for a person."""
    lines = [f"{report['boundaries']} boundaries, {report['runs']} runs, {len(report['wrong'])} wrong"]
    for each in report["wrong"]:
        lines += ["", each["entry"], *(f"  {text}" for text in each["wrong"])]
        lines += [*(f"  try ended: {ending}" for ending in each["tries"]), f"  run it alone: {each['run']}"]
    if report["left_out"]:
        lines += ["", f"{len(report['left_out'])} boundaries were left out"]
    return "\n".join([*lines, "", f"verdict: {str(report['verdict']).lower()}"])


def _run(
    only: Only | None,
    sample: int | None,
    seed: int,
    entry: str | None,
    output: str,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    if output not in {"text", "json"}:
        raise DponeError("DPONE_USAGE", "--format is text or json")
    from dpone_lab.fault_matrix import Wanted, report  # noqa: PLC0415 - after the cheap refusals

    wanted = Wanted(sample, seed, entry)
    matrices: list[Part] = []
    with tempfile.TemporaryDirectory(prefix="dpone-lab-") as parent:
        Path(parent).chmod(0o711)
        for half in Only if only is None else (only,):
            try:
                matrices += _half(half, Path(parent), wanted, tell)
            except ValueError as fault:
                raise DponeError("DPONE_USAGE", f"--entry: {fault}") from fault
    if not matrices:
        raise DponeError("DPONE_USAGE", "--entry names no part of the matrix")
    told = "build and publish" if only is None else only.value
    reproduce = "dpone lab faults" if only is None else f"dpone lab faults --only {only.value}"
    return report(told, matrices, reproduce)


def _half(half: Only, parent: Path, wanted: Wanted, tell: Callable[[str], None]) -> list[Part]:
    from dpone_lab.fault_matrix_build import play_build  # noqa: PLC0415 - after the cheap refusals
    from dpone_lab.fault_matrix_publish import play_publish  # noqa: PLC0415

    match half:
        case Only.BUILD:
            return [*play_build(parent / half.value, DAY, wanted, tell)]
        case Only.PUBLISH:
            return [*play_publish(parent / half.value, DAY, wanted, tell)]
        case _:
            assert_never(half)
