"""The deployment that a command is about: a folder of documents, read whole and verified before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dpone.application.deployment import DeploymentInputs, read_deployment
from dpone.composition.operator import Composition

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
