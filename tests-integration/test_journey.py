"""From a dbt project to a published day by the commands that a person types, over documents that a person writes."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyodbc
import pytest
from typer.testing import CliRunner

from dpone.cli import certify, refresh, schemas
from dpone.cli.deployment_folder import read_folder
from dpone.composition.clock import SystemClock
from dpone.composition.runtime import odbc_fields
from dpone_lab import lab_policies
from dpone_lab.cli import app as lab
from dpone_lab.composition import settings_of, with_login
from dpone_lab.profile import LabProfile, running_lab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_contracts.document import Document

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("journey"), pytest.mark.timeout(900)]

DAY = "2013-06-12"
PRODUCTION = "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"
ENVIRONMENT = "disposable-lab"
ISSUER, CONNECTION, CLUSTER = "platform/certifier", "mssql-lab", "clickhouse-lab"
MODELS = {
    "model.flight_mart.airport_hour_event": "airport_hour_event",
    "model.flight_mart.flight_departure_event": "flight_departure_event",
}
DIGEST = "sha256:" + "5e" * 32
WINDOW = {"effective_from": "2026-01-01T00:00:00Z", "expires_at": "2099-12-31T23:59:59Z"}
APPS = {"certify": certify.app, "refresh": refresh.app, "schemas": schemas.app, "lab": lab}
POLICY = f"""\
schema: dpone.platform-policy.v1
profiles:
  {lab_policies.PROFILE}: v2
read_budget:
  max_depth: 8
  max_nodes: 200
  max_edges: 1000
  max_definition_bytes: 1048576
"""


@dataclass
class Journey:
    """A person at a terminal: a directory, the lab's variables, and what each command said."""

    profile: LabProfile
    folder: Path
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    typed: list[str] = field(default_factory=list)

    @property
    def deployment(self) -> Path:
        return self.folder / "deployment"

    def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Type one command; exit code and JSON."""
        environment = {**self.profile.environment(), "DPONE_ARTIFACT_KEY": f"file:{self.folder}/artifact.key"}
        done = CliRunner().invoke(APPS[words[0]], [*words[1:], "--format", "json"], env=environment)
        assert done.exception is None or isinstance(done.exception, SystemExit), (words, done.exception)
        self.typed.append(" ".join(words))
        told: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        return done.exit_code, {**told, "stdout": done.stdout, "stderr": done.stderr}

    def done(self, name: str, *words: str) -> dict[str, Any]:
        """Type one command that has to end well, and remember what it said."""
        code, told = self.run(*words)
        assert code == 0, (words, told)
        self.told[name] = told
        return told

    def lab(self, name: str, group: str, *words: str) -> dict[str, Any]:
        return self.done(name, "lab", group, "-d", self.profile.directory, *words)

    def seal(self, name: str, **content: Any) -> str:
        """Write a file by hand and seal it; its digest."""
        written = self.folder / "written" / f"{name}.json"
        written.parent.mkdir(exist_ok=True)
        written.write_text(json.dumps(content, indent=2))
        told = self.done(name, "schemas", "seal", str(written), "--out", self.path(name))
        digest: str = told["digest"]
        return digest

    def policy(self, name: str, document: Document, **changes: Any) -> str:
        """Write what the lab's policy says by hand."""
        plain = document.to_plain()
        del plain[document.DIGEST_FIELD]
        return self.seal(name, **plain | changes)

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}.json")

    def rows(self) -> dict[str, int]:
        names = "SELECT t.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id WHERE s.name = 'dpone_control'"
        with closing(pyodbc.connect(self.profile.mssql_dsn, autocommit=True)) as connection:
            tables = [row[0] for row in connection.execute(names).fetchall()]
            return {
                n: connection.execute(f"SELECT COUNT(*) FROM dpone_control.{n}").fetchone()[0] for n in tables
            }


LIMITS = ("--login-timeout", "15")
INSTALL = ("--install", *LIMITS, "--lock-timeout", "10000", "--statement-timeout", "60")


