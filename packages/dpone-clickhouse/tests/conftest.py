"""A real engine from the lab for the tests marked `engine`, and one target with a plan around it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import clickhouse_connect
import pytest

from dpone_clickhouse.connection import Connection, Endpoint, Tag
from dpone_clickhouse.publisher import ClickHousePublisher
from dpone_contracts.bindings import AttemptBinding
from dpone_contracts.effective_key import EffectiveKeyColumn
from dpone_contracts.effects import Applied
from dpone_contracts.payload_types import WritableColumn
from dpone_contracts.plan_bundle import PlanTarget, ResourcePolicy
from dpone_contracts.plans import OperationPlan
from dpone_contracts.ports.refresh_state import AdmittedOperation
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dpone_contracts.ports.publisher import PreparedPublisher, Scratch, ShadowBuild, ShadowProof

OPERATION = "sha256:" + "0a" * 32
EXECUTION = "sha256:" + "0d" * 32
LIMIT = 1 << 40

FLIGHTS = (
    ("at", "datetime2(6)", "DateTime64(6,'UTC')", False, "EFFECTIVE_KEY_EVENT_TIME"),
    ("carrier", "smallint", "Int16", False, "EFFECTIVE_KEY"),
    ("flight", "int", "Int32", False, "EFFECTIVE_KEY"),
    ("delay", "decimal(9,2)", "Nullable(Decimal(9,2))", True, "MUTABLE_VALUE"),
    ("note", "nvarchar(50)", "Nullable(String)", True, "MUTABLE_VALUE"),
    ("late", "bit", "Bool", False, "MUTABLE_VALUE"),
)
"""(name, SQL Server type, ClickHouse type, nullable, role) of the usual target."""


@dataclass
class Case:
    """One target table in a database of its own, and everything that a publisher's method wants."""

    client: Any
    endpoint: Endpoint
    publisher: PreparedPublisher
    database: str
    columns: Sequence[tuple[str, str, str, bool, str]] = FLIGHTS
    key: Sequence[str] = ()
    attempt: str = "sha256:" + "0b" * 32
    amounts: dict[str, int] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)

    @property
    def relation(self) -> ClickHouseRelation:
        return ClickHouseRelation(self.database, "flights")

    @property
    def target(self) -> PlanTarget:
        limits: dict[str, Any] = {
            "max_clickhouse_total_transient_bytes": LIMIT,
            "max_target_scope_rows": LIMIT,
            "max_statement_seconds": 90,
            **self.limits,
        }
        return PlanTarget.model_construct(
            publication_database=self.database,
            publication_target_table="flights",
            writable_columns=tuple(
                WritableColumn.model_construct(
                    name=name, source_type=source, target_type=target, nullable=nullable, writable_role=role
                )
                for name, source, target, nullable, role in self.columns
            ),
            resource_policy=ResourcePolicy.model_construct(**limits),
        )

    @property
    def plan(self) -> OperationPlan:
        key = self.key or tuple(name for name, *_, role in self.columns if role != "MUTABLE_VALUE")
        return OperationPlan.model_construct(
            operation_id=OPERATION,
            scope_start="2013-01-02T00:00:00Z",
            scope_end="2013-01-03T00:00:00Z",
            effective_key_columns=tuple(EffectiveKeyColumn.model_construct(name=name) for name in key),
        )

    def admitted(self, attempt: str | None = None) -> AdmittedOperation:
        kinds = (
            "clickhouse_staging_bytes",
            "prepared_models",
            "retained_generation_bytes",
            "sealed_extract_bytes",
            "shadow_bytes",
        )
        return AdmittedOperation(
            operation_id=OPERATION,
            attempt=AttemptBinding.model_construct(
                attempt_binding_sha256=attempt or self.attempt,
                workflow_execution_binding_sha256=EXECUTION,
                operation_id=OPERATION,
                fencing_epoch=7,
            ),
            guard_resource_id="guard",
            reservation_id="reservation",
            allocations=tuple((f"a-{kind}", kind, self.amounts.get(kind, LIMIT)) for kind in kinds),
        )

    def run(self, statement: str, **settings: object) -> None:
        self.client.command(self._named(statement), settings=settings)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.client.query(self._named(query)).result_rows]

    def parquet(self, query: str) -> bytes:
        data: bytes = self.client.raw_query(self._named(query), fmt="Parquet")
        return data

    def _named(self, statement: str) -> str:
        """Statements write `db` for the test's database."""
        return statement.replace("db.", f"{self.database}.")

    def create_target(
        self, partition: str = "PARTITION BY toDate(at)", order: str = "(at, carrier, flight)"
    ) -> None:
        columns = ", ".join(f"{name} {target}" for name, _, target, _, _ in self.columns)
        self.run(f"CREATE TABLE db.flights ({columns}) ENGINE = MergeTree {partition} ORDER BY {order}")

    def fill_target(self) -> None:
        """Three days of 1,000 flights each, the second the scope; notes are NULL, empty or text."""
        self.run(
            """
            INSERT INTO db.flights
            SELECT toDateTime64('2013-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(86400 * intDiv(number, 1000) + number % 1000),
                   number % 16, number, if(number % 5 = 0, NULL, toDecimal32(number % 1000, 2) / 4),
                   multiIf(number % 7 = 0, NULL, number % 7 = 1, '', concat('n', toString(number))), number % 2
            FROM numbers(3000)
            """
        )

    def day(self) -> str:
        """The staged day: even flights with another delay, and 50 new ones at the day's end; odd flights are lacking."""
        return """
            SELECT at, carrier, flight, toDecimal32(-1.5, 2)::Nullable(Decimal(9, 2)) AS delay, note, late
            FROM db.flights WHERE toDate(at) = '2013-01-02' AND flight % 2 = 0
            UNION ALL
            SELECT toDateTime64('2013-01-02 23:59:59.999999', 6, 'UTC'), 1::Int16, toInt32(10000 + number), NULL, NULL, false FROM numbers(50)
            """

    def staged(self, query: str | None = None) -> Scratch:
        """Scratch with one loaded chunk."""
        made = self.publisher.create_scratch(self.plan, self.target, self.admitted())
        assert isinstance(made, Applied)
        loaded = self.publisher.load_chunk(
            self.target, self.admitted(), made.value, 1, self.parquet(query or self.day())
        )
        assert isinstance(loaded, Applied)
        return made.value

    def built(self, query: str | None = None) -> tuple[Scratch, ShadowBuild]:
        scratch = self.staged(query)
        build = self.publisher.build_shadow(self.plan, self.target, self.admitted(), scratch)
        assert isinstance(build, Applied)
        return scratch, build.value

    def prove(self, scratch: Scratch, build: ShadowBuild) -> ShadowProof:
        return self.publisher.prove_shadow(self.plan, self.target, self.admitted(), scratch, build)

    def target_uuid(self) -> str:
        ((uuid,),) = self.rows(
            f"SELECT toString(uuid) FROM system.tables WHERE database = '{self.database}' AND name = 'flights'"
        )
        return str(uuid)

    def connection(self) -> Connection:
        return Connection(self.endpoint)


