"""SQL Server's errors as the lab raises them, and the numbers that PostgreSQL's SQLSTATEs stand for.

Layers above raise and catch only :class:`SqlServerError`. A PostgreSQL error becomes one through
:func:`from_sqlstate`. Messages name constructs and objects, never row values.
"""

from __future__ import annotations

from enum import IntEnum

SYNTAX_SEVERITY = 15
ORDINARY_SEVERITY = 16


class Number(IntEnum):
    """Error numbers the lab uses; each with SQL Server's documented meaning."""

    SYNTAX = 102
    IDENTIFIER_TOO_LONG = 103
    SYNTAX_UNCLOSED_QUOTE = 105
    MISSING_END_COMMENT = 113
    CROSS_DATABASE_PREFIX = 117
    COLUMN_COUNT_ORDER_BY = 108
    WRONG_ARGUMENT_COUNT = 174
    UNDECLARED_VARIABLE = 137
    DUPLICATE_VARIABLE = 134
    ASSIGN_AND_RETRIEVE = 141
    SYNTAX_KEYWORD = 156
    NO_COLUMN_NAME = 1038
    NOT_A_FUNCTION = 195
    UNION_COLUMN_COUNT = 205
    OPERAND_TYPE_CLASH = 206
    INVALID_COLUMN = 207
    INVALID_OBJECT = 208
    AMBIGUOUS_COLUMN = 209
    INSERT_FEWER_VALUES = 109
    INSERT_MORE_VALUES = 110
    INSERT_SELECT_FEWER = 120
    INSERT_SELECT_MORE = 121
    BATCH_MUST_BE_ALONE = 111
    INSERT_COUNT_MISMATCH = 213
    PERMISSION_DENIED = 229
    UNKNOWN_TYPE = 243
    CONVERSION_FAILED = 245
    DATE_CONVERSION_FAILED = 241
    OBJECT_MISSING_FOR_ALTER = 4902
    COLUMN_PREFIX_MISMATCH = 107
    UNBOUND_IDENTIFIER = 4104
    INVALID_STYLE = 281
    TYPE_NOT_FOUND = 2715
    OPERAND_INVALID = 8117
    OPERATORS_INCOMPATIBLE = 402
    IMPLICIT_CONVERSION_REFUSED = 257
    EXPLICIT_CONVERSION_REFUSED = 529
    INVALID_COLLATION = 448
    COLLATION_CONFLICT = 468
    NULL_INTO_NOT_NULL = 515
    CONSTRAINT_CONFLICT = 547
    NOT_AGGREGATED = 8120
    NON_BOOLEAN = 4145
    DATABASE_MISSING = 911
    DEADLOCK_VICTIM = 1205
    LOCK_TIMEOUT = 1222
    NO_MATCHING_COMMIT = 3902
    NO_MATCHING_ROLLBACK = 3903
    DUPLICATE_KEY_INDEX = 2601
    DUPLICATE_KEY_CONSTRAINT = 2627
    TRUNCATION = 2628
    OBJECT_EXISTS = 2714
    PROCEDURE_MISSING = 2812
    DROP_MISSING = 3701
    DOOMED_TRANSACTION = 3930
    DOOMED_AT_END = 3998
    UNSUPPORTED = 40517
    DIVIDE_BY_ZERO = 8134
    ARITHMETIC_OVERFLOW = 8115
    DUPLICATE_COLUMN = 2705
    DUPLICATE_CORRELATION = 1013
    DUPLICATE_RESULT_COLUMN = 8155
    PARAMETER_MISSING = 201
    SUBQUERY_MANY_ROWS = 512
    SUBQUERY_COLUMN_COUNT = 116
    INVALID_ARGUMENT = 8116
    VARIABLE_IN_DDL = 124
    THROW_OUTSIDE_CATCH = 10704
    LOGIN_FAILED = 18456
    USER_DEFINED_MINIMUM = 50000


class SqlServerError(Exception):
    """One error as SQL Server reports it: number, severity, state and message.

    ``missing`` tells, for error 208, the schema and name that were looked for: an uncommitted definition of another
    session may stand behind it, and then SQL Server waits instead of raising. ``aborts_transaction`` marks what rolls
    the transaction back whatever XACT_ABORT says: an error inside a trigger.
    """

    def __init__(
        self,
        number: int,
        message: str,
        *,
        severity: int | None = None,
        state: int = 1,
        missing: tuple[str, str] | None = None,
        aborts_transaction: bool = False,
    ) -> None:
        super().__init__(message)
        self.number = int(number)
        self.message = message
        self.severity = _severity(self.number) if severity is None else severity
        self.state = state
        self.missing = missing
        self.aborts_transaction = aborts_transaction

    def __repr__(self) -> str:
        return (
            f"SqlServerError({self.number}, {self.message!r}, severity={self.severity}, state={self.state})"
        )