def start(one: Journey) -> None:
    """What is there before dpone comes, and the control schema."""
    one.done("installed", "refresh", "control-schema", *INSTALL)
    code, told = one.run("lab", "refresh", "-d", one.profile.directory, "load", "--day", DAY)
    assert code == 0, told
    shutil.copyfile(Path(one.profile.directory) / "artifact.key", one.folder / "artifact.key")


def write_policies(one: Journey) -> None:
    deadlines = one.policy("deadlines", lab_policies.deadlines())
    seal = one.policy("seal-policy", lab_policies.seal_policy())
    resources = one.policy("workflow-resources", lab_policies.workflow_resources())
    one.policy("model-resources", lab_policies.model_resources())
    one.policy("profile", lab_policies.workflow_profile())
    one.policy(
        "platform",
        lab_policies.platform_policy(),
        deadline_policy_sha256=deadlines,
        seal_policy_sha256=seal,
        workflow_resource_policy_sha256=resources,
    )
    (one.folder / "platform.yaml").write_text(POLICY)
    fields = odbc_fields(one.profile.mssql_dsn)
    tuple_ = {
        "python_version": platform.python_version(),
        "pyodbc_version": version("pyodbc"),
        "odbc_driver": Path(fields["DRIVER"]).name,
        "sqlserver_version": "lab",
        "compatibility_level": 160,
        "runtime_image_digest": DIGEST,
        "driver_digest": DIGEST,
    }
    (one.folder / "tuple.json").write_text(json.dumps(tuple_))


def release(one: Journey) -> dict[str, Any]:
    """Catalog, compile, release."""
    project, database = str(Path(one.profile.directory) / "project"), "lab"
    place = (
        project,
        "--database",
        database,
        "--schema",
        "mart",
        "--platform-policy",
        f"{one.folder}/platform.yaml",
    )
    deadlines = ("--deadlines", one.path("deadlines"), *LIMITS)
    one.done("catalog", "refresh", "catalog", *place, *deadlines, "--out", one.path("catalog"))
    proofs = ("--catalog", one.path("catalog"), "--certified-tuple", one.path("tuple"))
    manifest = str(Path(one.profile.directory) / "manifest.json")
    out = ("--out", one.path("bundle"), "--manifest", manifest)
    one.done("compiled", "refresh", "compile", *place, *proofs, *out)
    one.seal(
        "settings",
        schema="dpone.semantic-refresh-release-settings.v1",
        asset_uris={model: f"clickhouse://{CLUSTER}/mart/{table}" for model, table in MODELS.items()},
        connection_ref=CONNECTION,
        database=database,
        model_schema="mart",
        login_timeout_seconds=15,
        query_timeout_seconds=120,
        timeout_seconds=300,
    )
    given = [word for name in ("profile", "platform", "settings") for word in (f"--{name}", one.path(name))]
    return one.done(
        "released", "refresh", "release", one.path("bundle"), *given, "--out", str(one.folder / "release")
    )


def describe(one: Journey, released: dict[str, Any]) -> str:
    return one.seal(
        "descriptor",
        schema="dpone.semantic-refresh-deployment-descriptor.v1",
        release_id=released["release_id"],
        environment=ENVIRONMENT,
        binding_set_ref="bindings/lab@1",
        connection_registry_ref="connections/lab@1",
        credential_runtime_ref="credentials/lab@1",
        mssql_connection_authority_id=CONNECTION,
        mssql_database="lab",
        mssql_control_database="lab",
        mssql_control_schema="dpone_control",
        mssql_image_schema="dpone_images",
        clickhouse_cluster_authority_id=CLUSTER,
        clickhouse_database="mart",
        artifact_store_authority_id="lab/objects",
        profile_sha256=one.told["profile"]["digest"],
        runtime_policy_sha256=one.told["deadlines"]["digest"],
        compiler_policy_sha256=DIGEST,
    )


