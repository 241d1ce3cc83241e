"""Assurances and route certifications by their commands: three or none, linked, over what was measured, create-only."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dpone.cli.certify import app as certify
from dpone.composition.clock import SystemClock
from dpone.composition.ed25519 import Ed25519Signer, Ed25519Verifier, SigningKey
from dpone_contracts.canonical import decode, sha256_text
from dpone_contracts.document import Document, admit_document
from dpone_contracts.hand_written import AttestedControls, RouteResult
from dpone_contracts.measurements import (
    DdlFreezeMeasurement,
    Measurement,
    RuntimeAssurancePolicy,
    UtcMeasurement,
    WriterMeasurement,
)
from dpone_contracts.ports.signatures import Verification
from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt
from dpone_contracts.signatures import DocumentSignature, key_id_of
from dpone_contracts.trust import RevocationIndex, TrustPolicy

sys.path.insert(0, str(Path(__file__).parent))
from deployment_in_memory import story

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL, ISSUER = story.PRICE, "platform/certifier"
PROOFS = story.proofs()
PROVEN = next(each for each in PROOFS.models if each.model_unique_id == MODEL)
FROM, UNTIL = "2026-08-01T00:00:00Z", "2099-09-01T00:00:00Z"
DIGEST = "sha256:" + "5e" * 32
ABOUT: dict[str, Any] = {
    "database": story.deployment().mssql_database,
    "schema_name": "mart",
    "object_name": "price",
    "object_id": 4711,
    "server_major_version": 16,
    "measured_at": "2026-08-09T01:00:00.000000Z",
    "measured_by": "dbo",
    "unseen": [],
}
WORKER = {"scope": "database", "principal": "worker", "principal_type": "SQL_USER", "ways": ["UPDATE"]}
ADMIN = {"scope": "server", "principal": "sa", "principal_type": "SQL_LOGIN", "ways": ["sysadmin"]}


def measurements() -> dict[str, Measurement]:
    covered = [4711, *PROVEN.read_dependencies.closure_object_ids]
    return {
        "writers": WriterMeasurement.build(**ABOUT, writers=[WORKER, ADMIN], indirect=[], jobs_seen=True),
        "freeze": DdlFreezeMeasurement.build(
            **ABOUT,
            ddl_epoch=3,
            covered=[
                {"object_id": each, "schema_name": "raw", "object_name": f"t{each}", "state": "SAME"}
                for each in sorted(covered)
            ],
            trigger_state="ENABLED",
            trigger_text="AS_RELEASED",
            controllers=[ADMIN],
        ),
        "utc": UtcMeasurement.build(
            **ABOUT,
            column_name=PROVEN.event_time_column,
            type_name="datetime2(6)",
            is_computed=False,
            default_clock="NONE",
            server_utc_offset="+00:00",
            session_language="us_english",
            session_date_format="mdy",
        ),
    }


def route_result(**changes: Any) -> RouteResult:
    fields: dict[str, Any] = {
        "status": "UNVERIFIED",
        "certification_policy_sha256": DIGEST,
        "tested_at": FROM,
        "effective_from": FROM,
        "expires_at": UNTIL,
        "coordinates": {
            "environment": "production",
            "load_strategy": "semantic_refresh_v2",
            "source_connector": "mssql",
            "source_connector_version": "0.74.0",
            "sink_connector": "clickhouse",
            "sink_connector_version": "0.74.0",
            "source_capability_sha256": DIGEST,
            "sink_capability_sha256": DIGEST,
            "capability_policy_sha256": DIGEST,
            "route_policy_sha256": DIGEST,
            "runtime_image_digest": PROOFS.lifecycle_policy.runtime_image_digest,
            "toolchain_sha256": story.release().toolchain_sha256,
        },
    }
    return RouteResult.build(**fields | changes)


def route(status: str = "PASS") -> RouteLiveCertificationReceipt:
    evidence = ("failure_matrix_sha256", "live_environment_sha256", "live_evidence_sha256")
    result = route_result(
        status=status, **(dict.fromkeys(evidence, DIGEST) if status != "UNVERIFIED" else {})
    )
    plain = result.to_plain()
    del plain["schema"], plain["route_result_sha256"]
    return RouteLiveCertificationReceipt.build(
        **plain, issuer_authority=ISSUER, issuer_attestation_sha256=DIGEST, issuer_signature_sha256=DIGEST
    )


def run(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(certify, [*arguments, "--format=json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, json.loads(done.stdout)


@dataclass
class Desk:
    """What lies on an issuer's desk."""

    folder: Path
    documents: dict[str, Document] = field(
        default_factory=lambda: {
            "proofs": PROOFS,
            "release": story.release(),
            "deployment": story.deployment(),
            "platform": story.platform(),
            "policy": RuntimeAssurancePolicy.build(
                environment="production",
                acl_policy_version="7",
                runtime_principals=["worker"],
                installer_principals=[],
                administrator_logins=["sa"],
                allowed_ways=[],
                external_jobs="MEASURED",
            ),
            "attested": AttestedControls.build(
                environment="production",
                external_job_inventory_sha256=DIGEST,
                organizational_control_sha256=DIGEST,
                effective_from=FROM,
                expires_at=UNTIL,
                producer_version="certifier 1",
            ),
            "route": route(),
        }
    )
    measured: dict[str, Measurement] = field(default_factory=measurements)
    model: str = MODEL
    environment: str = "production"
    revoked: bool = False
    signed: bool = True

    @property
    def key(self) -> SigningKey:
        path = self.folder / "key.pem"
        return SigningKey(f"file:{path}") if path.exists() else SigningKey.generate(path)

    def change(self, name: str, **fields: Any) -> None:
        where: dict[str, Any] = self.measured if name in self.measured else self.documents
        where[name] = story.with_fields(where[name], **fields)

    def trust(self) -> list[Document]:
        """Whom this desk believes: the one key, in one environment."""
        kinds = ("revocation_index", "route_certification")
        grant = {"environment": self.environment, "scope": "environment", "named_sha256": []}
        key = {
            "key_id": key_id_of(self.key.public_key),
            "algorithm": "ed25519",
            "public_key": self.key.public_key,
            "issuer_authority": ISSUER,
            "effective_from": FROM,
            "expires_at": UNTIL,
            "grants": [{"document_kind": kind, **grant} for kind in kinds],
        }
        policy = TrustPolicy.build(
            trust_domain="pricing",
            environment=self.environment,
            effective_from=FROM,
            expires_at=UNTIL,
            max_revocation_index_age_seconds=3600,
            min_revocation_index_epoch=1,
            keys=[key],
        )
        certificate, now = self.documents["route"], f"{SystemClock().now()[:19]}Z"
        withdrawn = {"document_sha256": certificate.digest, "revoked_at": now, "reason": "withdrawn"}
        index = RevocationIndex.build(
            trust_domain="pricing",
            index_epoch=1,
            issued_at=now,
            documents=[withdrawn] if self.revoked else [],
            keys=[],
        )
        signer = Ed25519Signer(ISSUER, self.key)
        signatures = [signer.sign(each.to_bytes()) for each in (index, certificate)]
        return [policy, index, *signatures[: 2 if self.signed else 1]]

    def issue(self) -> tuple[int, dict[str, Any]]:
        shutil.rmtree(self.folder / "beside", ignore_errors=True)
        (self.folder / "beside").mkdir()
        for number, document in enumerate(self.trust()):
            (self.folder / "beside" / f"{number}.json").write_bytes(document.to_bytes())
        (self.folder / "measured").mkdir(exist_ok=True)
        for name, measured in self.measured.items():
            (self.folder / "measured" / f"{name}.json").write_bytes(measured.to_bytes())
        for name, document in self.documents.items():
            (self.folder / f"{name}.json").write_bytes(document.to_bytes())
        options = [f"--{name}={self.folder / name}.json" for name in self.documents]
        options += [f"--measured={self.folder / 'measured'}", f"--model={self.model}"]
        options += [f"--beside={self.folder / 'beside'}"]
        options += [f"--key={self.key.reference}", f"--issuer={ISSUER}", f"--out={self.folder / 'out'}"]
        return run("issue", *options)

    def files(self) -> dict[str, bytes]:
        out = self.folder / "out"
        return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_three_assurances_are_issued_over_the_measurements_and_each_is_signed(desk: Desk) -> None:
    code, told = desk.issue()
    assert code == 0, told
    files = desk.files()
    for kind, measured in zip(
        ("writer_exclusivity", "ddl_freeze", "utc_semantics"), desk.measured.values(), strict=True
    ):
        receipt = RuntimeAssuranceReceipt.from_bytes(files[f"{kind}.{MODEL}.json"])
        assert (receipt.subject.assurance_kind, receipt.evidence_sha256) == (kind, measured.digest)
        assert receipt.subject.deployment_id == story.deployment().deployment_id
        assert receipt.subject.route_certification_receipt_sha256 == desk.documents["route"].digest
        assert receipt.subject.mssql_target_authority_id == (
            f"mssql://{story.deployment().mssql_connection_authority_id}/{ABOUT['database']}.mart.price"
        )
        data, signature = receipt.to_bytes(), files[f"{kind}.{MODEL}.sig.json"]
        signed = DocumentSignature.from_bytes(signature)
        assert signed.is_of(receipt, data)
        verifier = Ed25519Verifier()
        assert verifier.verify(desk.key.public_key, signed.signature, data) is Verification.GENUINE
        kept = receipt.approver_attestation_sha256.removeprefix("sha256:")
        attestation = files[f"attestations/{kept}.json"]
        assert sha256_text(attestation) == receipt.approver_attestation_sha256
        word: dict[str, Any] = decode(attestation).value
        assert receipt.approver_signature_sha256 == sha256_text(bytes.fromhex(word["signature"]))
    assert admit_document(files[f"ddl_freeze.{MODEL}.json"]).to_plain()["ddl_epoch"] == 3


