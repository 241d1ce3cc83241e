"""`dpone certify issue` and `issue-route`: certificates with their signatures beside them, create-only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from dpone.application.certify import AssuranceIssuer, Measured, issue_route
from dpone.application.trust import TrustEvidence
from dpone.cli.documents import DOCUMENT_FILE, read_document, read_kind, write_all_new
from dpone.cli.errors import fail
from dpone.cli.schemas import Format, FormatOption
from dpone.composition.clock import SystemClock
from dpone.composition.ed25519 import Ed25519Attestor, Ed25519Signer, Ed25519Verifier, SigningKey
from dpone_contracts.canonical import sha256_text
from dpone_contracts.descriptors import DeploymentDescriptor, ProofBundle, ReleaseDescriptor
from dpone_contracts.errors import DponeError
from dpone_contracts.hand_written import AttestedControls, RouteResult
from dpone_contracts.measurements import (
    DdlFreezeMeasurement,
    Measurement,
    RuntimeAssurancePolicy,
    UtcMeasurement,
    WriterMeasurement,
)
from dpone_contracts.policies import PlatformPolicy
from dpone_contracts.receipts import RouteLiveCertificationReceipt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone_contracts.document import Document
    from dpone_contracts.trust import Certificate

SCHEMA: Final = "dpone.certify-issue.v1"

M = TypeVar("M", bound=Measurement)

_Key = Annotated[str, typer.Option("--key", help="Reference of the private key: file:/path.")]
_Issuer = Annotated[str, typer.Option("--issuer", help="The issuer that the trust policy's key names.")]
_Out = Annotated[
    Path,
    typer.Option(
        "--out",
        file_okay=False,
        help="Folder that gets certificates and signatures; its `attestations` folder the issuer keeps.",
    ),
]


def issue(
    *,
    model: Annotated[str, typer.Option(help="The model: model.PROJECT.NAME.")],
    measured: Annotated[
        Path,
        typer.Option(
            exists=True, file_okay=False, help="Folder that `dpone certify measure` wrote for its target."
        ),
    ],
    proofs: Annotated[Path, DOCUMENT_FILE],
    release: Annotated[Path, DOCUMENT_FILE],
    deployment: Annotated[Path, DOCUMENT_FILE],
    platform: Annotated[Path, DOCUMENT_FILE],
    policy: Annotated[Path, DOCUMENT_FILE],
    attested: Annotated[Path, DOCUMENT_FILE],
    route: Annotated[Path, DOCUMENT_FILE],
    beside: Annotated[
        Path,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Folder with trust policy, signed revocation index and the route's signature.",
        ),
    ],
    key: _Key,
    issuer: _Issuer,
    out: _Out,
    output: FormatOption = Format.TEXT,
) -> None:
    """Issue the three assurances of one model over its measurements: all of them, or none.

    Exit code 1 where a measurement or the route speaks against it, 4 where part of the engine was hidden.
    """
    maker = Ed25519Attestor(issuer, SigningKey(key))
    try:
        issuing = AssuranceIssuer(
            attestor=maker,
            policy=read_kind(policy, RuntimeAssurancePolicy, output),
            attested=read_kind(attested, AttestedControls, output),
            release=read_kind(release, ReleaseDescriptor, output),
            deployment=read_kind(deployment, DeploymentDescriptor, output),
            platform=read_kind(platform, PlatformPolicy, output),
            proofs=read_kind(proofs, ProofBundle, output),
            route=read_kind(route, RouteLiveCertificationReceipt, output),
            model_unique_id=model,
            evidence=TrustEvidence.of(_all_of(beside, output)),
            verifier=Ed25519Verifier(),
        )
        shown = [each for each in _all_of(measured, output) if isinstance(each, Measurement)]
        taken = Measured(
            _only(shown, WriterMeasurement), _only(shown, DdlFreezeMeasurement), _only(shown, UtcMeasurement)
        )
        receipts = issuing.issue(taken, SystemClock().now())
        named = {f"{each.subject.assurance_kind}.{model}": each for each in receipts}
        told = _kept(named, maker, out)
    except DponeError as error:
        fail(error, output)
    _tell(told, output)


def issue_route_command(
    result: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, readable=True, help="A sealed route-result document."),
    ],
    *,
    key: _Key,
    issuer: _Issuer,
    out: _Out,
    evidence: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File whose digest a live result names; once for each of the three.",
        ),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Issue a route certification of a live test's result; PASS and FAIL need the files that they name."""
    maker = Ed25519Attestor(issuer, SigningKey(key))
    found = read_kind(result, RouteResult, output)
    try:
        at_hand = {sha256_text(path.read_bytes()) for path in evidence or ()}
        receipt = issue_route(maker, found, at_hand)
        told = _kept({"route_certification": receipt}, maker, out)
    except DponeError as error:
        fail(error, output)
    _tell(told, output)


def _all_of(folder: Path, output: Format) -> list[Document]:
    return [read_document(path, output) for path in sorted(folder.glob("*.json"))]


def _only(shown: list[Measurement], kind: type[M]) -> M:
    there = [each for each in shown if isinstance(each, kind)]
    if len(there) != 1:
        raise DponeError("DPONE_USAGE", f"{len(there)} measurements where one is needed: {kind.SCHEMA}")
    return there[0]


def _kept(certificates: Mapping[str, Certificate], maker: Ed25519Attestor, out: Path) -> dict[str, Any]:
    """Write certificates, signatures and attestations; what the command says."""
    signer = Ed25519Signer(maker.authority, maker.key)
    files: dict[Path, bytes] = {
        out / "attestations" / f"{digest.removeprefix('sha256:')}.json": data
        for digest, data in maker.kept.items()
    }
    told = []
    for name, certificate in certificates.items():
        data = certificate.to_bytes()
        files[out / f"{name}.json"] = data
        files[out / f"{name}.sig.json"] = signer.sign(data).to_bytes()
        told.append({"document": name, "digest": certificate.digest, "file": str(out / f"{name}.json")})
    write_all_new(files)
    return {"schema": SCHEMA, "issuer": maker.authority, "issued": told}


def _tell(told: dict[str, Any], output: Format) -> None:
    lines = [f"{each['file']}\n  {each['digest']}" for each in told["issued"]]
    typer.echo(json.dumps(told, indent=2) if output is Format.JSON else "\n".join(lines))
