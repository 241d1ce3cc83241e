"""Documents of a command line: read and admitted, each fault told; written create-only, never over something else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

import typer

from dpone.cli.errors import fail
from dpone_contracts.document import Document, DocumentError, admit_document
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone.cli.schemas import Format

D = TypeVar("D", bound=Document)

DOCUMENT_FILE = typer.Option(exists=True, dir_okay=False, readable=True)


def read_document(path: Path, output: Format) -> Document:
    """A stored document; ends the command with the code, path and rule of its first fault."""
    try:
        return admit_document(path.read_bytes())
    except DocumentError as error:
        refuse_document(path, error, output)


def read_kind(path: Path, kind: type[D], output: Format) -> D:
    """A stored document of one kind; another kind is a usage error."""
    document = read_document(path, output)
    if not isinstance(document, kind):
        fail(DponeError("DPONE_USAGE", f"{path} is no {kind.SCHEMA}"), output)
    return document


def refuse_document(path: Path, error: DocumentError, output: Format) -> NoReturn:
    """End the command with a document's first fault."""
    fail(document_error(path, error), output)


def document_error(path: Path, error: DocumentError) -> DponeError:
    """A document's first fault with its catalogue code; the evidence has path and rule."""
    return DponeError(error.code, f"{path}: {error.reason}", {"path": error.path, "rule": error.rule})


def write_all_new(files: Mapping[Path, bytes]) -> None:
    """Write files create-only: whole or not at all each; the same bytes there already are as good.

    Raises `DponeError` DPONE_USAGE: before anything is written where other bytes stand under one of the names, and
    where a file can't be written.
    """
    try:
        for path, data in files.items():
            if path.exists() and (not path.is_file() or path.read_bytes() != data):
                raise _taken(path)
        for path, data in files.items():
            _write_new(path, data)
    except OSError as error:
        where = error.filename or next(iter(files))
        raise DponeError("DPONE_USAGE", f"{where} can't be written: {error.strerror}") from None


def _write_new(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-") as fresh:
        fresh.write(data)
        fresh.flush()
        Path(fresh.name).chmod(0o644)
        try:
            os.link(fresh.name, path)
        except FileExistsError:
            if path.read_bytes() != data:
                raise _taken(path) from None


def _taken(path: Path) -> DponeError:
    return DponeError("DPONE_USAGE", f"{path} exists with other content; nothing is overwritten")
