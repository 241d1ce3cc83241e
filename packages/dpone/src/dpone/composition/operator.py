"""What the operator's commands are composed from: a deployment's documents, engines by variable, and who may allow a run."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from dpone.application.activation import ActivationServices
from dpone.application.baseline import BaselineServices
from dpone.application.freeze import FreezeServices
from dpone.application.trust import Trust
from dpone.composition.clock import SystemClock
from dpone.composition.guard import ProductionGuard
from dpone.composition.runtime import (
    EngineSettings,
    EvidenceSettings,
    RuntimeSettings,
    build_deployment_ports,
    build_evidence,
    build_services,
)
from dpone_contracts.errors import DponeError
from dpone_contracts.scalars import instant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from dpone.application.deployment import DeploymentInputs
    from dpone.application.services import EvidenceServices, Services
    from dpone.composition.runtime import DeploymentPorts
    from dpone_contracts.policies import DeadlinePolicy
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.attempt_observer import AttemptObserver
    from dpone_contracts.ports.attestor import Attestation, Attestor
    from dpone_contracts.ports.catalog import CatalogReader
    from dpone_contracts.ports.engine_measurer import EngineMeasurer
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.ports.progress import Progress
    from dpone_mssql.connection import SqlServerConfig

MSSQL, CLICKHOUSE, STORE, ARTIFACT_KEY = (
    "DPONE_MSSQL_DSN",
    "DPONE_CLICKHOUSE_DSN",
    "DPONE_OBJECT_STORE",
    "DPONE_ARTIFACT_KEY",
)
"""The variables that say how to reach an engine; the last one names where the key is (`env:NAME`, `file:/path`)."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Connection strings by variable; one that is asked for and not there is an error, never a default."""

    variables: Mapping[str, str] = field(repr=False)

    def require(self, name: str) -> str:
        """The value of a variable; raises `DponeError` DPONE_DSN_ABSENT."""
        value = self.variables.get(name, "")
        if not value:
            raise DponeError("DPONE_DSN_ABSENT", f"{name} is not set", {"variable": name})
        return value

    def sql_server(self, login: int, lock_milliseconds: int, statement: int) -> SqlServerConfig:
        """SQL Server with limits that are given, for what needs no deployment."""
        return EngineSettings(
            mssql_dsn=self.require(MSSQL),
            clickhouse_dsn="",
            login_timeout_seconds=login,
            lock_timeout_milliseconds=lock_milliseconds,
            statement_timeout_seconds=statement,
        ).sql_server


@dataclass(frozen=True, slots=True)
class WorkerFiles:
    """What a worker needs on its disk: the author's dbt project, the manifest of its compile, a private directory."""

    project: Path
    manifest: Path
    work: Path


@dataclass(frozen=True, slots=True)
class Promotion:
    """Where the index is published, and the DAG file that promotes it (None: nothing is promoted from here).

    `worker_services` is the `module:function` that composes a worker's services in that DAG file.
    """

    index: Path
    dag_file: Path | None = None
    worker_services: str | None = None


class Composition(Protocol):
    """What the commands are given; the product has one, the lab another with its own guard and platform."""

    @property
    def engines(self) -> Engines:
        """How the engines are reached."""
        ...

    def activation(self, folder: Path, inputs: DeploymentInputs, promotion: Promotion) -> ActivationServices:
        """The ports of activation."""
        ...

    def baseline(self, folder: Path, inputs: DeploymentInputs) -> BaselineServices:
        """The ports of adoption."""
        ...

    def catalog(self, login_timeout_seconds: int, deadlines: DeadlinePolicy) -> CatalogReader:
        """The live catalog."""
        ...

    def freeze(self, login_timeout_seconds: int, deadlines: DeadlinePolicy) -> FreezeServices:
        """The ports that a target is covered through."""
        ...

    def evidence(self, inputs: DeploymentInputs) -> EvidenceServices:
        """The ports that evidence is read through."""
        ...

    def run(self, inputs: DeploymentInputs, files: WorkerFiles, progress: Progress) -> Services:
        """The ports of a run."""
        ...


