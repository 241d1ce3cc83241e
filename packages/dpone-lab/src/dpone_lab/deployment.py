"""Release and deployment of the sample workflow on a lab: what CI and a deployment pipeline would do, in order."""

from __future__ import annotations

import json
import platform as platform_module
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from dpone.application.baseline import adopt_baselines
from dpone.application.certify import AssuranceIssuer, Measured
from dpone.application.daily import activate_day
from dpone.application.evidence import collect, write_folder
from dpone.application.freeze import freeze_target
from dpone.application.release import WorkflowRelease, release_workflow
from dpone.application.services import require
from dpone.application.trust import TrustEvidence
from dpone.cli.deployment_folder import read_folder
from dpone.cli.release import read_policy_sha256
from dpone.composition.catalog_snapshot import snapshot_document
from dpone.composition.clock import SystemClock
from dpone.composition.ed25519 import Ed25519Verifier
from dpone.composition.operator import Promotion
from dpone.composition.runtime import build_deployment_ports, odbc_fields
from dpone_contracts.canonical import canonical_bytes
from dpone_contracts.catalog import ClosureBudget
from dpone_contracts.descriptors import DeploymentDescriptor
from dpone_contracts.errors import DponeError
from dpone_contracts.hand_written import ReleaseSettings
from dpone_contracts.model_deployment import ModelDeployment
from dpone_contracts.relations import SqlRelation
from dpone_contracts.scope import DayScope
from dpone_dbt_proof.catalog_snapshot import load_snapshot
from dpone_dbt_proof.compile_proofs import compiled_roots, prove_compiled
from dpone_dbt_proof.lifecycle import load_tuple
from dpone_dbt_proof.mutation_closure import PlatformProfiles
from dpone_dbt_proof.offline_compile import (
    CompiledProject,
    ModelDatabase,
    compile_offline,
    platform_manifest,
)
from dpone_dbt_proof.platform_project import AuthorProject
from dpone_dbt_proof.project_proof import ProofInputs
from dpone_dbt_proof.proof_bundle import load_bundle
from dpone_dbt_proof.read_dependencies import ReadBudget
from dpone_lab import lab_policies
from dpone_lab.authority import LabAttestor
from dpone_lab.certification import lab_attested, lab_digest, unverified_route
from dpone_lab.composition import LabSettings, lab_composition, lab_services, settings_of
from dpone_lab.expected import MART_SCHEMA
from dpone_lab.fixture import (
    BASELINE_DAYS,
    BulkLoader,
    ClickHouseLogin,
    OdbcInserts,
    PostgresCopy,
    create_base_tables,
    create_marts,
)
from dpone_lab.independent_check import Engines
from dpone_lab.notary import LabNotary, make_worker
from dpone_lab.profile import DATABASE, require_disposable
from dpone_lab.sqlserver.cluster import Cluster
from dpone_mssql.control_schema import ControlNames, install

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import date

    from dpone.application.activation import ActivationServices
    from dpone.application.deployment import DeploymentInputs
    from dpone.application.services import Services
    from dpone_contracts.descriptors import ModelProofs, ProofBundle, ReleaseDescriptor
    from dpone_contracts.document import Document
    from dpone_contracts.policies import PlatformPolicy
    from dpone_contracts.receipts import RouteLiveCertificationReceipt
    from dpone_lab.profile import LabProfile

CLICKHOUSE_DATABASE: Final = "mart"
CLUSTER_ID: Final = "clickhouse-lab"
CONNECTION_ID: Final = "mssql-lab"


class _Quiet:
    """No progress."""

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """Nobody listens."""


