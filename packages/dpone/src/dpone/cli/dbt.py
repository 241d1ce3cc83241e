"""`dpone dbt check` and `dpone dbt explain`: what a manifest proves, offline; nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpone.cli import explanation, proof_reports
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
from dpone_dbt_proof.lifecycle import project_settings, root_only_settings
from dpone_dbt_proof.manifest import Manifest, ManifestError, load_manifest
from dpone_dbt_proof.project_proof import ProjectProof, ProofInputs, ProofScope, prove_project
from dpone_dbt_proof.proof_diff import LostProof, lost_proofs

app = typer.Typer(name="dbt", no_args_is_help=True, help="What an author's dbt project proves, offline.")

_ManifestOption = Annotated[
    Path | None,
    typer.Option("--manifest", help="Manifest to read; else target/manifest.json of the project."),
]
_ScopeOption = Annotated[
    ProofScope,
    typer.Option("--scope-of-proof", help="definition: selection, Jinja and T-SQL alone; full: all proofs."),
]
_DiffOption = Annotated[
    Path | None, typer.Option("--diff", help="Manifest (or its folder) of the state to compare with.")
]


@app.command()
def check(
    project: ProjectArgument = Path(),
    *,
    manifest: _ManifestOption = None,
    scope_of_proof: _ScopeOption = ProofScope.FULL,
    catalog: CatalogOption = None,
    certified_tuple: TupleOption = None,
    platform_policy: PolicyOption = None,
    diff: _DiffOption = None,
    report: FormatOption = ReportFormat.TEXT,
) -> None:
    """Tell for every published model whether it can be published, and if not, why and what to change."""
    inputs = read_inputs(catalog, certified_tuple, platform_policy, report)
    read = _manifest(project, manifest, report)
    proof = prove_project(
        read,
        inputs=inputs,
        scope=scope_of_proof,
        project=project,
        root_only=root_only_settings(project_settings(project)),
    )
    lost = _lost(diff, read, proof, inputs, scope_of_proof, report)
    verdicts = proof_reports.Verdicts(proof, read.project_name, project=project)
    match report:
        case ReportFormat.TEXT:
            typer.echo(proof_reports.as_text(verdicts, lost))
        case ReportFormat.JSON:
            typer.echo(proof_reports.as_json(verdicts, proof_reports.CHECK_SCHEMA, lost))
        case ReportFormat.SARIF:
            typer.echo(proof_reports.as_sarif(verdicts))
        case ReportFormat.ANNOTATIONS:
            typer.echo(proof_reports.as_annotations(verdicts))
    raise typer.Exit(exit_class(verdicts.status))


@app.command()
def explain(
    model: Annotated[str, typer.Argument(help="Name or unique id of a published model.")],
    project: ProjectArgument = Path(),
    *,
    manifest: _ManifestOption = None,
    scope_of_proof: _ScopeOption = ProofScope.FULL,
    catalog: CatalogOption = None,
    certified_tuple: TupleOption = None,
    platform_policy: PolicyOption = None,
    report: FormatOption = ReportFormat.TEXT,
) -> None:
    """Show scope, key, types, dependencies, lifecycle, assurances, stages and proof of one model."""
    if report not in (ReportFormat.TEXT, ReportFormat.JSON):
        refuse_usage(f"explain has no format {report.value}: text and json", report)
    inputs = read_inputs(catalog, certified_tuple, platform_policy, report)
    read = _manifest(project, manifest, report)
    proof = prove_project(
        read,
        inputs=inputs,
        scope=scope_of_proof,
        project=project,
        root_only=root_only_settings(project_settings(project)),
    )
    for v1 in proof.v1:
        if model in (v1.unique_id, v1.unique_id.rpartition(".")[2]):
            plain = explanation.explain_v1(v1)
            as_json = report is ReportFormat.JSON
            typer.echo(explanation.as_json(plain) if as_json else explanation.as_text(plain, None))
            return
    for workflow in proof.workflows:
        for judged in workflow.models:
            if model in (judged.unique_id, read.nodes[judged.unique_id].name):
                plain = explanation.explain_v2(read, workflow, judged)
                as_json = report is ReportFormat.JSON
                typer.echo(explanation.as_json(plain) if as_json else explanation.as_text(plain, judged))
                raise typer.Exit(exit_class(judged.status))
    known = [read.nodes[judged.unique_id].name for judged in proof.models]
    known += [v1.unique_id.rpartition(".")[2] for v1 in proof.v1]
    published = f"published are {', '.join(sorted(known))}" if known else "no model is published"
    refuse_usage(f"{model} is not a published model of the project: {published}", report)


def _manifest(project: Path, named: Path | None, report: ReportFormat) -> Manifest:
    if named is None and not project.is_dir():
        refuse_usage(f"{project} is no directory", report)
    if named is None and not (project / "dbt_project.yml").exists() and not (project / "target").exists():
        refuse_usage(f"{project} is no dbt project: it has no dbt_project.yml", report)
    try:
        return load_manifest(named or project / "target" / "manifest.json")
    except ManifestError as error:
        refuse_usage(str(error), report)


def _lost(
    base: Path | None,
    read: Manifest,
    proof: ProjectProof,
    inputs: ProofInputs,
    scope: ProofScope,
    report: ReportFormat,
) -> tuple[LostProof, ...] | None:
    if base is None:
        return None
    if not base.exists():
        refuse_usage(f"--diff {base}: there is no such manifest or folder", report)
    before = _manifest(Path(), base / "manifest.json" if base.is_dir() else base, report)
    return lost_proofs(before, prove_project(before, inputs=inputs, scope=scope), read, proof)