@dataclass(frozen=True, slots=True)
class EngineComposition:
    """The product's adapters over some engines, under one guard, observer and attestor."""

    engines: Engines
    guard: ActivationGuard
    observer: AttemptObserver
    attestor: Attestor
    policies_from_plan: bool = False

    def activation(self, folder: Path, inputs: DeploymentInputs, promotion: Promotion) -> ActivationServices:
        """Store, frozen receipts of the deployment's folder, the index, and what lies beside the certificates."""
        from dpone_mssql.control_schema import ControlNames  # noqa: PLC0415 - lazy by design
        from dpone_mssql.documents import MssqlDocumentStore  # noqa: PLC0415

        require_pack()
        from dpone.composition.deployment_files import FolderFrozenBytes, FolderIndex  # noqa: PLC0415

        config = self._sql_server(inputs)
        ports = self._deployment_ports(inputs)
        return ActivationServices(
            clock=SystemClock(),
            guard=self.guard,
            activations=activation_store(config),
            documents=MssqlDocumentStore(config, ControlNames()),
            frozen=FolderFrozenBytes(folder / "frozen"),
            index=FolderIndex(promotion),
            trust=_trust(ports, inputs),
        )

    def baseline(self, folder: Path, inputs: DeploymentInputs) -> BaselineServices:
        """Store, frozen receipts of the deployment's folder, and one observer an engine."""
        from dpone_mssql.control_schema import ControlNames  # noqa: PLC0415 - lazy by design
        from dpone_mssql.documents import MssqlDocumentStore  # noqa: PLC0415

        require_pack()
        from dpone.composition.deployment_files import FolderFrozenBytes  # noqa: PLC0415

        config = self._sql_server(inputs)
        ports = self._deployment_ports(inputs)
        return BaselineServices(
            clock=SystemClock(),
            guard=self.guard,
            activations=activation_store(config),
            documents=MssqlDocumentStore(config, ControlNames()),
            frozen=FolderFrozenBytes(folder / "frozen"),
            sql_server=ports.sql_server,
            clickhouse=ports.clickhouse,
            trust=_trust(ports, inputs),
        )

    def catalog(self, login_timeout_seconds: int, deadlines: DeadlinePolicy) -> CatalogReader:
        """SQL Server's."""
        from dpone_mssql.catalog import MssqlCatalog  # noqa: PLC0415 - lazy by design

        return MssqlCatalog(self._limited(login_timeout_seconds, deadlines))

    def freeze(self, login_timeout_seconds: int, deadlines: DeadlinePolicy) -> FreezeServices:
        """Store and epochs of the control schema."""
        from dpone_mssql.catalog import MssqlDdlFreeze  # noqa: PLC0415 - lazy by design
        from dpone_mssql.control_schema import ControlNames  # noqa: PLC0415

        config = self._limited(login_timeout_seconds, deadlines)
        return FreezeServices(
            guard=self.guard,
            activations=activation_store(config),
            ddl_freeze=MssqlDdlFreeze(config, ControlNames()),
        )

    def evidence(self, inputs: DeploymentInputs) -> EvidenceServices:
        """Journal, documents, SQL Server's evidence, the sealed objects and ClickHouse's UUIDs."""
        settings = EvidenceSettings(
            mssql_dsn=self.engines.require(MSSQL),
            clickhouse_dsn=self.engines.require(CLICKHOUSE),
            object_store=self.engines.require(STORE),
            artifact_key_reference=self.engines.require(ARTIFACT_KEY),
            artifact_prefix=_artifact_prefix(inputs),
            retain_until=_retain_until(inputs),
            disk_reserve_bytes=inputs.resources.min_clickhouse_free_bytes,
            policies_from_plan=self.policies_from_plan,
            **_limits(inputs),
        )
        return build_evidence(settings, self.observer)

    def run(self, inputs: DeploymentInputs, files: WorkerFiles, progress: Progress) -> Services:
        """Every adapter of a run."""
        settings = RuntimeSettings(
            mssql_dsn=self.engines.require(MSSQL),
            clickhouse_dsn=self.engines.require(CLICKHOUSE),
            object_store=self.engines.require(STORE),
            artifact_key_reference=self.engines.require(ARTIFACT_KEY),
            artifact_prefix=_artifact_prefix(inputs),
            retain_until=_retain_until(inputs),
            disk_reserve_bytes=inputs.resources.min_clickhouse_free_bytes,
            policies_from_plan=self.policies_from_plan,
            project=files.project,
            manifest=files.manifest,
            work=files.work,
            model_schema=inputs.proofs.execution_pack.profile.schema_name,
            seal_policy=inputs.seal,
            deadlines=inputs.deadlines,
            resources=inputs.resources,
            **_limits(inputs),
        )
        return build_services(settings, self.guard, self.observer, self.attestor, progress)

    def _deployment_ports(self, inputs: DeploymentInputs) -> DeploymentPorts:
        return build_deployment_ports(
            EngineSettings(
                mssql_dsn=self.engines.require(MSSQL),
                clickhouse_dsn=self.engines.require(CLICKHOUSE),
                policies_from_plan=self.policies_from_plan,
                **_limits(inputs),
            )
        )

    def _limited(self, login_timeout_seconds: int, deadlines: DeadlinePolicy) -> SqlServerConfig:
        return self.engines.sql_server(
            login_timeout_seconds, deadlines.lock_timeout_milliseconds, deadlines.statement_seconds
        )

    def _sql_server(self, inputs: DeploymentInputs) -> SqlServerConfig:
        limits = _limits(inputs)
        return self.engines.sql_server(
            limits["login_timeout_seconds"],
            limits["lock_timeout_milliseconds"],
            limits["statement_timeout_seconds"],
        )


