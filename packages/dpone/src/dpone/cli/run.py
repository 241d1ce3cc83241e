"""`dpone refresh run`: admit an activated plan for one DagRun and run it, or continue it in the next try."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dpone.application.run import run_workflow
from dpone.application.stages import BUILD_TASK
from dpone.cli.deployment_folder import FolderOption, read_folder, require_digest
from dpone.cli.errors import fail
from dpone.cli.schemas import Format, FormatOption
from dpone.composition.operator import WorkerFiles
from dpone_contracts.document import DocumentError
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.refresh_state import WorkerIdentity

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.cli.deployment_folder import Compose

SCHEMA: Final = "dpone.refresh-run.v1"


@dataclass(frozen=True)
class ShownProgress:
    """Progress as lines on stderr."""

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """Show a stage's state."""
        typer.echo(f"{name!s:<10} {model_unique_id or 'workflow'} {state}", err=True)


def run_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def run(
        folder: FolderOption,
        plan: Annotated[str, typer.Option(help="Digest of the activated plan bundle.")],
        dag_run_id: Annotated[str, typer.Option(help="The logical DagRun; one plan binds one, for ever.")],
        try_number: Annotated[int, typer.Option(min=1, help="Number of this try of the DagRun's task.")],
        pod_uid: Annotated[str, typer.Option(help="UID of the pod that this process is.")],
        owner_id: Annotated[str, typer.Option(help="Who runs the worker.")],
        project: Annotated[
            Path, typer.Option(exists=True, file_okay=False, help="The author's dbt project.")
        ],
        manifest: Annotated[
            Path, typer.Option(exists=True, dir_okay=False, help="The manifest of its compile.")
        ],
        work: Annotated[Path, typer.Option(file_okay=False, help="Private directory of the worker.")],
        task_id: Annotated[str, typer.Option(help="Task of the DagRun.")] = BUILD_TASK,
        output: FormatOption = Format.TEXT,
    ) -> None:
        """Run an activated plan to its durable summary; started again as the next try it repeats nothing proven."""
        worker = WorkerIdentity(dag_run_id, task_id, try_number, pod_uid, owner_id)
        try:
            require_digest(plan)
            inputs = read_folder(folder)
            deployment_id = inputs.descriptor.deployment_id
            services = compose().run(inputs, WorkerFiles(project, manifest, work), ShownProgress())
            summary = run_workflow(services, deployment_id, plan, worker)
        except DponeError as error:
            fail(error, output)
        except DocumentError as error:
            # What the bindings refuse came from the options.
            fail(DponeError("DPONE_USAGE", str(error)), output)
        told: dict[str, Any] = {
            "schema": SCHEMA,
            "status": summary.status,
            "deployment_id": deployment_id,
            "plan_bundle_sha256": plan,
            "dag_run_id": dag_run_id,
            "try_number": try_number,
            "summary_sha256": summary.digest,
            "publications": [
                {
                    "operation_id": each.operation_id,
                    "target_generation": each.target_generation,
                    "terminal_receipt_sha256": each.terminal_receipt_sha256,
                }
                for each in summary.publications
            ],
        }
        if output is Format.JSON:
            typer.echo(json.dumps(told, indent=2))
            return
        typer.echo(f"{told['status']}: {plan} in {dag_run_id}, try {try_number}\n  summary  {summary.digest}")
        for each in told["publications"]:
            typer.echo(f"  published generation {each['target_generation']} by {each['operation_id']}")

    return run
