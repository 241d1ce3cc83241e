"""`dpone certify freeze`: cover a target and its read closure with a DDL epoch, and say the epoch."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dpone.application.freeze import freeze_target
from dpone.cli.documents import DOCUMENT_FILE, read_kind
from dpone.cli.errors import fail
from dpone.cli.schemas import Format, FormatOption
from dpone_contracts.descriptors import ProofBundle
from dpone_contracts.errors import DponeError
from dpone_contracts.policies import DeadlinePolicy
from dpone_contracts.relations import SqlRelation

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.cli.deployment_folder import Compose

SCHEMA: Final = "dpone.certify-freeze.v1"


def freeze_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def freeze(
        target: Annotated[str, typer.Argument(help="The target as database.schema.table.")],
        *,
        proofs: Annotated[Path, DOCUMENT_FILE],
        model: Annotated[str, typer.Option(help="The model whose target it is: model.PROJECT.NAME.")],
        deadlines: Annotated[Path, DOCUMENT_FILE],
        login_timeout: Annotated[int, typer.Option(min=1, help="Seconds that a login may take.")],
        output: FormatOption = Format.TEXT,
    ) -> None:
        """Cover the target and everything that its model reads with a DDL epoch, through DPONE_MSSQL_DSN.

        Started again, also after a lost answer, it changes nothing where all is covered and says the epoch.
        """
        bundle = read_kind(proofs, ProofBundle, output)
        policy = read_kind(deadlines, DeadlinePolicy, output)
        try:
            relation = SqlRelation.from_id(target)
            epoch = freeze_target(compose().freeze(login_timeout, policy), relation, bundle, model)
        except DponeError as error:
            fail(error, output)
        told: dict[str, Any] = {"schema": SCHEMA, "target": str(relation), "model": model, "ddl_epoch": epoch}
        text = f"{relation}: covered with what {model} reads, DDL epoch {epoch}"
        typer.echo(json.dumps(told, indent=2) if output is Format.JSON else text)

    return freeze