def test_issued_again_the_same_bytes_stand_and_nothing_else_is_written_over_them(desk: Desk) -> None:
    desk.issue()
    first = desk.files()
    assert desk.issue()[0] == 0
    assert desk.files() == first
    desk.change("attested", producer_version="certifier 2")
    code, told = desk.issue()
    assert (code, told["code"]) == (2, "DPONE_USAGE")
    assert desk.files() == first


def unverified_route(desk: Desk) -> None:
    desk.documents["route"] = route("UNVERIFIED")


def failed_route(desk: Desk) -> None:
    desk.documents["route"] = route("FAIL")


def route_of_another_environment(desk: Desk) -> None:
    other = {**route().coordinates.to_plain(), "environment": "staging"}
    desk.change("route", coordinates=other)


def unverified_route_of_a_lab_for_production(desk: Desk) -> None:
    other = {**route().coordinates.to_plain(), "environment": "disposable-lab"}
    desk.documents["route"] = story.with_fields(route("UNVERIFIED"), coordinates=other)


def route_of_another_image(desk: Desk) -> None:
    desk.change("route", coordinates={**route().coordinates.to_plain(), "runtime_image_digest": DIGEST})


def route_of_another_toolchain(desk: Desk) -> None:
    desk.change("route", coordinates={**route().coordinates.to_plain(), "toolchain_sha256": DIGEST})


