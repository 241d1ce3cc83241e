"""The lab's composition root: the product's adapters over the lab's engines, with the lab's own authorities."""

from __future__ import annotations

import base64
import json
import secrets
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpone.composition.operator import ARTIFACT_KEY, CLICKHOUSE, MSSQL, STORE, EngineComposition, Engines
from dpone.composition.runtime import RuntimeSettings, build_services, odbc_fields
from dpone_contracts.scalars import instant
from dpone_lab import lab_policies
from dpone_lab.authority import LabAttestor, LabGuard
from dpone_lab.expected import MART_SCHEMA
from dpone_lab.faults import hold_at
from dpone_lab.platform import LabObserver, PodRegistry

if TYPE_CHECKING:
    from dpone.application.deployment import DeploymentInputs
    from dpone.application.services import Services
    from dpone.composition.operator import WorkerFiles
    from dpone_contracts.ports.progress import Progress
    from dpone_lab.faults import Injection
    from dpone_lab.profile import LabProfile


@dataclass(frozen=True)
class LabSettings:
    """What a worker process of the lab needs; it is handed over on standard input, never on a command line."""

    marker: str
    mssql_dsn: str = field(repr=False)
    clickhouse_dsn: str = field(repr=False)
    object_store: str
    project: str
    manifest: str
    directory: str
    model_schema: str
    embedded_clickhouse: bool

    def to_json(self) -> dict[str, Any]:
        """The settings as one JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> LabSettings:
        """Settings as `to_json` wrote them."""
        return cls(**fields)

    @property
    def attestations(self) -> Path:
        """Where the lab's signatures are kept."""
        return Path(self.directory) / "attestations"

    @property
    def administrator(self) -> str:
        """The login that installs and certifies."""
        return odbc_fields(self.mssql_dsn)["UID"]

    @property
    def worker_login(self) -> Path:
        """The file with name and password of the login that workers run as."""
        return Path(self.directory) / "worker.login"

    def worker_dsn(self) -> str:
        """How a worker reaches SQL Server: the same database under its own login."""
        login, password = json.loads(self.worker_login.read_text())
        return with_login(self.mssql_dsn, login, password)

    @property
    def pods(self) -> Path:
        """Where the lab's platform keeps its pod records."""
        return Path(self.directory) / "pods"

    @property
    def artifact_key(self) -> Path:
        """The file of the key that the lab's artifacts are encrypted with; it dies with the lab."""
        return Path(self.directory) / "artifact.key"

    @property
    def deployment(self) -> Path:
        """The folder with the documents of the sample deployment."""
        return Path(self.directory) / "deployment"

    @property
    def index(self) -> Path:
        """Where projections and indexes are published."""
        return Path(self.directory) / "index"

    def make_artifact_key(self) -> None:
        """Write a fresh random key, readable by this account alone."""
        self.artifact_key.touch(mode=0o600)
        self.artifact_key.write_bytes(base64.b64encode(secrets.token_bytes(32)))

    def runtime(self) -> RuntimeSettings:
        """The product's settings for a worker, who is no administrator of the database."""
        return self._settings(self.worker_dsn())

    def installer(self) -> RuntimeSettings:
        """The product's settings for who installs and certifies."""
        return self._settings(self.mssql_dsn)

    def _settings(self, mssql_dsn: str) -> RuntimeSettings:
        deadlines, seal = lab_policies.deadlines(), lab_policies.seal_policy()
        return RuntimeSettings(
            mssql_dsn=mssql_dsn,
            clickhouse_dsn=self.clickhouse_dsn,
            object_store=self.object_store,
            artifact_prefix=lab_policies.ARTIFACT_PREFIX,
            artifact_key_reference=f"file:{self.artifact_key}",
            retain_until=instant(lab_policies.RETAIN_UNTIL),
            project=Path(self.project),
            manifest=Path(self.manifest),
            work=Path(self.directory) / "work",
            model_schema=self.model_schema,
            login_timeout_seconds=lab_policies.LOGIN_SECONDS,
            lock_timeout_milliseconds=deadlines.lock_timeout_milliseconds,
            statement_timeout_seconds=deadlines.statement_seconds,
            seal_policy=seal,
            deadlines=deadlines,
            resources=lab_policies.workflow_resources(),
            disk_reserve_bytes=lab_policies.workflow_resources().min_clickhouse_free_bytes,
            policies_from_plan=self.embedded_clickhouse,
        )


def with_login(dsn: str, login: str, password: str) -> str:
    """The same server and database under another login."""
    fields = odbc_fields(dsn) | {"UID": login, "PWD": password}
    braced = {"DRIVER", "PWD"}
    return ";".join(
        f"{keyword}={{{value.replace('}', '}}')}}}" if keyword in braced else f"{keyword}={value}"
        for keyword, value in fields.items()
    )


def settings_of(lab: LabProfile) -> LabSettings:
    """The settings of a running lab's workers."""
    directory = Path(lab.directory)
    return LabSettings(
        marker=lab.marker,
        mssql_dsn=lab.mssql_dsn,
        clickhouse_dsn=lab.clickhouse_dsn,
        object_store=lab.object_store,
        project=str(directory / "project"),
        manifest=str(directory / "manifest.json"),
        directory=lab.directory,
        model_schema=MART_SCHEMA,
        embedded_clickhouse=any(process.name == "ClickHouse" for process in lab.processes),
    )


@dataclass(frozen=True, slots=True)
class HoldingComposition(EngineComposition):
    """The lab's composition: operators are administrators, a run has the worker's login and may wait for SIGKILL."""

    settings: LabSettings = field(kw_only=True)
    hold: Injection | None = None

    def run(self, inputs: DeploymentInputs, files: WorkerFiles, progress: Progress) -> Services:
        """The services of a run, held where that was asked for."""
        engines = Engines({**self.engines.variables, MSSQL: self.settings.worker_dsn()})
        # A zero-argument super() has no class cell in a class that slots rebuilt.
        services = EngineComposition.run(replace(self, engines=engines), inputs, files, progress)
        return services if self.hold is None else hold_at(services, self.hold, _say_held)


def _say_held() -> None:
    sys.stderr.write("held: waiting for SIGKILL\n")
    sys.stderr.flush()


def lab_composition(settings: LabSettings, hold: Injection | None = None) -> HoldingComposition:
    """What the operator's commands are composed from on a lab: the allow-guard is only ever built here."""
    attestor = LabAttestor(settings.attestations)
    return HoldingComposition(
        engines=Engines(
            {
                MSSQL: settings.mssql_dsn,
                CLICKHOUSE: settings.clickhouse_dsn,
                STORE: settings.object_store,
                ARTIFACT_KEY: f"file:{settings.artifact_key}",
            }
        ),
        guard=LabGuard(settings.marker),
        observer=LabObserver(PodRegistry(settings.pods), attestor),
        attestor=attestor,
        policies_from_plan=settings.embedded_clickhouse,
        settings=settings,
        hold=hold,
    )


def lab_services(settings: LabSettings, progress: Progress) -> Services:
    """The services of a run on the lab, under the allow-guard."""
    attestor = LabAttestor(settings.attestations)
    return build_services(
        settings.runtime(),
        LabGuard(settings.marker),
        LabObserver(PodRegistry(settings.pods), attestor),
        attestor,
        progress,
    )
