"""The build under faults: dbt's connection broken at every message, each model's class compared with its tables."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyodbc

from dpone.application.admission import admit
from dpone.application.build import settle_after
from dpone.application.run import run_workflow
from dpone_contracts.errors import DponeError, ExitClass
from dpone_lab.demo import Timeline
from dpone_lab.expected import MART_SCHEMA, MARTS
from dpone_lab.fault_matrix import sampled
from dpone_lab.fault_matrix_control import CONTROL, IMAGES
from dpone_lab.fault_matrix_lab import FaultLab, Until, fault_lab
from dpone_lab.fault_matrix_wire import Kind, Message, Wire, WireFault
from dpone_lab.fault_matrix_worlds import Pace, side_by_side
from dpone_lab.faults import WorkerKilled
from dpone_lab.fixture import day_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date
    from pathlib import Path

    from dpone_lab.expected import Mart
    from dpone_lab.fault_matrix import Wanted

PART: Final = "wire"
WORLDS: Final = 2
BUILDING: Final = "BUILD"
SEALING: Final = "SEAL"
UNKNOWN: Final = "COMMIT_UNKNOWN"
# What the tables must look like for a class to be right.
_TRUE_CLASSES: Final = {
    "committed": {"COMMITTED_WITH_IMAGES"},
    "rolled back": {"ROLLED_BACK"},
    "never invoked": {"NOT_INVOKED"},
    "torn": set[str](),
}


@dataclass(frozen=True, slots=True)
class WireCase:
    """One fault at one message."""

    message: Message
    fault: WireFault

    @property
    def name(self) -> str:
        """The id by which the case is run alone."""
        return f"{self.message.name}:{self.fault}"

    @classmethod
    def parse(cls, text: str) -> WireCase:
        """Raises ValueError for anything that is no case's name."""
        place, _, fault = text.rpartition(":")
        dbt, number, kind = place.split("/")
        if dbt != "dbt":
            raise ValueError(f"not a message: {place!r}")
        return cls(Message(int(number), Kind(kind)), WireFault(fault))


