"""The in-memory ports implement every Protocol and pass the suites that adapters pass."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol

import pytest

import dpone_contracts.ports
from dpone_contracts.effects import EffectKind, effect, effect_of
from dpone_contracts.ports.image_reader import ImageBatch
from dpone_contracts.ports.model_build import BuildRequest
from dpone_contracts.testing.artifact_store_suite import PREFIX, ArtifactStoreSuite
from dpone_contracts.testing.chunk_encoder_suite import TARGET, ChunkEncoderSuite, Wire
from dpone_contracts.testing.control_suite import (
    ActivationStoreSuite,
    DocumentStoreSuite,
    RefreshStateSuite,
    activated,
    admitted,
)
from dpone_contracts.testing.edge_suite import (
    AttemptObserverSuite,
    AttestorSuite,
    ClockSuite,
    GuardSuite,
    SignatureSuite,
)
from dpone_contracts.testing.memory_artifacts import MemoryArtifactStore, MemoryChunkEncoder
from dpone_contracts.testing.memory_catalog import (
    MemoryCatalogReader,
    MemoryDdlFreeze,
    MemoryRelationObserver,
)
from dpone_contracts.testing.memory_edges import (
    DigestAttestor,
    DisposableStoresOnly,
    EndedAttempts,
    MemoryRevocationLog,
    SteppingClock,
)
from dpone_contracts.testing.memory_files import MemoryFrozenBytes, MemoryIndex
from dpone_contracts.testing.memory_ports import MemoryPorts, memory_ports, seed
from dpone_contracts.testing.memory_rows import TargetRows
from dpone_contracts.testing.memory_trust import DigestSigner, DigestVerifier, MemoryMeasurer
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle
from dpone_contracts.testing.publisher_suite import MODEL, NEW, OLD, Generation, PublisherSuite
from dpone_contracts.testing.results import applied
from dpone_contracts.testing.scope_mutation_suite import Built, ImageReaderSuite, ScopeMutationSuite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.artifact_store import ArtifactStore, ChunkEncoder
    from dpone_contracts.ports.attempt_observer import AttemptObserver
    from dpone_contracts.ports.attestor import Attestor
    from dpone_contracts.ports.catalog import CatalogReader, DdlFreeze
    from dpone_contracts.ports.clock import Clock
    from dpone_contracts.ports.deployment_files import FrozenBytes, ProjectionIndex
    from dpone_contracts.ports.documents import DocumentStore
    from dpone_contracts.ports.engine_measurer import EngineMeasurer
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.ports.image_reader import ImageReader
    from dpone_contracts.ports.model_build import ModelBuild
    from dpone_contracts.ports.progress import Progress
    from dpone_contracts.ports.publisher import PreparedPublisher
    from dpone_contracts.ports.refresh_state import RefreshState
    from dpone_contracts.ports.relation_observer import RelationObserver
    from dpone_contracts.ports.revocation_log import RevocationLog
    from dpone_contracts.ports.scope_mutation import ScopeMutation
    from dpone_contracts.ports.signatures import SignatureVerifier, Signer
    from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
    from dpone_contracts.testing.memory_control import MemoryActivationStore, MemoryDocumentStore
    from dpone_contracts.testing.memory_state import MemoryRefreshState

MODELS = [
    ExampleModel(
        name,
        (("at", "datetime2(6)", False), ("id", "int", False), ("note", "nvarchar(20)", True)),
        ("at", "id"),
    )
    for name in ("arrivals", "departures")
]


def port_protocols() -> Iterator[type]:
    for module in pkgutil.iter_modules(dpone_contracts.ports.__path__):
        loaded = importlib.import_module(f"dpone_contracts.ports.{module.name}")
        for _, member in inspect.getmembers(loaded, inspect.isclass):
            if getattr(member, "_is_protocol", False) and member.__module__ == loaded.__name__:
                yield member


def unmarked(port: type) -> list[str]:
    """Public methods of a port without an effect."""
    methods = inspect.getmembers(port, inspect.isfunction)
    return [name for name, method in methods if not name.startswith("_") and effect_of(method) is None]


def test_every_method_of_every_port_is_marked_with_its_effect() -> None:
    ports = list(port_protocols())
    assert {port.__name__: names for port in ports if (names := unmarked(port))} == {}
    assert len(ports) >= 15


def test_an_unmarked_method_would_be_found() -> None:
    class Careless(Protocol):
        @effect(EffectKind.READ)
        def marked(self) -> None: ...

        def forgotten(self) -> None: ...

    assert unmarked(Careless) == ["forgotten"]


@dataclass(frozen=True, slots=True)
class Implemented:
    """Every port with its implementation in memory; the type checker holds them against the Protocols."""

    activation_guard: ActivationGuard
    activation_store: ActivationStore
    artifact_store: ArtifactStore
    attempt_observer: AttemptObserver
    attestor: Attestor
    catalog_reader: CatalogReader
    chunk_encoder: ChunkEncoder
    clock: Clock
    ddl_freeze: DdlFreeze
    document_store: DocumentStore
    engine_measurer: EngineMeasurer
    frozen_bytes: FrozenBytes
    image_reader: ImageReader
    model_build: ModelBuild
    prepared_publisher: PreparedPublisher
    progress: Progress
    projection_index: ProjectionIndex
    refresh_state: RefreshState
    relation_observer: RelationObserver
    revocation_log: RevocationLog
    scope_mutation: ScopeMutation
    signature_verifier: SignatureVerifier
    signer: Signer


def test_every_port_has_an_implementation_in_memory() -> None:
    ports = memory_ports()
    implemented = Implemented(
        activation_guard=ports.guard,
        activation_store=ports.activations,
        artifact_store=ports.artifacts,
        attempt_observer=ports.observer,
        attestor=ports.attestor,
        catalog_reader=MemoryCatalogReader("memory", "Latin1_General_100_BIN2_UTF8"),
        chunk_encoder=ports.encoder,
        clock=ports.clock,
        ddl_freeze=MemoryDdlFreeze(),
        document_store=ports.documents,
        engine_measurer=MemoryMeasurer(),
        frozen_bytes=MemoryFrozenBytes(),
        image_reader=ports.images,
        model_build=ports.build,
        prepared_publisher=ports.publisher,
        progress=ports.progress,
        projection_index=MemoryIndex(),
        refresh_state=ports.state,
        relation_observer=MemoryRelationObserver(),
        revocation_log=MemoryRevocationLog(),
        scope_mutation=ports.mutation,
        signature_verifier=DigestVerifier(),
        signer=DigestSigner(),
    )
    names = {field.name.replace("_", "") for field in fields(implemented)}
    assert names == {port.__name__.lower() for port in port_protocols()}


class TestMemoryClock(ClockSuite):
    @pytest.fixture
    def clock(self) -> SteppingClock:
        return SteppingClock()


class TestMemoryGuard(GuardSuite):
    @pytest.fixture
    def guard(self) -> DisposableStoresOnly:
        return DisposableStoresOnly()


class TestMemoryAttestor(AttestorSuite):
    @pytest.fixture
    def attestor(self) -> DigestAttestor:
        return DigestAttestor()


class TestMemorySignatures(SignatureSuite):
    @pytest.fixture
    def signer(self) -> DigestSigner:
        return DigestSigner()

    @pytest.fixture
    def verifier(self) -> DigestVerifier:
        return DigestVerifier()

    @pytest.fixture
    def public_key(self, signer: DigestSigner) -> str:
        return signer.public_key


class TestMemoryObserver(AttemptObserverSuite):
    @pytest.fixture
    def observer(self) -> EndedAttempts:
        return EndedAttempts(SteppingClock())

    @pytest.fixture
    def end(self, observer: EndedAttempts) -> Callable[[str], None]:
        return observer.pods.add


class TestMemoryArtifactStore(ArtifactStoreSuite):
    @pytest.fixture
    def store(self) -> MemoryArtifactStore:
        return MemoryArtifactStore(PREFIX)


@pytest.fixture
def ports() -> MemoryPorts:
    return memory_ports()


@pytest.fixture
def documents(ports: MemoryPorts) -> MemoryDocumentStore:
    return ports.documents


@pytest.fixture
def activations(ports: MemoryPorts) -> MemoryActivationStore:
    return ports.activations


@pytest.fixture
def state(ports: MemoryPorts) -> MemoryRefreshState:
    return ports.state


@pytest.fixture
def example() -> Example:
    return example_bundle(MODELS, database="memory")


@pytest.fixture
def rival() -> Example:
    """Another plan of the same day over the same targets and baselines."""
    return example_bundle(MODELS, database="memory", limits={"max_statement_seconds": 59})


class TestMemoryDocumentStore(DocumentStoreSuite):
    """Fixtures are the module's."""