def write_trust(one: Journey, released: dict[str, Any]) -> None:
    """A key, whom it may certify, what is revoked, who may write, and what nobody can measure."""
    key = one.done("key", "certify", "keygen", "--key", str(one.folder / "certifier.pem"))
    kinds = ("ddl_freeze", "revocation_index", "route_certification", "utc_semantics", "writer_exclusivity")
    grant = {"environment": ENVIRONMENT, "scope": "environment", "named_sha256": []}
    trusted = {
        "key_id": key["key_id"],
        "algorithm": "ed25519",
        "public_key": key["public_key"],
        "issuer_authority": ISSUER,
        "grants": [{"document_kind": kind, **grant} for kind in kinds],
        **WINDOW,
    }
    one.seal(
        "trust-policy",
        schema="dpone.semantic-refresh-trust-policy.v1",
        trust_domain="flights",
        environment=ENVIRONMENT,
        max_revocation_index_age_seconds=86_400,
        min_revocation_index_epoch=1,
        keys=[trusted],
        **WINDOW,
    )
    one.seal(
        "revocations",
        schema="dpone.semantic-refresh-revocation-index.v1",
        trust_domain="flights",
        index_epoch=1,
        issued_at=f"{SystemClock().now()[:19]}Z",
        documents=[],
        keys=[],
    )
    sign = ("--key", f"file:{one.folder}/certifier.pem", "--issuer", ISSUER)
    one.done(
        "signed", "certify", "sign", one.path("revocations"), *sign, "--out", one.path("revocations.sig")
    )
    settings = settings_of(one.profile)
    one.seal(
        "assurance-policy",
        schema="dpone.semantic-refresh-runtime-assurance-policy.v1",
        environment=ENVIRONMENT,
        acl_policy_version="1",
        runtime_principals=[json.loads(settings.worker_login.read_text())[0]],
        installer_principals=[],
        administrator_logins=[settings.administrator],
        allowed_ways=[],
        external_jobs="MEASURED",
    )
    one.seal(
        "attested",
        schema="dpone.semantic-refresh-attested-controls.v1",
        environment=ENVIRONMENT,
        external_job_inventory_sha256=DIGEST,
        organizational_control_sha256=DIGEST,
        producer_version="certifier 1",
        **WINDOW,
    )
    one.seal(
        "route-result",
        schema="dpone.semantic-refresh-route-result.v1",
        status="UNVERIFIED",
        certification_policy_sha256=DIGEST,
        tested_at=WINDOW["effective_from"],
        coordinates={
            "environment": ENVIRONMENT,
            "load_strategy": "semantic_refresh_v2",
            "source_connector": "mssql",
            "source_connector_version": "0.74.0",
            "sink_connector": "clickhouse",
            "sink_connector_version": "0.74.0",
            "source_capability_sha256": DIGEST,
            "sink_capability_sha256": DIGEST,
            "capability_policy_sha256": DIGEST,
            "route_policy_sha256": DIGEST,
            "runtime_image_digest": released["runtime_image_digest"],
            "toolchain_sha256": released["toolchain_sha256"],
        },
        **WINDOW,
    )
    out = ("--out", str(one.folder / "route"))
    one.done("route", "certify", "issue-route", one.path("route-result"), *sign, *out)
    (one.folder / "trust").mkdir()
    for name in ("trust-policy", "revocations", "revocations.sig", "route/route_certification.sig"):
        shutil.copy(one.path(name), one.folder / "trust")


