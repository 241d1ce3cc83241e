"""A deployment's documents, and a world in memory to adopt, activate and run it in."""

from __future__ import annotations

import datetime as dt
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpone.application.activation import ActivationServices
from dpone.application.baseline import BaselineServices, adopt_baselines
from dpone.application.deployment import DeploymentInputs, read_deployment
from dpone.application.run import run_workflow
from dpone.application.services import Services
from dpone_contracts.model_deployment import ModelDeployment
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_contracts.testing.memory_catalog import MemoryRelationObserver
from dpone_contracts.testing.memory_files import MemoryFrozenBytes, MemoryIndex
from dpone_contracts.testing.memory_ports import MemoryPorts, memory_ports

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone.application.activation import Activated
    from dpone.application.trust import Certified
    from dpone_contracts.document import Document

sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "dpone-contracts" / "tests"))
import identity_story as story

__all__ = ["World", "deployment_documents", "files_of", "story", "world"]

WORKER = WorkerIdentity("scheduled__1", "task", 1, "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01", "worker-1")


def deployment_documents() -> list[Document]:
    """Everything that a release and a deployment pipeline hand over."""
    descriptor = story.with_fields(story.deployment(), runtime_policy_sha256=story.deadlines().digest)
    documents: list[Document] = [story.proofs(), story.platform(), story.release(), descriptor]
    documents += [story.deadlines(), story.seal(), story.resources(), story.profile()]
    for model in (story.PRICE, story.STOCK):
        held = story.authorities(model)
        utc = held.utc_assurance or story.with_fields(
            _stock_utc(), subject={**_stock_utc().subject.to_plain(), "model_unique_id": model}
        )
        documents += [held.resource_policy, held.route, held.writer_assurance, held.ddl_assurance, utc]
        documents.append(
            ModelDeployment.build(
                deployment_id=descriptor.digest,
                model_unique_id=model,
                owner_generation=held.owner_generation,
                baseline_kind=held.baseline.baseline_kind,
                baseline_generation=1,
                coverage_start="2026-01-01T00:00:00Z",
                coverage_end=story.SCOPE.start_text,
                mssql_relation_id=held.baseline.mssql_relation_id,
                source_relation_id=held.baseline.source_relation_id,
                publication_database=held.publication_database,
                publication_table=held.publication_table,
                artifact_authority=held.artifact_authority,
                resource_policy_sha256=held.resource_policy.digest,
                route_certification_receipt_sha256=held.route.digest,
                writer_exclusivity_assurance_receipt_sha256=held.writer_assurance.digest,
                ddl_freeze_assurance_receipt_sha256=held.ddl_assurance.digest,
                utc_semantics_assurance_receipt_sha256=utc.digest,
            )
        )
    return documents


def _stock_utc() -> Any:
    return story.authorities(story.STOCK).utc_assurance


def files_of(documents: list[Document]) -> dict[str, bytes]:
    """Documents as files; the names say nothing."""
    return {f"{number:02}.json": document.to_bytes() for number, document in enumerate(documents)}


class Believed:
    """Believes every certificate: whether one may be believed is `test_trust`'s question."""

    def require(self, certified: Iterable[Certified], now: str) -> None:
        """Nothing is judged."""

    def documents(self) -> tuple[Document, ...]:
        """Nothing was judged by."""
        return ()


@dataclass(slots=True)
class World:
    """One store and two engines in memory, with empty relations; the clock stands a month after the baseline."""

    inputs: DeploymentInputs
    ports: MemoryPorts
    baseline: BaselineServices
    activation: ActivationServices
    frozen: MemoryFrozenBytes
    index: MemoryIndex
    engines: tuple[MemoryRelationObserver, MemoryRelationObserver]

    def adopt(self) -> None:
        adopt_baselines(self.baseline, self.inputs)

    def run(self, activated: Activated, worker: WorkerIdentity = WORKER) -> None:
        """Run an activated plan over relations that stay empty."""
        bundle = activated.bundle
        for target in bundle.targets:
            self.ports.server.tables.setdefault(target.target_resource_id, [])
            self.ports.server.inputs.setdefault(target.model_unique_id, [])
            if target.clickhouse_target_uuid not in self.ports.publisher.tables:
                self.ports.publisher.create_target(target, [])
        services = Services(**{each.name: getattr(self.ports, each.name) for each in fields(Services)})
        worker = replace(worker, dag_run_id=f"scheduled__{bundle.workflow_plan.scope_start}")
        run_workflow(services, self.inputs.descriptor.deployment_id, bundle.digest, worker)


def world() -> World:
    inputs = read_deployment(files_of(deployment_documents()))
    ports = replace(memory_ports(), deadlines=inputs.deadlines, resources=inputs.resources)
    ports.artifacts.prefix = "sealed"
    ports.clock.at = dt.datetime(2026, 9, 8, 1, tzinfo=dt.UTC)
    sql, click = MemoryRelationObserver(), MemoryRelationObserver()
    for number, model in enumerate(inputs.models.values()):
        sql.tables[model.held.mssql_relation_id] = []
        table = f"{model.held.publication_database}.{model.held.publication_table}"
        click.tables[table] = []
        click.uuids[table] = f"6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2b0{number}"
    frozen, index = MemoryFrozenBytes(), MemoryIndex()
    shared: dict[str, Any] = {"clock": ports.clock, "guard": ports.guard, "activations": ports.activations}
    shared |= {"documents": ports.documents, "frozen": frozen}
    return World(
        inputs,
        ports,
        BaselineServices(**shared, sql_server=sql, clickhouse=click, trust=Believed()),
        ActivationServices(**shared, index=index, trust=Believed()),
        frozen,
        index,
        (sql, click),
    )
