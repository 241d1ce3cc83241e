"""`dpone refresh adopt-baseline`, `activate` and `advance`: the deployment stage, one day at a time."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dpone.application.baseline import adopt_baselines
from dpone.application.daily import activate_day, advance
from dpone.cli.deployment_folder import FolderOption, read_folder
from dpone.cli.errors import fail
from dpone.cli.schemas import Format, FormatOption
from dpone.composition.operator import Promotion
from dpone_contracts.errors import DponeError
from dpone_contracts.scope import DayScope

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.application.activation import Activated
    from dpone.cli.deployment_folder import Compose

ADOPTION: Final = "dpone.refresh-baseline-adoption.v1"
ACTIVATION: Final = "dpone.refresh-activation.v1"
ADVANCE: Final = "dpone.refresh-advance.v1"

IndexOption = Annotated[
    Path,
    typer.Option("--index", file_okay=False, help="Folder that gets projections and indexes, create-only."),
]
DagFileOption = Annotated[
    Path | None,
    typer.Option(
        "--dag-file",
        dir_okay=False,
        help="DAG file that promotes the index, written last; without it none is.",
    ),
]
WorkerServicesOption = Annotated[
    str | None,
    typer.Option(
        "--worker-services", help="module:function that composes a worker's services in the DAG file."
    ),
]


def adopt_baseline_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def adopt_baseline(folder: FolderOption, output: FormatOption = Format.TEXT) -> None:
        """Adopt the baseline of every model: observe both relations whole, freeze and store what was seen."""
        try:
            inputs = read_folder(folder)
            receipts = adopt_baselines(compose().baseline(folder, inputs), inputs)
        except DponeError as error:
            fail(error, output)
        models = [
            {
                "model": name,
                "baseline_sha256": receipt.digest,
                "covered_until": receipt.coverage_end,
                "target_uuid": receipt.clickhouse_target_uuid,
            }
            for name, receipt in receipts.items()
        ]
        if output is Format.JSON:
            told = {"schema": ADOPTION, "deployment_id": inputs.descriptor.deployment_id, "models": models}
            typer.echo(json.dumps(told, indent=2))
            return
        for model in models:
            typer.echo(
                f"{model['model']}: adopted, covered until {model['covered_until']}\n  {model['baseline_sha256']}"
            )

    return adopt_baseline


def activate_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def activate(
        folder: FolderOption,
        index: IndexOption,
        day: Annotated[str, typer.Option(help="The closed UTC day, YYYY-MM-DD.")],
        dag_file: DagFileOption = None,
        worker_services: WorkerServicesOption = None,
        output: FormatOption = Format.TEXT,
    ) -> None:
        """Activate one closed day: plan bundle, receipt and projection create-only, and an immutable index."""
        try:
            scope, promotion = day_scope(day), _promotion(index, dag_file, worker_services)
            inputs = read_folder(folder)
            services = compose().activation(folder, inputs, promotion)
            activated = activate_day(services, inputs, scope, promoting=dag_file is not None)
        except DponeError as error:
            fail(error, output)
        told = {"schema": ACTIVATION, **_told(activated, dag_file)}
        typer.echo(json.dumps(told, indent=2) if output is Format.JSON else _text(told))

    return activate


def advance_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def advance_(
        folder: FolderOption,
        index: IndexOption,
        dag_file: DagFileOption = None,
        worker_services: WorkerServicesOption = None,
        output: FormatOption = Format.TEXT,
    ) -> None:
        """Activate the first uncovered closed day, or say why there is none; what a daily schedule calls."""
        try:
            promotion = _promotion(index, dag_file, worker_services)
            inputs = read_folder(folder)
            services = compose().activation(folder, inputs, promotion)
            advanced = advance(services, inputs, promoting=dag_file is not None)
        except DponeError as error:
            fail(error, output)
        decision = advanced.decision
        told: dict[str, Any] = {
            "schema": ADVANCE,
            "workflow": inputs.proofs.workflow_name,
            "verdict": decision.verdict.value,
            "day": decision.day.start_text,
            "reason": decision.reason,
            "closes_at": decision.closes_at,
            "activation": None if advanced.activated is None else _told(advanced.activated, dag_file),
        }
        if output is Format.JSON:
            typer.echo(json.dumps(told, indent=2))
            return
        typer.echo(f"{told['workflow']}: {told['verdict']} {told['day']}, {told['reason']}")
        if advanced.activated is not None:
            typer.echo(_text(told["activation"]))

    return advance_


def day_scope(day: str) -> DayScope:
    """A UTC day of the command line; raises `DponeError` DPONE_USAGE."""
    try:
        return DayScope.of(date.fromisoformat(day))
    except ValueError:
        raise DponeError("DPONE_USAGE", "not a day spelled YYYY-MM-DD") from None


def _promotion(index: Path, dag_file: Path | None, worker_services: str | None) -> Promotion:
    if (dag_file is None) != (worker_services is None):
        raise DponeError("DPONE_USAGE", "--dag-file and --worker-services go together")
    return Promotion(index, dag_file, worker_services)


def _told(activated: Activated, dag_file: Path | None) -> dict[str, Any]:
    plan = activated.bundle.workflow_plan
    return {
        "deployment_id": activated.projection.deployment_id,
        "plan_bundle_sha256": activated.bundle.digest,
        "workflow": plan.workflow_name,
        "scope_start": plan.scope_start,
        "scope_end": plan.scope_end,
        "operations": {each.model_unique_id: each.operation_id for each in activated.bundle.operation_plans},
        "dag_projection_sha256": activated.projection.digest,
        "index": activated.index,
        "promoted": dag_file is not None,
        "unfinished_plans": list(activated.unfinished),
    }


def _text(told: dict[str, Any]) -> str:
    lines = [
        f"{told['workflow']} {told['scope_start']}: activated",
        f"  plan        {told['plan_bundle_sha256']}",
        f"  deployment  {told['deployment_id']}",
        f"  index       {told['index']}{', promoted' if told['promoted'] else ''}",
    ]
    lines += [f"  operation   {operation} {model}" for model, operation in told["operations"].items()]
    lines += [f"  unfinished  {plan}" for plan in told["unfinished_plans"]]
    return "\n".join(lines)
