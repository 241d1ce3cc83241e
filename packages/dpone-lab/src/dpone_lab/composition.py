"""The lab's composition root: the product's adapters over the lab's engines, with the lab's own authorities."""

from __future__ import annotations

import base64
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpone.composition.runtime import RuntimeSettings, build_services
from dpone_contracts.scalars import instant
from dpone_lab import lab_policies
from dpone_lab.authority import LabAttestor, LabGuard
from dpone_lab.platform import LabObserver, PodRegistry

if TYPE_CHECKING:
    from dpone.application.services import Services
    from dpone_contracts.ports.progress import Progress


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
    def pods(self) -> Path:
        """Where the lab's platform keeps its pod records."""
        return Path(self.directory) / "pods"

    @property
    def artifact_key(self) -> Path:
        """The file of the key that the lab's artifacts are encrypted with; it dies with the lab."""
        return Path(self.directory) / "artifact.key"

    def make_artifact_key(self) -> None:
        """Write a fresh random key, readable by this account alone."""
        self.artifact_key.touch(mode=0o600)
        self.artifact_key.write_bytes(base64.b64encode(secrets.token_bytes(32)))

    def runtime(self) -> RuntimeSettings:
        """The product's settings under the lab's deadline and seal policies."""
        deadlines, seal = lab_policies.deadlines(), lab_policies.seal_policy()
        return RuntimeSettings(
            mssql_dsn=self.mssql_dsn,
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
            disk_reserve_bytes=lab_policies.workflow_resources().min_clickhouse_free_bytes,
            policies_from_plan=self.embedded_clickhouse,
        )


def lab_services(settings: LabSettings, progress: Progress) -> Services:
    """The services of a run on the lab: the allow-guard is only ever built here."""
    attestor = LabAttestor(settings.attestations)
    return build_services(
        settings.runtime(),
        LabGuard(settings.marker),
        LabObserver(PodRegistry(settings.pods), attestor),
        attestor,
        progress,
    )
