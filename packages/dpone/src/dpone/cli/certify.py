"""`dpone certify`: keys, signatures beside documents, their verification, and SQL Server's part of the assurances."""

from __future__ import annotations

import json
import os
from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from dpone.application.trust import TrustEvidence, verify_certificate
from dpone.cli.documents import (
    DOCUMENT_FILE,
    read_document,
    read_kind,
    refuse_document,
    write_all_new,
)
from dpone.cli.errors import fail
from dpone.cli.freeze import freeze_command
from dpone.cli.issue import issue, issue_route_command
from dpone.cli.schemas import Format, FormatOption
from dpone.composition.clock import SystemClock
from dpone.composition.ed25519 import Ed25519Signer, Ed25519Verifier, SigningKey
from dpone.composition.operator import product
from dpone_contracts.document import DocumentError
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.measurements import (
    RuntimeAssurancePolicy,
    freeze_findings,
    utc_findings,
    writer_findings,
)
from dpone_contracts.policies import DeadlinePolicy
from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt
from dpone_contracts.relations import SqlRelation
from dpone_contracts.signatures import key_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpone_contracts.effects import Reason
    from dpone_contracts.ports.engine_measurer import EngineMeasurer

app = typer.Typer(
    no_args_is_help=True, help="Keys, signatures, and what SQL Server shows of an assurance's subject."
)
app.command("freeze")(freeze_command(product))
app.command()(issue)
app.command("issue-route")(issue_route_command)


@app.command()
def keygen(
    key: Annotated[
        Path, typer.Option(help="File that gets the private key (PEM, mode 600); must not exist.")
    ],
    output: FormatOption = Format.TEXT,
) -> None:
    """Make an Ed25519 key; the private part goes into the file alone, the public part is printed."""
    try:
        public_key = SigningKey.generate(key).public_key
    except DponeError as error:
        fail(error, output)
    made = {"key_id": key_id_of(public_key), "public_key": public_key, "key_reference": f"file:{key}"}
    _tell(
        {"schema": "dpone.certify-key.v1", **made},
        output,
        [f"{name}  {value}" for name, value in made.items()],
    )


