"""Statements to one ClickHouse server over HTTP; the only module that holds clickhouse-connect.

Every statement carries the pinned settings, a query id that begins with its attempt's prefix and the same as
log comment. A statement that changes something is sent once: the client is given no retry, and what it would
replay (a read whose connection was closed) changes nothing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError

from dpone_clickhouse.settings import OBSERVE_SQL, PINNED, findings

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from clickhouse_connect.driver.client import Client

_HTTP_PORT, _HTTPS_PORT = 8123, 8443
# Names, not classes: the transport under the client is the client's own choice.
_BEFORE_SEND = frozenset({"NewConnectionError", "ConnectTimeoutError", "NameResolutionError"})


class StatementRefusedError(Exception):
    """The server answered with an error; `code` and `name` are its own, its text may hold values and is dropped."""

    def __init__(self, code: int, name: str, step: str) -> None:
        super().__init__(f"{step}: ClickHouse error {code} {name}".rstrip())
        self.code, self.name, self.step = code, name, step


class AnswerLostError(Exception):
    """No answer of the server arrived; `sent` is false only where no connection came about."""

    def __init__(self, step: str, *, sent: bool) -> None:
        super().__init__(f"{step}: no answer" if sent else f"{step}: no connection")
        self.step, self.sent = step, sent


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server is and who logs in; the password never prints. Timeouts are seconds."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    secure: bool
    connect_timeout: int
    statement_timeout: int

    @classmethod
    def from_dsn(cls, dsn: str, *, connect_timeout: int, statement_timeout: int) -> Endpoint:
        """Read `http[s]://user:password@host[:port]/`; ValueError, without the DSN in it, for anything else."""
        parts = urlsplit(dsn)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is None:
            raise ValueError("a ClickHouse DSN is http[s]://user:password@host:port/")
        secure = parts.scheme == "https"
        return cls(
            host=parts.hostname,
            port=parts.port or (_HTTPS_PORT if secure else _HTTP_PORT),
            user=unquote(parts.username),
            password=unquote(parts.password or ""),
            secure=secure,
            connect_timeout=connect_timeout,
            statement_timeout=statement_timeout,
        )


@dataclass(frozen=True, slots=True)
class Tag:
    """Whose statement it is: the attempt's query-id prefix and the step's name, and how many seconds it may take.

    Without seconds only the endpoint's limit holds; a target's policy may be stricter, never laxer.
    """

    prefix: str
    step: str
    seconds: int | None = None

    @property
    def log_comment(self) -> str:
        """What `system.processes` shows beside the query id; an engine that has its own ids shows only this."""
        return f"{self.prefix}{self.step}"


class Connection:
    """One server, many threads; opened by the first statement."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Client | None = None
        self._lock = threading.Lock()

    def rows(
        self, sql: str, tag: Tag, parameters: Mapping[str, Any] | None = None, **settings: str
    ) -> list[Sequence[Any]]:
        """Run a query and return its rows; a read may be repeated by the transport."""
        client = self._opened(tag)
        try:
            result = client.query(
                sql, parameters=dict(parameters or {}), settings=self._settings(tag, settings)
            )
        except ClickHouseError as fault:
            raise _translated(fault, tag) from None
        return list(result.result_rows)

    def scalar(self, sql: str, tag: Tag, parameters: Mapping[str, Any] | None = None, **settings: str) -> Any:
        """Run a query of one row and one column and return its value."""
        ((value,),) = self.rows(sql, tag, parameters, **settings)
        return value

    def run(self, sql: str, tag: Tag, **settings: str) -> None:
        """Run a statement that changes something, once."""
        self._command(self._opened(tag), sql, tag, **settings)

    def insert_parquet(self, table: str, columns: Sequence[str], data: bytes, tag: Tag) -> int:
        """Insert Parquet bytes into a table (quoted name), once; return the rows that the server says it wrote."""
        client = self._opened(tag)
        try:
            # An iterator, not bytes: the client would send bytes again when the connection closes. Of one piece: a
            # file object would go out in pieces of a few kilobytes.
            summary = client.raw_insert(
                table, list(columns), _once(data), settings=self._settings(tag, {}), fmt="Parquet"
            )
        except ClickHouseError as fault:
            raise _translated(fault, tag) from None
        return int(summary.written_rows)

    def run_one_shot(self, sql: str, tag: Tag) -> None:
        """Run a statement over a transport made for it alone, which has nothing to repeat it with."""
        client = self._client_for(tag, retries=0)
        try:
            self._command(client, sql, tag)
        finally:
            client.close()

    def setting_findings(self, tag: Tag) -> tuple[tuple[str, str], ...]:
        """Observe the settings that statements run under; empty when all are as pinned."""
        return findings(
            [(str(name), str(value), int(changed)) for name, value, changed in self.rows(OBSERVE_SQL, tag)]
        )

    def close(self) -> None:
        """Close the client; the next statement opens another."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _command(self, client: Client, sql: str, tag: Tag, **settings: str) -> None:
        try:
            client.command(sql, settings=self._settings(tag, settings))
        except ClickHouseError as fault:
            raise _translated(fault, tag) from None

    def _settings(self, tag: Tag, extra: Mapping[str, str]) -> dict[str, str]:
        allowed = self._endpoint.statement_timeout
        return {
            **PINNED,
            "max_execution_time": str(allowed if tag.seconds is None else min(allowed, tag.seconds)),
            **extra,
            "query_id": f"{tag.log_comment}-{uuid4().hex[:12]}",
            "log_comment": tag.log_comment,
        }

    def _opened(self, tag: Tag) -> Client:
        with self._lock:
            if self._client is None:
                self._client = self._client_for(tag, retries=1)
            return self._client

    def _client_for(self, tag: Tag, retries: int) -> Client:
        endpoint = self._endpoint
        try:
            client = clickhouse_connect.get_client(
                host=endpoint.host,
                port=endpoint.port,
                username=endpoint.user,
                password=endpoint.password,
                secure=endpoint.secure,
                connect_timeout=endpoint.connect_timeout,
                send_receive_timeout=endpoint.statement_timeout,
                query_retries=0,
                autogenerate_session_id=False,
                autogenerate_query_id=False,
                dedicated_pool=True,
                show_clickhouse_errors=True,
            )
        except ClickHouseError as fault:
            raise _translated(fault, tag, sent=False) from None
        # The transport's own retries cover connecting only; the one-shot transport has none at all.
        client.http_retries = retries
        return client


def _once(data: bytes) -> Generator[bytes, None, None]:
    yield data


def _translated(fault: Exception, tag: Tag, *, sent: bool = True) -> StatementRefusedError | AnswerLostError:
    """Tell an answer of the server from the absence of one; the client's text goes no further."""
    code = getattr(fault, "code", None)
    if code is not None:
        return StatementRefusedError(int(code), str(getattr(fault, "name", None) or ""), tag.step)
    return AnswerLostError(tag.step, sent=sent and not _connection_failed(fault))


def _connection_failed(fault: BaseException) -> bool:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [fault]
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        if type(cause).__name__ in _BEFORE_SEND:
            return True
        reason = getattr(cause, "reason", None)
        waiting += [cause.__cause__, cause.__context__, reason if isinstance(reason, BaseException) else None]
    return False
