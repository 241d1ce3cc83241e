"""The fault matrix: every boundary of a recorded run, broken in every way, each time judged from outside."""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from dpone.application.run import run_workflow
from dpone_contracts.errors import DponeError
from dpone_lab.fault_matrix_check import judge
from dpone_lab.faults import Boundary, FaultKind, Injection, Injector, Transport, WorkerKilled, faults_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dpone.application.services import Services
    from dpone_contracts.ports.refresh_state import WorkerIdentity
    from dpone_lab.fault_matrix_check import Standing
    from dpone_lab.faults import Delivery

C = TypeVar("C")

KILLED: Final = "killed"
DONE: Final = "done"
FIRST_STAGE: Final = "SEAL"
REPORT_SCHEMA: Final = "dpone.lab-fault-matrix.v1"


class World(Protocol):
    """Something that a run can be broken in: engines with one activated day, put back before every case."""

    @property
    def deployment_id(self) -> str:
        """The deployment whose day is run."""
        ...

    @property
    def plan_bundle_sha256(self) -> str:
        """The activated day."""
        ...

    @property
    def torn(self) -> frozenset[str]:
        """Methods whose effect has parts, so that it can land in part."""
        ...

    def begin(self, stage: str) -> None:
        """Put everything back to a point of the first try that is not beyond a stage."""
        ...

    def services(self) -> Services:
        """Services of a worker process that has just started."""
        ...

    def worker(self, number: int) -> WorkerIdentity:
        """The n-th try's worker."""
        ...

    def end(self, worker: WorkerIdentity) -> None:
        """The platform has reaped the worker's process."""
        ...

    def standing(self) -> Standing:
        """Read everything that counts, past the product."""
        ...

    def transport(self) -> Transport:
        """How late, doubled and torn calls reach the engines."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """Faults of the first try, and of the one that recovers."""

    first: Injection
    second: Injection | None = None

    @property
    def name(self) -> str:
        """The id by which a case is run alone."""
        return self.first.name if self.second is None else f"{self.first.name}+{self.second.name}"

    @classmethod
    def parse(cls, text: str) -> Case:
        """Raises ValueError for anything that is no case's name."""
        first, plus, second = text.partition("+")
        return cls(Injection.parse(first), Injection.parse(second) if plus else None)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which cases to play: all, a seeded sample of each part, or one entry."""

    sample: int | None = None
    seed: int = 0
    entry: str | None = None

    def plays(self, part: str) -> bool:
        """Whether anything of a part is wanted."""
        return self.entry is None or self.entry.startswith(f"{part}~")

    def of(self, part: str, cases: list[Case]) -> list[Case]:
        """The wanted ones of a part's cases; an entry needs none of them to exist: its own name says all."""
        if self.entry is not None:
            return [Case.parse(self.entry.removeprefix(f"{part}~"))]
        return sampled(cases, self.sample, self.seed)


