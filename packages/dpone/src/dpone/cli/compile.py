"""`dpone refresh compile`: proofs of a project under the platform's root, and the bundle that activation takes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, TypeAlias

import typer

from dpone.cli import proof_reports
from dpone.cli.documents import write_all_new
from dpone.cli.errors import fail
from dpone.cli.proof_inputs import (
    CatalogOption,
    FormatOption,
    PolicyOption,
    ProjectArgument,
    ReportFormat,
    TupleOption,
    exit_class,
    read_inputs,
    refuse_usage,
)
from dpone_contracts.errors import DponeError
from dpone_dbt_proof.compile_proofs import CompiledProofs, compile_proofs
from dpone_dbt_proof.offline_compile import ModelDatabase, database_of, platform_manifest
from dpone_dbt_proof.platform_project import AuthorProject
from dpone_dbt_proof.project_proof import ProofInputs, ProofScope

DatabaseOption: TypeAlias = Annotated[
    str | None, typer.Option("--database", help="Database of the models; else the project's profile.")
]
SchemaOption: TypeAlias = Annotated[
    str | None, typer.Option("--schema", help="Default schema; else the project's profile.")
]
ProfilesOption: TypeAlias = Annotated[
    Path | None, typer.Option("--profiles-dir", help="Where profiles.yml is; else the project.")
]
DbtTimeout: TypeAlias = Annotated[
    int, typer.Option("--timeout", help="Seconds that each dbt process may take.")
]


def compile_command(
    project: ProjectArgument = Path(),
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="File that gets the proof bundle; must not exist.")
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest", help="File that gets the manifest, from which workers build; must not exist."
        ),
    ] = None,
    database: DatabaseOption = None,
    schema: SchemaOption = None,
    profiles_dir: ProfilesOption = None,
    scope_of_proof: Annotated[
        ProofScope,
        typer.Option(
            "--scope-of-proof", help="definition: selection, Jinja and T-SQL alone; full: all proofs."
        ),
    ] = ProofScope.FULL,
    catalog: CatalogOption = None,
    certified_tuple: TupleOption = None,
    platform_policy: PolicyOption = None,
    timeout: DbtTimeout = 600,
    report: FormatOption = ReportFormat.TEXT,
) -> None:
    """Compile without a connection and prove: definition, closures, lifecycle and read dependencies."""
    inputs = read_inputs(catalog, certified_tuple, platform_policy, report)
    for path, what in ((out, "a bundle"), (manifest, "a manifest")):
        if path is not None and path.exists():
            refuse_usage(f"{path} exists; {what} is never overwritten", report)
    author = author_of(project, report)
    where = place_of(author, profiles_dir, database, schema, report)
    compiled = _compiled(author, where, inputs, scope_of_proof, timeout, manifest, report)
    verdicts = proof_reports.Verdicts(compiled.proof, author.name, compiled.bad_models, author.root)
    if out is not None:
        with out.open("xb") as file:
            file.write(compiled.bundle)
    match report:
        case ReportFormat.TEXT:
            typer.echo(proof_reports.as_text(verdicts))
        case ReportFormat.JSON:
            typer.echo(proof_reports.as_json(verdicts, proof_reports.COMPILE_SCHEMA))
        case ReportFormat.SARIF:
            typer.echo(proof_reports.as_sarif(verdicts))
        case ReportFormat.ANNOTATIONS:
            typer.echo(proof_reports.as_annotations(verdicts))
    raise typer.Exit(exit_class(verdicts.status))


def author_of(project: Path, report: ReportFormat) -> AuthorProject:
    """The author's project, or the end of the command."""
    try:
        return AuthorProject.load(project.resolve())
    except DponeError as error:
        fail(error, report.value)


def place_of(
    author: AuthorProject,
    profiles_dir: Path | None,
    database: str | None,
    schema: str | None,
    report: ReportFormat,
) -> ModelDatabase:
    """Database and schema of the models, from the options and else the project's profile."""
    try:
        found = database_of(author, profiles_dir)
    except DponeError as error:
        fail(error, report.value)
    if found is None and (database is None or schema is None):
        refuse_usage(
            "the project has no profiles.yml with database and schema: give --database and --schema", report
        )
    return ModelDatabase(
        database or (found.database if found else ""), schema or (found.schema if found else "")
    )


def _compiled(
    author: AuthorProject,
    where: ModelDatabase,
    inputs: ProofInputs,
    scope: ProofScope,
    timeout: int,
    manifest: Path | None,
    report: ReportFormat,
) -> CompiledProofs:
    with TemporaryDirectory(prefix="dpone-compile-") as work:
        try:
            compiled = compile_proofs(author, where, inputs, Path(work), scope=scope, timeout_seconds=timeout)
            if manifest is not None:
                write_all_new({manifest: platform_manifest(Path(work)).read_bytes()})
        except DponeError as error:
            fail(error, report.value)
    return compiled
