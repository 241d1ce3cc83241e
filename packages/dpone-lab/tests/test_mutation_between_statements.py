"""Deaths inside the mutation: its batch is one message of many statements, and it breaks between two of them."""

from __future__ import annotations

import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from dpone.application.build import settle
from dpone.application.operation import Operation
from dpone_contracts.effects import Applied
from dpone_contracts.outcomes import SqlOutcome
from dpone_contracts.ports.scope_mutation import Fate
from dpone_contracts.testing.plan_example import ExampleModel
from dpone_lab.odbc import find_driver
from dpone_lab.sqlserver.interpreter import Interpreter
from dpone_lab.sqlserver.language.syntax import Located
from dpone_lab.sqlserver.server import Endpoint
from dpone_mssql.connection import SqlServerConfig, SqlServerError
from dpone_mssql.control_schema import ControlNames, install
from dpone_mssql.literals import binary
from dpone_mssql.testing.refreshed import Refreshed, refreshed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_lab.sqlserver.language.syntax import Statement

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("between-statements"), pytest.mark.timeout(300)]

PASSWORD = "Lab!password-1"
SEED, SAMPLE = 27, 6
FLIGHT = ExampleModel(
    "flight",
    (("time_hour", "datetime2(6)", False), ("flight", "int", False), ("dep_delay", "decimal(9,2)", True)),
    ("time_hour", "flight"),
)
ROWS = "('2026-08-08T01:00:00', 1, 1.50), ('2026-08-08T02:00:00', 2, NULL), ('2026-08-07T01:00:00', 3, 0)"
# One row is updated, one is new.
MODEL = (
    "SELECT [time_hour], [flight], CAST(9 AS decimal(9,2)) AS [dep_delay] FROM {table} WHERE [flight] = 1 "
    "UNION ALL SELECT CAST('2026-08-08T04:00:00' AS datetime2(6)), CAST(4 AS int), NULL"
)


@dataclass
class Breaks:
    """Counts the statements of the mutation's batch as they begin, and breaks in front of one."""

    at: int | None = None
    how: Callable[[Interpreter], None] | None = None
    begun: int = 0

    def statement(self, interpreter: Interpreter) -> None:
        self.begun += 1
        if self.begun == self.at and self.how is not None:
            self.how(interpreter)


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    data = Path(tempfile.mkdtemp(prefix="dpone-lab-test-"))
    with Endpoint(data, PASSWORD) as running:
        yield running
    shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="module")
def config(server: Endpoint) -> SqlServerConfig:
    place = f"SERVER=127.0.0.1,{server.port};PORT={server.port};DATABASE=lab;Encrypt=no;TDS_Version=7.4"
    found = SqlServerConfig(f"DRIVER={{{find_driver(None)}}};{place};UID=sa;PWD={PASSWORD}", 15, 5_000, 60)
    assert isinstance(install(found, ControlNames()), Applied)
    return found


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Breaks:
    """The endpoint's interpreter tells when a statement of the mutation's own batch begins."""
    this, run, batch = Breaks(), Interpreter._run, Interpreter.batch
    mutating = threading.local()

    def watched_batch(interpreter: Interpreter, text: str) -> None:
        mutating.now = "[attempt_fates]" in text and "@updated_rows" in text
        try:
            batch(interpreter, text)
        finally:
            mutating.now = False

    def watched(interpreter: Interpreter, statement: Statement, line: int) -> None:
        if isinstance(statement, Located) and getattr(mutating, "now", False):
            this.statement(interpreter)
        run(interpreter, statement, line)

    monkeypatch.setattr(Interpreter, "batch", watched_batch)
    monkeypatch.setattr(Interpreter, "_run", watched)
    return this


def client_cut(interpreter: Interpreter) -> None:
    """The connection goes away; the endpoint learns it before the next statement, as it does while one runs."""
    session = interpreter.session
    session.shared.sessions.end(session.session_id)
    assert session.attention.wait(30)


def server_dies(interpreter: Interpreter) -> None:
    """PostgreSQL dies as in a power cut and comes back; it ends with the thread that starts it, so that is another's."""
    cluster = interpreter.session.shared.cluster

    def restart() -> None:
        cluster.crash()
        cluster.restart()

    OPERATOR.submit(restart).result()


