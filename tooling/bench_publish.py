"""Measure loading, shadow and proof against their straightforward forms, as ratios within one run.

Writes its results into test_artifacts/bench.json beside those of other benches: seconds, peak megabytes of the server
above its resting size, and rows; `ratio` is baseline over ours. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import clickhouse_connect

from dpone_clickhouse.connection import Connection, Endpoint
from dpone_clickhouse.names import column_list, qualified
from dpone_clickhouse.publisher import ClickHousePublisher
from dpone_contracts.bindings import AttemptBinding
from dpone_contracts.effective_key import EffectiveKeyColumn
from dpone_contracts.effects import Applied
from dpone_contracts.payload_types import WritableColumn
from dpone_contracts.plan_bundle import PlanTarget, ResourcePolicy
from dpone_contracts.plans import OperationPlan
from dpone_contracts.ports.refresh_state import AdmittedOperation
from dpone_lab.clickhouse import process
from measurements import Comparison, keep

if TYPE_CHECKING:
    from collections.abc import Callable

    from clickhouse_connect.driver.client import Client

    from dpone_contracts.effects import EffectResult
    from dpone_contracts.ports.publisher import Scratch, ShadowBuild

T = TypeVar("T")

DATABASE, TABLE = "bench", "events"
DAYS = 10
LIMIT = 1 << 50
LOAD_ROUNDS = 5
COLUMNS = (
    ("at", "datetime2(6)", "DateTime64(6,'UTC')", "EFFECTIVE_KEY_EVENT_TIME"),
    ("id", "bigint", "Int64", "EFFECTIVE_KEY"),
    ("quantity", "int", "Int32", "MUTABLE_VALUE"),
    ("rank", "int", "Nullable(Int32)", "MUTABLE_VALUE"),
    ("price", "decimal(18,4)", "Decimal(18,4)", "MUTABLE_VALUE"),
    ("flight", "nvarchar(20)", "String", "MUTABLE_VALUE"),
    ("note", "nvarchar(20)", "Nullable(String)", "MUTABLE_VALUE"),
    ("late", "bit", "Bool", "MUTABLE_VALUE"),
)
NAMES = [name for name, *_ in COLUMNS]


class Bench:
    """One engine, one table of ten days, one of them staged."""

    def __init__(self, engine: process.ClickHouseProcess) -> None:
        self._engine = engine
        endpoint = Endpoint.from_dsn(engine.dsn, connect_timeout=10, statement_timeout=600)
        self.client: Client = clickhouse_connect.get_client(
            host=engine.host, port=engine.port, username=engine.user, password=engine.password,
            autogenerate_session_id=False, send_receive_timeout=600,
        )  # fmt: skip
        self.publisher = ClickHousePublisher(
            Connection(endpoint), disk_reserve_bytes=1, policies_from_plan=engine.face == "chdb"
        )
        self.target = PlanTarget.model_construct(
            publication_database=DATABASE,
            publication_target_table=TABLE,
            writable_columns=tuple(
                WritableColumn.model_construct(
                    name=name,
                    source_type=source,
                    target_type=target,
                    nullable="Null" in target,
                    writable_role=role,
                )
                for name, source, target, role in COLUMNS
            ),
            resource_policy=ResourcePolicy.model_construct(
                max_clickhouse_total_transient_bytes=LIMIT,
                max_target_scope_rows=LIMIT,
                max_statement_seconds=600,
            ),
        )
        self.plan = OperationPlan.model_construct(
            scope_start="2024-01-10T00:00:00Z",
            scope_end="2024-01-11T00:00:00Z",
            effective_key_columns=tuple(
                EffectiveKeyColumn.model_construct(name=name) for name in ("at", "id")
            ),
        )

    def admitted(self, attempt: int) -> AdmittedOperation:
        """An admission of its own for each measurement, so that scratch names never meet."""
        digest = f"sha256:{attempt:016x}{'00' * 24}"
        kinds = ("clickhouse_staging_bytes", "retained_generation_bytes", "shadow_bytes")
        return AdmittedOperation(
            operation_id="sha256:" + "0a" * 32,
            attempt=AttemptBinding.model_construct(
                attempt_binding_sha256=digest, workflow_execution_binding_sha256=digest
            ),
            guard_resource_id="bench",
            reservation_id="bench",
            allocations=tuple((kind, kind, LIMIT) for kind in kinds),
        )

    def fill(self, rows_per_day: int, other_days: int) -> None:
        """Create the target: the day of the scope and nine days before it, `other_days` rows each."""
        self.client.command(f"DROP DATABASE IF EXISTS {DATABASE} SYNC")
        self.client.command(f"CREATE DATABASE {DATABASE} ENGINE = Atomic")
        columns = ", ".join(f"{name} {target}" for name, _, target, _ in COLUMNS)
        self.client.command(
            f"CREATE TABLE {DATABASE}.{TABLE} ({columns}) ENGINE = MergeTree PARTITION BY toDate(at) ORDER BY (at, id)"
        )
        for day in range(1, DAYS + 1):
            rows = rows_per_day if day == DAYS else other_days
            self.client.command(
                f"""
                INSERT INTO {DATABASE}.{TABLE} SELECT
                    toDateTime64('2024-01-{day:02}', 6, 'UTC') + toIntervalMicrosecond(number * intDiv(86400000000, {rows})),
                    number, number % 1000, if(number % 7 = 0, NULL, number % 100), toDecimal64(number % 100000 / 7, 4),
                    concat('flight-', toString(number % 5000)), if(number % 5 = 0, NULL, toString(number)), number % 2
                FROM numbers({rows})
                """
            )
        # Days past are merged long since; a merge under way would be measured instead of the publication.
        self.client.command(f"OPTIMIZE TABLE {DATABASE}.{TABLE} FINAL")

    def chunks(self, rows_per_day: int, count: int) -> list[bytes]:
        """The staged day as Parquet in key order, like sealed chunks: every row with another quantity."""
        size = -(-rows_per_day // count)
        return [
            self.client.raw_query(
                f"SELECT * REPLACE (quantity + 1 AS quantity) FROM {DATABASE}.{TABLE}"
                f" WHERE toDate(at) = '2024-01-10' AND id >= {first} AND id < {first + size} ORDER BY at, id",
                fmt="Parquet",
            )
            for first in range(0, rows_per_day, size)
        ]

    def measure(self, work: Callable[[], object]) -> tuple[float, float]:
        """Time a step and read the server's peak resident size from its process."""
        process_files = Path("/proc") / str(self._engine.pid)
        (process_files / "clear_refs").write_text("5")
        before = _status_megabytes(process_files, "VmRSS")
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
        return seconds, max(0.0, _status_megabytes(process_files, "VmHWM") - before)

    def scratch(self, attempt: int) -> Scratch:
        """Empty scratch of one measurement."""
        return _applied(self.publisher.create_scratch(self.plan, self.target, self.admitted(attempt)))

    def load(self, scratch: Scratch, attempt: int, chunks: list[bytes]) -> None:
        """Load staging the product's way."""
        for ordinal, data in enumerate(chunks, 1):
            _applied(self.publisher.load_chunk(self.target, self.admitted(attempt), scratch, ordinal, data))

    def empty_raw(self) -> None:
        """An empty table for the raw form, made outside its measure like our scratch."""
        self.client.command(f"DROP TABLE IF EXISTS {DATABASE}.raw SYNC")
        self.client.command(f"CREATE TABLE {DATABASE}.raw AS {DATABASE}.{TABLE}")

    def load_raw(self, chunks: list[bytes]) -> None:
        """Send the same bytes over plain HTTP, which is as cheap as loading can be."""
        for data in chunks:
            request = urllib.request.Request(  # noqa: S310 - a literal loopback http URL
                f"{self._engine.url}/?query=INSERT%20INTO%20{DATABASE}.raw%20FORMAT%20Parquet&async_insert=0",
                data=data,
                headers={"X-ClickHouse-User": self._engine.user, "X-ClickHouse-Key": self._engine.password},
            )
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - a literal loopback http URL
                answer.read()

    def shadow_and_proof(self, scratch: Scratch, attempt: int) -> None:
        """Build and prove the shadow the product's way."""
        admitted = self.admitted(attempt)
        build: ShadowBuild = _applied(self.publisher.build_shadow(self.plan, self.target, admitted, scratch))
        proof = self.publisher.prove_shadow(self.plan, self.target, admitted, scratch, build)
        assert proof.differences == 0

    def straightforward_shadow_and_proof(self, staging: str) -> None:
        """Rebuild the whole table by an anti-join, and compare it whole by grouped EXCEPT in both directions."""
        target, columns = f"{DATABASE}.{TABLE}", column_list(NAMES)
        unstaged = f"SELECT {columns} FROM {target} WHERE (at, id) NOT IN (SELECT at, id FROM {staging})"
        self.client.command(f"CREATE TABLE {DATABASE}.rebuilt AS {target}")
        self.client.command(f"INSERT INTO {DATABASE}.rebuilt {unstaged}")
        self.client.command(f"INSERT INTO {DATABASE}.rebuilt SELECT {columns} FROM {staging}")
        expected = f"SELECT {columns}, count() FROM ({unstaged} UNION ALL SELECT {columns} FROM {staging}) GROUP BY {columns}"
        actual = f"SELECT {columns}, count() FROM {DATABASE}.rebuilt GROUP BY {columns}"
        for left, right in ((expected, actual), (actual, expected)):
            ((left_over,),) = self.client.query(
                f"SELECT count() FROM (({left}) EXCEPT ({right}))"
            ).result_rows
            assert left_over == 0
        self.client.command(f"DROP TABLE {DATABASE}.rebuilt SYNC")


