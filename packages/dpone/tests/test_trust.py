"""Activation believes a certificate that is signed, trusted, unrevoked and measured again; each failure has its code."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from typer.testing import CliRunner

from dpone.application.activation import ActivationServices, activate
from dpone.application.trust import Trust, TrustEvidence, certified_in, require_trusted
from dpone.cli import certify
from dpone.composition.ed25519 import Ed25519Signer, Ed25519Verifier, SigningKey
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.measurements import (
    DdlFreezeMeasurement,
    Measurement,
    RuntimeAssurancePolicy,
    UtcMeasurement,
    WriterMeasurement,
)
from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt
from dpone_contracts.relations import SqlRelation
from dpone_contracts.signatures import ALGORITHM, DocumentSignature, key_id_of
from dpone_contracts.testing.memory_control import (
    MemoryActivationStore,
    MemoryControl,
    MemoryDocumentStore,
    disposable_store,
)
from dpone_contracts.testing.memory_edges import (
    DisposableStoresOnly,
    MemoryRevocationLog,
    SteppingClock,
)
from dpone_contracts.testing.memory_files import MemoryFrozenBytes, MemoryIndex
from dpone_contracts.testing.plan_example import made_up
from dpone_contracts.testing.revocation_suite import RevocationLogSuite
from dpone_contracts.trust import RevocationIndex, TrustPolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from dpone_contracts.document import Document
    from dpone_contracts.identity import DeploymentStage

NOW = "2026-08-09T01:00:00.000000Z"
ISSUER = "platform/certifier"
FROM, UNTIL = "2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z"
KINDS = ("ddl_freeze", "revocation_index", "route_certification", "utc_semantics", "writer_exclusivity")
DEPLOYMENT, ROUTE_POLICY = made_up("deployment"), made_up("route policy")


TARGET = SqlRelation("lab", "mart", "flight")


def about(target: SqlRelation, at: str) -> dict[str, Any]:
    return {
        "database": target.database,
        "schema_name": target.schema,
        "object_name": target.name,
        "object_id": 4711,
        "server_major_version": 16,
        "measured_at": at,
        "measured_by": "dbo",
        "unseen": [],
    }


def writer(name: str, scope: str = "database", *ways: str) -> dict[str, Any]:
    return {"scope": scope, "principal": name, "principal_type": "SQL_USER", "ways": list(ways) or ["UPDATE"]}


@dataclass
class Engine:
    """What the engine shows at any time."""

    writers_shown: dict[str, Any] = field(
        default_factory=lambda: {
            "writers": [writer("worker"), writer("sa", "server")],
            "indirect": [],
            "jobs_seen": True,
        }
    )
    freeze_shown: dict[str, Any] = field(
        default_factory=lambda: {
            "ddl_epoch": 3,
            "covered": [
                {"object_id": 4711, "schema_name": "mart", "object_name": "flight", "state": "SAME"},
                {"object_id": 4712, "schema_name": "raw", "object_name": "flights", "state": "SAME"},
            ],
            "trigger_state": "ENABLED",
            "trigger_text": "AS_RELEASED",
            "controllers": [writer("sa", "server")],
        }
    )
    column_shown: dict[str, Any] = field(
        default_factory=lambda: {
            "type_name": "datetime2(6)",
            "is_computed": False,
            "default_clock": "NONE",
            "server_utc_offset": "+00:00",
            "session_language": "us_english",
            "session_date_format": "mdy",
        }
    )

    def writers(self, target: SqlRelation, at: str) -> WriterMeasurement:
        return WriterMeasurement.build(**{**about(target, at), **self.writers_shown})

    def ddl_freeze(self, target: SqlRelation, at: str) -> DdlFreezeMeasurement:
        return DdlFreezeMeasurement.build(**{**about(target, at), **self.freeze_shown})

    def utc_semantics(self, target: SqlRelation, column: str, at: str) -> UtcMeasurement:
        return UtcMeasurement.build(**{**about(target, at), "column_name": column, **self.column_shown})


def allowed(**changes: Any) -> RuntimeAssurancePolicy:
    given: dict[str, Any] = {
        "environment": "production",
        "acl_policy_version": "7",
        "runtime_principals": ["worker"],
        "installer_principals": [],
        "administrator_logins": ["sa"],
        "allowed_ways": [],
        "external_jobs": "MEASURED",
    }
    return RuntimeAssurancePolicy.build(**given | changes)


def trusted(key: SigningKey, **changes: Any) -> dict[str, Any]:
    grant = {"environment": "production", "scope": "environment", "named_sha256": []}
    given = {
        "key_id": key_id_of(key.public_key),
        "algorithm": ALGORITHM,
        "public_key": key.public_key,
        "issuer_authority": ISSUER,
        "effective_from": FROM,
        "expires_at": UNTIL,
        "grants": [{"document_kind": kind, **grant} for kind in KINDS],
    }
    return given | changes


def trust_policy(*keys: dict[str, Any], **changes: Any) -> TrustPolicy:
    given: dict[str, Any] = {
        "trust_domain": "pricing",
        "environment": "production",
        "effective_from": FROM,
        "expires_at": UNTIL,
        "max_revocation_index_age_seconds": 3600,
        "min_revocation_index_epoch": 2,
        "keys": sorted(keys, key=lambda key: str(key["key_id"])),
    }
    return TrustPolicy.build(**given | changes)


def revocations(epoch: int = 5, issued_at: str = "2026-08-09T00:30:00Z", **revoked: Any) -> RevocationIndex:
    return RevocationIndex.build(
        trust_domain="pricing",
        index_epoch=epoch,
        issued_at=issued_at,
        **{"documents": [], "keys": []} | revoked,
    )


def subject(kind: str, **more: str) -> dict[str, Any]:
    digests = (
        "effective_key_template_sha256",
        "model_definition_proof_sha256",
        "release_id",
        "route_certification_receipt_sha256",
        "scope_image_namespace_policy_sha256",
        "sqlserver_lifecycle_policy_sha256",
        "writable_schema_sha256",
    )
    return {
        "assurance_kind": kind,
        "database": "lab",
        "deployment_id": DEPLOYMENT,
        "environment": "production",
        "model_unique_id": "model.example.flight",
        "mssql_control_database": "lab",
        "mssql_control_schema": "dpone_control",
        "mssql_image_schema": "dpone_images",
        "mssql_target_authority_id": "mssql://lab/mart.flight",
        "subject_type": "column" if more else "target",
        **{name: made_up(name) for name in digests},
        **more,
    }


def assurance(measured: Measurement, policy: RuntimeAssurancePolicy, **more: Any) -> RuntimeAssuranceReceipt:
    kind = {WriterMeasurement: "writer_exclusivity", DdlFreezeMeasurement: "ddl_freeze"}.get(
        type(measured), "utc_semantics"
    )
    column = {"column_name": "at"} if kind == "utc_semantics" else {}
    return RuntimeAssuranceReceipt.build(
        **{
            "acl_policy_version": policy.acl_policy_version,
            "approver_attestation_sha256": made_up("attestation"),
            "approver_authority": ISSUER,
            "approver_signature_sha256": made_up("signature"),
            "effective_from": FROM,
            "evidence_sha256": measured.digest,
            "expires_at": UNTIL,
            "producer_version": "test",
            "runtime_assurance_policy_sha256": policy.digest,
            "status": "CERTIFIED",
            "subject": subject(kind, **column),
            "transformation_version": "test",
            **more,
        }
    )


def access(measured: WriterMeasurement, policy: RuntimeAssurancePolicy) -> dict[str, str]:
    return {
        "engine_acl_proof_sha256": measured.digest,
        "engine_acl_proof_status": "PASS",
        "external_job_inventory_sha256": made_up("jobs"),
        "external_job_inventory_status": "PASS",
        "organizational_control_sha256": made_up("control"),
        "organizational_control_status": "CERTIFIED",
        "platform_allowlist_sha256": policy.allowlist_sha256,
        "platform_allowlist_status": "PASS",
    }


def route() -> RouteLiveCertificationReceipt:
    digests = (
        "capability_policy_sha256",
        "runtime_image_digest",
        "sink_capability_sha256",
        "source_capability_sha256",
        "toolchain_sha256",
    )
    return RouteLiveCertificationReceipt.build(
        certification_policy_sha256=made_up("certification"),
        coordinates={
            "environment": "production",
            "load_strategy": "semantic_refresh_v2",
            "route_policy_sha256": ROUTE_POLICY,
            "sink_connector": "clickhouse",
            "sink_connector_version": "0.74.0",
            "source_connector": "mssql",
            "source_connector_version": "0.74.0",
            **{name: made_up(name) for name in digests},
        },
        effective_from=FROM,
        expires_at=UNTIL,
        issuer_attestation_sha256=made_up("attestation"),
        issuer_authority=ISSUER,
        issuer_signature_sha256=made_up("signature"),
        status="UNVERIFIED",
        tested_at=FROM,
    )


@dataclass
class World:
    """A deployment of one model, its certificates signed, and everything that is believed about them."""

    key: SigningKey
    other_key: SigningKey
    engine: Engine = field(default_factory=Engine)
    log: MemoryRevocationLog = field(default_factory=MemoryRevocationLog)
    allowed: RuntimeAssurancePolicy = field(default_factory=allowed)
    closure: tuple[int, ...] = (4712,)

    def __post_init__(self) -> None:
        self.measured = (
            self.engine.writers(TARGET, "2026-08-02T00:00:00.000000Z"),
            self.engine.ddl_freeze(TARGET, "2026-08-02T00:00:00.000000Z"),
            self.engine.utc_semantics(TARGET, "at", "2026-08-02T00:00:00.000000Z"),
        )
        writers, freeze, column = self.measured
        self.route = route()
        self.writer = assurance(writers, self.allowed, **access(writers, self.allowed))
        self.ddl = assurance(freeze, self.allowed, ddl_epoch=freeze.ddl_epoch)
        self.utc = assurance(column, self.allowed)
        self.index = revocations()
        self.policy: TrustPolicy | None = trust_policy(trusted(self.key))
        self.signatures = {
            document.digest: self.sign(document)
            for document in (self.route, self.writer, self.ddl, self.utc, self.index)
        }

    def sign(self, document: Document, key: SigningKey | None = None) -> DocumentSignature:
        return Ed25519Signer(ISSUER, key or self.key).sign(document.to_bytes())

    def publish(self, index: RevocationIndex) -> None:
        self.index = index
        self.signatures[index.digest] = self.sign(index)

    @property
    def stage(self) -> DeploymentStage:
        """As much of a stage as trust looks at."""

        @dataclass
        class Held:
            route: object
            writer_assurance: object
            ddl_assurance: object
            utc_assurance: object
            baseline: object

        @dataclass
        class Baseline:
            mssql_relation_id: str = "lab.mart.flight"

        @dataclass
        class Reads:
            closure_object_ids: tuple[int, ...]

        @dataclass
        class Proven:
            model_unique_id: str
            read_dependencies: Reads

        @dataclass
        class Proofs:
            models: tuple[Proven, ...]

        @dataclass
        class Stage:
            models: dict[str, Held]
            proofs: Proofs

        name = "model.example.flight"

        held = Held(self.route, self.writer, self.ddl, self.utc, Baseline())
        return cast("DeploymentStage", Stage({name: held}, Proofs((Proven(name, Reads(self.closure)),))))

    @property
    def trust(self) -> Trust:
        documents: tuple[Document | None, ...] = (self.policy, self.allowed, self.index, *self.measured)
        evidence = TrustEvidence.of(document for document in documents if document is not None)
        return Trust(
            Ed25519Verifier(), self.engine, self.log, replace(evidence, signatures=dict(self.signatures))
        )

    def require(self) -> None:
        require_trusted(self.trust, certified_in(self.stage), NOW)

    def refused(self) -> DponeError:
        with pytest.raises(DponeError) as refused:
            self.require()
        return refused.value


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(SigningKey.generate(tmp_path / "key.pem"), SigningKey.generate(tmp_path / "other.pem"))


def test_signed_trusted_unrevoked_and_measured_again_is_believed(world: World) -> None:
    world.require()
    assert world.log.seen == {"pricing": (5, world.index.digest)}


def forge(world: World) -> None:
    genuine = world.signatures[world.writer.digest]
    flipped = ("0" if genuine.signature[0] != "0" else "1") + genuine.signature[1:]
    world.signatures[world.writer.digest] = rebuilt(genuine, signature=flipped)


def rebuilt(document: Any, **changes: Any) -> Any:
    plain = {
        name: value
        for name, value in document.to_plain().items()
        if name not in ("schema", document.DIGEST_FIELD)
    }
    return type(document).build(**{**plain, **changes})


def another_key(world: World) -> None:
    world.signatures[world.ddl.digest] = world.sign(world.ddl, world.other_key)


def another_key_under_the_trusted_id(world: World) -> None:
    genuine = world.signatures[world.ddl.digest]
    world.signatures[world.ddl.digest] = rebuilt(
        genuine, signature=world.sign(world.ddl, world.other_key).signature
    )


def other_bytes(world: World) -> None:
    """The signature of a document that differs in one field, laid beside this one."""
    later = rebuilt(world.utc, expires_at="2026-08-31T00:00:00Z")
    world.signatures[world.utc.digest] = world.sign(later)


def no_signature(world: World) -> None:
    del world.signatures[world.route.digest]


def no_policy(world: World) -> None:
    world.policy = None


def expired_policy(world: World) -> None:
    world.policy = trust_policy(trusted(world.key), expires_at="2026-08-09T01:00:00Z")


def expired_key(world: World) -> None:
    world.policy = trust_policy(trusted(world.key, expires_at="2026-08-09T01:00:00Z"))


def key_of_another_issuer(world: World) -> None:
    world.policy = trust_policy(trusted(world.key, issuer_authority="somebody/else"))


def key_for_indexes_alone(world: World) -> None:
    grant = {"environment": "production", "scope": "environment", "named_sha256": []}
    world.policy = trust_policy(trusted(world.key, grants=[{"document_kind": "revocation_index", **grant}]))


def key_for_another_deployment(world: World) -> None:
    place = {"environment": "production"}
    grants = [
        {
            "document_kind": kind,
            **place,
            **(
                {"scope": "named", "named_sha256": [made_up("elsewhere")]}
                if kind == "ddl_freeze"
                else {"scope": "environment", "named_sha256": []}
            ),
        }
        for kind in KINDS
    ]
    world.policy = trust_policy(trusted(world.key, grants=grants))


def another_environment(world: World) -> None:
    world.policy = trust_policy(trusted(world.key), environment="staging")


def revoked_document(world: World) -> None:
    entry = {"document_sha256": world.writer.digest, "revoked_at": FROM, "reason": "withdrawn"}
    world.publish(revocations(documents=[entry]))


def revoked_key(world: World) -> None:
    """Signed by a second trusted key, since a revoked one cannot speak about itself."""
    world.policy = trust_policy(trusted(world.key), trusted(world.other_key))
    entry = {"key_id": key_id_of(world.key.public_key), "revoked_at": FROM, "reason": "leaked"}
    world.index = revocations(keys=[entry])
    world.signatures[world.index.digest] = world.sign(world.index, world.other_key)


def stale_index(world: World) -> None:
    world.publish(revocations(issued_at="2026-08-08T23:59:59Z"))


def index_of_tomorrow(world: World) -> None:
    world.publish(revocations(issued_at="2026-08-10T00:00:00Z"))


def index_below_the_policys_floor(world: World) -> None:
    world.publish(revocations(epoch=1))


def older_index_replayed(world: World) -> None:
    """Fresh by its instant, signed, above the floor: but a later one was seen before."""
    world.require()
    world.publish(revocations(epoch=4))


def second_index_of_one_epoch(world: World) -> None:
    world.require()
    world.publish(revocations(issued_at="2026-08-09T00:45:00Z"))


def index_of_another_domain(world: World) -> None:
    world.publish(rebuilt(world.index, trust_domain="elsewhere"))


def unsigned_index(world: World) -> None:
    del world.signatures[world.index.digest]


def certificate_of_last_year(world: World) -> None:
    world.ddl = rebuilt(world.ddl, effective_from="2025-08-01T00:00:00Z", expires_at="2025-09-01T00:00:00Z")
    world.signatures[world.ddl.digest] = world.sign(world.ddl)


def measurement_gone(world: World) -> None:
    world.measured = (world.engine.writers(TARGET, NOW), *world.measured[1:])


def another_allowlist(world: World) -> None:
    world.writer = rebuilt(world.writer, platform_allowlist_sha256=made_up("another"))
    world.signatures[world.writer.digest] = world.sign(world.writer)


def another_policy(world: World) -> None:
    world.allowed = allowed(administrator_logins=["mallory", "sa"])


def a_writer_appeared(world: World) -> None:
    world.engine.writers_shown["writers"] = [
        writer("mallory", "database", "DELETE on schema mart"),
        writer("worker"),
        writer("sa", "server"),
    ]


def a_named_writer_gained_a_way(world: World) -> None:
    world.engine.writers_shown["writers"] = [
        writer("worker", "database", "DELETE on schema mart", "UPDATE"),
        writer("sa", "server"),
    ]


def a_job_appeared(world: World) -> None:
    world.engine.writers_shown["indirect"] = [{"kind": "job", "name": "nightly/1"}]


def jobs_are_hidden(world: World) -> None:
    world.engine.writers_shown["jobs_seen"] = False


def logins_are_hidden(world: World) -> None:
    world.engine.writers_shown["unseen"] = ["logins"]


def trigger_disabled(world: World) -> None:
    world.engine.freeze_shown["trigger_state"] = "DISABLED"


def trigger_replaced(world: World) -> None:
    world.engine.freeze_shown["trigger_text"] = "OTHER"


def trigger_in_reach_of_the_runtime(world: World) -> None:
    world.engine.freeze_shown["controllers"] = [writer("worker"), writer("sa", "server")]


def epoch_moved(world: World) -> None:
    world.engine.freeze_shown["ddl_epoch"] = 4


def coverage_shrunk(world: World) -> None:
    world.engine.freeze_shown["covered"] = []


def a_local_clock_became_the_default(world: World) -> None:
    world.engine.column_shown["default_clock"] = "OTHER"


def the_column_became_datetime(world: World) -> None:
    world.engine.column_shown["type_name"] = "datetime"


def the_model_reads_something_uncovered(world: World) -> None:
    world.closure = (4712, 4713)


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (forge, "DPONE_SIGNATURE_FORGED"),
        (another_key, "DPONE_SIGNING_KEY_UNTRUSTED"),
        (another_key_under_the_trusted_id, "DPONE_SIGNATURE_FORGED"),
        (other_bytes, "DPONE_SIGNATURE_OF_OTHER_BYTES"),
        (no_signature, "DPONE_SIGNATURE_MISSING"),
        (no_policy, "DPONE_TRUST_POLICY_MISSING"),
        (expired_policy, "DPONE_TRUST_POLICY_NOT_CURRENT"),
        (expired_key, "DPONE_SIGNING_KEY_NOT_CURRENT"),
        (key_of_another_issuer, "DPONE_SIGNATURE_ISSUER_DIFFERS"),
        (key_for_indexes_alone, "DPONE_SIGNING_KEY_NOT_GRANTED"),
        (key_for_another_deployment, "DPONE_SIGNING_KEY_NOT_GRANTED"),
        (another_environment, "DPONE_SIGNING_KEY_NOT_GRANTED"),
        (revoked_document, "DPONE_CERTIFICATE_REVOKED"),
        (revoked_key, "DPONE_SIGNING_KEY_REVOKED"),
        (stale_index, "DPONE_REVOCATION_INDEX_STALE"),
        (index_of_tomorrow, "DPONE_REVOCATION_INDEX_FUTURE"),
        (index_below_the_policys_floor, "DPONE_REVOCATION_INDEX_ROLLED_BACK"),
        (older_index_replayed, "DPONE_REVOCATION_INDEX_ROLLED_BACK"),
        (second_index_of_one_epoch, "DPONE_REVOCATION_INDEX_CONFLICT"),
        (index_of_another_domain, "DPONE_REVOCATION_INDEX_FOREIGN"),
        (unsigned_index, "DPONE_SIGNATURE_MISSING"),
        (certificate_of_last_year, "DPONE_CERTIFICATE_NOT_CURRENT"),
        (measurement_gone, "DPONE_ASSURANCE_EVIDENCE_DIFFERS"),
        (another_allowlist, "DPONE_ASSURANCE_EVIDENCE_DIFFERS"),
        (another_policy, "DPONE_ASSURANCE_EVIDENCE_DIFFERS"),
        (a_writer_appeared, "DPONE_WRITER_NOT_EXCLUSIVE"),
        (a_named_writer_gained_a_way, "DPONE_MEASUREMENT_CHANGED"),
        (a_job_appeared, "DPONE_WRITER_INDIRECT"),
        (jobs_are_hidden, "DPONE_WRITERS_UNVERIFIED"),
        (logins_are_hidden, "DPONE_WRITERS_UNVERIFIED"),
        (trigger_disabled, "DPONE_DDL_TRIGGER_OFF"),
        (trigger_replaced, "DPONE_DDL_TRIGGER_OTHER"),
        (trigger_in_reach_of_the_runtime, "DPONE_DDL_TRIGGER_IN_REACH"),
        (epoch_moved, "DPONE_DDL_EPOCH_MOVED"),
        (coverage_shrunk, "DPONE_DDL_FREEZE_UNCOVERED"),
        (a_local_clock_became_the_default, "DPONE_UTC_LOCAL_CLOCK"),
        (the_column_became_datetime, "DPONE_UTC_COLUMN_TYPE"),
        (the_model_reads_something_uncovered, "DPONE_DDL_FREEZE_UNCOVERED"),
    ],
)
def test_each_failure_has_its_code(world: World, happens: Callable[[World], None], code: str) -> None:
    happens(world)
    assert world.refused().code == code


def test_without_an_index_nothing_is_decided(world: World) -> None:
    trust = replace(world.trust, evidence=replace(world.trust.evidence, index=None))
    with pytest.raises(DponeError) as refused:
        require_trusted(trust, certified_in(world.stage), NOW)
    assert refused.value.code == "DPONE_REVOCATION_INDEX_MISSING"
    assert refused.value.exit_class is ExitClass.UNVERIFIED


def test_a_servers_summer_time_is_no_change(world: World) -> None:
    world.engine.column_shown["server_utc_offset"] = "+02:00"
    world.require()


def test_who_the_new_writer_is_stands_in_the_refusal(world: World) -> None:
    a_writer_appeared(world)
    error = world.refused()
    assert "mallory can write lab.mart.flight: DELETE on schema mart" in error.observed


def test_two_signatures_of_one_document_are_refused(world: World) -> None:
    pair = (world.sign(world.ddl), world.sign(world.ddl, world.other_key))
    with pytest.raises(DponeError) as refused:
        TrustEvidence.of(pair)
    assert refused.value.code == "DPONE_ASSURANCE_EVIDENCE_DIFFERS"


def activation(control: MemoryControl, trust: Trust | None) -> ActivationServices:
    return ActivationServices(
        clock=SteppingClock(),
        guard=DisposableStoresOnly(),
        activations=MemoryActivationStore(control),
        documents=MemoryDocumentStore(control),
        frozen=MemoryFrozenBytes(),
        index=MemoryIndex(),
        trust=trust,
    )


@pytest.mark.parametrize("trust", [False, True])
def test_an_activation_that_is_not_believed_stores_nothing(world: World, *, trust: bool) -> None:
    forge(world)
    control = MemoryControl(disposable_store())
    services = activation(control, world.trust if trust else None)
    before = repr(control)
    with pytest.raises(DponeError) as refused:
        activate(services, world.stage, ())
    assert refused.value.code == ("DPONE_SIGNATURE_FORGED" if trust else "DPONE_TRUST_POLICY_MISSING")
    assert repr(control) == before


def test_the_guard_stands_before_the_revocation_index_is_remembered(world: World) -> None:
    store = replace(disposable_store(), disposable_marker=None)
    services = activation(MemoryControl(store), world.trust)
    with pytest.raises(DponeError) as refused:
        activate(services, world.stage, ())
    assert refused.value.code == "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"
    assert world.log.seen == {}


class TestMemoryRevocationLog(RevocationLogSuite):
    """The in-memory log."""

    @pytest.fixture
    def revocations(self) -> MemoryRevocationLog:
        return MemoryRevocationLog()


def verified(*arguments: str) -> Result:
    return CliRunner().invoke(certify.app, list(arguments))


def test_the_command_verifies_a_document_from_a_folder(world: World, tmp_path: Path) -> None:
    """Nothing but a policy, an index and signatures in a folder; the verdict is that of activation."""
    beside = tmp_path / "beside"
    beside.mkdir()
    assert world.policy is not None
    for kept in (world.policy, world.index, world.allowed, *world.signatures.values(), *world.measured):
        (beside / f"{kept.digest.removeprefix('sha256:')}.json").write_bytes(kept.to_bytes())
    document = tmp_path / "assurance.json"
    document.write_bytes(world.ddl.to_bytes())
    verify = ("verify", str(document), "--beside", str(beside), "--format", "json")
    found = verified(*verify, "--at", "2026-08-09T01:00:00.000000Z")
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["verdict"] == "ADMISSIBLE"
    stale = verified(*verify, "--at", "2026-08-09T03:00:00.000000Z")
    assert stale.exit_code == 4
    assert json.loads(stale.output)["code"] == "DPONE_REVOCATION_INDEX_STALE"
    (beside / f"{world.signatures[world.ddl.digest].digest.removeprefix('sha256:')}.json").unlink()
    missing = verified(*verify, "--at", "2026-08-09T01:00:00.000000Z")
    assert missing.exit_code == 1
    assert json.loads(missing.output)["code"] == "DPONE_SIGNATURE_MISSING"