@dataclass(slots=True)
class Outcome:
    """How one case went: the end of every try, what was wrong, the boundaries of the recovering try."""

    case: str
    endings: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    recovery: list[Boundary] = field(default_factory=list)
    fired: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Play:
    """One case being played in a world: tries one after the other, judged after each."""

    world: World
    outcome: Outcome
    transport: Transport
    origin: Standing
    now: Standing

    @classmethod
    def start(cls, world: World, name: str, stage: str) -> Play:
        """Put the world back and look at it."""
        world.begin(stage)
        there = world.standing()
        this = cls(world, Outcome(name), world.transport(), there, there)
        this.transport.beside = this.landing
        return this

    @contextmanager
    def landing(self, delivery: Delivery) -> Iterator[None]:
        """What a try sent before it lost its fences may no longer move any journal or head."""
        before = self.world.standing()
        yield
        for model, now in zip(before.models, self.world.standing().models, strict=True):
            moved = (model.journal, model.heads) != (now.journal, now.heads)
            if moved and len(model.attempts) > delivery.sender:
                self.outcome.wrong.append(
                    f"{now.name}: a late {delivery.method} took effect without its fence"
                )

    def attempt(self, number: int, injection: Injection | None = None) -> list[Boundary]:
        """One process of the n-th try, to its end; the boundaries that it passed."""
        injector = Injector(() if injection is None else (injection,), self.transport, number)
        services = injector.around(self.world.services())
        worker = self.world.worker(number)
        try:
            summary = run_workflow(services, self.world.deployment_id, self.world.plan_bundle_sha256, worker)
            ending = f"{DONE} {summary.digest}"
        except WorkerKilled:
            ending = KILLED
        except DponeError as error:
            ending = f"{error.code} {error}"
        except Exception as fault:  # noqa: BLE001 - a process edge: the worker would end with a traceback
            ending = f"DPONE_INTERNAL {type(fault).__name__}: {fault}"
            self.outcome.wrong.append(f"a try ended with {ending}")
        self.outcome.endings.append(ending)
        self.outcome.fired += injector.fired
        if injection is not None and not injector.fired:
            self.outcome.wrong.append(f"the boundary was not reached: {injection.name}")
        self.look(ending)
        return injector.recorded

    def look(self, ending: str) -> None:
        """Judge what stands now."""
        before, self.now = self.now, self.world.standing()
        self.outcome.wrong += [
            f"after {_short(ending)}: {text}"
            for text in judge(self.origin, before, self.now, success=ending.startswith(DONE))
        ]

    def is_done(self) -> bool:
        """Whether the last try announced success."""
        return self.outcome.endings[-1].startswith(DONE)


def play(world: World, case: Case) -> Outcome:
    """Break a run, let the successor try recover, and see that it ends and that trying further changes nothing."""
    this = Play.start(world, case.name, case.first.boundary.split("/", 1)[0])
    this.attempt(1, case.first)
    return recover(this, case)


def recover(this: Play, case: Case) -> Outcome:
    """What comes after the first try of a case has ended."""
    number = 1
    if not this.is_done():
        this.world.end(this.world.worker(1))
        number = 2
        this.outcome.recovery = this.attempt(2, case.second)
        if not this.is_done() and case.second is not None:
            # The chain of tries ends at N + 1: the same pod's process is started once more.
            this.attempt(2)
    if this.transport.held:
        this.transport.land_all()
        this.look("the last late call")
    if (this.is_done() or this.now.built) and not _may_stop(case):
        _require_end(this)
    if this.is_done():
        _require_idempotence(this, number)
    return this.outcome


def _may_stop(case: Case) -> bool:
    """A successor try that left half a scratch has no successor: its attempt never uses the names again."""
    return case.second is not None and case.second.fault is FaultKind.TORN


def _require_end(this: Play) -> None:
    if not this.is_done():
        this.outcome.wrong.append(
            f"every mutation committed, the run did not end: {this.outcome.endings[-1]}"
        )
    elif not this.now.complete:
        this.outcome.wrong.append("the run ended and is not complete")


def _require_idempotence(this: Play, number: int) -> None:
    announced, there = this.outcome.endings[-1], this.now
    this.world.end(this.world.worker(number))
    this.attempt(number + 1)
    if this.outcome.endings[-1] != announced:
        this.outcome.wrong.append(f"a further try ended otherwise: {this.outcome.endings[-1]}")
    if this.now != there:
        this.outcome.wrong.append("a further try changed what stands")


def golden(world: World) -> tuple[list[Boundary], Outcome]:
    """The run without a fault: its boundaries in order, and that nothing is wrong with it."""
    this = Play.start(world, "golden run", FIRST_STAGE)
    recorded = this.attempt(1)
    _require_end(this)
    _require_idempotence(this, 1)
    return recorded, this.outcome


def cases_of(
    boundaries: Iterable[Boundary], landings: Callable[[Boundary], Sequence[int]], torn: frozenset[str]
) -> list[Case]:
    """Every single fault of a recorded run."""
    return [Case(each) for boundary in boundaries for each in faults_at(boundary, landings(boundary), torn)]


def sampled(cases: list[C], count: int | None, seed: int) -> list[C]:
    """A seeded sample in the matrix's own order, or all of them."""
    if count is None or count >= len(cases):
        return cases
    chosen = set(random.Random(seed).sample(range(len(cases)), count))  # noqa: S311 - a sample, no secret
    return [case for number, case in enumerate(cases) if number in chosen]