def certify_model(one: Journey, model: str, table: str) -> None:
    """Freeze, measure, issue, and say what the deployment holds."""
    release_, target = one.folder / "release", f"lab.mart.{table}"
    deadlines = ("--deadlines", one.path("deadlines"), *LIMITS)
    proofs = ("--proofs", str(release_ / "proof-bundle.json"))
    freeze = ("freeze", target, *proofs, "--model", model, *deadlines)
    before = one.rows()
    code, told = one.run("certify", *freeze)
    assert (code, told["code"], one.rows()) == (1, PRODUCTION, before)
    assert one.lab(f"frozen {model}", "certify", *freeze)["ddl_epoch"] == 1
    assert one.lab(f"frozen {model}", "certify", *freeze)["ddl_epoch"] == 1
    measured = ("--out", str(one.folder / "measured" / table))
    policy = ("--policy", one.path("assurance-policy"))
    one.done(
        f"measured {model}",
        "certify",
        "measure",
        target,
        "--column",
        "time_hour",
        *policy,
        *deadlines,
        *measured,
    )
    one.done(
        f"issued {model}",
        *("certify", "issue", "--model", model, "--measured", str(one.folder / "measured" / table)),
        *proofs,
        *("--release", str(release_ / "release-descriptor.json"), "--deployment", one.path("descriptor")),
        *("--platform", one.path("platform"), *policy, "--attested", one.path("attested")),
        *("--route", str(one.folder / "route" / "route_certification.json")),
        *("--beside", str(one.folder / "trust")),
        *("--key", f"file:{one.folder}/certifier.pem", "--issuer", ISSUER),
        *("--out", str(one.folder / "assurances")),
    )
    issued = {
        each["document"].split(".")[0]: each["digest"] for each in one.told[f"issued {model}"]["issued"]
    }
    one.seal(
        f"held-{table}",
        schema="dpone.semantic-refresh-model-deployment.v1",
        deployment_id=one.told["descriptor"]["digest"],
        model_unique_id=model,
        owner_generation=1,
        baseline_kind="certified_initial_load",
        baseline_generation=1,
        coverage_start="2013-05-29T00:00:00Z",
        coverage_end=f"{DAY}T00:00:00Z",
        mssql_relation_id=target,
        source_relation_id="lab.raw.flights",
        publication_database="mart",
        publication_table=table,
        artifact_authority=lab_policies.artifact_authority(model).to_plain(),
        resource_policy_sha256=one.told["model-resources"]["digest"],
        route_certification_receipt_sha256=one.told["route"]["issued"][0]["digest"],
        writer_exclusivity_assurance_receipt_sha256=issued["writer_exclusivity"],
        ddl_freeze_assurance_receipt_sha256=issued["ddl_freeze"],
        utc_semantics_assurance_receipt_sha256=issued["utc_semantics"],
    )


DEPLOYED = (
    *(
        "deadlines",
        "seal-policy",
        "workflow-resources",
        "model-resources",
        "profile",
        "platform",
        "descriptor",
    ),
    *("trust-policy", "revocations", "revocations.sig", "assurance-policy"),
    *(f"held-{table}" for table in MODELS.values()),
)


def assemble(one: Journey) -> None:
    """Copy what belongs to the deployment into its folder."""
    one.deployment.mkdir()
    files = [Path(one.path(name)) for name in DEPLOYED]
    for folder in ("release", "route", "assurances", *(f"measured/{table}" for table in MODELS.values())):
        files += (one.folder / folder).glob("*.json")
    for file in files:
        shutil.copy(file, one.deployment)


@pytest.fixture(scope="module")
def journey() -> Iterator[Journey]:
    with tempfile.TemporaryDirectory(prefix="dpone-journey-") as parent:
        Path(parent).chmod(0o711)
        with running_lab(Path(parent) / "lab") as profile:
            one = Journey(profile, Path(parent) / "desk")
            one.folder.mkdir()
            start(one)
            write_policies(one)
            released = release(one)
            describe(one, released)
            write_trust(one, released)
            for model, table in MODELS.items():
                certify_model(one, model, table)
            assemble(one)
            yield one


def test_the_folder_that_the_commands_filled_is_a_deployment(journey: Journey) -> None:
    inputs = read_folder(journey.deployment)
    assert inputs.descriptor.deployment_id == journey.told["descriptor"]["digest"]
    assert inputs.release.release_id == journey.told["released"]["release_id"]
    assert inputs.models.keys() == MODELS.keys()


def test_a_release_of_the_same_inputs_is_the_same_bytes(journey: Journey) -> None:
    there = {path.name: path.read_bytes() for path in (journey.folder / "release").iterdir()}
    given = [
        word for name in ("profile", "platform", "settings") for word in (f"--{name}", journey.path(name))
    ]
    again = str(journey.folder / "release-again")
    code, told = journey.run("refresh", "release", journey.path("bundle"), *given, "--out", again)
    assert code == 0, told
    assert {path.name: path.read_bytes() for path in Path(again).iterdir()} == there


