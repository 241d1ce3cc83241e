"""Builds the services of a run from settings; every vendor module is imported when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from dpone.application.services import EvidenceServices, Services
from dpone.composition.clock import SystemClock

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from dpone_clickhouse.connection import Connection
    from dpone_contracts.policies import DeadlinePolicy, SealPolicy, WorkflowResourcePolicy
    from dpone_contracts.ports.attempt_observer import AttemptObserver
    from dpone_contracts.ports.attestor import Attestor
    from dpone_contracts.ports.catalog import CatalogReader, DdlFreeze
    from dpone_contracts.ports.engine_measurer import EngineMeasurer
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.ports.progress import Progress
    from dpone_contracts.ports.relation_observer import RelationObserver
    from dpone_contracts.ports.revocation_log import RevocationLog
    from dpone_dbt_proof.model_build import DbtModelBuild
    from dpone_mssql.connection import SqlServerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How the engines are reached; limits come from the deadline policy, in seconds unless named otherwise.

    `mssql_dsn` is an ODBC connection string and `clickhouse_dsn` an HTTP URL, both with credentials and never shown.
    """

    mssql_dsn: str = field(repr=False)
    clickhouse_dsn: str = field(repr=False)
    login_timeout_seconds: int
    lock_timeout_milliseconds: int
    statement_timeout_seconds: int
    policies_from_plan: bool = False

    @property
    def sql_server(self) -> SqlServerConfig:
        """Connection and limits of the SQL Server adapter."""
        from dpone_mssql.connection import SqlServerConfig  # noqa: PLC0415 - lazy by design

        return SqlServerConfig(
            self.mssql_dsn,
            self.login_timeout_seconds,
            self.lock_timeout_milliseconds,
            self.statement_timeout_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings(EngineSettings):
    """How evidence is read: the engines, and the object store's URL, whose artifacts are encrypted.

    Their key is under `artifact_key_reference` (`env:NAME`, `file:/path`); they are kept until `retain_until`.
    """

    object_store: str
    artifact_prefix: str
    artifact_key_reference: str
    retain_until: datetime
    disk_reserve_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings(EvidenceSettings):
    """How a worker runs: `project` is the author's dbt project, `manifest` that of its compile, `work` a private directory."""

    project: Path
    manifest: Path
    work: Path
    model_schema: str
    seal_policy: SealPolicy
    deadlines: DeadlinePolicy
    resources: WorkflowResourcePolicy


def odbc_fields(connection_string: str) -> dict[str, str]:
    """The keywords of an ODBC connection string, upper-case; values in braces lose them, `}}` inside means `}`."""
    found: dict[str, str] = {}
    rest = connection_string
    while "=" in rest:
        keyword, rest = rest.split("=", 1)
        if rest.startswith("{"):
            end = _closing_brace(rest)
            value, rest = rest[1:end].replace("}}", "}"), rest[end + 1 :].removeprefix(";")
        else:
            value, _, rest = rest.partition(";")
        found[keyword.strip().upper()] = value
    return found


def _closing_brace(text: str) -> int:
    position = 1
    while position < len(text):
        if text[position] == "}":
            if text[position : position + 2] != "}}":
                return position
            position += 1
        position += 1
    return len(text)


@dataclass(frozen=True, slots=True)
class DeploymentPorts:
    """The ports of a deployment stage: catalog, DDL freeze, measuring, and one observer of whole relations an engine."""

    catalog: CatalogReader
    ddl_freeze: DdlFreeze
    sql_server: RelationObserver
    clickhouse: RelationObserver
    measurer: EngineMeasurer
    revocations: RevocationLog


def build_deployment_ports(settings: EngineSettings) -> DeploymentPorts:
    """Compose the adapters that a deployment stage needs; nothing is connected to before its first use."""
    from dpone_clickhouse.relation_observer import ClickHouseRelationObserver  # noqa: PLC0415 - lazy by design
    from dpone_mssql.catalog import MssqlCatalog, MssqlDdlFreeze  # noqa: PLC0415
    from dpone_mssql.control_schema import ControlNames  # noqa: PLC0415
    from dpone_mssql.measurer import MssqlMeasurer  # noqa: PLC0415
    from dpone_mssql.relation_observer import MssqlRelationObserver  # noqa: PLC0415
    from dpone_mssql.revocations import MssqlRevocationLog  # noqa: PLC0415

    config, names = settings.sql_server, ControlNames()
    return DeploymentPorts(
        catalog=MssqlCatalog(config),
        ddl_freeze=MssqlDdlFreeze(config, names),
        sql_server=MssqlRelationObserver(config, names),
        clickhouse=ClickHouseRelationObserver(
            _clickhouse(settings), policies_from_plan=settings.policies_from_plan
        ),
        measurer=MssqlMeasurer(config, names),
        revocations=MssqlRevocationLog(config, names),
    )


def _clickhouse(settings: EngineSettings) -> Connection:
    from dpone_clickhouse.connection import Connection, Endpoint  # noqa: PLC0415 - lazy by design

    return Connection(
        Endpoint.from_dsn(
            settings.clickhouse_dsn,
            connect_timeout=settings.login_timeout_seconds,
            statement_timeout=settings.statement_timeout_seconds,
        )
    )


def build_evidence(settings: EvidenceSettings, observer: AttemptObserver) -> EvidenceServices:
    """Compose the adapters that evidence is read through; nothing is connected to before its first use."""
    from dpone_clickhouse.publisher import ClickHousePublisher  # noqa: PLC0415 - lazy by design
    from dpone_mssql.activation import MssqlActivationStore  # noqa: PLC0415
    from dpone_mssql.control_schema import ControlNames  # noqa: PLC0415
    from dpone_mssql.documents import MssqlDocumentStore  # noqa: PLC0415
    from dpone_mssql.scope_mutation import MssqlScopeMutation  # noqa: PLC0415
    from dpone_mssql.state import MssqlRefreshState  # noqa: PLC0415
    from dpone_seal.open_store import StoreSettings, open_store  # noqa: PLC0415

    config, names = settings.sql_server, ControlNames()
    store = StoreSettings(
        url=settings.object_store,
        key_reference=settings.artifact_key_reference,
        server_side_encryption=None,
        kms_key_id=None,
        retain_until=settings.retain_until,
        object_lock=False,
        connect_timeout_seconds=settings.login_timeout_seconds,
        read_timeout_seconds=settings.statement_timeout_seconds,
    )
    return EvidenceServices(
        activations=MssqlActivationStore(config, names),
        state=MssqlRefreshState(config, names),
        documents=MssqlDocumentStore(config, names),
        mutation=MssqlScopeMutation(config, names),
        artifacts=open_store(store, settings.artifact_prefix),
        publisher=ClickHousePublisher(
            _clickhouse(settings),
            disk_reserve_bytes=settings.disk_reserve_bytes,
            policies_from_plan=settings.policies_from_plan,
        ),
        observer=observer,
    )


def build_services(
    settings: RuntimeSettings,
    guard: ActivationGuard,
    observer: AttemptObserver,
    attestor: Attestor,
    progress: Progress,
) -> Services:
    """Compose all adapters of a run; nothing is connected to before its first use."""
    from dpone_mssql.image_reader import MssqlImageReader  # noqa: PLC0415 - lazy by design
    from dpone_seal.parquet_chunks import ParquetChunkEncoder  # noqa: PLC0415

    evidence = build_evidence(settings, observer)
    return Services(
        **{each.name: getattr(evidence, each.name) for each in fields(evidence)},
        clock=SystemClock(),
        guard=guard,
        build=_model_build(settings),
        images=MssqlImageReader(settings.sql_server),
        encoder=ParquetChunkEncoder.of(settings.seal_policy),
        attestor=attestor,
        progress=progress,
        deadlines=settings.deadlines,
        resources=settings.resources,
    )


def _model_build(settings: RuntimeSettings) -> DbtModelBuild:
    from dpone_dbt_proof.manifest import load_manifest  # noqa: PLC0415 - lazy by design
    from dpone_dbt_proof.model_build import DbtModelBuild  # noqa: PLC0415
    from dpone_dbt_proof.platform_project import AuthorProject, SqlServerConnection  # noqa: PLC0415

    fields = odbc_fields(settings.mssql_dsn)
    server, _, port = fields["SERVER"].partition(",")
    return DbtModelBuild(
        AuthorProject.load(settings.project),
        load_manifest(settings.manifest),
        SqlServerConnection(
            driver=fields["DRIVER"],
            server=server,
            port=int(fields.get("PORT") or port or 1433),
            database=fields["DATABASE"],
            schema=settings.model_schema,
            user=fields["UID"],
            encrypt=fields.get("ENCRYPT", "yes").lower() in {"yes", "true", "mandatory", "strict"},
            trust_certificate=fields.get("TRUSTSERVERCERTIFICATE", "no").lower() in {"yes", "true"},
            login_timeout_seconds=settings.login_timeout_seconds,
        ),
        lambda: fields["PWD"],
        settings.work,
    )
