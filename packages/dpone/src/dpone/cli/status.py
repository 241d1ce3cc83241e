"""`dpone refresh status`: the incident card of a workflow, a day or an operation; it reads and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dpone.application.status import status_of_operation, status_of_scope, status_of_workflow
from dpone.cli.activation import day_scope
from dpone.cli.deployment_folder import FolderOption, read_folder, require_digest
from dpone.cli.errors import fail
from dpone.cli.schemas import Format, FormatOption
from dpone.cli.status_report import as_json, as_text, exit_class_of
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.application.services import EvidenceServices
    from dpone.application.status import PlanCard
    from dpone.cli.deployment_folder import Compose


def status_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def status(
        folder: FolderOption,
        workflow: Annotated[
            str | None, typer.Option(help="Open plans of a workflow, and its last one.")
        ] = None,
        scope: Annotated[str | None, typer.Option(help="Every plan of a UTC day, YYYY-MM-DD.")] = None,
        operation: Annotated[str | None, typer.Option(help="The plan of one operation id.")] = None,
        output: FormatOption = Format.TEXT,
    ) -> None:
        """Say what is proven, what is unknown, who holds the fence, and the one safe next command.

        The exit code is that of the worst operation: 0 nothing in doubt, 3 an outcome unknown, 4 something could not
        be read, 5 corruption.
        """
        try:
            if sum(one is not None for one in (workflow, scope, operation)) != 1:
                raise DponeError(  # noqa: TRY301 - one way out for every refusal
                    "DPONE_USAGE", "give one of --workflow, --scope and --operation"
                )
            if operation is not None:
                require_digest(operation)
            scope_start = None if scope is None else day_scope(scope).start_text
            inputs = read_folder(folder)
            services = compose().evidence(inputs)
            cards = _cards(services, inputs.descriptor.deployment_id, workflow, scope_start, operation)
        except DponeError as error:
            fail(error, output)
        typer.echo(as_json(cards) if output is Format.JSON else as_text(cards))
        raise typer.Exit(int(exit_class_of(cards)))

    return status


def _cards(
    services: EvidenceServices,
    deployment_id: str,
    workflow: str | None,
    scope_start: str | None,
    operation: str | None,
) -> tuple[PlanCard, ...]:
    if workflow is not None:
        return status_of_workflow(services, deployment_id, workflow)
    if scope_start is not None:
        return status_of_scope(services, deployment_id, scope_start)
    assert operation is not None
    return (status_of_operation(services, deployment_id, operation),)
