"""How much time is left: limits counted from instants, and nothing else. No time that passes grants anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from dpone_contracts.scalars import instant


@dataclass(frozen=True, slots=True)
class Deadline:
    """A limit of the deadline policy by its field's name, in seconds, counted from a UTC instant."""

    limit: str
    seconds: int
    since: str

    def elapsed(self, now: str) -> float:
        """Seconds from `since` to `now`; none where the two clocks disagree and `now` is earlier."""
        return max(0.0, (instant(now) - instant(self.since)).total_seconds())

    def has_passed(self, now: str) -> bool:
        """Whether nothing is left at `now`."""
        return self.elapsed(now) >= self.seconds


def first_passed(deadlines: Iterable[Deadline], now: str) -> Deadline | None:
    """The first of some deadlines that has passed, or None."""
    return next((deadline for deadline in deadlines if deadline.has_passed(now)), None)


def seconds_left(deadlines: Iterable[Deadline], now: str) -> int:
    """Whole seconds, rounded up, until the earliest of some deadlines; 0 where one has passed."""
    return max(0, min(ceil(deadline.seconds - deadline.elapsed(now)) for deadline in deadlines))
