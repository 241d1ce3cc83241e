"""Options that the proof commands share, and how they become explicit inputs; a bad file is a usage error."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeAlias, TypeVar

import typer

from dpone.cli.errors import fail
from dpone_contracts.errors import DponeError, ExitClass
from dpone_dbt_proof.catalog_snapshot import SnapshotError, load_snapshot
from dpone_dbt_proof.lifecycle import TupleError, load_tuple
from dpone_dbt_proof.platform_policy import PolicyError, load_policy
from dpone_dbt_proof.project_proof import ProofInputs
from dpone_dbt_proof.reasons import Status
from dpone_dbt_proof.tsql_policy import TsqlPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

_Read = TypeVar("_Read")


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


def read_inputs(
    catalog: Path | None, certified: Path | None, policy: Path | None, report: ReportFormat
) -> ProofInputs:
    """Read the input files; a file that is not what it should be ends the command."""
    snapshot = _read(catalog, load_snapshot, report)
    platform = _read(policy, load_policy, report)
    return ProofInputs(
        snapshot=snapshot,
        budget=platform.budget if platform else None,
        certified=_read(certified, load_tuple, report),
        profiles=platform.offered if platform else None,
        policy=platform.tsql if platform else TsqlPolicy(),
    )


def _read(path: Path | None, load: Callable[[bytes], _Read], report: ReportFormat) -> _Read | None:
    if path is None:
        return None
    try:
        return load(path.read_bytes())
    except (SnapshotError, TupleError, PolicyError) as error:
        refuse_usage(f"{path}: {error}", report)
    except OSError as error:
        refuse_usage(f"{path}: {error.strerror}", report)


def refuse_usage(message: str, report: ReportFormat) -> NoReturn:
    """End the command with the usage class; nothing was done."""
    fail(DponeError("DPONE_USAGE", message), report.value)


def exit_class(status: Status) -> ExitClass:
    """Return the exit class of a verdict."""
    match status:
        case Status.PROVEN:
            return ExitClass.DONE
        case Status.NONCONFORMANT:
            return ExitClass.REFUSED
        case Status.UNVERIFIED:
            return ExitClass.UNVERIFIED