def test_every_certificate_verifies_beside_the_folder(journey: Journey) -> None:
    issued = [each["file"] for told in journey.told.values() for each in told.get("issued", ())]
    assert len(issued) == 1 + 3 * len(MODELS)
    for file in issued:
        code, told = journey.run("certify", "verify", file, "--beside", str(journey.deployment))
        assert (code, told["verdict"]) == (0, "ADMISSIBLE")


def test_the_product_adopts_nothing_and_the_lab_adopts_activates_and_publishes_the_day(
    journey: Journey,
) -> None:
    before, folder = journey.rows(), str(journey.deployment)
    code, told = journey.run("refresh", "adopt-baseline", "--deployment", folder)
    assert (code, told["code"]) == (1, PRODUCTION)
    assert journey.rows() == before
    assert not (journey.deployment / "frozen").exists()
    adopted = journey.lab("adopted", "refresh", "adopt-baseline", "--deployment", folder)
    assert {each["model"] for each in adopted["models"]} == MODELS.keys()
    index = ("--index", str(journey.folder / "index"), "--day", DAY)
    activated = journey.lab("activated", "refresh", "activate", "--deployment", folder, *index)
    assert activated["scope_start"] == f"{DAY}T00:00:00Z"
    command = [sys.executable, "-m", "dpone", "lab", "refresh", "-d", journey.profile.directory, "run"]
    command += [
        "--deployment",
        folder,
        "--plan",
        activated["plan_bundle_sha256"],
        "--dag-run-id",
        "manual__1",
    ]
    ended = subprocess.run(
        [*command, "--try-number", "1", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["status"] == "FULLY_COMPLETE"


def test_a_login_that_may_not_see_definitions_makes_an_unverified_snapshot_and_no_release(
    journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(pyodbc.connect(journey.profile.mssql_dsn, autocommit=True)) as connection:
        for statement in (
            "CREATE LOGIN blind WITH PASSWORD = 'B1ind-pass-word'",
            "CREATE USER blind FOR LOGIN blind",
            "GRANT SELECT ON SCHEMA::raw TO blind",
        ):
            connection.execute(statement)
    blind = with_login(journey.profile.mssql_dsn, "blind", "B1ind-pass-word")
    monkeypatch.setattr(journey, "profile", replace(journey.profile, mssql_dsn=blind))
    place = (f"{journey.profile.directory}/project", "--database", "lab", "--schema", "mart")
    policy = ("--platform-policy", f"{journey.folder}/platform.yaml")
    hidden = ("--deadlines", journey.path("deadlines"), *LIMITS, "--out", journey.path("hidden"))
    code, told = journey.run("refresh", "catalog", *place, *policy, *hidden)
    assert (code, bool(told["unreadable"])) == (4, True)
    proofs = ("--catalog", journey.path("hidden"), "--certified-tuple", journey.path("tuple"))
    out = ("--out", journey.path("unverified"))
    assert journey.run("refresh", "compile", *place, *policy, *proofs, *out)[0] == 4
    given = [
        word for name in ("profile", "platform", "settings") for word in (f"--{name}", journey.path(name))
    ]
    folder = journey.folder / "no-release"
    code, told = journey.run("refresh", "release", journey.path("unverified"), *given, "--out", str(folder))
    assert (code, told["code"]) == (1, "DPONE_PROOF_INCOMPLETE")
    assert not folder.exists()


def test_ddl_after_the_certification_stops_the_next_baseline(journey: Journey) -> None:
    """A second deployment of the same release, before it adopts: the epoch that its assurance binds has moved."""
    folder = journey.folder / "second"
    folder.mkdir()
    for file in journey.deployment.glob("*.json"):
        shutil.copy(file, folder)
    table = next(iter(MODELS.values()))
    with closing(pyodbc.connect(journey.profile.mssql_dsn, autocommit=True)) as connection:
        connection.execute(f"CREATE INDEX later ON mart.{table} (time_hour)")
    told = journey.run(
        "lab", "refresh", "-d", journey.profile.directory, "adopt-baseline", "--deployment", str(folder)
    )
    assert (told[0], told[1]["code"]) == (1, "DPONE_DDL_EPOCH_MOVED")
    assert not (folder / "frozen").exists()
