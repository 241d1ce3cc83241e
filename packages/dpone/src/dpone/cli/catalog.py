"""`dpone refresh catalog`: read what a project's models read and write from SQL Server's catalog, as one snapshot."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dpone.cli.compile import (
    DatabaseOption,
    DbtTimeout,
    ProfilesOption,
    SchemaOption,
    author_of,
    place_of,
)
from dpone.cli.documents import DOCUMENT_FILE, read_kind, write_all_new
from dpone.cli.errors import fail
from dpone.cli.proof_inputs import ProjectArgument, ReportFormat, read_inputs
from dpone.cli.schemas import Format, FormatOption
from dpone.composition.catalog_snapshot import snapshot_document
from dpone_contracts.canonical import sha256_text
from dpone_contracts.catalog import ClosureBudget
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.policies import DeadlinePolicy
from dpone_dbt_proof.compile_proofs import compiled_roots
from dpone_dbt_proof.offline_compile import compile_offline

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.cli.deployment_folder import Compose
    from dpone_contracts.catalog import CatalogSnapshot
    from dpone_dbt_proof.read_dependencies import ReadBudget

SCHEMA: Final = "dpone.refresh-catalog.v1"


def catalog_command(compose: Compose) -> Callable[..., None]:
    """The command over a composition."""

    def catalog(
        project: ProjectArgument = Path(),
        *,
        platform_policy: Annotated[
            Path, typer.Option(help="Profiles, read budget and admitted functions (YAML).")
        ],
        deadlines: Annotated[Path, DOCUMENT_FILE],
        login_timeout: Annotated[int, typer.Option(min=1, help="Seconds that a login may take.")],
        out: Annotated[Path, typer.Option(help="File that gets the snapshot; never written over another.")],
        database: DatabaseOption = None,
        schema: SchemaOption = None,
        profiles_dir: ProfilesOption = None,
        timeout: DbtTimeout = 600,
        output: FormatOption = Format.TEXT,
    ) -> None:
        """Compile offline, then read the catalog of all that the models read and of their targets through DPONE_MSSQL_DSN.

        Nothing is written but the snapshot. Exit code 4 when part of the catalog is hidden or the read budget is
        exceeded: the snapshot then says so, and proofs over it are UNVERIFIED.
        """
        limits = read_kind(deadlines, DeadlinePolicy, output)
        report = ReportFormat(output.value)
        inputs = read_inputs(None, None, platform_policy, report)
        author = author_of(project, report)
        where = place_of(author, profiles_dir, database, schema, report)
        try:
            assert inputs.budget is not None  # the policy has one
            with TemporaryDirectory(prefix="dpone-catalog-") as work:
                roots = compiled_roots(compile_offline(author, where, Path(work), timeout), inputs)
            reader = compose().catalog(login_timeout, limits)
            seen = reader.snapshot(roots, _budget(inputs.budget))
            data = snapshot_document(seen)
            write_all_new({out: data})
        except DponeError as error:
            fail(error, output)
        _tell(seen, sha256_text(data), out, output)
        if seen.unreadable or seen.exceeded:
            raise typer.Exit(int(ExitClass.UNVERIFIED))

    return catalog


def _budget(read: ReadBudget) -> ClosureBudget:
    return ClosureBudget(read.max_depth, read.max_nodes, read.max_edges, read.max_definition_bytes)


def _tell(seen: CatalogSnapshot, sha256: str, out: Path, output: Format) -> None:
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "file": str(out),
        "catalog_snapshot_sha256": sha256,
        "database": seen.database,
        "objects": len(seen.objects),
        "absent": [str(root) for root, object_id in seen.roots if object_id is None],
        "unreadable": list(seen.unreadable),
        "exceeded": list(seen.exceeded),
    }
    if output is Format.JSON:
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo(f"{out}: {told['objects']} objects of {seen.database}\n  {sha256}")
    for what in ("absent", "unreadable", "exceeded"):
        for each in told[what]:
            typer.echo(f"  {what}  {each}")
