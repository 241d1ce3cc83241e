"""Publication under faults on the lab's engines: every boundary of seal, prepare, commit, publication and summary."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from dpone.application.run import run_workflow
from dpone_contracts.errors import DponeError
from dpone_lab.demo import Timeline
from dpone_lab.fault_matrix import KILLED, Matrix, Play, cases_of, line_of, pairs, play, recover
from dpone_lab.fault_matrix_lab import Until, fault_lab
from dpone_lab.fault_matrix_memory import EMPTY_DAY, NORMAL_DAY, SENT_BY_NAME, TORN, MemoryWorld
from dpone_lab.fault_matrix_worlds import Pace, side_by_side
from dpone_lab.faults import EFFECTS, Delivery, FaultKind, Transport, WorkerKilled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import date
    from pathlib import Path

    from dpone.application.services import Services
    from dpone_contracts.ports.refresh_state import WorkerIdentity
    from dpone_lab.fault_matrix import Case, Outcome, Wanted
    from dpone_lab.fault_matrix_check import Standing
    from dpone_lab.fault_matrix_lab import FaultLab
    from dpone_lab.faults import Boundary, Injection

STAGES: Final = ("SEAL", "PREPARE", "COMMIT", "PUBLISH", "SUMMARISE")
SEALING: Final = "SEAL"
COMMITTING: Final = "COMMIT"
ENGINES: Final = "engines"
MEMORY_WORLDS: Final = {"memory": NORMAL_DAY, "memory-empty-day": EMPTY_DAY}
PROCESSES: Final = "processes"
WORLDS: Final = 2
PROCESS_KILLS: Final = 6
"""How many of the kills are done to a real process: the others end a run in this process where SIGKILL would."""
LATE_EXCHANGES: Final = (2, 3, 6, 8, 11, 13, 0)
"""Before: the burn, the look behind it, the doubt's entry, PREPARED, the gates, the next intent; and at the very end."""
LANDS_IN_RECOVERY: Final = 40
"""Boundaries after which the successor try holds every fence, and has not ended."""


class _Silent:
    """No progress."""

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """Nobody listens."""


