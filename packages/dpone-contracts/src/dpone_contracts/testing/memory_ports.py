"""One world in memory: every port of a run over one control store, with an example activated in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.ports.activation_store import ActivationRecord
from dpone_contracts.testing.memory_artifacts import (
    MemoryArtifactStore,
    MemoryChunkEncoder,
    MemoryImageReader,
)
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_contracts.testing.memory_control import (
    MemoryActivationStore,
    MemoryControl,
    MemoryDocumentStore,
    disposable_store,
)
from dpone_contracts.testing.memory_edges import (
    DigestAttestor,
    DisposableStoresOnly,
    EndedAttempts,
    RecordedProgress,
    SteppingClock,
)
from dpone_contracts.testing.memory_sql import MemoryModelBuild, MemoryScopeMutation, MemorySqlServer
from dpone_contracts.testing.memory_state import MemoryRefreshState
from dpone_contracts.testing.plan_example import example_deadlines, example_resources, made_up

if TYPE_CHECKING:
    from dpone_contracts.policies import DeadlinePolicy, WorkflowResourcePolicy
    from dpone_contracts.ports.guard import StoreIdentity
    from dpone_contracts.testing.memory_rows import Row
    from dpone_contracts.testing.plan_example import Example


@dataclass(frozen=True, slots=True)
class MemoryPorts:
    """All ports of a run, each under its name, the server that the SQL ones share, and the limits of a run."""

    clock: SteppingClock
    guard: DisposableStoresOnly
    activations: MemoryActivationStore
    state: MemoryRefreshState
    documents: MemoryDocumentStore
    mutation: MemoryScopeMutation
    build: MemoryModelBuild
    images: MemoryImageReader
    encoder: MemoryChunkEncoder
    artifacts: MemoryArtifactStore
    publisher: MemoryPublisher
    observer: EndedAttempts
    attestor: DigestAttestor
    progress: RecordedProgress
    server: MemorySqlServer
    deadlines: DeadlinePolicy
    resources: WorkflowResourcePolicy


def memory_ports(publisher: MemoryPublisher | None = None) -> MemoryPorts:
    """An empty world; another publisher may stand in for the plain one."""
    clock, control = SteppingClock(), MemoryControl(disposable_store())
    server = MemorySqlServer(control)
    return MemoryPorts(
        clock=clock,
        guard=DisposableStoresOnly(),
        activations=MemoryActivationStore(control),
        state=MemoryRefreshState(control, clock),
        documents=MemoryDocumentStore(control),
        mutation=MemoryScopeMutation(server),
        build=MemoryModelBuild(server),
        images=MemoryImageReader(server),
        encoder=MemoryChunkEncoder(),
        artifacts=MemoryArtifactStore("sealed/example"),
        publisher=publisher or MemoryPublisher(),
        observer=EndedAttempts(clock),
        attestor=DigestAttestor(),
        progress=RecordedProgress(),
        server=server,
        deadlines=example_deadlines(),
        resources=example_resources(),
    )


def seed(ports: MemoryPorts, example: Example, old: list[Row], new: list[Row]) -> None:
    """Give every target of an example the same old rows, and every model the same new ones."""
    for target in example.bundle.targets:
        ports.server.tables[target.target_resource_id] = list(old)
        ports.server.inputs[target.model_unique_id] = list(new)
        ports.publisher.create_target(target, old)


def activation_of(example: Example, store: StoreIdentity) -> ActivationRecord:
    """The activation of an example in a store."""
    bundle, authority = example.bundle, example.bundle.release_deployment_authority
    receipt = ActivationReceipt.build(
        status="ACTIVE",
        release_id=authority.release_id,
        deployment_id=authority.deployment_id,
        store_authority_id=store.store_id,
        recovery_fork=store.recovery_fork,
        authority_receipt_sha256=authority.authority_receipt_sha256,
        pre_release_bundle_sha256=bundle.pre_release_bundle_sha256,
        package_artifacts_sha256=bundle.package_artifacts_sha256,
        plan_bundle_sha256=bundle.digest,
        workflow_plan_sha256=bundle.workflow_plan.digest,
        dag_projection_sha256=made_up("projection"),
        workflow_name=bundle.workflow_plan.workflow_name,
        scope_start=bundle.workflow_plan.scope_start,
        scope_end=bundle.workflow_plan.scope_end,
        persisted_at="2026-08-09T00:30:00.000000Z",
    )
    return ActivationRecord(
        authority.release_id,
        authority.deployment_id,
        bundle.digest,
        receipt.to_bytes(),
        bundle.to_bytes(),
        (),
    )
