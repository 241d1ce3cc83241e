"""Sessions and transactions on SQL Server: the one module that holds the ODBC driver."""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason, Unknown
from dpone_contracts.errors import DponeError

try:
    import pyodbc
except ImportError as fault:  # its native part needs the system's libodbc.so.2
    raise DponeError("DPONE_ODBC_MISSING", "pyodbc cannot load the ODBC driver manager") from fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

# A handle that the driver manager pools would carry its session state, a doubtful transaction included, to whoever
# comes next. What is kept here are handles of reads alone, after a clean end.
pyodbc.pooling = False

T = TypeVar("T")
Value: TypeAlias = "int | str | bytes"
Row: TypeAlias = tuple[Any, ...]

DUPLICATE_KEY = frozenset({2627, 2601})
LOCK_TIMEOUT = 1222
DEADLOCK = 1205
LOGIN_FAILED = 18456
NO_TRANSACTION = 51009

_NUMBER = re.compile(r"\((\d+)\)\s*\(SQL\w+\)")
_OURS = re.compile(r"\bDPONE_[A-Z][A-Z0-9_]{2,}\b")
_RULE = re.compile(r"\b(?:pk|uq|ck|fk)_[a-z0-9_]+\b")
_NO_CONNECTION = frozenset({"08001", "08S01", "08004", "IM002", "HYT00", "01000"})
_TRANSACTION_HOLDS = (
    f"IF @@TRANCOUNT <> 1 OR XACT_STATE() <> 1 THROW {NO_TRANSACTION}, N'DPONE_MSSQL_TRANSACTION_LOST', 1;\n"
)


@dataclass(frozen=True, slots=True)
class SqlServerConfig:
    """How to reach SQL Server and how long to wait; every limit comes from policy, none has a default.

    `connection_string` names driver, server, database and credentials and is never shown.
    """

    connection_string: str = field(repr=False)
    login_timeout_seconds: int
    lock_timeout_ms: int
    statement_timeout_seconds: int

    def __post_init__(self) -> None:
        """Refuse limits that mean `for ever`."""
        limits = (self.login_timeout_seconds, self.lock_timeout_ms, self.statement_timeout_seconds)
        if any(limit < 1 for limit in limits):
            raise ValueError("login, lock and statement timeouts are positive; 0 would wait for ever")


class SqlServerError(Exception):
    """What SQL Server or its driver reported, without its text: a message may print key values.

    `number` is the server's error number (0 when the driver or the network failed), `name` our own code where one
    of our THROWs spoke, `rule` the name of the constraint of ours that was hit.
    """

    def __init__(self, number: int, sqlstate: str, name: str | None, rule: str | None) -> None:
        shown = " ".join(part for part in (name, rule) if part)
        super().__init__(f"SQL Server error {number} ({sqlstate}) {shown}".rstrip())
        self.number = number
        self.sqlstate = sqlstate
        self.name = name
        self.rule = rule

    @classmethod
    def of(cls, error: pyodbc.Error) -> SqlServerError:
        """Keep number, SQLSTATE and our own names of a driver error."""
        sqlstate = str(error.args[0]) if error.args else "HY000"
        text = str(error.args[1]) if len(error.args) > 1 else ""
        number = _NUMBER.search(text)
        name = _OURS.search(text)
        rule = _RULE.search(text)
        return cls(
            int(number.group(1)) if number else 0,
            sqlstate if re.fullmatch(r"[0-9A-Z]{5}", sqlstate) else "HY000",
            name.group(0) if name else None,
            rule.group(0) if rule else None,
        )

    @property
    def evidence(self) -> dict[str, str]:
        """Number, SQLSTATE and names, for a Reason."""
        found = {"sql_error": str(self.number), "sqlstate": self.sqlstate}
        if self.name:
            found["name"] = self.name
        if self.rule:
            found["rule"] = self.rule
        return found


