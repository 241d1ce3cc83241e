"""Options that the proof commands share, and how they become explicit inputs; a bad file is a usage error."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn, TypeAlias

import typer

from dpone_contracts.errors import ExitClass
from dpone_dbt_proof.catalog_snapshot import SnapshotError, load_snapshot
from dpone_dbt_proof.lifecycle import TupleError, load_tuple
from dpone_dbt_proof.platform_policy import PolicyError, load_policy
from dpone_dbt_proof.project_proof import ProofInputs
from dpone_dbt_proof.reasons import Status
from dpone_dbt_proof.tsql_policy import TsqlPolicy


class ReportFormat(StrEnum):
    """How verdicts are written on stdout."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    ANNOTATIONS = "annotations"


ProjectArgument: TypeAlias = Annotated[Path, typer.Argument(help="Directory of the dbt project.")]
CatalogOption: TypeAlias = Annotated[
    Path | None, typer.Option("--catalog", help="Catalog snapshot of the model's database (JSON).")
]
TupleOption: TypeAlias = Annotated[
    Path | None, typer.Option("--certified-tuple", help="Certified server, driver and image (JSON).")
]
PolicyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--platform-policy", help="Profiles, read budget and admitted functions (YAML)."),
]
FormatOption: TypeAlias = Annotated[ReportFormat, typer.Option("--format", help="What stdout gets.")]


def read_inputs(catalog: Path | None, certified: Path | None, policy: Path | None) -> ProofInputs:
    """Read the input files; a file that is not what it should be ends the command."""
    try:
        platform = load_policy(policy.read_bytes()) if policy else None
        return ProofInputs(
            snapshot=load_snapshot(catalog.read_bytes()) if catalog else None,
            budget=platform.budget if platform else None,
            certified=load_tuple(certified.read_bytes()) if certified else None,
            profiles=platform.offered if platform else None,
            policy=platform.tsql if platform else TsqlPolicy(),
        )
    except (SnapshotError, TupleError, PolicyError) as error:
        refuse_usage(str(error))
    except OSError as error:
        refuse_usage(f"{error.filename}: {error.strerror}")


def refuse_usage(message: str) -> NoReturn:
    """End the command with the usage class; nothing was done."""
    typer.echo(f"DPONE_USAGE: {message}", err=True)
    raise typer.Exit(ExitClass.USAGE)


def exit_class(status: Status) -> ExitClass:
    """Return the exit class of a verdict."""
    match status:
        case Status.PROVEN:
            return ExitClass.DONE
        case Status.NONCONFORMANT:
            return ExitClass.REFUSED
        case Status.UNVERIFIED:
            return ExitClass.UNVERIFIED
