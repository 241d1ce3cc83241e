"""A session's PostgreSQL connection: statements, streamed rows, cancellation from another thread, errors as SQL Server's."""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from dpone_lab.sqlserver.language.errors import (
    RAISED_SQLSTATE,
    SqlServerError,
    from_raised,
    from_sqlstate,
    unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

_CHUNK_ROWS = 2_000
_CANCEL_SECONDS = 10.0
_RESOURCES = {
    "53100": (1105, "Could not allocate space for an object in the database because the disk is full."),
    "53200": (701, "There is insufficient system memory to run this query."),
}
Row = tuple[Any, ...]


class BackendLostError(Exception):
    """PostgreSQL closed the connection: the session ends with a severity of 20."""


class Backend:
    """One connection in autocommit mode; transactions are begun and ended by statements."""

    def __init__(self, conninfo: str, application_name: str, settings: dict[str, str]) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self.connection: psycopg.Connection[Row] = psycopg.connect(
            conninfo, autocommit=True, application_name=application_name, options=options
        )
        self.connection.prepare_threshold = 3
        self._cancel_mutex = threading.Lock()
        self._running = False

    @property
    def status(self) -> TransactionStatus:
        """Return libpq's view of the transaction."""
        return self.connection.info.transaction_status

    @property
    def pid(self) -> int:
        """Return the process id of the backend."""
        return self.connection.info.backend_pid

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Mark a statement as running; a cancel and the end of the call exclude each other."""
        with self._cancel_mutex:
            self._running = True
        try:
            yield
        except psycopg.OperationalError as error:
            if self.connection.closed or self.connection.broken:
                raise BackendLostError("the connection to the storage engine was lost") from error
            raise
        except UnicodeEncodeError as error:
            raise psycopg.DataError("text with a lone surrogate can't be stored") from error
        finally:
            with self._cancel_mutex:
                self._running = False

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> psycopg.Cursor[Row]:
        """Run one statement and keep its whole result; psycopg.Error or BackendLostError."""
        with self._call():
            cursor: psycopg.Cursor[Row] = psycopg.RawCursor(self.connection)
            return cursor.execute(sql.encode(), list(parameters) or None, binary=True)

    def script(self, sql: str) -> None:
        """Run statements without parameters or results, several in one round trip."""
        with self._call():
            self.connection.execute(sql.encode())

    def stream(self, sql: str, parameters: Sequence[Any]) -> Generator[list[Row], None, None]:
        """Run a query and yield its rows in lists; memory stays bounded by one list. Close it when done."""
        with self._call():
            cursor: psycopg.Cursor[Row] = psycopg.RawCursor(self.connection)
            rows = cursor.stream(sql.encode(), list(parameters) or None, binary=True, size=_CHUNK_ROWS)
            try:
                while chunk := list(itertools.islice(rows, _CHUNK_ROWS)):
                    yield chunk
            finally:
                rows.close()  # type: ignore[attr-defined]  # stream() is a generator: closing it drains the query

    def recover(self, sql: str) -> None:
        """Run a statement that ends an error state; a cancel that came late doesn't stop it."""
        try:
            self.script(sql)
        except psycopg.errors.QueryCanceled:
            self.script(sql)

    def cancel(self) -> None:
        """Interrupt the running statement, if any; called from another thread."""
        with self._cancel_mutex:
            if self._running and not self.connection.closed:
                try:
                    self.connection.cancel_safe(timeout=_CANCEL_SECONDS)
                except psycopg.Error:
                    # The backend is gone: its statement ends by itself.
                    return

    def close(self) -> None:
        """Close the connection; PostgreSQL rolls back what is open."""
        self.connection.close()

    def translate(self, error: psycopg.Error) -> SqlServerError:
        """Return SQL Server's error for a PostgreSQL error, after the error state was ended."""
        if not isinstance(error, psycopg.DatabaseError) or error.sqlstate is None:
            return unsupported(f"value: {type(error).__name__}")
        if error.sqlstate in _RESOURCES:
            number, text = _RESOURCES[error.sqlstate]
            return SqlServerError(number, text, severity=17)
        if error.sqlstate == RAISED_SQLSTATE:
            return from_raised(error.diag.message_primary or "")
        diagnostics = error.diag
        table = None
        if diagnostics.table_name is not None:
            table = f"{diagnostics.schema_name}.{diagnostics.table_name}"
        return from_sqlstate(
            error.sqlstate,
            constraint=diagnostics.constraint_name,
            is_index=error.sqlstate == "23505" and self._is_plain_index(diagnostics),
            table=table,
            column=diagnostics.column_name,
            message=diagnostics.message_primary,
        )

    def _is_plain_index(self, diagnostics: psycopg.errors.Diagnostic) -> bool:
        if self.status not in (TransactionStatus.IDLE, TransactionStatus.INTRANS):
            return False
        found = self.run(
            "SELECT 1 FROM pg_catalog.pg_constraint WHERE conname = $1 AND conrelid = to_regclass("
            "quote_ident($2) || '.' || quote_ident($3))",
            [diagnostics.constraint_name, diagnostics.schema_name, diagnostics.table_name],
        ).fetchone()
        return found is None