@dataclass(frozen=True)
class Deployment:
    """A deployed sample workflow: activates days, runs on the lab's platform, shows its documents."""

    settings: LabSettings
    clickhouse: ClickHouseLogin
    services: Services
    platform: PlatformPolicy
    inputs: DeploymentInputs
    activation: ActivationServices

    def engines(self) -> Engines:
        """How the independent check reaches both databases."""
        return Engines(
            odbc=self.settings.mssql_dsn,
            sql_schema=MART_SCHEMA,
            clickhouse_url=self.clickhouse.url,
            clickhouse_user=self.clickhouse.user,
            clickhouse_password=self.clickhouse.password,
            clickhouse_database=self.clickhouse.database,
        )

    def activate(self, day: date) -> tuple[str, str]:
        """Activate one UTC day over the present heads; (deployment id, plan bundle digest)."""
        activated = activate_day(self.activation, self.inputs, DayScope.of(day), promoting=False)
        return self.inputs.descriptor.deployment_id, activated.bundle.digest

    def documents(self, plan_bundle_sha256: str, evidence: Path | None) -> list[dict[str, Any]]:
        """Every document of a plan and its run; kept as files where a folder is given."""
        found = collect(self.services, self.inputs.descriptor.deployment_id, plan_bundle_sha256)
        if evidence is not None:
            write_folder(found, evidence)
        return [
            {"schema": schema, "digest": digest, "content": json.loads(data)}
            for (schema, digest), data in sorted(found.items())
        ]


def deploy(lab: LabProfile, day: date, step: Callable[[str], AbstractContextManager[None]]) -> Deployment:
    """Fill the engines, prove the sample project, release it, deploy it, adopt its baselines."""
    require_disposable(lab)
    settings = settings_of(lab)
    with step("install the control schema"):
        require(install(settings.installer().sql_server, ControlNames()))
    prepare(lab, day, step)
    with step("adopt baselines"):
        return deployment_of(lab)


def deployment_of(lab: LabProfile) -> Deployment:
    """The deployment of a prepared lab; baselines that are not adopted yet are adopted."""
    settings = settings_of(lab)
    return _adopted(settings, _clickhouse_login(lab.clickhouse_dsn), settings.deployment)


def load(lab: LabProfile, day: date, step: Callable[[str], AbstractContextManager[None]]) -> Path:
    """What is there before dpone comes: the author's project, base tables, models with their history, a worker's login.

    The control schema is there already: the worker is a member of its runtime role.
    """
    require_disposable(lab)
    settings = settings_of(lab)
    _copy_project(settings)
    _fill(lab, settings, day, step)
    return Path(settings.project)


def prepare(lab: LabProfile, day: date, step: Callable[[str], AbstractContextManager[None]]) -> Path:
    """Fill the engines, prove the sample project, release it, and write the deployment's documents into a folder.

    The control schema is there already: the assurances certify the DDL epoch that it counts.
    """
    require_disposable(lab)
    settings, login = settings_of(lab), _clickhouse_login(lab.clickhouse_dsn)
    if settings.deployment.exists():
        raise DponeError(
            "DPONE_LAB_DIRECTORY_TAKEN", f"{settings.deployment} exists: the lab is prepared already"
        )
    _copy_project(settings)
    with ThreadPoolExecutor(1) as pool:
        # dbt compiles offline: it needs no engine and runs while they are filled.
        compiling = pool.submit(_compile, settings, Path(lab.directory) / "compile")
        _fill(lab, settings, day, step)
        with step("prove the sample project"):
            platform = lab_policies.platform_policy()
            proven = _prove(settings, platform, compiling.result())
    with step("release and deploy"):
        return _release(settings, login, platform, proven, day, settings.deployment)


def _copy_project(settings: LabSettings) -> None:
    """Give the author a project of their own; a second one is refused before anything is loaded."""
    if Path(settings.project).exists():
        raise DponeError("DPONE_LAB_DIRECTORY_TAKEN", f"{settings.project} exists: the lab is loaded already")
    with resources.as_file(resources.files("dpone_lab") / "sample_project") as sample:
        shutil.copytree(sample, settings.project)


def _fill(
    lab: LabProfile, settings: LabSettings, day: date, step: Callable[[str], AbstractContextManager[None]]
) -> None:
    with step("load base tables and baselines"):
        loader = _loader(lab)
        create_base_tables(lab.mssql_dsn, loader)
        create_marts(lab.mssql_dsn, loader, _clickhouse_login(lab.clickhouse_dsn), day)
        make_worker(settings, ControlNames())
        settings.make_artifact_key()


def _loader(lab: LabProfile) -> BulkLoader:
    """Past the wire into the lab's own engine, through it into any other."""
    if any(process.name == "SQL Server endpoint" for process in lab.processes):
        return PostgresCopy(Cluster(Path(lab.directory) / "mssql" / "data", DATABASE).conninfo())
    return OdbcInserts(lab.mssql_dsn)