def a_route_that_nobody_signed(desk: Desk) -> None:
    desk.signed = False


def a_route_that_is_withdrawn(desk: Desk) -> None:
    desk.revoked = True


def a_route_of_last_year(desk: Desk) -> None:
    old = {"tested_at": "2025-01-01T00:00:00Z", "effective_from": "2025-01-01T00:00:00Z"}
    desk.change("route", **old, expires_at="2025-02-01T00:00:00Z")


def release_of_other_proofs(desk: Desk) -> None:
    desk.change("release", pre_release_bundle_sha256=DIGEST)


def release_of_another_policy(desk: Desk) -> None:
    desk.change("platform", closed_day_lag_days=9)


def deployment_of_another_release(desk: Desk) -> None:
    desk.change("deployment", release_id=DIGEST)


def controls_of_another_environment(desk: Desk) -> None:
    desk.change("attested", environment="staging")


def policy_of_another_environment(desk: Desk) -> None:
    desk.change("policy", environment="staging")


def measured_on_two_targets(desk: Desk) -> None:
    desk.change("utc", object_name="stock")


def measured_in_another_database(desk: Desk) -> None:
    for name in ("writers", "freeze", "utc"):
        desk.change(name, database="Elsewhere")


def another_column(desk: Desk) -> None:
    desk.change("utc", column_name="loaded_at")


def a_stranger_writes(desk: Desk) -> None:
    desk.change("writers", writers=[{**WORKER, "principal": "mallory"}, WORKER, ADMIN])


def no_epoch(desk: Desk) -> None:
    desk.change("freeze", ddl_epoch=0)


def the_closure_is_not_covered(desk: Desk) -> None:
    desk.change("freeze", covered=[])


def a_local_clock(desk: Desk) -> None:
    desk.change("utc", default_clock="OTHER")


def writers_are_hidden(desk: Desk) -> None:
    desk.change("writers", unseen=["logins"])


def writers_are_hidden_and_a_local_clock_is_seen(desk: Desk) -> None:
    writers_are_hidden(desk)
    a_local_clock(desk)


def an_unknown_model(desk: Desk) -> None:
    desk.model = "model.example.unknown"


def a_measurement_is_missing(desk: Desk) -> None:
    del desk.measured["utc"]


