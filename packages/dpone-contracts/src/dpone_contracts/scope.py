"""The scope of an operation: one UTC day, start included, end excluded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Self

from dpone_contracts.document import Fault, broken
from dpone_contracts.scalars import ONE_DAY, instant, is_day


@dataclass(frozen=True, slots=True, order=True)
class DayScope:
    """The half-open interval `[start, end)` of one UTC day."""

    start: datetime

    def __post_init__(self) -> None:
        """Refuse a start that is not a UTC midnight."""
        if self.start.tzinfo != UTC or not is_day(self.start):
            raise ValueError("a scope starts at a UTC midnight")

    @classmethod
    def of(cls, day: date) -> Self:
        """Return the scope of a calendar day."""
        return cls(datetime(day.year, day.month, day.day, tzinfo=UTC))

    @classmethod
    def parse(cls, scope_start: str, scope_end: str) -> Self:
        """Read the two texts of a document; raises ValueError unless they bound one day."""
        scope = cls(instant(scope_start).astimezone(UTC))
        if instant(scope_end) != scope.end:
            raise ValueError("a scope is one day long")
        return scope

    @property
    def end(self) -> datetime:
        """The excluded end: the next midnight."""
        return self.start + ONE_DAY

    @property
    def start_text(self) -> str:
        """The start as documents spell it."""
        return _spell(self.start)

    @property
    def end_text(self) -> str:
        """The end as documents spell it."""
        return _spell(self.end)

    def next(self) -> Self:
        """Return the scope of the following day."""
        return type(self)(self.end)


def _spell(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT00:00:00Z").rjust(20, "0")


def scope_rules(scope_start: str, scope_end: str) -> Iterator[Fault]:
    """Yield a fault unless the two instants of a document bound one UTC day."""
    if instant(scope_end) - instant(scope_start) != ONE_DAY:
        yield broken("one-day-scope", "the scope is not one day long", "scope_end")