def run(bench: Bench, rows_per_day: int, curve: list[int]) -> list[Comparison]:
    """Measure everything."""
    bench.fill(rows_per_day, rows_per_day)
    chunks = bench.chunks(rows_per_day, 4)
    loaded: list[tuple[float, float]] = []
    raw: list[tuple[float, float]] = []
    scratch = bench.scratch(0)
    for attempt in range(1, LOAD_ROUNDS + 1):
        # Both forms in turn, the best round of each: a load is over too soon to be measured once.
        scratch = bench.scratch(attempt)
        loaded.append(bench.measure(partial(bench.load, scratch, attempt, chunks)))
        bench.empty_raw()
        raw.append(bench.measure(partial(bench.load_raw, chunks)))
    results = [Comparison.of("load", min(loaded), min(raw), rows_per_day)]
    ours = bench.measure(partial(bench.shadow_and_proof, scratch, LOAD_ROUNDS))
    staging = qualified(scratch.staging)
    baseline = bench.measure(lambda: bench.straightforward_shadow_and_proof(staging))
    results.append(Comparison.of("shadow_and_proof", ours, baseline, DAYS * rows_per_day))
    for place, rows in enumerate(curve):
        results.append(_curve_point(bench, rows_per_day, rows, 10 + place, chunks))
    return results