@pytest.mark.parametrize(
    ("happens", "code", "exit_code"),
    [
        (unverified_route, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (failed_route, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (route_of_another_environment, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (unverified_route_of_a_lab_for_production, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (route_of_another_image, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (route_of_another_toolchain, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (a_route_that_nobody_signed, "DPONE_SIGNATURE_MISSING", 1),
        (a_route_that_is_withdrawn, "DPONE_CERTIFICATE_REVOKED", 1),
        (a_route_of_last_year, "DPONE_CERTIFICATE_NOT_CURRENT", 1),
        (release_of_other_proofs, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (release_of_another_policy, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (deployment_of_another_release, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (controls_of_another_environment, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (policy_of_another_environment, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (measured_on_two_targets, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (measured_in_another_database, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (another_column, "DPONE_ASSURANCE_NOT_ISSUABLE", 1),
        (a_stranger_writes, "DPONE_WRITER_NOT_EXCLUSIVE", 1),
        (no_epoch, "DPONE_DDL_EPOCH_MOVED", 1),
        (the_closure_is_not_covered, "DPONE_DDL_FREEZE_UNCOVERED", 1),
        (a_local_clock, "DPONE_UTC_LOCAL_CLOCK", 1),
        (writers_are_hidden, "DPONE_WRITERS_UNVERIFIED", 4),
        (writers_are_hidden_and_a_local_clock_is_seen, "DPONE_UTC_LOCAL_CLOCK", 1),
        (an_unknown_model, "DPONE_PROOF_INCOMPLETE", 1),
        (a_measurement_is_missing, "DPONE_USAGE", 2),
    ],
)
def test_nothing_is_issued_against_what_was_measured_or_of_documents_that_do_not_belong_together(
    desk: Desk, happens: Callable[[Desk], None], code: str, exit_code: int
) -> None:
    happens(desk)
    found, told = desk.issue()
    assert (found, told["code"]) == (exit_code, code), told
    assert desk.files() == {}


def test_on_a_lab_alone_an_unverified_route_carries_assurances(desk: Desk) -> None:
    desk.environment = lab = "disposable-lab"
    for name in ("policy", "attested"):
        desk.change(name, environment=lab)
    platform = story.with_fields(story.platform(), environment=lab)
    release = story.with_fields(story.release(), platform_policy_digest=platform.digest)
    deployment = story.with_fields(story.deployment(), environment=lab, release_id=release.release_id)
    desk.documents |= {"platform": platform, "release": release, "deployment": deployment}
    unverified_route_of_a_lab_for_production(desk)
    assert desk.issue()[0] == 0


def issued_route(tmp_path: Path, result: RouteResult, *evidence: bytes) -> tuple[int, dict[str, Any]]:
    path, key = tmp_path / "result.json", tmp_path / "key.pem"
    path.write_bytes(result.to_bytes())
    made = SigningKey(f"file:{key}") if key.exists() else SigningKey.generate(key)
    files = []
    for number, data in enumerate(evidence):
        (tmp_path / f"evidence-{number}").write_bytes(data)
        files.append(f"--evidence={tmp_path / f'evidence-{number}'}")
    options = (f"--key={made.reference}", f"--issuer={ISSUER}", f"--out={tmp_path / 'out'}")
    return run("issue-route", str(path), *options, *files)


def test_an_unverified_route_is_certified_as_that_and_signed(tmp_path: Path) -> None:
    code, told = issued_route(tmp_path, route_result())
    assert code == 0, told
    data = (tmp_path / "out" / "route_certification.json").read_bytes()
    receipt = RouteLiveCertificationReceipt.from_bytes(data)
    assert (receipt.status, receipt.issuer_authority) == ("UNVERIFIED", ISSUER)
    signature = (tmp_path / "out" / "route_certification.sig.json").read_bytes()
    assert DocumentSignature.from_bytes(signature).is_of(receipt, data)


@pytest.mark.parametrize("status", ["PASS", "FAIL"])
def test_a_live_result_is_certified_with_the_files_that_it_names_and_not_without_one(
    tmp_path: Path, status: str
) -> None:
    files = (b"matrix", b"environment", b"evidence")
    names = ("failure_matrix_sha256", "live_environment_sha256", "live_evidence_sha256")
    named = dict(zip(names, map(sha256_text, files), strict=True))
    result = route_result(status=status, **named)
    code, told = issued_route(tmp_path, result, *files[:2])
    assert (code, told["code"]) == (1, "DPONE_ASSURANCE_NOT_ISSUABLE")
    assert not (tmp_path / "out").exists()
    code, told = issued_route(tmp_path, result, *files)
    assert code == 0, told