_SYNTAX_NUMBERS = frozenset({102, 103, 105, 108, 110, 111, 113, 120, 121, 124, 134, 137, 141, 156, 174, 1038})


def _severity(number: int) -> int:
    if number in _SYNTAX_NUMBERS:
        return SYNTAX_SEVERITY
    if number == Number.DEADLOCK_VICTIM:
        return 13
    if number in (Number.PERMISSION_DENIED, Number.LOGIN_FAILED):
        return 14
    if number in (Number.DUPLICATE_KEY_INDEX, Number.DUPLICATE_KEY_CONSTRAINT):
        return 14
    if number == Number.DROP_MISSING:
        return 11
    return ORDINARY_SEVERITY


def unsupported(construct: str) -> SqlServerError:
    """Return the lab's refusal of what SQL Server may know: 40517, SQL Server's number for options it refuses.

    Azure SQL documents 40517 as "Keyword or statement option '%ls' is not supported in this version of
    SQL Server"; the lab uses it for every construct outside its allowlist, syntactically well formed or not.
    """
    return SqlServerError(
        Number.UNSUPPORTED,
        f"Keyword or statement option '{construct}' is not supported in this version of SQL Server.",
    )


def syntax_near(text: str) -> SqlServerError:
    """Return error 102 for a token that can't stand where it stands."""
    return SqlServerError(Number.SYNTAX, f"Incorrect syntax near '{text[:40]}'.")


def nested_too_deeply() -> SqlServerError:
    """Return error 191 for text whose tree is too deep to be walked."""
    return SqlServerError(
        191,
        "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
        severity=SYNTAX_SEVERITY,
    )


_LONGEST_IDENTIFIER = 128
LONGEST_STORED_IDENTIFIER = 63


def require_identifier(name: str) -> str:
    """Return a name that the lab can keep; 103 beyond SQL Server's 128 characters, 40517 beyond PostgreSQL's 63 bytes.

    PostgreSQL would cut the longer name without an error, so two names could become one.
    """
    require_identifier_length(name)
    if len(name.encode(errors="surrogatepass")) > LONGEST_STORED_IDENTIFIER:
        raise unsupported(f"identifier of more than {LONGEST_STORED_IDENTIFIER} bytes: {name}")
    return name


def require_identifier_length(name: str) -> None:
    """Raise 103 for a name of more than SQL Server's 128 characters."""
    if len(name) > _LONGEST_IDENTIFIER:
        raise SqlServerError(
            Number.IDENTIFIER_TOO_LONG,
            f"The identifier that starts with '{name[:_LONGEST_IDENTIFIER]}' is too long."
            f" Maximum length is {_LONGEST_IDENTIFIER}.",
        )


def already_exists(name: str) -> SqlServerError:
    """Return error 2714 for a name that an object has already."""
    return SqlServerError(
        Number.OBJECT_EXISTS, f"There is already an object named '{name}' in the database.", state=6
    )


def keyword_near(keyword: str) -> SqlServerError:
    """Return error 156 for a reserved word that can't stand where it stands."""
    return SqlServerError(Number.SYNTAX_KEYWORD, f"Incorrect syntax near the keyword '{keyword}'.")


