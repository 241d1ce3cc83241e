"""Scopes of variables during execution, and how control and errors leave them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone_lab.sqlserver.language.errors import SqlServerError
    from dpone_lab.sqlserver.language.types import SqlType


@dataclass(slots=True)
class Frame:
    """One scope of variables: a batch, or the text of EXEC, sp_executesql or a prepared statement.

    `depth` is 0 for a batch; `tries` counts the TRY blocks that are being executed.
    """

    depth: int
    types: dict[str, SqlType] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    tries: int = 0
    temporary_tables: list[str] = field(default_factory=list)

    def declare(self, variables: Mapping[str, SqlType]) -> None:
        """Make the variables of a batch known: DECLARE counts wherever it stands, executed or not."""
        for name, sql_type in variables.items():
            self.types[name] = sql_type
            self.values.setdefault(name, None)


@dataclass(frozen=True, slots=True)
class Caught:
    """What ERROR_NUMBER() and its sisters tell inside CATCH."""

    error: SqlServerError
    line: int

    def value(self, name: str) -> int | str | None:
        """Return the answer of one of these functions by its name with parentheses."""
        answers: dict[str, int | str | None] = {
            "error_number()": self.error.number,
            "error_message()": self.error.message,
            "error_severity()": self.error.severity,
            "error_state()": self.error.state,
            "error_line()": self.line,
        }
        return answers.get(name)


class RaisedError(Exception):
    """An error on its way to the CATCH that takes it; a compile error can't be caught at `uncatchable_at`."""

    def __init__(self, caught: Caught, *, uncatchable_at: int | None) -> None:
        super().__init__(caught.error.message)
        self.caught = caught
        self.uncatchable_at = uncatchable_at


class Signal(Exception):  # noqa: N818 - control flow, not a fault
    """What ends more than a statement."""


class BreakLoop(Signal):
    """BREAK."""


class ContinueLoop(Signal):
    """CONTINUE."""


class ReturnFromScope(Signal):
    """RETURN with its status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class EndScope(Signal):
    """The rest of this scope isn't executed; the caller of the scope goes on."""


class EndBatch(Signal):
    """Nothing more of the whole batch is executed."""