@dataclass(frozen=True)
class PublishWorld:
    """The lab from the moment that both models were built; the first try's own process goes on from there."""

    lab: FaultLab
    torn: frozenset[str] = TORN

    @classmethod
    def of(cls, lab: FaultLab) -> PublishWorld:
        """Build the day once with the real dbt, and keep the run where sealing begins."""
        this = cls(lab)
        this._keep(SEALING)
        return this

    def _keep(self, stage: str) -> None:
        """Let the first try run until a stage begins, and keep the lab as it is then."""
        with suppress(WorkerKilled):
            run_workflow(
                self.lab.services(Until(stage)), self.deployment_id, self.plan_bundle_sha256, self.worker(1)
            )
        self.lab.keep(stage)

    @property
    def deployment_id(self) -> str:
        """The lab's one deployment."""
        return self.lab.deployment_id

    @property
    def plan_bundle_sha256(self) -> str:
        """The activated day."""
        return self.lab.plan_bundle_sha256

    def begin(self, stage: str) -> None:
        """Back to where sealing begins, or for later stages to where committing does: scratch and all."""
        early = stage in ("SEAL", "PREPARE")
        if not early and not self.lab.holds(COMMITTING):
            self.lab.put_back(SEALING)
            self._keep(COMMITTING)
        self.lab.put_back(SEALING if early else COMMITTING)

    def services(self) -> Services:
        """A worker's services."""
        return self.lab.services(_Silent())

    def worker(self, number: int) -> WorkerIdentity:
        """The n-th try."""
        return self.lab.worker(number)

    def end(self, worker: WorkerIdentity) -> None:
        """Its pod was reaped."""
        self.lab.end(worker)

    def standing(self) -> Standing:
        """Both engines, past the product."""
        return self.lab.standing()

    def transport(self) -> Transport:
        """A request that is under way takes effect without what the adapter asks before it sends."""
        return Transport(again=self._again, tear=self._tear)

    def run_until_killed(self, injection: Injection) -> bool:
        """The first try as a process of its own, killed with SIGKILL where it waits; whether it came that far."""
        worker = self.worker(1)
        settings = {
            "lab": self.lab.deployment.settings.to_json(),
            "deployment_id": self.deployment_id,
            "plan_bundle_sha256": self.plan_bundle_sha256,
            "dag_run_id": worker.dag_run_id,
            "task_id": worker.task_id,
            "try_number": worker.try_number,
            "pod_uid": worker.pod_uid,
            "hold_at": injection.name,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "dpone_lab.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(settings))
        process.stdin.close()
        held = any(json.loads(line)["event"] == "held" for line in process.stdout)
        process.kill()
        process.wait()
        return held

    def _again(self, delivery: Delivery) -> object:
        if delivery.method not in SENT_BY_NAME:
            return delivery.deliver()
        target, _, scratch, _ = delivery.arguments
        statement = (
            f"EXCHANGE TABLES {target.publication_database}.`{target.publication_target_table}`"
            f" AND {_name(scratch.shadow)}"
        )
        if delivery.method == "burn_shadow_name":
            # To which name does not matter, so long as it was never sent: what was burned is found by its UUID.
            statement = f"RENAME TABLE {_name(scratch.shadow)} TO {_name(f'{scratch.shadow}_late')}"
        try:
            self._execute(statement)
        except OSError as refused:
            raise DponeError("DPONE_CLICKHOUSE_STATEMENT_REFUSED", f"{refused}") from refused
        return None

    def _tear(self, delivery: Delivery) -> object:
        """The call as it is, then part of what it wrote taken away again."""
        answer = delivery.deliver()
        if delivery.method == "create_scratch":
            self._execute(f"DROP TABLE {_name(answer.value.shadow)} SYNC")
            return None
        loaded = delivery.method == "load_chunk"
        scratch = delivery.arguments[-3 if loaded else -1]
        table = _name(scratch.staging if loaded else scratch.shadow)
        self._execute(f"ALTER TABLE {table} DELETE WHERE _part_offset % 2 = 0 SETTINGS mutations_sync = 2")
        return None

    def _execute(self, statement: str) -> None:
        self.lab.deployment.clickhouse.execute(statement)


def _name(relation: object) -> str:
    database, name = str(relation).split(".", 1)
    return f"{database}.`{name}`"


def play_killed(world: PublishWorld, case: Case) -> Outcome:
    """A case whose first try is a real process under SIGKILL."""
    this = Play.start(world, case.name, case.first.boundary.split("/", 1)[0])
    if world.run_until_killed(case.first):
        this.outcome.fired.append(case.first.name)
    else:
        this.outcome.wrong.append(f"the boundary was not reached: {case.first.name}")
    this.outcome.endings.append(KILLED)
    this.look(KILLED)
    return recover(this, case)


def landings(boundary: Boundary) -> tuple[int, ...]:
    """When a late call lands: an exchange wherever settling it takes a step, others once the fences have moved."""
    return LATE_EXCHANGES if boundary.method == "exchange" else (LANDS_IN_RECOVERY,)


def engine_cases(boundaries: list[Boundary], torn: frozenset[str]) -> list[Case]:
    """What the engines decide: a call that never arrives is the late one before it lands, so it is played in memory."""
    cases = cases_of(boundaries, landings, torn)
    return [case for case in cases if case.first.fault is not FaultKind.NOT_APPLIED]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The boundaries of a world's golden run, and how it went."""

    boundaries: list[Boundary]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class PlayedCase:
    """How one case of a part went."""

    part: str
    outcome: Outcome


def play_publish(parent: Path, day: date, wanted: Wanted, tell: Callable[[str], None]) -> list[Matrix]:
    """Everything that publishes: reads and second faults in memory, every effect on the lab's engines."""
    matrices = [
        _in_memory(part, MemoryWorld.of(*rows), wanted, tell)
        for part, rows in MEMORY_WORLDS.items()
        if wanted.plays(part)
    ]
    parts = [part for part in (ENGINES, PROCESSES) if wanted.plays(part)]
    if not parts:
        return matrices
    share = partial(_play_share, wanted=wanted, day=day)
    if wanted.entry is None:
        return [*matrices, *_gathered(side_by_side(share, parent, WORLDS, tell), parts, wanted, tell)]
    given: list[Recorded | PlayedCase] = []
    share(0, parent, tell, given.append, worlds=1)
    return [*matrices, *_gathered(given, parts, wanted, tell)]


def _play_share(
    number: int,
    parent: Path,
    tell: Callable[[str], None],
    give: Callable[[Recorded | PlayedCase], None],
    *,
    wanted: Wanted,
    day: date,
    worlds: int = WORLDS,
) -> None:
    """One world's part of the whole: every n-th case, so that all have as many of each stage."""
    step = Timeline(tell).step
    with fault_lab(parent, day, step) as lab:
        with step("build the day"):
            world = PublishWorld.of(lab)
        with step("golden run"):
            recorded = Matrix.of(ENGINES, world, STAGES)
        boundaries = [each for each in recorded.boundaries if each.effect in EFFECTS]
        give(Recorded(boundaries, recorded.outcomes[0]))
        for part, cases in wanted_cases(engine_cases(boundaries, world.torn), wanted).items():
            how = play_killed if part == PROCESSES else play
            for case in cases[number::worlds]:
                outcome = how(world, case)
                tell(line_of(part, outcome))
                give(PlayedCase(part, outcome))


def wanted_cases(cases: list[Case], wanted: Wanted) -> dict[str, list[Case]]:
    """The wanted cases of each part: every fault in this process, a few kills of a real one."""
    kills = [case for case in cases if case.first.fault in {FaultKind.BEFORE, FaultKind.AFTER}]
    few = replace(wanted, sample=min(wanted.sample or PROCESS_KILLS, PROCESS_KILLS))
    of = {ENGINES: (wanted, cases), PROCESSES: (few, kills)}
    return {part: which.of(part, every) for part, (which, every) in of.items() if wanted.plays(part)}


def _gathered(
    given: Iterable[Recorded | PlayedCase], parts: list[str], wanted: Wanted, tell: Callable[[str], None]
) -> list[Matrix]:
    """What all worlds gave, as one matrix a part; the boundaries are the first part's."""
    matrices = {part: Matrix(part, []) for part in parts}
    first, pace, played, total = matrices[parts[0]], Pace(tell), 0, 0
    for each in given:
        match each:
            case Recorded(boundaries, outcome):
                if first.boundaries and boundaries != first.boundaries:
                    outcome.wrong.append("this world passed other boundaries than the one beside")
                first.boundaries = boundaries
                first.outcomes.append(outcome)
                total = sum(map(len, wanted_cases(engine_cases(boundaries, TORN), wanted).values()))
            case PlayedCase(part, outcome):
                matrices[part].outcomes.append(outcome)
                played += 1
                pace.done(played, total)
    for matrix in matrices.values():
        matrix.alone(wanted)
    return list(matrices.values())


def _in_memory(part: str, world: MemoryWorld, wanted: Wanted, tell: Callable[[str], None]) -> Matrix:
    matrix = Matrix.of(part, world)
    singles = cases_of(matrix.boundaries, landings, world.torn)
    played = matrix.play(world, wanted.of(part, singles))
    if wanted.entry is None:
        matrix.play(world, pairs(played, world.torn, wanted.seed))
    matrix.alone(wanted)
    tell(f"{part}: {len(matrix.outcomes)} runs, {sum(1 for each in matrix.outcomes if each.wrong)} wrong")
    return matrix