class Refused(Exception):  # noqa: N818 - it ends a transaction, it is no fault
    """Raised inside a transaction's work to roll it back with a reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.code)
        self.reason = reason


class Session:
    """One open handle in explicit autocommit; a context manager that closes it."""

    def __init__(self, config: SqlServerConfig) -> None:
        try:
            self._connection = pyodbc.connect(
                config.connection_string, autocommit=True, timeout=config.login_timeout_seconds
            )
        except pyodbc.Error as error:
            raise SqlServerError.of(error) from None
        try:
            self._prepare(config)
        except BaseException:
            self.close()
            raise

    def _prepare(self, config: SqlServerConfig) -> None:
        """Set what every statement of the session stands on, and read back what the driver could have ignored."""
        self._connection.timeout = config.statement_timeout_seconds
        if not self._connection.autocommit or self._connection.timeout != config.statement_timeout_seconds:
            raise SqlServerError(0, "HYC00", "DPONE_MSSQL_DRIVER_SETTING", None)
        self.rows(f"SET NOCOUNT ON; SET XACT_ABORT ON; SET LOCK_TIMEOUT {config.lock_timeout_ms:d};")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the handle; the server ends whatever it still had open."""
        with suppress(pyodbc.Error):
            self._connection.close()

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Send one batch, drain every result set, and return the rows of all that have columns.

        An error behind the first result set is only seen by draining; raises SqlServerError.
        """
        found: list[Row] = []
        try:
            cursor = self._connection.cursor()
            try:
                cursor.execute(sql, *values)
                while True:
                    if cursor.description is not None:
                        found += [tuple(row) for row in cursor.fetchall()]
                    if not cursor.nextset():
                        return found
            finally:
                with suppress(pyodbc.Error):
                    cursor.close()
        except pyodbc.Error as error:
            raise SqlServerError.of(error) from None


class Transaction:
    """The statements of one open SERIALIZABLE transaction; each asserts that the transaction is still there.

    A transaction that the server has aborted would otherwise go on as autocommit on the same handle.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """Read."""
        return self._session.rows(_TRANSACTION_HOLDS + sql, *values)

    def one(self, sql: str, *values: Value) -> Row | None:
        """Read at most one row."""
        found = self.rows(sql, *values)
        if len(found) > 1:
            raise SqlServerError(0, "21000", "DPONE_MSSQL_ONE_ROW_EXPECTED", None)
        return found[0] if found else None

    def write(self, sql: str, *values: Value) -> int:
        """Run one INSERT or UPDATE and return how many rows it changed."""
        found = self._session.rows(f"{_TRANSACTION_HOLDS}{sql};\nSELECT @@ROWCOUNT;", *values)
        return int(found[-1][0])

    def script(self, batches: tuple[str, ...]) -> None:
        """Run batches that must stand alone, such as CREATE TRIGGER, and check the transaction after each."""
        for batch in batches:
            self._session.rows(batch)
            self._session.rows(_TRANSACTION_HOLDS)


_BEGIN = (
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;\nBEGIN TRANSACTION;\nSELECT @@TRANCOUNT, XACT_STATE();"
)
_ROLLBACK = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;"


def read_consistently(config: SqlServerConfig, work: Callable[[Transaction], T]) -> T:
    """Run reads in one SERIALIZABLE transaction that is rolled back; raises DponeError where they can't be done.

    The handle is kept for the thread's next reads when its end was clean, and closed otherwise.
    """
    try:
        session = _reading(config)
        try:
            value = work(Transaction(session))
            session.rows(_ROLLBACK)
        except BaseException:
            session.close()
            raise
    except Refused as refusal:
        raise DponeError.because(refusal.reason) from None
    except SqlServerError as error:
        raise DponeError.because(before_commit(error)) from None
    _KEPT.sessions[config] = session
    return value


