"""The deployment that a command is about: a folder of documents, read whole and verified before anything is done."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dpone.application.deployment import DeploymentInputs, read_deployment
from dpone.composition.operator import Composition
from dpone_contracts.errors import DponeError

Compose: TypeAlias = Callable[[], Composition]
"""Makes the composition of a command when it runs, from the environment or from a lab."""

FolderOption = Annotated[
    Path,
    typer.Option(
        "--deployment",
        exists=True,
        file_okay=False,
        help="Folder with the deployment's documents; its `frozen` folder keeps receipts as they were planned.",
    ),
]


def read_folder(folder: Path) -> DeploymentInputs:
    """Read every `*.json` of the folder itself; raises `DponeError` DPONE_DEPLOYMENT_DOCUMENTS."""
    return read_deployment({path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))})


def require_digest(text: str) -> str:
    """A digest of the command line; raises `DponeError` DPONE_USAGE for anything spelled otherwise."""
    if re.fullmatch(r"sha256:[0-9a-f]{64}", text) is None:
        raise DponeError("DPONE_USAGE", "not a digest spelled sha256: and 64 lower-case hex digits")
    return text