@app.command()
def sign(
    document: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="A stored document.")
    ],
    *,
    key: Annotated[str, typer.Option(help="Reference of the private key: file:/path.")],
    issuer: Annotated[str, typer.Option(help="The issuer that the key and the document name.")],
    out: Annotated[Path, typer.Option(help="File that gets the signature document; must not exist.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Sign a document's bytes exactly as they are stored."""
    try:
        signature = Ed25519Signer(issuer, SigningKey(key)).sign(document.read_bytes())
        write_all_new({out: signature.to_bytes()})
    except DocumentError as error:
        refuse_document(document, error, output)
    except DponeError as error:
        fail(error, output)
    plain = signature.to_plain()
    _tell(
        plain,
        output,
        [f"{name}  {plain[name]}" for name in ("signed_schema", "signed_document_sha256", "key_id")],
    )


@app.command()
def verify(
    document: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, readable=True, help="A route certification or assurance."
        ),
    ],
    *,
    beside: Annotated[
        Path,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Folder with trust policy, signed revocation index and signatures.",
        ),
    ],
    at: Annotated[
        str | None, typer.Option(help="Instant, YYYY-MM-DDThh:mm:ss.ffffffZ; now without it.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Decide whether a signed document may be acted on: trusted key, granted kind and place, not revoked, current."""
    certificate = read_document(document, output)
    if not isinstance(certificate, RouteLiveCertificationReceipt | RuntimeAssuranceReceipt):
        raise typer.BadParameter("neither a route certification nor a runtime assurance")
    try:
        evidence = TrustEvidence.of(read_document(path, output) for path in sorted(beside.glob("*.json")))
        key_id = verify_certificate(evidence, Ed25519Verifier(), certificate, at or SystemClock().now())
    except ValueError as error:
        raise typer.BadParameter("not an instant", param_hint="--at") from error
    except DponeError as error:
        fail(error, output)
    told = {
        "schema": "dpone.certify-verdict.v1",
        "verdict": "ADMISSIBLE",
        "document_sha256": certificate.digest,
        "key_id": key_id,
    }
    _tell(told, output, [f"admissible  {certificate.digest}  signed by {key_id}"])


@app.command()
def measure(
    target: Annotated[str, typer.Argument(help="The target as database.schema.table.")],
    *,
    column: Annotated[str, typer.Option(help="The event-time column.")],
    policy: Annotated[Path, DOCUMENT_FILE],
    deadlines: Annotated[Path, DOCUMENT_FILE],
    login_timeout: Annotated[int, typer.Option(min=1, help="Seconds that a login may take.")],
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder that gets the measurements.")],
    connection: Annotated[
        str, typer.Option(help="Variable that holds the ODBC connection string of who may see the catalog.")
    ] = "DPONE_MSSQL_DSN",
    output: FormatOption = Format.TEXT,
) -> None:
    """Measure writers, DDL freeze and event-time column from the catalog, and say what speaks against an assurance.

    Exit code 0 when nothing does, 1 when something does, 4 when part of it is hidden.
    """
    try:
        allowed = read_kind(policy, RuntimeAssurancePolicy, output)
        measurer = _measurer(connection, login_timeout, read_kind(deadlines, DeadlinePolicy, output))
        relation, now = SqlRelation.from_id(target), SystemClock().now()
        writers = measurer.writers(relation, now)
        freeze = measurer.ddl_freeze(relation, now)
        utc = measurer.utc_semantics(relation, column, now)
        taken = (writers, freeze, utc)
        write_all_new({out / f"{m.digest.removeprefix('sha256:')}.json": m.to_bytes() for m in taken})
    except DponeError as error:
        fail(error, output)
    findings = (
        *writer_findings(writers, allowed),
        *freeze_findings(freeze, allowed, max(freeze.ddl_epoch, 1), ()),
        *utc_findings(utc),
    )
    told = {
        "schema": "dpone.certify-measurement.v1",
        "measurements": {m.SCHEMA: m.digest for m in (writers, freeze, utc)},
        "ddl_epoch": freeze.ddl_epoch,
        "writers": [writer.to_plain() for writer in writers.writers],
        "findings": [{"code": reason.code, "observed": reason.observed} for reason in findings],
    }
    lines = [f"{writer.principal}  ({writer.scope})  {'; '.join(writer.ways)}" for writer in writers.writers]
    lines += [f"{reason.code}: {reason.observed}" for reason in findings] or [
        "nothing speaks against the assurances"
    ]
    _tell(told, output, lines)
    if findings:
        raise typer.Exit(_exit_class(findings))


def _exit_class(findings: Iterable[Reason]) -> int:
    """Refused where anything positive was found, unverified where things are only hidden."""
    classes = {DponeError.because(reason).exit_class for reason in findings}
    return int(ExitClass.UNVERIFIED if classes == {ExitClass.UNVERIFIED} else ExitClass.REFUSED)


def _measurer(variable: str, login_timeout: int, deadlines: DeadlinePolicy) -> EngineMeasurer:
    from dpone.composition.operator import engine_measurer  # noqa: PLC0415 - the driver is loaded where it is needed
    from dpone_mssql.connection import SqlServerConfig  # noqa: PLC0415

    dsn = os.environ.get(variable, "")
    if not dsn:
        raise typer.BadParameter(f"{variable} is not set", param_hint="--connection")
    limits = (login_timeout, deadlines.lock_timeout_milliseconds, deadlines.statement_seconds)
    return engine_measurer(SqlServerConfig(dsn, *limits))


def _tell(told: Mapping[str, object], output: Format, lines: list[str]) -> None:
    typer.echo(json.dumps(told, indent=2) if output is Format.JSON else "\n".join(lines))
