"""Turn what the connection reports into catalogue codes: an error for a read, one of three answers for an effect."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from dpone_clickhouse.connection import AnswerLostError, StatementRefusedError
from dpone_contracts.effects import NotApplied, Reason, Unknown
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
Fault = StatementRefusedError | AnswerLostError


def reason_of(fault: Fault) -> Reason:
    """The code and what was seen; the server's own text stays out, it may hold values."""
    match fault:
        case StatementRefusedError():
            evidence = {"clickhouse_code": str(fault.code), "clickhouse_error": fault.name}
            return Reason("DPONE_CLICKHOUSE_STATEMENT_REFUSED", str(fault), evidence)
        case AnswerLostError(sent=False):
            return Reason("DPONE_CLICKHOUSE_UNAVAILABLE", str(fault))
        case AnswerLostError():
            return Reason("DPONE_CLICKHOUSE_OUTCOME_UNKNOWN", str(fault))


def in_doubt(fault: Fault) -> Unknown:
    """An effect that may be there in whole or in part, also behind the server's own error, which stays as evidence."""
    reason = reason_of(fault)
    return Unknown(Reason("DPONE_CLICKHOUSE_OUTCOME_UNKNOWN", reason.observed, reason.evidence))


def settled(read: Callable[[], T]) -> T | Unknown:
    """What a read shows after something was sent; where it does not come about, what was sent is in doubt."""
    try:
        return read()
    except (StatementRefusedError, AnswerLostError) as fault:
        return in_doubt(fault)


def effect_failed(fault: Fault) -> NotApplied | Unknown:
    """Classify a failed statement that takes effect whole or not at all, like DDL on one table.

    The server's own refusal and a connection that never came about are positive evidence; a lost answer is none.
    """
    match fault:
        case AnswerLostError(sent=True):
            return in_doubt(fault)
        case StatementRefusedError() | AnswerLostError():
            return NotApplied(reason_of(fault))


@contextmanager
def reading() -> Iterator[None]:
    """Raise `DponeError` for a read that did not come about: nothing then counts as absence."""
    try:
        yield
    except StatementRefusedError as fault:
        reason = reason_of(fault)
        raise DponeError("DPONE_CLICKHOUSE_UNREADABLE", reason.observed, reason.evidence) from None
    except AnswerLostError as fault:
        raise DponeError("DPONE_CLICKHOUSE_UNAVAILABLE", str(fault)) from None