@dataclass(slots=True)
class BuildOutcome:
    """How one case went: the ends of both tries, each model's class and what its tables say, what was wrong."""

    case: str
    boundary: str
    endings: list[str] = field(default_factory=list)
    beside_zombie: dict[str, str] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class BuildWorld:
    """The lab from the moment that the first try was admitted, and the wire between dbt and SQL Server."""

    lab: FaultLab
    wire: Wire
    rows: dict[tuple[str, str], Counter[tuple[Any, ...]]] = field(default_factory=dict)
    """Contents of tables that were read once, by model and digest of all rows."""

    @classmethod
    def of(cls, lab: FaultLab) -> BuildWorld:
        """Admit the first try, and keep the lab as it is then."""
        wire = Wire(lambda: lab.endpoint)
        lab.endpoint.faults = wire
        this = cls(lab, wire)
        this.run(1, BUILDING)
        lab.keep(BUILDING)
        return this

    def run(self, number: int, until: str) -> str:
        """One process of the n-th try, stopped where a stage begins; how it ended."""
        lab = self.lab
        try:
            run_workflow(
                lab.services(Until(until)), lab.deployment_id, lab.plan_bundle_sha256, lab.worker(number)
            )
        except WorkerKilled:
            return f"reached {until}"
        except DponeError as error:
            return f"{error.code} {error.observed}"
        return "done"

    def classes(self) -> dict[str, str]:
        """What the product says of each model's mutation, by table name: a class, or the code of what it can't read."""
        lab = self.lab
        services = lab.services(Until(BUILDING))
        try:
            run = admit(services, lab.deployment_id, lab.plan_bundle_sha256, lab.worker(1))
        except DponeError as error:
            return {mart.name: _unsure(error) for mart in MARTS}
        found = {}
        for operation in run.operations:
            try:
                told = settle_after(services, run, operation)[0].outcome.value
            except DponeError as error:
                told = _unsure(error)
            found[operation.model.rsplit(".", 1)[-1]] = told
        return found

    def truths(self) -> dict[str, str]:
        """What the tables say of each model's mutation, by table name: read past the product."""
        with closing(pyodbc.connect(self.lab.profile.mssql_dsn, autocommit=True)) as connection:
            return {mart.name: _truth(self, connection, mart) for mart in MARTS}

    def content(
        self, connection: pyodbc.Connection, mart: Mart, schema: str, table: str
    ) -> Counter[tuple[Any, ...]]:
        """All rows of a table with a model's columns; fetched only where its content was never seen."""
        key = (mart.name, self.lab.sql_digest(schema, table))
        if key not in self.rows:
            columns = ", ".join(name for name, _, _ in mart.columns)
            found = connection.execute(f"SELECT {columns} FROM {schema}.[{table}]").fetchall()
            self.rows[key] = Counter(tuple(row) for row in found)
        return self.rows[key]

    def golden(self) -> tuple[list[Message], BuildOutcome]:
        """The build without a fault: its messages in order."""
        outcome = BuildOutcome("golden run", "")
        self.lab.put_back(BUILDING)
        self.wire.arm(None)
        outcome.endings.append(self.run(1, SEALING))
        messages = list(self.wire.messages)
        self._compare(outcome)
        if outcome.endings != [f"reached {SEALING}"]:
            outcome.wrong.append("the build without a fault did not pass")
        return messages, outcome

    def play(self, case: WireCase) -> BuildOutcome:
        """Break one message, compare every class with the tables, then let the successor try go on."""
        outcome = BuildOutcome(case.name, case.message.name)
        self.lab.put_back(BUILDING)
        self.wire.arm(case.message.number, case.fault)
        outcome.endings.append(self.run(1, SEALING))
        if not self.wire.hit:
            outcome.wrong.append("the message was not reached")
        elif (met := self.wire.messages[case.message.number - 1]) != case.message:
            outcome.wrong.append(f"another message was broken: {met.name}")
        if self.wire.zombie_waits:
            outcome.beside_zombie = self.classes()
            self.wire.release_zombie()
        self._recover(outcome, self._compare(outcome))
        return outcome

    def _compare(self, outcome: BuildOutcome) -> dict[str, str]:
        """Every class against the tables; what was said beside a zombie must have been right, or unsure."""
        classes, truths = self.classes(), self.truths()
        for name, truth in truths.items():
            told, earlier = classes[name], outcome.beside_zombie.get(name, UNKNOWN)
            outcome.found.append(f"{name}: {told}")
            if told not in _TRUE_CLASSES[truth]:
                outcome.wrong.append(f"{name}: classified {told}, the tables say {truth}")
            if earlier not in {UNKNOWN, told}:
                outcome.wrong.append(f"{name}: {earlier} became {told} when the zombie ended")
        built = set(truths.values()) == {"committed"}
        if outcome.endings[-1] == f"reached {SEALING}" and not built:
            outcome.wrong.append("the build passed without every model committed")
        return truths

    def _recover(self, outcome: BuildOutcome, before: dict[str, str]) -> None:
        """The successor try continues what committed as a whole, refuses what did not, and repeats no mutation."""
        built = set(before.values()) == {"committed"}
        self.lab.end(self.lab.worker(1))
        ending = self.run(2, SEALING)
        outcome.endings.append(ending)
        if built and ending != f"reached {SEALING}":
            outcome.wrong.append(f"every model committed, the successor ended with {ending}")
        if not built and not ending.startswith("DPONE_CONTINUATION_NOT_COMMITTED"):
            outcome.wrong.append(f"not every model committed, the successor ended with {ending}")
        if self.truths() != before:
            outcome.wrong.append("the successor changed a target")


def _unsure(error: DponeError) -> str:
    """Whoever can't see has not classified: the same as unknown; any other refusal speaks for itself."""
    return UNKNOWN if error.exit_class in {ExitClass.UNKNOWN, ExitClass.UNVERIFIED} else error.code


