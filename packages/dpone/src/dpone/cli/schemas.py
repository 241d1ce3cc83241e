"""`dpone schemas`: list and export the JSON Schemas, validate stored documents, and seal hand-written ones."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import Annotated, Final, assert_never

import typer

from dpone.cli.documents import refuse_document, write_all_new
from dpone.cli.errors import fail
from dpone_contracts.canonical import show_path
from dpone_contracts.document import (
    DocumentError,
    Fault,
    Inadmissible,
    Refused,
    Valid,
    admit_document,
    document_class,
    load_document,
)
from dpone_contracts.errors import DponeError
from dpone_contracts.hand_written import HAND_WRITTEN, sealed_bytes
from dpone_contracts.json_schemas import INDEX_NAME, file_name, schema_files
from dpone_contracts.registry import DOCUMENTS, PUBLISHED
from dpone_contracts.standalone_verify import printable

app = typer.Typer(
    no_args_is_help=True, help="The documents' schemas, and whether a stored document is valid."
)


SEALED: Final = "dpone.schemas-seal.v1"


class Format(StrEnum):
    """How a result is printed on stdout."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="Text for people, JSON for programs.")]


@app.command("list")
def list_schemas(output: FormatOption = Format.TEXT) -> None:
    """List every schema id with its digest field."""
    rows = []
    for schema in sorted(DOCUMENTS):
        kind = document_class(schema)
        assert kind is not None
        rows.append(
            {
                "schema": schema,
                "digest_field": kind.DIGEST_FIELD,
                "published": schema in PUBLISHED,
                "hand_written": schema in HAND_WRITTEN,
            }
        )
    if output is Format.JSON:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        kind_of = [
            "" if row["published"] else "  (additive)",
            "  (hand-written)" if row["hand_written"] else "",
        ]
        typer.echo(f"{row['schema']}  {row['digest_field']}{''.join(kind_of)}")


@app.command()
def export(
    schemas: Annotated[list[str] | None, typer.Argument(help="Schema ids; all when none is given.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--output", "-o", file_okay=False, help="Folder to write to; stdout without it."),
    ] = None,
) -> None:
    """Export the closed JSON Schemas (2020-12) that are generated from the models."""
    if unknown := sorted(set(schemas or ()) - DOCUMENTS.keys()):
        raise typer.BadParameter(f"unknown schema id {unknown[0]}")
    files = schema_files()
    wanted = [file_name(schema) for schema in schemas] if schemas else list(files)
    if folder is None:
        names = [name for name in wanted if name != INDEX_NAME]
        exported = [json.loads(files[name]) for name in names]
        typer.echo(json.dumps(exported[0] if len(exported) == 1 else exported, indent=2, sort_keys=True))
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        (folder / name).write_bytes(files[name])
    typer.echo(f"{len(wanted)} files in {folder}")


@app.command()
def validate(
    files: Annotated[
        list[Path], typer.Argument(exists=True, dir_okay=False, readable=True, help="Stored documents.")
    ],
    output: FormatOption = Format.TEXT,
) -> None:
    """Check documents by the schemas that they name; exit code 1 when one is refused."""
    verdicts = [verdict_of(file) for file in files]
    if output is Format.JSON:
        typer.echo(json.dumps(verdicts, indent=2))
    else:
        for verdict in verdicts:
            typer.echo(_line(verdict))
    if any(verdict["verdict"] != "valid" for verdict in verdicts):
        raise typer.Exit(1)


@app.command()
def seal(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            readable=True,
            help="JSON with `schema` and the content, written by hand.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="File that gets the document; never written over another.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Write a hand-written document with its digest, canonically; refused where `validate` would refuse it.

    Receipts, measurements, plans and proofs are made by the command or the run that saw what they state.
    """
    try:
        data = sealed_bytes(file.read_bytes())
        write_all_new({out: data})
    except DocumentError as error:
        refuse_document(file, error, output)
    except DponeError as error:
        fail(error, output)
    document = admit_document(data)
    told = {"schema": SEALED, "sealed_schema": document.SCHEMA, "digest": document.digest, "file": str(out)}
    text = f"{out}: {document.SCHEMA}\n  {document.DIGEST_FIELD} {document.digest}"
    typer.echo(json.dumps(told, indent=2) if output is Format.JSON else text)


def verdict_of(file: Path) -> dict[str, str | None]:
    """Judge one stored document; `code`, `path` and `reason` are those of the first fault.

    A document that the published preview accepted and the strict contract does not is refused too: `digest` is then
    its verified digest, and the reason says that it stays readable.
    """
    loaded = load_document(file.read_bytes())
    match loaded:
        case Valid(document):
            return _verdict(file, document.SCHEMA, document.digest, None)
        case Inadmissible(schema, digest, faults):
            return _verdict(file, schema, digest, faults[0], "readable but inadmissible: ")
        case Refused(schema, faults):
            return _verdict(file, schema, None, faults[0])
        case _:
            assert_never(loaded)


def _verdict(
    file: Path, schema: str | None, digest: str | None, fault: Fault | None, prefix: str = ""
) -> dict[str, str | None]:
    return {
        "file": str(file),
        "schema": schema,
        "digest": digest,
        "verdict": "valid" if fault is None else "refused",
        "code": None if fault is None else fault.code.value,
        "path": None if fault is None else show_path(fault.path),
        "reason": None if fault is None else f"{prefix}{fault.reason} ({fault.rule})",
    }


def _line(verdict: dict[str, str | None]) -> str:
    named = printable(f"{verdict['file']}: {verdict['verdict']} {verdict['schema'] or 'no known schema'}")
    if verdict["verdict"] == "valid":
        return f"{named} {verdict['digest']}"
    why = printable(f"{verdict['code']} at {verdict['path']}: {verdict['reason']}")
    return f"{named}\n  {why}"
