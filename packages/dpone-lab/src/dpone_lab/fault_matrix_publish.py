"""Publication under faults on the lab's engines: every boundary of seal, prepare, commit, publication and summary."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dpone.application.run import run_workflow
from dpone_contracts.errors import DponeError
from dpone_lab.demo import Timeline
from dpone_lab.fault_matrix import Matrix, Wanted, cases_of, pairs
from dpone_lab.fault_matrix_lab import fault_lab
from dpone_lab.fault_matrix_memory import EMPTY_DAY, NORMAL_DAY, MemoryWorld
from dpone_lab.faults import EFFECTS, Delivery, Transport, WorkerKilled

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from pathlib import Path

    from dpone.application.services import Services
    from dpone_contracts.ports.refresh_state import WorkerIdentity
    from dpone_lab.fault_matrix_check import Standing
    from dpone_lab.fault_matrix_lab import FaultLab
    from dpone_lab.faults import Boundary

STAGES: Final = ("SEAL", "PREPARE", "COMMIT", "PUBLISH", "SUMMARISE")
TORN: Final = frozenset({"create_scratch", "load_chunk", "build_shadow"})
SEALING: Final = "SEAL"
COMMITTING: Final = "COMMIT"
ENGINES: Final = "engines"
MEMORY_WORLDS: Final = {"memory": NORMAL_DAY, "memory-empty-day": EMPTY_DAY}
LANDS_IN_RECOVERY: Final = 40
"""Boundaries after which the successor try holds every fence, and has not ended."""


class _Silent:
    """No progress."""

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """Nobody listens."""


@dataclass(frozen=True)
class _Until:
    """Progress that ends the process where a stage first begins."""

    stage_name: str

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:  # noqa: ARG002 - the port's
        """Raise at the stage."""
        if name == self.stage_name:
            raise WorkerKilled


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
                self.lab.services(_Until(stage)), self.deployment_id, self.plan_bundle_sha256, self.worker(1)
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

    def _again(self, delivery: Delivery) -> object:
        if delivery.method != "exchange":
            return delivery.deliver()
        target, _, scratch, _ = delivery.arguments
        names = f"{target.publication_database}.`{target.publication_target_table}` AND {_name(scratch.shadow)}"
        try:
            self._execute(f"EXCHANGE TABLES {names}")
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
        self._execute(f"ALTER TABLE {table} DELETE WHERE cityHash64(*) % 2 = 0 SETTINGS mutations_sync = 2")
        return None

    def _execute(self, statement: str) -> None:
        self.lab.deployment.clickhouse.execute(statement)


def _name(relation: object) -> str:
    database, name = str(relation).split(".", 1)
    return f"{database}.`{name}`"


def landings(boundary: Boundary) -> tuple[int, ...]:
    """When a late call lands: an exchange before each of the boundaries that settle it, others in the recovery."""
    return (*range(1, 11), 0) if boundary.method == "exchange" else (LANDS_IN_RECOVERY, 0)


def play_publish(parent: Path, day: date, wanted: Wanted, tell: Callable[[str], None]) -> list[Matrix]:
    """Everything that publishes: reads and second faults in memory, every effect on the lab's engines."""
    matrices = []
    for part, rows in MEMORY_WORLDS.items():
        if wanted.plays(part):
            matrices.append(_in_memory(part, MemoryWorld.of(*rows), wanted, tell))
    if wanted.plays(ENGINES):
        timeline = Timeline(tell)
        with fault_lab(parent, day, timeline.step) as lab:
            with timeline.step("build the day"):
                world = PublishWorld.of(lab)
            with timeline.step("golden run"):
                matrix = Matrix.of(ENGINES, world, STAGES)
            matrix.boundaries = [each for each in matrix.boundaries if each.effect in EFFECTS]
            matrix.play(wanted.of(ENGINES, cases_of(matrix.boundaries, landings, world.torn)), tell)
            matrix.alone(wanted)
            matrices.append(matrix)
    return matrices


def _in_memory(part: str, world: MemoryWorld, wanted: Wanted, tell: Callable[[str], None]) -> Matrix:
    matrix = Matrix.of(part, world)
    singles = cases_of(matrix.boundaries, landings, world.torn)
    played = matrix.play(wanted.of(part, singles), lambda _: None)
    if wanted.entry is None:
        matrix.play(pairs(played, world.torn, wanted.seed), lambda _: None)
    matrix.alone(wanted)
    tell(f"{part}: {len(matrix.outcomes)} runs, {sum(1 for each in matrix.outcomes if each.wrong)} wrong")
    return matrix