def _truth(world: BuildWorld, connection: pyodbc.Connection, mart: Mart) -> str:
    """`committed`, `rolled back`, `never invoked`, or `torn` where the tables disagree with each other."""
    lab = world.lab
    operation = lab.operations()[mart.name]
    attempt = connection.execute(
        f"SELECT attempt_binding_sha256 FROM {CONTROL}.attempts WHERE operation_id = 0x{operation} AND ordinal = 1"
    ).fetchall()[0][0]

    def of_attempt(table: str, column: str) -> list[str]:
        found = connection.execute(
            f"SELECT {column} FROM {CONTROL}.{table} WHERE attempt_binding_sha256 = 0x{attempt.hex()}"
        ).fetchall()
        return [str(row[0]) for row in found]

    target = world.content(connection, mart, MART_SCHEMA, mart.name)
    images = {
        kind: world.content(connection, mart, IMAGES, name)
        for kind, name in connection.execute(
            f"SELECT kind, relation_name FROM {CONTROL}.images WHERE attempt_binding_sha256 = 0x{attempt.hex()}"
        ).fetchall()
    }
    event = [name for name, _, _ in mart.columns].index(mart.event_time)

    def scope(table: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
        start, end = day_start(lab.day), day_start(lab.day, 1)
        return Counter({row: count for row, count in table.items() if start <= row[event] < end})

    old, new = lab.predecessor[mart.name], lab.successor[mart.name]
    receipt, fate = of_attempt("build_receipts", "fate"), of_attempt("attempt_fates", "fate")
    whole = {"before": scope(old), "after": scope(new)}
    if receipt and fate == ["COMMITTED"] and target == new and images == whole:
        return "committed"
    if not receipt and fate != ["COMMITTED"] and target == old and not any(images.values()):
        return "rolled back" if of_attempt("invocation_intents", "recorded_at") else "never invoked"
    return "torn"


def cases_of(messages: list[Message]) -> list[WireCase]:
    """Every message cut before and after; commits and mutations also with the server killed, and as zombies."""
    cases = []
    for message in messages:
        faults = [WireFault.CUT_BEFORE, WireFault.CUT_AFTER]
        if message.kind is not Kind.OTHER:
            faults = list(WireFault)
        cases += [WireCase(message, fault) for fault in faults]
    return cases


@dataclass(slots=True)
class WireMatrix:
    """What was played of the build; the same questions as a port matrix answers."""

    boundaries: list[Message]
    outcomes: list[BuildOutcome]
    part: str = PART

    @property
    def left_out(self) -> list[str]:
        """Messages that no case broke."""
        broken = {outcome.boundary for outcome in self.outcomes}
        return [f"{PART}~{message.name}" for message in self.boundaries if message.name not in broken]


def play_build(parent: Path, day: date, wanted: Wanted, tell: Callable[[str], None]) -> list[WireMatrix]:
    """Record dbt's messages, then break each of them; the whole matrix in two worlds side by side."""
    if not wanted.plays(PART):
        return []
    if wanted.entry is not None:
        case = WireCase.parse(wanted.entry.removeprefix(f"{PART}~"))
        with build_world(parent, day, tell) as world:
            _, recorded = _recorded(world, tell)
            alone = WireMatrix([case.message], [recorded])
            alone.outcomes.append(told(world.play(case), tell))
        return [alone]
    matrix = WireMatrix([], [])
    cases: list[WireCase] = []
    pace = Pace(tell)
    for share in side_by_side(partial(_play_share, wanted=wanted, day=day), parent, WORLDS, tell):
        if isinstance(share, Recorded):
            if matrix.boundaries and share.messages != matrix.boundaries:
                share.outcome.wrong.append("dbt sent other messages than in the world beside")
            matrix.boundaries = share.messages
            matrix.outcomes.append(share.outcome)
            cases = sampled(cases_of(share.messages), wanted.sample, wanted.seed)
        else:
            matrix.outcomes.append(share)
            pace.done(sum(each.boundary != "" for each in matrix.outcomes), len(cases))
    return [matrix]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The messages of a world's golden run, and how it went."""

    messages: list[Message]
    outcome: BuildOutcome


def _play_share(
    number: int,
    parent: Path,
    tell: Callable[[str], None],
    give: Callable[[Recorded | BuildOutcome], None],
    *,
    wanted: Wanted,
    day: date,
) -> None:
    """One world's part of the whole: every n-th case, so that both have as many of each kind."""
    with build_world(parent, day, tell) as world:
        messages, recorded = _recorded(world, tell)
        give(Recorded(messages, recorded))
        for case in sampled(cases_of(messages), wanted.sample, wanted.seed)[number::WORLDS]:
            give(told(world.play(case), tell))


@contextmanager
def build_world(parent: Path, day: date, tell: Callable[[str], None]) -> Iterator[BuildWorld]:
    """A lab of its own in a folder, from the moment that the first try was admitted."""
    timeline = Timeline(tell)
    with fault_lab(parent, day, timeline.step) as lab:
        with timeline.step("admit the first try"):
            world = BuildWorld.of(lab)
        yield world


def _recorded(world: BuildWorld, tell: Callable[[str], None]) -> tuple[list[Message], BuildOutcome]:
    with Timeline(tell).step("golden run"):
        return world.golden()


def told(outcome: BuildOutcome, tell: Callable[[str], None]) -> BuildOutcome:
    """Tell how a case went."""
    ends = " | ".join((*outcome.found, *(text.split(" ", 1)[0] for text in outcome.endings)))
    tell(f"{'wrong' if outcome.wrong else 'right'}  {PART}~{outcome.case}  {ends}")
    return outcome