def _clickhouse_login(dsn: str) -> ClickHouseLogin:
    parts = urlsplit(dsn)
    return ClickHouseLogin(
        f"{parts.scheme}://{parts.hostname}:{parts.port}",
        parts.username or "default",
        parts.password or "",
        CLICKHOUSE_DATABASE,
    )


def _compile(settings: LabSettings, work: Path) -> CompiledProject:
    """Compile offline under both roots and keep the manifest that builds are made from."""
    work.mkdir(parents=True)
    author = AuthorProject.load(Path(settings.project))
    database = odbc_fields(settings.mssql_dsn)["DATABASE"]
    compiled = compile_offline(author, ModelDatabase(database, MART_SCHEMA), work, 300)
    shutil.copyfile(platform_manifest(work), settings.manifest)
    return compiled


def _prove(settings: LabSettings, platform: PlatformPolicy, compiled: CompiledProject) -> dict[str, Any]:
    """Read the catalog of what the models read and of their targets, and prove over that snapshot."""
    profiles = PlatformProfiles({lab_policies.PROFILE: "v2"})
    limits = platform.read_limits
    budget = ClosureBudget(limits.max_depth, limits.max_nodes, limits.max_edges, limits.max_definition_bytes)
    named = compiled_roots(compiled, ProofInputs(profiles=profiles))
    reader = lab_composition(settings).catalog(lab_policies.LOGIN_SECONDS, lab_policies.deadlines())
    inputs = ProofInputs(
        snapshot=load_snapshot(snapshot_document(reader.snapshot(named, budget))),
        budget=ReadBudget(limits.max_depth, limits.max_nodes, limits.max_edges, limits.max_definition_bytes),
        certified=load_tuple(_certified_tuple(settings)),
        profiles=profiles,
    )
    return load_bundle(prove_compiled(compiled, inputs).bundle)


def _certified_tuple(settings: LabSettings) -> bytes:
    """The tuple that the lab runs on; for a route it would come from certification, here it names itself."""
    fields = odbc_fields(settings.mssql_dsn)
    return canonical_bytes(
        {
            "python_version": platform_module.python_version(),
            "pyodbc_version": version("pyodbc"),
            "odbc_driver": Path(fields["DRIVER"]).name,
            "sqlserver_version": "lab",
            "compatibility_level": 160,
            "runtime_image_digest": lab_digest("runtime image"),
            "driver_digest": lab_digest("driver"),
        }
    )


def _release(
    settings: LabSettings,
    login: ClickHouseLogin,
    platform: PlatformPolicy,
    compiled: dict[str, Any],
    day: date,
    folder: Path,
) -> Path:
    """Write every document of the deployment into a folder: what a release and a deployment pipeline would hand over."""
    attestor = LabAttestor(settings.attestations)
    deadlines = lab_policies.deadlines()
    database = odbc_fields(settings.mssql_dsn)["DATABASE"]
    models = [model["unique_id"] for flow in compiled["workflows"] for model in flow["models"]]
    proofs, release = release_workflow(
        compiled,
        WorkflowRelease(
            profile=lab_policies.workflow_profile(),
            settings=ReleaseSettings.build(
                asset_uris={
                    model: f"clickhouse://{CLUSTER_ID}/{login.database}/{model.split('.')[-1]}"
                    for model in models
                },
                connection_ref=CONNECTION_ID,
                database=database,
                model_schema=MART_SCHEMA,
                login_timeout_seconds=lab_policies.LOGIN_SECONDS,
                query_timeout_seconds=deadlines.statement_seconds,
                timeout_seconds=deadlines.execution_seconds,
            ),
            platform=platform,
            read_policy_sha256=read_policy_sha256(platform.read_limits),
        ),
        product_version=version("dpone"),
    )
    descriptor = DeploymentDescriptor.build(
        release_id=release.release_id,
        environment=lab_policies.ENVIRONMENT,
        binding_set_ref="bindings/lab@1",
        connection_registry_ref="connections/lab@1",
        credential_runtime_ref="credentials/lab@1",
        mssql_connection_authority_id=CONNECTION_ID,
        mssql_database=database,
        mssql_control_database=database,
        mssql_control_schema=ControlNames().control,
        mssql_image_schema=ControlNames().images,
        clickhouse_cluster_authority_id=CLUSTER_ID,
        clickhouse_database=login.database,
        artifact_store_authority_id="lab/objects",
        profile_sha256=lab_policies.workflow_profile().digest,
        runtime_policy_sha256=deadlines.digest,
        compiler_policy_sha256=lab_digest("compiler policy"),
    )
    notary = LabNotary.open(settings)
    route = notary.keep(unverified_route(attestor, proofs, lab_policies.ENVIRONMENT))
    held = [
        _held(settings, attestor, platform, proofs, release, model, descriptor, route, notary, day)
        for model in proofs.models
    ]
    documents: list[Document] = [proofs, release, descriptor, platform, deadlines, *held, *notary.documents]
    documents += [lab_policies.seal_policy(), lab_policies.workflow_resources()]
    documents += [lab_policies.workflow_profile(), lab_policies.model_resources()]
    write_folder({(each.SCHEMA, each.digest): each.to_bytes() for each in documents}, folder)
    return folder