@dataclass(slots=True)
class Matrix:
    """One part of the matrix: the boundaries of its golden run, and what was played of it.

    `part` comes before the id of every case, so that `dpone lab faults --entry` finds it.
    """

    part: str
    boundaries: list[Boundary]
    outcomes: list[Outcome] = field(default_factory=list)

    @classmethod
    def of(cls, part: str, world: World, stages: Sequence[str] = ()) -> Matrix:
        """Record the golden run; with `stages` only their boundaries count."""
        recorded, outcome = golden(world)
        breakable = [each for each in recorded if faults_at(each, (), frozenset())]
        wanted = [each for each in breakable if not stages or each.stage in stages]
        return cls(part, wanted, [outcome])

    def play(self, world: World, cases: Iterable[Case]) -> list[Outcome]:
        """Play some cases of the part's world."""
        played = [play(world, case) for case in cases]
        self.outcomes += played
        return played

    def alone(self, wanted: Wanted) -> None:
        """Where one entry was wanted its boundaries are all that count."""
        if wanted.entry is not None:
            broken = self._broken()
            self.boundaries = [each for each in self.boundaries if each.name in broken]

    def _broken(self) -> set[str]:
        return {name.rpartition(":")[0] for outcome in self.outcomes for name in outcome.fired}

    @property
    def left_out(self) -> list[str]:
        """Boundaries that no case broke."""
        broken = self._broken()
        return [f"{self.part}~{each.name}" for each in self.boundaries if each.name not in broken]


def pairs(outcomes: Iterable[Outcome], torn: frozenset[str], seed: int) -> list[Case]:
    """For every single fault whose recovery was recorded, one seeded fault in that recovery."""
    chosen = random.Random(seed)  # noqa: S311 - a sample, no secret
    cases = []
    for outcome in outcomes:
        seconds = [each for boundary in outcome.recovery for each in faults_at(boundary, (1, 4, 0), torn)]
        if seconds:
            cases.append(Case(Injection.parse(outcome.case), chosen.choice(seconds)))
    return cases


class Played(Protocol):
    """How one case went."""

    @property
    def case(self) -> str:
        """The id of the case within its part."""
        ...

    @property
    def endings(self) -> list[str]:
        """How every try ended."""
        ...

    @property
    def wrong(self) -> list[str]:
        """What was wrong."""
        ...


class Part(Protocol):
    """A part of the matrix as the report needs it."""

    @property
    def part(self) -> str:
        """What comes before the id of every case."""
        ...

    @property
    def boundaries(self) -> Sequence[object]:
        """The boundaries that the part is about."""
        ...

    @property
    def outcomes(self) -> Sequence[Played]:
        """What was played."""
        ...

    @property
    def left_out(self) -> list[str]:
        """Boundaries that nothing broke."""
        ...


def report(only: str, matrices: Iterable[Part], reproduce: str) -> dict[str, Any]:
    """Matrices as one document; `reproduce` is the command that runs one entry alone, without its id."""
    parts = list(matrices)
    played = [(f"{part.part}~{outcome.case}", outcome) for part in parts for outcome in part.outcomes]
    wrong = [
        {"entry": name, "wrong": each.wrong, "tries": each.endings, "run": f"{reproduce} --entry '{name}'"}
        for name, each in played
        if each.wrong
    ]
    left_out = [name for part in parts for name in part.left_out]
    return {
        "schema": REPORT_SCHEMA,
        "profile": "disposable lab; evidence is UNVERIFIED for production",
        "only": only,
        "boundaries": sum(len(part.boundaries) for part in parts),
        "runs": len(played),
        "left_out": left_out,
        "wrong": wrong,
        "verdict": not wrong and not left_out,
    }


def line_of(part: str, outcome: Outcome) -> str:
    """How a case went, in one line."""
    ends = " | ".join(map(_short, outcome.endings))
    return f"{'wrong' if outcome.wrong else 'right'}  {part}~{outcome.case}  {ends}"


def _short(ending: str) -> str:
    return ending.split(" ", 1)[0] if ending.startswith((DONE, "DPONE_")) else ending
