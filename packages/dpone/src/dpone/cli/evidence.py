"""`dpone evidence`: read a folder of evidence as a story, and verify its digest chain."""

from __future__ import annotations

import json
from datetime import datetime  # noqa: TC003 - typer reads annotations at run time
from pathlib import Path
from typing import Annotated, Any

import typer

from dpone.cli.schemas import Format, FormatOption
from dpone_contracts import standalone_verify
from dpone_contracts.chain import verify_folder

app = typer.Typer(
    no_args_is_help=True, help="Folders of evidence: what they say, and whether their chain holds."
)

FolderArgument = Annotated[
    Path,
    typer.Argument(
        exists=True, file_okay=False, help="Folder with the documents; files other than .json are not read."
    ),
]

_TOLD = (
    "status",
    "terminal_phase",
    "mssql_outcome",
    "workflow_mode",
    "operation_kind",
    "model_unique_id",
    "workflow_name",
    "scope_start",
    "scope_revision",
    "workflow_execution_id",
    "task_id",
    "try_number",
    "fencing_epoch",
    "journal_state",
    "total_rows",
    "chunk_count",
    "expires_at",
    "revoked_at",
)
"""Fields that tell a document's story; no digest, no text of a value."""


@app.command()
def show(folder: FolderArgument, output: FormatOption = Format.TEXT) -> None:
    """Show the documents of a folder in the order of the identity chain."""
    report = verify_folder(_files(folder))
    told = [
        {
            "file": item.file,
            "schema": item.schema,
            "digest": item.digest,
            "answer": item.answer,
            "says": {name: item.content[name] for name in _TOLD if item.content and name in item.content},
        }
        for item in report.documents
    ]
    if output is Format.JSON:
        typer.echo(json.dumps(told, indent=2))
        return
    for item in told:
        typer.echo(_story(item))


@app.command()
def verify(
    folder: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            file_okay=False,
            help="Folder with the documents; files other than .json are not read.",
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="Also ask whether certificates are current then, YYYY-MM-DDThh:mm:ssZ.")
    ] = None,
    print_script: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--print-script", help="Print the verifier that needs no installation, and stop.")
    ] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Follow the digest chain of a folder; exit code 1 unless every document and link is verified."""
    if print_script:
        typer.echo(Path(standalone_verify.__file__).read_text(encoding="utf-8"), nl=False)
        return
    if folder is None:
        raise typer.BadParameter("a folder is needed", param_hint="FOLDER")
    report = verify_folder(_files(folder), _instant(at))
    if output is Format.JSON:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        for line in standalone_verify.lines(report):
            typer.echo(line)
    if report.verdict != "verified":
        raise typer.Exit(1)


def _files(folder: Path) -> dict[str, bytes]:
    try:
        return standalone_verify.read_folder(folder)
    except OSError as error:
        reason = standalone_verify.printable(f"cannot read {error.filename}: {error.strerror}")
        raise typer.BadParameter(reason, param_hint="FOLDER") from None


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return standalone_verify.instant(text)
    except ValueError:
        raise typer.BadParameter("not an instant spelled YYYY-MM-DDThh:mm:ssZ", param_hint="--at") from None


def _story(item: dict[str, Any]) -> str:
    kind = standalone_verify.kind_of(item["schema"]) if item["schema"] else "not a document"
    says = ", ".join(f"{name} {value}" for name, value in item["says"].items())
    first = standalone_verify.printable(f"{kind} ({item['answer']}) {item['file']}")
    return f"{first}\n  {standalone_verify.printable(says) or 'says nothing more'}\n  {item['digest'] or 'no digest'}"