def _curve_point(bench: Bench, rows_per_day: int, rows: int, attempt: int, chunks: list[bytes]) -> Comparison:
    """Publish the same day into a target of another size; there is no other form to compare it with."""
    bench.fill(rows_per_day, max(1, (rows - rows_per_day) // (DAYS - 1)))
    scratch = bench.scratch(attempt)
    bench.load(scratch, attempt, chunks)
    taken = bench.measure(lambda: bench.shadow_and_proof(scratch, attempt))
    return Comparison.of(f"publication_curve_{rows}", taken, taken, rows)


def main() -> None:
    """Start the lab's ClickHouse, measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--face", choices=("chdb", "server"), default="chdb")
    parser.add_argument("--rows-per-day", type=int, default=1_000_000)
    parser.add_argument(
        "--curve", default="1000000,10000000,50000000", help="target rows, comma-separated; empty for none"
    )
    options = parser.parse_args()
    curve = [int(rows) for rows in options.curve.split(",") if rows]
    with tempfile.TemporaryDirectory() as directory:
        engine = process.start(Path(directory), face=options.face)
        try:
            results = run(Bench(engine), options.rows_per_day, curve)
        finally:
            engine.stop()
    keep(results)


def _applied(result: EffectResult[T]) -> T:
    assert isinstance(result, Applied), result
    return result.value


def _status_megabytes(process_files: Path, field: str) -> float:
    line = next(
        line for line in (process_files / "status").read_text().splitlines() if line.startswith(field)
    )
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