_SQLSTATES: dict[str, tuple[int, str]] = {
    "42P01": (Number.INVALID_OBJECT, "Invalid object name."),
    "42703": (Number.INVALID_COLUMN, "Invalid column name."),
    "42702": (Number.AMBIGUOUS_COLUMN, "Ambiguous column name."),
    "42P07": (Number.OBJECT_EXISTS, "There is already an object of that name in the database."),
    "42710": (Number.OBJECT_EXISTS, "There is already an object of that name in the database."),
    "42P06": (Number.OBJECT_EXISTS, "There is already an object of that name in the database."),
    "42803": (
        Number.NOT_AGGREGATED,
        "Column is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.",
    ),
    "42804": (Number.OPERAND_TYPE_CLASH, "Operand type clash."),
    "42883": (Number.OPERAND_TYPE_CLASH, "Operand type clash."),
    "42501": (Number.PERMISSION_DENIED, "The permission was denied on the object."),
    "23505": (
        Number.DUPLICATE_KEY_CONSTRAINT,
        "Violation of a unique constraint. Cannot insert duplicate key.",
    ),
    "23502": (
        Number.NULL_INTO_NOT_NULL,
        "Cannot insert the value NULL into a column that does not allow nulls.",
    ),
    "23503": (
        Number.CONSTRAINT_CONFLICT,
        "The statement conflicted with a FOREIGN KEY or REFERENCE constraint.",
    ),
    "23514": (Number.CONSTRAINT_CONFLICT, "The statement conflicted with a CHECK constraint."),
    "22012": (Number.DIVIDE_BY_ZERO, "Divide by zero error encountered."),
    "22P02": (Number.CONVERSION_FAILED, "Conversion failed when converting a character string."),
    "22007": (
        Number.DATE_CONVERSION_FAILED,
        "Conversion failed when converting date and/or time from character string.",
    ),
    "22008": (
        242,
        "The conversion of a varchar data type to a datetime data type resulted in an out-of-range value.",
    ),
    "22001": (Number.TRUNCATION, "String or binary data would be truncated."),
    "22003": (Number.ARITHMETIC_OVERFLOW, "Arithmetic overflow error converting expression."),
    "21000": (Number.SUBQUERY_MANY_ROWS, "Subquery returned more than 1 value."),
    "40P01": (
        Number.DEADLOCK_VICTIM,
        "Transaction was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.",
    ),
    "55P03": (Number.LOCK_TIMEOUT, "Lock request time out period exceeded."),
    "42P10": (
        145,
        "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.",
    ),
    "0A000": (4712, "Cannot truncate the table because it is being referenced by a FOREIGN KEY constraint."),
    "42601": (Number.SYNTAX, "Incorrect syntax."),
}


def from_sqlstate(
    sqlstate: str | None,
    *,
    constraint: str | None = None,
    is_index: bool = False,
    table: str | None = None,
    column: str | None = None,
    message: str | None = None,
) -> SqlServerError:
    """Return SQL Server's error for a PostgreSQL error.

    ``constraint``, ``table``, ``column`` and the primary ``message`` come from PostgreSQL's diagnostics; ``is_index`` says that the
    violated uniqueness is an index, not a constraint (2601, not 2627). A function of ``functions.sql`` raises
    SQL Server's number itself as SQLSTATE ``Zn`` plus message ``number|severity|state|text``; such errors go
    through :func:`from_raised` instead.
    """
    if sqlstate == "23505" and is_index:
        return SqlServerError(
            Number.DUPLICATE_KEY_INDEX,
            f"Cannot insert duplicate key row in object '{table}' with unique index '{constraint}'.",
        )
    if sqlstate == "23505":
        return SqlServerError(
            Number.DUPLICATE_KEY_CONSTRAINT,
            f"Violation of UNIQUE KEY or PRIMARY KEY constraint '{constraint}'. Cannot insert duplicate key in object '{table}'.",
        )
    if sqlstate == "23502":
        return SqlServerError(
            Number.NULL_INTO_NOT_NULL,
            f"Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls.",
        )
    if sqlstate in ("23503", "23514"):
        kind = "FOREIGN KEY" if sqlstate == "23503" else "CHECK"
        return SqlServerError(
            Number.CONSTRAINT_CONFLICT,
            f'The statement conflicted with the {kind} constraint "{constraint}" in table "{table}".',
        )
    if sqlstate == "2BP01":
        return _dependents(message or "")
    number, text = _SQLSTATES.get(
        sqlstate or "", (Number.UNSUPPORTED, f"The lab's engine refused the statement (SQLSTATE {sqlstate}).")
    )
    return SqlServerError(number, text)


def _dependents(message: str) -> SqlServerError:
    """Return the error of a definition that other objects depend on, by what was to be dropped."""
    if message.startswith("cannot drop schema"):
        return SqlServerError(3729, "Cannot drop the schema because it is being referenced by an object.")
    if message.startswith("cannot drop column"):
        return SqlServerError(5074, "The object is dependent on the column.")
    return SqlServerError(
        3726, "Could not drop the object because it is referenced by a FOREIGN KEY constraint."
    )


TRIGGER_MARK = "trigger|"
RAISED_SQLSTATE = "ZS001"
"""SQLSTATE of errors that ``functions.sql`` and generated triggers raise with SQL Server's own number."""


def from_raised(message: str) -> SqlServerError:
    """Read ``[trigger|]number|severity|state|text`` as raised under :data:`RAISED_SQLSTATE`."""
    bare = message.removeprefix(TRIGGER_MARK)
    number, severity, state, text = bare.split("|", 3)
    return SqlServerError(
        int(number), text, severity=int(severity), state=int(state), aborts_transaction=bare != message
    )
