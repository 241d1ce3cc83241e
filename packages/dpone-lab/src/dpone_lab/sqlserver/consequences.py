"""What an error ends in SQL Server: a statement, a scope, a batch, or the transaction too; and small session rules."""

from __future__ import annotations

import re
from enum import Enum, auto

from dpone_lab.sqlserver.language.errors import Number, SqlServerError

_LARGEST_INFORMATION = 10


class ScopeEnd(Enum):
    """How far the effect of an uncaught error reaches."""

    STATEMENT = auto()
    SCOPE = auto()
    BATCH = auto()
    BATCH_AND_TRANSACTION = auto()


class ThrownError(SqlServerError):
    """An error that THROW raised: it ends the batch."""


# Names are resolved when a statement is compiled; such errors end their scope and ignore XACT_ABORT.
_COMPILE_ERRORS = frozenset(
    {
        Number.SYNTAX,
        Number.SYNTAX_UNCLOSED_QUOTE,
        Number.COLUMN_PREFIX_MISMATCH,
        Number.INSERT_FEWER_VALUES,
        Number.INSERT_MORE_VALUES,
        Number.MISSING_END_COMMENT,
        Number.DUPLICATE_VARIABLE,
        Number.UNDECLARED_VARIABLE,
        Number.ASSIGN_AND_RETRIEVE,
        Number.SYNTAX_KEYWORD,
        Number.NOT_A_FUNCTION,
        Number.INVALID_COLUMN,
        Number.INVALID_OBJECT,
        Number.AMBIGUOUS_COLUMN,
        Number.UNBOUND_IDENTIFIER,
        Number.NOT_AGGREGATED,
        Number.UNSUPPORTED,
    }
)
# Conversion errors and the loss of a deadlock abort the batch and roll back even with XACT_ABORT OFF.
_ROLLING_BACK = frozenset(
    {Number.DATE_CONVERSION_FAILED, 242, Number.CONVERSION_FAILED, 8114, 8169, Number.DEADLOCK_VICTIM}
)
_DELAY = re.compile(r"^\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?\s*$")
_DEFAULTS = {
    "ROWCOUNT": {"0"},
    "TEXTSIZE": {"-1", "2147483647", "0"},
    "LANGUAGE": {"US_ENGLISH", "ENGLISH"},
    "DATEFORMAT": {"MDY"},
    "DATEFIRST": {"7"},
    "DEADLOCK_PRIORITY": {"NORMAL", "0"},
    "ANSI_NULL_DFLT_OFF": {"OFF"},
    "CURSOR_CLOSE_ON_COMMIT": {"OFF"},
    "NUMERIC_ROUNDABORT": {"OFF"},
    "FMTONLY": {"OFF"},
    "NO_BROWSETABLE": {"ON", "OFF"},
    "NOEXEC": {"OFF"},
    "PARSEONLY": {"OFF"},
}


def is_compile_error(error: SqlServerError) -> bool:
    """Tell whether a CATCH of the same scope can't take the error."""
    return error.number in _COMPILE_ERRORS and not isinstance(error, ThrownError)


def of_error(error: SqlServerError, *, xact_abort: bool) -> ScopeEnd:
    """Return how far an uncaught error reaches."""
    if error.severity <= _LARGEST_INFORMATION:
        return ScopeEnd.STATEMENT
    if is_compile_error(error):
        return ScopeEnd.SCOPE
    if xact_abort or error.aborts_transaction or error.number in _ROLLING_BACK:
        return ScopeEnd.BATCH_AND_TRANSACTION
    if isinstance(error, ThrownError) or error.number == Number.DOOMED_TRANSACTION:
        return ScopeEnd.BATCH
    return ScopeEnd.STATEMENT


def option_is_default(option: str, value: str) -> bool:
    """Tell whether SET would leave an option, that the lab doesn't vary, as it is."""
    return value.strip("'").upper() in _DEFAULTS.get(option, ())


def delay_seconds(text: str | None) -> float:
    """Return the seconds of WAITFOR DELAY's `hh:mm[:ss[.fff]]`; 148 when it is none."""
    match = _DELAY.match(text or "")
    if match is None:
        raise SqlServerError(148, f"Incorrect time syntax in time string '{text}' used with WAITFOR.")
    hours, minutes, seconds, fraction = match.groups()
    return (
        int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0) + int((fraction or "").ljust(3, "0")) / 1000
    )