def _held(
    settings: LabSettings,
    attestor: LabAttestor,
    platform: PlatformPolicy,
    proofs: ProofBundle,
    release: ReleaseDescriptor,
    model: ModelProofs,
    descriptor: DeploymentDescriptor,
    route: RouteLiveCertificationReceipt,
    notary: LabNotary,
    day: date,
) -> ModelDeployment:
    """Freeze the target's DDL epoch, measure and issue the assurances, and say what the deployment holds for the model."""
    ports = build_deployment_ports(settings.installer())
    table = model.model_unique_id.split(".")[-1]
    target = SqlRelation(descriptor.mssql_database, MART_SCHEMA, table)
    freezing = lab_composition(settings).freeze(lab_policies.LOGIN_SECONDS, lab_policies.deadlines())
    freeze_target(freezing, target, proofs, model.model_unique_id)
    issuer = AssuranceIssuer(
        attestor=attestor,
        policy=notary.policy,
        attested=lab_attested(),
        release=release,
        deployment=descriptor,
        platform=platform,
        proofs=proofs,
        route=route,
        model_unique_id=model.model_unique_id,
        evidence=TrustEvidence.of(notary.documents),
        verifier=Ed25519Verifier(),
    )
    now = SystemClock().now()
    measured = Measured(
        notary.note(ports.measurer.writers(target, now)),
        notary.note(ports.measurer.ddl_freeze(target, now)),
        notary.note(ports.measurer.utc_semantics(target, model.event_time_column, now)),
    )
    writers, freeze, column = (notary.keep(receipt).digest for receipt in issuer.issue(measured, now))
    return ModelDeployment.build(
        deployment_id=descriptor.deployment_id,
        model_unique_id=model.model_unique_id,
        owner_generation=1,
        baseline_kind="certified_initial_load",
        baseline_generation=1,
        coverage_start=DayScope.of(day - timedelta(days=BASELINE_DAYS)).start_text,
        coverage_end=DayScope.of(day).start_text,
        mssql_relation_id=str(target),
        source_relation_id=f"{target.database}.raw.flights",
        publication_database=descriptor.clickhouse_database,
        publication_table=table,
        artifact_authority=lab_policies.artifact_authority(model.model_unique_id),
        resource_policy_sha256=lab_policies.model_resources().digest,
        route_certification_receipt_sha256=route.digest,
        writer_exclusivity_assurance_receipt_sha256=writers,
        ddl_freeze_assurance_receipt_sha256=freeze,
        utc_semantics_assurance_receipt_sha256=column,
    )


def _adopted(settings: LabSettings, login: ClickHouseLogin, folder: Path) -> Deployment:
    """Adopt the baselines of a folder's deployment."""
    inputs = read_folder(folder)
    composition = lab_composition(settings)
    adopt_baselines(composition.baseline(folder, inputs), inputs)
    return Deployment(
        settings=settings,
        clickhouse=login,
        services=lab_services(settings, _Quiet()),
        platform=inputs.platform,
        inputs=inputs,
        activation=composition.activation(folder, inputs, Promotion(settings.index)),
    )
