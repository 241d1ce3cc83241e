"""What an error ends in SQL Server: a statement, a scope, a batch, or the transaction too."""

from __future__ import annotations

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