class TestMemoryActivationStore(ActivationStoreSuite):
    """Fixtures are the module's."""


class TestMemoryRefreshState(RefreshStateSuite):
    """Fixtures are the module's."""


class TestMemoryPublisher(PublisherSuite):
    @pytest.fixture
    def publisher(self, ports: MemoryPorts) -> MemoryPublisher:
        return ports.publisher

    @pytest.fixture
    def generation(self, ports: MemoryPorts) -> Generation:
        example = example_bundle([MODEL], database="memory")
        activated(ports.activations, example)
        seed(ports, example, list(OLD), [])
        plan, target = example.bundle.operation_plans[0], example.bundle.targets[0]
        operation = admitted(ports.state, example).operations[0]
        return Generation(plan, target, operation, TargetRows.of(target).to_bytes)


@pytest.fixture
def built(ports: MemoryPorts) -> Built:
    example = example_bundle([MODEL], database="memory")
    activated(ports.activations, example)
    seed(ports, example, list(OLD), list(NEW))
    plan, target = example.bundle.operation_plans[0], example.bundle.targets[0]
    operation = admitted(ports.state, example).operations[0]

    def run() -> bool:
        batch = ports.mutation.render(plan, target, operation)
        request = BuildRequest(operation.attempt.workflow_execution_binding_sha256, (batch,), (), 60, 60)
        return ports.build.build(request).node_status == {plan.model_unique_id: "success"}

    def roll_back() -> None:
        ports.server.failing.add(plan.model_unique_id)
        assert not run()
        ports.server.failing.clear()

    return Built(
        mutation=ports.mutation,
        reader=ports.images,
        plan=plan,
        target=target,
        admitted=operation,
        intend=lambda: applied(ports.state.record_intent(operation.attempt)),
        run=run,
        roll_back=roll_back,
        rows=lambda: list(ports.server.tables[target.target_resource_id]),
        rows_of=lambda batch: list(batch.data),
    )


class TestMemoryScopeMutation(ScopeMutationSuite):
    """Fixtures are the module's."""


class TestMemoryImageReader(ImageReaderSuite):
    """Fixtures are the module's."""


class TestMemoryChunkEncoder(ChunkEncoderSuite):
    @pytest.fixture
    def encoder(self) -> MemoryChunkEncoder:
        return MemoryChunkEncoder()

    @pytest.fixture
    def wire(self) -> Wire:
        return Wire(
            batch=lambda first, rows: ImageBatch(first, len(rows), rows),
            rows_in=TargetRows.of(TARGET).from_bytes,
        )
