"""The time of one stage: asked before each side effect, so that a passed deadline refuses the next one and judges none.

Deadlines bind an operation only while it is PREPARING or PREPARED. Once COMMITTING is journalled nothing here is asked any
more but in front of the EXCHANGE itself: what was begun is settled whatever the clock says (specification, cancellation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dpone.application.stages import StageKind
from dpone_contracts.deadlines import Deadline, first_passed, seconds_left
from dpone_contracts.errors import DponeError
from dpone_contracts.journal import OperationState

if TYPE_CHECKING:
    from dpone.application.operation import Operation
    from dpone.application.services import Services
    from dpone_contracts.ports.clock import Clock

BINDING: Final = frozenset({OperationState.PREPARING, OperationState.PREPARED})
"""The states in which a deadline may refuse."""
_LIMITS: Final = {
    StageKind.ADMIT: "admission_seconds",
    StageKind.BUILD: "execution_seconds",
    StageKind.SEAL: "artifact_seconds",
    StageKind.PREPARE: "preparation_seconds",
    StageKind.COMMIT: "commit_seconds",
    StageKind.PUBLISH: "publication_seconds",
}
OVERALL: Final = "overall_seconds"


@dataclass(frozen=True, slots=True)
class StageTime:
    """What bounds one stage: its own limit from where it began, and the overall one from where the try began."""

    clock: Clock
    stage: StageKind
    deadlines: tuple[Deadline, ...]

    def require(self) -> None:
        """Return while every deadline is ahead; raises `DponeError` DPONE_DEADLINE_PASSED."""
        now = self.clock.now()
        passed = first_passed(self.deadlines, now)
        if passed is None:
            return
        elapsed = passed.elapsed(now)
        raise DponeError(
            "DPONE_DEADLINE_PASSED",
            f"{self.stage.value}: {passed.limit} allows {passed.seconds} s, {elapsed:.1f} s have passed",
            {
                "stage": self.stage.value,
                "limit": passed.limit,
                "allowed_seconds": str(passed.seconds),
                "elapsed_seconds": f"{elapsed:.1f}",
                "since": passed.since,
            },
        )

    def unbounded(self) -> StageTime:
        """The stage without deadlines, for a run that has something to settle."""
        return replace(self, deadlines=())

    def at_most(self, seconds: int) -> int:
        """A timeout that is no longer than what is left, in seconds; at least one, for what is begun already."""
        return max(1, min(seconds, seconds_left(self.deadlines, self.clock.now())))


def stage_time(services: Services, stage: StageKind, *operations: Operation) -> StageTime:
    """Begin a stage now. The overall deadline counts from the latest of its operations' tries; without any there is none."""
    limit, policy = _LIMITS[stage], services.deadlines
    deadlines = [Deadline(limit, getattr(policy, limit), services.clock.now())]
    if operations:
        began = max(operation.since for operation in operations)
        deadlines.append(Deadline(OVERALL, policy.overall_seconds, began))
    return StageTime(services.clock, stage, tuple(deadlines))
