"""The lab's composition root: the product's adapters over the lab's engines, with the lab's own authorities."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpone.application.trust import Trust, TrustEvidence
from dpone.composition.ed25519 import Ed25519Verifier
from dpone.composition.runtime import RuntimeSettings, build_deployment_ports, build_services, odbc_fields
from dpone_contracts.document import admit_document
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
    def trust(self) -> Path:
        """Where the lab's trust policy, revocation index, measurements and signatures are kept."""
        return Path(self.directory) / "trust"

    @property
    def administrator(self) -> str:
        """The login that installs and certifies."""
        return odbc_fields(self.mssql_dsn)["UID"]

    @property
    def worker_login(self) -> Path:
        """The file with name and password of the login that workers run as."""
        return Path(self.directory) / "worker.login"

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
        """The product's settings for a worker, who is no administrator of the database."""
        login, password = json.loads(self.worker_login.read_text())
        return self._settings(with_login(self.mssql_dsn, login, password))

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


def lab_trust(settings: LabSettings) -> Trust:
    """Whom the lab believes, and what was measured and signed for its deployment."""
    ports = build_deployment_ports(settings.installer())
    stored = (admit_document(path.read_bytes()) for path in sorted(settings.trust.glob("*.json")))
    return Trust(Ed25519Verifier(), ports.measurer, ports.revocations, TrustEvidence.of(stored))


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