OPERATOR = ThreadPoolExecutor(max_workers=1)


def content(found: Refreshed) -> list[str]:
    return sorted(map(repr, found.sql(f"SELECT * FROM {found.table};")))


def mutate(found: Refreshed, admitted: AdmittedOperation) -> None:
    found.run_batch(admitted, MODEL.format(table=found.table))


def test_the_batch_unbroken_commits_statement_by_statement(config: SqlServerConfig, breaks: Breaks) -> None:
    found = refreshed(config, ControlNames(), (FLIGHT,), rows=ROWS)
    admitted, before = found.started(), content(found)
    mutate(found, admitted)
    assert breaks.begun > 50
    assert content(found) != before
    assert classified(found, admitted) is SqlOutcome.COMMITTED_WITH_IMAGES


def classified(found: Refreshed, admitted: AdmittedOperation) -> SqlOutcome:
    """What the product says of the mutation."""
    services: Any = type("Evidence", (), {"mutation": found.mutation})()
    operation = Operation(found.plan, found.target, admitted, "2026-01-01T00:00:00.000000Z")
    return settle(services, operation, found.activations.identity().recovery_fork)[0].outcome


@pytest.fixture
def places(config: SqlServerConfig, breaks: Breaks) -> list[int]:
    """A seeded sample of the statements of an unbroken batch, and the last ones: behind receipt and last image."""
    found = refreshed(config, ControlNames(), (FLIGHT,), rows=ROWS)
    mutate(found, found.started())
    whole = range(2, breaks.begun + 1)
    return sorted({*Random(SEED).sample(whole, SAMPLE), *whole[-3:]})


@pytest.mark.parametrize("how", [client_cut, server_dies])
def test_a_death_between_two_statements_of_the_mutation_leaves_nothing_and_is_classified_rolled_back(
    config: SqlServerConfig, breaks: Breaks, places: list[int], how: Callable[[Interpreter], None]
) -> None:
    for place in places:
        found = refreshed(config, ControlNames(), (FLIGHT,), rows=ROWS)
        admitted, before = found.started(), content(found)
        breaks.begun, breaks.at, breaks.how = 0, place, how
        with pytest.raises(SqlServerError):
            mutate(found, admitted)
        assert breaks.begun == place, "the batch went on behind its death"
        breaks.at = None
        untouched(found, admitted, before)
        # Nothing is there, and nothing yet proves that nothing can come.
        assert classified(found, admitted) is SqlOutcome.COMMIT_UNKNOWN
        assert found.mutation.abandon(admitted) == Applied(Fate.ABANDONED)
        assert classified(found, admitted) is SqlOutcome.ROLLED_BACK
        with pytest.raises(SqlServerError, match="DPONE_MUTATION_ATTEMPT_ENDED"):
            mutate(found, admitted)
        untouched(found, admitted, before)
        assert classified(found, admitted) is SqlOutcome.ROLLED_BACK


def untouched(found: Refreshed, admitted: AdmittedOperation, before: list[str]) -> None:
    """The tables themselves: target, images, receipt and temp relation as before the batch, the guard still held."""
    attempt, control = admitted.attempt, "[dpone_control]"
    of_attempt = f"[attempt_binding_sha256] = {binary(attempt.digest)}"
    assert content(found) == before
    images = found.sql(f"SELECT [relation_name] FROM {control}.[images] WHERE {of_attempt};")
    assert len(images) == 2
    for (name,) in images:
        assert found.sql(f"SELECT COUNT(*) FROM [dpone_images].[{name}];") == [(0,)]
    of_operation = f"[operation_id] = {binary(attempt.operation_id)}"
    receipts = f"SELECT COUNT(*) FROM {control}.[build_receipts] WHERE {of_operation};"
    committed = f"SELECT COUNT(*) FROM {control}.[attempt_fates] WHERE {of_attempt} AND [fate] = 'COMMITTED';"
    assert (found.sql(receipts), found.sql(committed)) == ([(0,)], [(0,)])
    assert found.sql(f"SELECT OBJECT_ID(N'{found.temp}');") == [(None,)]
    (guard,) = found.state.guards((admitted.guard_resource_id,))
    held = (guard.status, guard.attempt_binding_sha256, guard.fencing_epoch)
    assert held == ("ACTIVE", attempt.digest, attempt.fencing_epoch)
