"""`dpone refresh control-schema`: print the versioned script, or install it as the installer principal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dpone.application.services import require
from dpone.cli.errors import fail
from dpone.cli.schemas import Format, FormatOption
from dpone_contracts.canonical import sha256_text
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.cli.deployment_folder import Compose
    from dpone_mssql.connection import SqlServerConfig
    from dpone_mssql.control_schema import ControlNames

SCHEMA: Final = "dpone.refresh-control-schema.v1"


def control_schema_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def control_schema(
        *,
        do_install: Annotated[
            bool,
            typer.Option("--install", help="Install through DPONE_MSSQL_DSN, the installer's login."),
        ] = False,
        login_timeout: Annotated[int | None, typer.Option(help="Seconds to log in.", min=1)] = None,
        lock_timeout: Annotated[
            int | None, typer.Option(help="Milliseconds that a lock may take.", min=1)
        ] = None,
        statement_timeout: Annotated[
            int | None, typer.Option(help="Seconds that a statement may take.", min=1)
        ] = None,
        output: FormatOption = Format.TEXT,
    ) -> None:
        """Print the control schema's script with its digest, or install it in one transaction.

        A store of this version is left as it is; one of an older or newer version is refused by name.
        """
        try:
            told = _told(compose, (login_timeout, lock_timeout, statement_timeout), do_install=do_install)
        except DponeError as error:
            fail(error, output)
        _tell(told, output)

    return control_schema


def _told(
    compose: Compose, limits: tuple[int | None, int | None, int | None], *, do_install: bool
) -> dict[str, Any]:
    """The script, or what installing it found; `limits` are those of login, lock and statement."""
    from dpone_mssql.control_schema import SCHEMA_VERSION, ControlNames, control_script  # noqa: PLC0415 - the driver

    names = ControlNames()
    script = control_script(names)
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "script_sha256": sha256_text(script.encode()),
    }
    if not do_install:
        return told | {"script": script}
    login, lock, statement = limits
    if login is None or lock is None or statement is None:
        raise DponeError(
            "DPONE_USAGE", "--install needs --login-timeout, --lock-timeout and --statement-timeout"
        )
    return told | _installed(compose().engines.sql_server(login, lock, statement), names)


def _installed(config: SqlServerConfig, names: ControlNames) -> dict[str, Any]:
    """What was found, and the store as it stands now."""
    from dpone.composition.operator import activation_store  # noqa: PLC0415 - the driver
    from dpone_mssql.control_schema import install  # noqa: PLC0415

    try:
        there = activation_store(config).identity()
    except DponeError as error:
        if error.code != "DPONE_CONTROL_SCHEMA_ABSENT":
            raise
        there = require(install(config, names))
        result = "installed"
    else:
        result = "already there"
    return {"result": result, "store_id": there.store_id, "database": there.database}


def _tell(told: dict[str, Any], output: Format) -> None:
    if output is Format.JSON:
        typer.echo(json.dumps(told, indent=2))
    elif "script" in told:
        typer.echo(
            f"-- dpone control schema, version {told['version']}, {told['script_sha256']} without this line"
        )
        typer.echo(told["script"], nl=False)
    else:
        typer.echo(
            f"control schema version {told['version']}: {told['result']}\n"
            f"  store    {told['store_id']} in database {told['database']}\n  script   {told['script_sha256']}"
        )
