"""Run statements on the embedded engine: one engine a process, one session a statement or a named session."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import chdb

from dpone_lab.clickhouse import statements
from dpone_lab.clickhouse.request import RequestError, StatementRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ERROR = re.compile(r"Code: (\d+)\. (DB::Exception: .*)", re.DOTALL)
_NAME = re.compile(r"\(([A-Z0-9_]+)\)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine answered: the formatted rows and the figures of the summary header."""

    body: bytes
    format_name: str | None
    summary: dict[str, str]


class StatementError(Exception):
    """The engine refused a statement; carries its code, symbolic name and text."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.code, self.name, self.message = code, name, message


class Engine:
    """The embedded ClickHouse over one data directory; statements may run in parallel threads."""

    def __init__(self, data: Path) -> None:
        self._path = str(data)
        # The engine lives as long as any session does; this one keeps it.
        self._keeper = chdb.connect(self._path)
        self._sessions: dict[str, tuple[Any, threading.Lock]] = {}
        self._sessions_lock = threading.Lock()
        self.version = self._scalar("SELECT version()")
        self.timezone = self._scalar("SELECT timezone()")

    def run(self, request: StatementRequest) -> Answer:
        """Run one statement to its end; raise `StatementError` with the engine's own error."""
        with self._session(request.session_id) as session:
            try:
                if request.session_id is None:
                    return _run(session, request)
                with _restored(session, request):
                    return _run(session, request)
            except (chdb.ChdbError, RuntimeError) as fault:
                raise _failure(str(fault)) from fault

    def close(self) -> None:
        """Close the engine; committed parts are on disk already."""
        self._keeper.close()

    def _scalar(self, query: str) -> str:
        return _text(self._keeper, query, "TSVRaw")

    @contextmanager
    def _session(self, name: str | None) -> Iterator[Any]:
        if name is None:
            session = chdb.connect(self._path)
            try:
                yield session
            finally:
                session.close()
            return
        with self._sessions_lock:
            if name not in self._sessions:
                self._sessions[name] = (chdb.connect(self._path), threading.Lock())
            session, lock = self._sessions[name]
        if not lock.acquire(blocking=False):
            raise RequestError(
                373, "SESSION_IS_LOCKED", f"Session {name} is locked by a concurrent client", 500
            )
        try:
            yield session
        finally:
            lock.release()


@contextmanager
def _restored(session: Any, request: StatementRequest) -> Iterator[None]:
    """Give a named session its own settings and database back: those of a request last for the request."""
    names = [*request.settings, *(["readonly"] if request.read_only else [])]
    _check_names(names)
    listed = ", ".join(f"'{name}'" for name in names) or "''"
    query = f"SELECT name, value, changed FROM system.settings WHERE name IN ({listed})"
    kept = [json.loads(line) for line in _text(session, query, "JSONCompactEachRow").splitlines()]
    database = _text(session, "SELECT currentDatabase()", "TSVRaw")
    try:
        yield
    finally:
        # readonly goes first: under it no other setting could be given back.
        for name, value, changed in sorted(kept, key=lambda row: row[0] != "readonly"):
            session.query(f"SET {_assignment(name, value)}" if changed else f"SET {name} = DEFAULT")
        if request.database is not None:
            session.query(f"USE {_quoted_name(database)}")


def _text(session: Any, query: str, format_name: str) -> str:
    return bytes(session.query(query, format_name).bytes()).decode().rstrip("\n")


def _run(session: Any, request: StatementRequest) -> Answer:
    if request.database is not None:
        session.query(f"USE {_quoted_name(request.database)}")
    _check_names(request.settings)
    if request.settings:
        session.query("SET " + ", ".join(_assignment(n, v) for n, v in request.settings.items()))
    if request.read_only:
        session.query("SET readonly = 2")
    insert = statements.insert_with_data(request.text)
    if insert is not None:
        inserter = session.send_insert(insert.head.decode(), insert.format_name)
        try:
            if insert.data:
                inserter.append(insert.data)
            written = inserter.finish()
        except BaseException:
            inserter.close()
            raise
        return Answer(b"", None, {"written_rows": str(written.rows_written)})
    _refuse_several(session, request.text)
    rows = statements.returns_rows(request.text)
    format_name = (
        statements.output_format(request.text, request.default_format) if rows else request.default_format
    )
    result = session.query(request.text, format_name, params=request.parameters)
    summary = {"read_rows": str(result.rows_read()), "read_bytes": str(result.bytes_read())}
    return Answer(bytes(result.bytes()), format_name if rows else None, summary)


def _refuse_several(session: Any, text: bytes) -> None:
    """Refuse a request of several statements, as the HTTP interface does and the embedded engine doesn't."""
    if b";" in text and session._conn.classify_query(text.decode()).get("statement_count", 1) > 1:  # noqa: SLF001
        raise StatementError(
            62, "SYNTAX_ERROR", "DB::Exception: Multi-statements are not allowed. (SYNTAX_ERROR)"
        )


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if not _SETTING_NAME.fullmatch(name):
            raise StatementError(
                115, "UNKNOWN_SETTING", f"DB::Exception: Unknown setting '{name}'. (UNKNOWN_SETTING)"
            )


def _assignment(name: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{name} = '{escaped}'"


def _quoted_name(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def _failure(text: str) -> StatementError:
    found = _ERROR.search(text)
    if found is None:
        return StatementError(1001, "STD_EXCEPTION", f"DB::Exception: {text} (STD_EXCEPTION)")
    names = _NAME.findall(found[2])
    return StatementError(int(found[1]), names[-1] if names else "UNKNOWN", found[2])