class NobodyVouches:
    """The observer of a command line: no platform speaks for a pod's end here, so no attempt is ever taken over."""

    def termination(self, attempt: object, operation_ids: tuple[str, ...]) -> None:
        """Nothing proves that an attempt has ended."""


class NobodySigns:
    """The attestor of a release that signs nothing: every production run is refused before it would be asked."""

    def attest(self, subject: bytes) -> Attestation:  # noqa: ARG002 - the port's signature
        """Raise `DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE`."""
        raise DponeError(
            "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE", "this release has no seal authority"
        )


def activation_store(config: SqlServerConfig) -> ActivationStore:
    """The control store alone, for what needs no deployment."""
    from dpone_mssql.activation import MssqlActivationStore  # noqa: PLC0415 - lazy by design
    from dpone_mssql.control_schema import ControlNames  # noqa: PLC0415

    return MssqlActivationStore(config, ControlNames())


def engine_measurer(config: SqlServerConfig) -> EngineMeasurer:
    """The measurer alone, for what needs no deployment."""
    from dpone_mssql.control_schema import ControlNames  # noqa: PLC0415 - lazy by design
    from dpone_mssql.measurer import MssqlMeasurer  # noqa: PLC0415

    return MssqlMeasurer(config, ControlNames())


def product() -> Composition:
    """The product's composition: engines from the environment, and the guard that always refuses."""
    return EngineComposition(Engines(dict(os.environ)), ProductionGuard(), NobodyVouches(), NobodySigns())


def require_pack() -> None:
    """Refuse where the member that writes projections is not installed."""
    if find_spec("dpone_airflow_pack") is None:
        raise DponeError(
            "DPONE_RELEASE_SKEW",
            "dpone-airflow-pack is not installed; a deployment stage needs dpone[semantic-refresh-airflow]",
        )


def _trust(ports: DeploymentPorts, inputs: DeploymentInputs) -> Trust:
    from dpone.composition.ed25519 import Ed25519Verifier  # noqa: PLC0415 - lazy by design

    return Trust(Ed25519Verifier(), ports.measurer, ports.revocations, inputs.trust)


def _limits(inputs: DeploymentInputs) -> dict[str, int]:
    return {
        "login_timeout_seconds": inputs.proofs.execution_pack.adapter_runtime.login_timeout_seconds,
        "lock_timeout_milliseconds": inputs.deadlines.lock_timeout_milliseconds,
        "statement_timeout_seconds": inputs.deadlines.statement_seconds,
    }


def _artifact_prefix(inputs: DeploymentInputs) -> str:
    prefixes = [model.held.artifact_authority.artifact_prefix for model in inputs.models.values()]
    common = posixpath.commonpath(prefixes)
    if not common:
        raise DponeError(
            "DPONE_DEPLOYMENT_DOCUMENTS",
            "the models' artifacts have no common prefix",
            {"prefix": prefixes[0]},
        )
    return common


def _retain_until(inputs: DeploymentInputs) -> datetime:
    ends = {model.held.artifact_authority.retention_until for model in inputs.models.values()}
    if len(ends) != 1:
        raise DponeError(
            "DPONE_DEPLOYMENT_DOCUMENTS", "the models' artifacts are retained to different instants"
        )
    return instant(ends.pop())