class _Kept(threading.local):
    """A thread's idle handles for reads, at most one for each way to reach a server."""

    def __init__(self) -> None:
        self.sessions: dict[SqlServerConfig, Session] = {}


_KEPT = _Kept()


def _reading(config: SqlServerConfig) -> Session:
    """A handle inside a new transaction; a kept one whose server went away in the meantime is replaced."""
    kept = _KEPT.sessions.pop(config, None)
    if kept is not None:
        try:
            _begin(kept)
        except SqlServerError:
            kept.close()
        else:
            return kept
    session = Session(config)
    try:
        _begin(session)
    except BaseException:
        session.close()
        raise
    return session


def read_committed(config: SqlServerConfig, work: Callable[[Session], T]) -> T:
    """Run reads one by one under READ COMMITTED, for the catalog, where held locks would block everybody's DDL.

    Raises SqlServerError.
    """
    with Session(config) as session:
        return work(session)


def commit_serializable(
    config: SqlServerConfig, work: Callable[[Transaction], T], *, unknown_code: str
) -> EffectResult[T]:
    """Run work in one SERIALIZABLE transaction with a proven boundary.

    NotApplied: refused by the work, or an error before COMMIT was sent; XACT_ABORT and the explicit transaction make
    sure that nothing of it can land. Unknown with `unknown_code`: anything that goes wrong from the moment COMMIT is
    sent; the handle is closed without a rollback, which would prove nothing.
    """
    try:
        session = Session(config)
    except SqlServerError as error:
        return NotApplied(Reason("DPONE_MSSQL_UNREACHABLE", str(error), error.evidence))
    with session:
        try:
            _begin(session)
            value = work(Transaction(session))
            _require_transaction(session.rows("SELECT @@TRANCOUNT, XACT_STATE();"))
        except Refused as refusal:
            with suppress(SqlServerError):
                session.rows(_ROLLBACK)
            return NotApplied(refusal.reason)
        except SqlServerError as error:
            with suppress(SqlServerError):
                session.rows(_ROLLBACK)
            return NotApplied(before_commit(error))
        try:
            # dpone owns this boundary: nothing below may turn doubt into an answer.
            after = session.rows("COMMIT TRANSACTION;\nSELECT @@TRANCOUNT;")
        except SqlServerError as error:
            return Unknown(Reason(unknown_code, "COMMIT was sent and not acknowledged", error.evidence))
        if after != [(0,)]:
            return Unknown(
                Reason(unknown_code, "COMMIT was acknowledged and a transaction is still open", {})
            )
        return Applied(value)


def before_commit(error: SqlServerError) -> Reason:
    """Name what stopped a transaction before its COMMIT was sent."""
    if error.sqlstate in _NO_CONNECTION:
        return Reason("DPONE_MSSQL_UNREACHABLE", str(error), error.evidence)
    match error.number:
        case number if number == LOCK_TIMEOUT:
            return Reason(
                "DPONE_MSSQL_LOCK_TIMEOUT", "a lock was not granted within the policy's time", error.evidence
            )
        case number if number == LOGIN_FAILED or error.sqlstate == "28000":
            return Reason("DPONE_MSSQL_LOGIN_FAILED", "the server refused the login", error.evidence)
        case number if number == DEADLOCK:
            return Reason(
                "DPONE_MSSQL_DEADLOCK", "the server chose this transaction as deadlock victim", error.evidence
            )
        case number if number in DUPLICATE_KEY:
            return Reason("DPONE_MSSQL_ALREADY_THERE", "a row with this key is already there", error.evidence)
        case _:
            return Reason("DPONE_MSSQL_STATEMENT_FAILED", str(error), error.evidence)


def _begin(session: Session) -> None:
    _require_transaction(session.rows(_BEGIN))


def _require_transaction(state: list[Row]) -> None:
    if state != [(1, 1)]:
        raise SqlServerError(NO_TRANSACTION, "25000", "DPONE_MSSQL_TRANSACTION_LOST", None)
