"""`dpone refresh release`: one workflow of a compiled project, frozen with the platform's settings and identified."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dpone.application.release import WorkflowRelease, release_workflow
from dpone.cli.documents import DOCUMENT_FILE, document_error, read_kind, write_all_new
from dpone.cli.errors import fail
from dpone.cli.schemas import Format, FormatOption
from dpone_contracts.document import DocumentError
from dpone_contracts.errors import DponeError
from dpone_contracts.hand_written import ReleaseSettings
from dpone_contracts.policies import PlatformPolicy, WorkflowProfile
from dpone_dbt_proof.proof_bundle import load_bundle
from dpone_dbt_proof.read_dependencies import ReadBudget

if TYPE_CHECKING:
    from dpone_contracts.policies import ReadLimits

SCHEMA: Final = "dpone.refresh-release.v1"
PROOFS: Final = "proof-bundle.json"
RELEASE: Final = "release-descriptor.json"


def release_command(
    bundle: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            readable=True,
            help="The bundle that `dpone refresh compile --out` wrote.",
        ),
    ],
    *,
    profile: Annotated[Path, DOCUMENT_FILE],
    platform: Annotated[Path, DOCUMENT_FILE],
    settings: Annotated[Path, DOCUMENT_FILE],
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder that gets both documents, create-only.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Freeze the proofs of the profile's workflow and identify the release; the same input gives the same bytes.

    Only a workflow whose every proof is PROVEN is released.
    """
    workflow = read_kind(profile, WorkflowProfile, output)
    policy, given = read_kind(platform, PlatformPolicy, output), read_kind(settings, ReleaseSettings, output)
    try:
        read_policy = read_policy_sha256(policy.read_limits)
        release = WorkflowRelease(
            profile=workflow, settings=given, platform=policy, read_policy_sha256=read_policy
        )
        compiled = load_bundle(bundle.read_bytes())
        proofs, descriptor = release_workflow(compiled, release, product_version=version("dpone"))
        write_all_new({out / PROOFS: proofs.to_bytes(), out / RELEASE: descriptor.to_bytes()})
    except DocumentError as error:
        fail(document_error(settings, error), output)
    except DponeError as error:
        fail(error, output)
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "workflow": proofs.workflow_name,
        "models": [model.model_unique_id for model in proofs.models],
        "pre_release_bundle_sha256": proofs.digest,
        "release_id": descriptor.release_id,
        "toolchain_sha256": descriptor.toolchain_sha256,
        "runtime_image_digest": proofs.lifecycle_policy.runtime_image_digest,
        "files": [str(out / PROOFS), str(out / RELEASE)],
    }
    if output is Format.JSON:
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo(f"{proofs.workflow_name}: {len(proofs.models)} models released into {out}")
    for name in ("pre_release_bundle_sha256", "release_id", "toolchain_sha256", "runtime_image_digest"):
        typer.echo(f"  {name:<25}  {told[name]}")


def read_policy_sha256(limits: ReadLimits) -> str:
    """The digest that a compile under these limits names; raises `DponeError` DPONE_USAGE for limits that bound nothing."""
    try:
        return ReadBudget(**limits.model_dump()).sha256
    except ValueError as error:
        raise DponeError("DPONE_USAGE", f"read_limits of the platform policy: {error}") from None