LIVE_VARIABLE = "DPONE_CLICKHOUSE_DSN"
SUPPORTED = ("26.7", "26.9")
"""The versions that docs/how-to/put-a-real-engine-in-place.md names."""


@dataclass(frozen=True, slots=True)
class LiveServer:
    """Somebody's server, by DSN."""

    dsn: str = field(repr=False)
    face: str = "live"

    def require_supported(self) -> None:
        connection = Connection(Endpoint.from_dsn(self.dsn, connect_timeout=10, statement_timeout=60))
        version = str(connection.scalar("SELECT version()", Tag("dpone-test-", "version")))
        connection.close()
        if not version.startswith(tuple(f"{each}." for each in SUPPORTED)):
            pytest.fail(f"UNVERIFIED: ClickHouse {version} is not one of {', '.join(SUPPORTED)}")


@pytest.fixture(scope="session")
def server_library() -> Path:
    """The library of the real server; without it the server face is skipped."""
    library = pytest.importorskip("dpone_lab.clickhouse.library", reason="the lab's wheel is not installed")
    try:
        found: Path = library.find()
    except library.LibraryUnavailableError as absent:
        pytest.skip(str(absent))
    return found


@pytest.fixture(scope="session", params=["live"] if os.environ.get(LIVE_VARIABLE) else ["chdb", "server"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A ClickHouse of the lab in a process of its own, or the live one where a DSN names it."""
    if request.param == "live":
        live = LiveServer(os.environ[LIVE_VARIABLE])
        live.require_supported()
        yield live
        return
    lab = pytest.importorskip("dpone_lab.clickhouse.process", reason="the lab's wheel is not installed")
    face = str(request.param)
    shared = request.getfixturevalue("server_library") if face == "server" else None
    running = lab.start(tmp_path_factory.mktemp(face), face=face, library=shared)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def endpoint(engine: Any) -> Endpoint:
    """The engine's endpoint, from its DSN."""
    return Endpoint.from_dsn(engine.dsn, connect_timeout=10, statement_timeout=120)


@pytest.fixture
def case(engine: Any, endpoint: Endpoint) -> Iterator[Case]:
    """A fresh database with nothing in it."""
    client = clickhouse_connect.get_client(
        host=endpoint.host,
        port=endpoint.port,
        username=endpoint.user,
        password=endpoint.password,
        autogenerate_session_id=False,
    )
    database = f"t_{uuid4().hex[:12]}"
    client.command(f"CREATE DATABASE {database} ENGINE = Atomic")
    connection = Connection(endpoint)
    publisher = ClickHousePublisher(
        connection, disk_reserve_bytes=1, policies_from_plan=engine.face == "chdb"
    )
    yield Case(client, endpoint, publisher, database)
    client.command(f"DROP DATABASE {database} SYNC")
    connection.close()
    client.close()


@pytest.fixture(scope="session")
def connection(endpoint: Endpoint) -> Iterator[Connection]:
    """A connection of the adapter's own."""
    connection = Connection(endpoint)
    yield connection
    connection.close()


@pytest.fixture
def tag() -> Tag:
    return Tag("dpone-test-", "step")


@pytest.fixture
def flights(case: Case) -> Case:
    """The usual target with its three days."""
    case.create_target()
    case.fill_target()
    return case


@pytest.fixture
def applied() -> Callable[[object], Any]:
    """Unwrap an applied effect."""

    def unwrap(result: object) -> Any:
        assert isinstance(result, Applied), result
        return result.value

    return unwrap
