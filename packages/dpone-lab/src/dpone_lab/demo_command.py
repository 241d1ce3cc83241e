"""`dpone lab demo`: run the demo on a lab of its own and leave nothing behind."""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from dpone.cli.errors import fail
from dpone_contracts.errors import DponeError, ExitClass
from dpone_lab.odbc import find_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEFAULT_DAY = "2013-06-12"


def demo(
    day: Annotated[str, typer.Option(help="UTC day of 2013 to refresh, YYYY-MM-DD.")] = DEFAULT_DAY,
    evidence: Annotated[
        Path | None, typer.Option(help="Keep every document as a file in this new folder.")
    ] = None,
    output: Annotated[str, typer.Option("--format", help="text or json")] = "text",
) -> None:
    """One day end to end, the next day's worker killed mid-commit and reconciled, both days checked from outside."""
    leave_on_sigterm()
    started = time.monotonic()

    def tell(text: str) -> None:
        typer.echo(f"{time.monotonic() - started:6.1f} s  {text}", err=True)

    try:
        report = _run(day, evidence, output, tell)
    except DponeError as error:
        fail(error, output)
    if output == "json":
        typer.echo(json.dumps(report, indent=2))
    else:
        from dpone_lab.demo_report import account  # noqa: PLC0415 - after the work

        typer.echo(account(report))
    raise typer.Exit(int(ExitClass.DONE if report["verdict"] else ExitClass.REFUSED))


def _run(day: str, evidence: Path | None, output: str, tell: Callable[[str], None]) -> dict[str, Any]:
    if output not in {"text", "json"}:
        raise DponeError("DPONE_USAGE", "--format is text or json")
    if evidence is not None and evidence.exists() and (not evidence.is_dir() or any(evidence.iterdir())):
        raise DponeError("DPONE_LAB_EVIDENCE_NOT_EMPTY", f"{evidence} holds something already")
    find_driver(None)
    from dpone_lab.demo import Timeline, parse_day, run_demo  # noqa: PLC0415 - after the cheap refusals
    from dpone_lab.profile import a_full_disk_is_told, running_lab  # noqa: PLC0415

    wanted = parse_day(day)
    timeline = Timeline(tell)
    with ExitStack() as stack:
        if evidence is not None:
            stack.enter_context(_whole_or_nothing(evidence))
        stack.enter_context(a_full_disk_is_told(Path(tempfile.gettempdir())))
        parent = stack.enter_context(tempfile.TemporaryDirectory(prefix="dpone-lab-"))
        Path(parent).chmod(0o711)
        with timeline.step("start the engines"):
            lab = stack.enter_context(running_lab(Path(parent) / "lab"))
        return run_demo(lab, wanted, evidence, timeline)


@contextmanager
def _whole_or_nothing(folder: Path) -> Iterator[None]:
    """Leave a folder as it was, absent or empty, where what fills it fails."""
    existed = folder.exists()
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if existed:
            folder.mkdir(exist_ok=True)
        raise


def leave_on_sigterm() -> None:
    """Let SIGTERM end a command like any other end: its lab is taken down."""
    signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, frame: object) -> NoReturn:  # noqa: ARG001 - the signal's own arguments
    """Turn SIGTERM into an ordinary end, so that the lab is taken down."""
    raise SystemExit(128 + number)
