"""One client connection: a reader thread for messages and attentions, a worker thread for the work."""

from __future__ import annotations

import contextlib
import logging
import queue
import socket
import threading
from typing import TYPE_CHECKING

import psycopg

from dpone_lab.sqlserver.backend import Backend, BackendLostError
from dpone_lab.sqlserver.faults import Fault, FaultKind, FaultPlan, SessionFaults
from dpone_lab.sqlserver.interpreter import Interpreter
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.remote_calls import RemoteCalls
from dpone_lab.sqlserver.session import Session
from dpone_lab.sqlserver.sessions import SessionFacts, now
from dpone_lab.sqlserver.transaction_requests import run_request
from dpone_lab.sqlserver.transactions import AttentionError
from dpone_lab.sqlserver.wire import tokens
from dpone_lab.sqlserver.wire.login import Login, parse_login
from dpone_lab.sqlserver.wire.packets import (
    DEFAULT_PACKET_SIZE,
    MalformedMessageError,
    Message,
    PacketStatus,
    PacketType,
    PacketWriter,
    Stream,
    admitted_packet_size,
    read_message,
)
from dpone_lab.sqlserver.wire.prelogin import (
    Encryption,
    TlsStream,
    answer_encryption,
    parse_encryption,
    prelogin_response,
)
from dpone_lab.sqlserver.wire.response import Response
from dpone_lab.sqlserver.wire.rpc import parse_calls, skip_headers

if TYPE_CHECKING:
    import ssl

    from dpone_lab.sqlserver.shared import Shared

_LOG = logging.getLogger(__name__)
_BACKEND_SETTINGS = {"search_path": "pg_catalog", "client_min_messages": "error"}
_FATAL_SEVERITY = 20


class Connection:
    """Serves one socket until either side ends it."""

    def __init__(self, client: socket.socket, shared: Shared, tls: ssl.SSLContext, faults: FaultPlan) -> None:
        self._socket = client
        self._stream: Stream = client
        self._shared = shared
        self._tls = tls
        self._plan = faults
        self._faults: SessionFaults | None = None
        self._session_id = shared.sessions.reserve(self.close)
        self._session: Session | None = None
        self._writer = PacketWriter(client, self._session_id)
        self._queue: queue.Queue[Message | None] = queue.Queue()
        # Guards what both threads decide on: whether a request runs, and where an attention is acknowledged.
        self._mutex = threading.Lock()
        self._unanswered = 0
        self._gone = False

    def start(self) -> None:
        """Start both threads."""
        for work in (self._read, self._work):
            threading.Thread(target=work, name=f"session-{self._session_id}", daemon=True).start()

    def close(self) -> None:
        """Cut the connection; both threads then end by themselves."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    # --- reader ---------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while True:
                message = read_message(self._stream)
                if message.type == PacketType.PRELOGIN:
                    # Here, not in the worker: the next bytes may already be a TLS record.
                    self._prelogin(message)
                elif message.type == PacketType.ATTENTION:
                    self._attention(message)
                else:
                    with self._mutex:
                        self._unanswered += 1
                    self._queue.put(message)
        except (OSError, MalformedMessageError) as error:
            _LOG.debug("session %d: %s", self._session_id, error)
        with self._mutex:
            self._gone = True
            session = self._session
        if session is not None:
            session.interrupt()
        self._queue.put(None)

    def _attention(self, message: Message) -> None:
        with self._mutex:
            session = self._session
            if session is None or not self._unanswered:
                # Nothing runs: acknowledged all the same, since the client waits for it.
                self._queue.put(message)
                return
            session.attention.set()
        session.interrupt()

    def _prelogin(self, message: Message) -> None:
        encryption = answer_encryption(parse_encryption(message.payload))
        self._writer.write(prelogin_response(encryption))
        self._writer.end_message()
        if encryption is Encryption.ON:
            secure = TlsStream(self._socket, self._tls)
            secure.handshake()
            self._stream = self._writer.stream = secure

    # --- worker ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            while (message := self._queue.get()) is not None:
                self._handle(message)
        except (OSError, MalformedMessageError, BackendLostError) as error:
            _LOG.debug("session %d ends: %s", self._session_id, error)
        except Exception:  # noqa: BLE001 - the edge of a thread: the client must hear of it, never hang
            _LOG.exception("session %d failed", self._session_id)
            self._fatal("The lab's endpoint failed inside; see its log.")
        finally:
            self._end()

    def _handle(self, message: Message) -> None:
        if message.type == PacketType.ATTENTION:
            Response(self._writer, self._shared.server_name).finish(attention=True)
            return
        if message.type == PacketType.LOGIN7:
            self._login(parse_login(message.payload))
            return
        session = self._session
        if session is None:
            raise MalformedMessageError("a request before the login")
        fault = self._fault(message)
        if fault is not None and fault.kind is FaultKind.DROP_BEFORE:
            raise ConnectionAbortedError("fault: dropped before the message was handled")
        response = Response(self._writer, self._shared.server_name)
        session.response = response
        session.facts.running, session.facts.last_request_start = True, now()
        try:
            self._request(session, response, message)
        except AttentionError:
            if self._gone:
                raise ConnectionAbortedError("the client went away") from None
            self._cancelled(session)
        except BackendLostError:
            response.error(
                SqlServerError(
                    596,
                    "Cannot continue the execution because the session is in the kill state.",
                    severity=21,
                )
            )
            response.statement_done(0, None, failed=True)
            response.finish()
            raise
        session.facts.running, session.facts.last_request_end = False, now()
        self._obey(fault)
        self._finish(session, response)

    def _fault(self, message: Message) -> Fault | None:
        if self._faults is None:
            return None
        return self._faults.of_message(lambda: message.payload.decode("utf-16-le", "replace"))

    def _obey(self, fault: Fault | None) -> None:
        if fault is None:
            return
        if fault.kind is FaultKind.DROP_AFTER:
            if self._faults is not None:
                self._faults.handled(fault)
            raise ConnectionAbortedError("fault: dropped before the reply")
        # The reader wakes the event when the client gives up.
        if self._session is not None:
            self._session.attention.wait(fault.seconds)

    def _finish(self, session: Session, response: Response) -> None:
        """End the reply; an attention that came in time is acknowledged inside it, a later one after it."""
        with self._mutex:
            attention = session.attention.is_set()
            session.attention.clear()
            self._unanswered -= 1
            gone = self._gone
        if gone:
            raise ConnectionAbortedError("the client went away")
        response.finish(attention=attention)

    def _cancelled(self, session: Session) -> None:
        """Keep the transaction open, unless XACT_ABORT or its state say otherwise."""
        transaction = session.transaction
        if transaction.count and (
            transaction.settings.xact_abort or transaction.doomed or transaction.must_end
        ):
            transaction.abandon()

    def _request(self, session: Session, response: Response, message: Message) -> None:
        if message.status & PacketStatus.RESET_CONNECTION:
            session.reset(keep_transaction=False)
            response.write(tokens.environment(tokens.EnvChange.RESET_CONNECTION, "", ""))
        elif message.status & PacketStatus.RESET_CONNECTION_KEEP_TRANSACTION:
            session.reset(keep_transaction=True)
            response.write(tokens.environment(tokens.EnvChange.RESET_CONNECTION, "", ""))
        if message.status & PacketStatus.IGNORE:
            response.statement_done(0, None, failed=True)
            return
        interpreter = Interpreter(session, response)
        match message.type:
            case PacketType.SQL_BATCH:
                text = skip_headers(message.payload).decode("utf-16-le", "surrogatepass")
                session.facts.last_batch = text
                interpreter.batch(text)
            case PacketType.RPC:
                try:
                    calls = parse_calls(skip_headers(message.payload))
                except SqlServerError as error:
                    response.error(error)
                    response.procedure_done(failed=True)
                    return
                remote = RemoteCalls(session, response, interpreter)
                for call in calls:
                    session.facts.last_batch = call.procedure
                    remote.run(call)
            case PacketType.TRANSACTION_MANAGER:
                run_request(session, response, skip_headers(message.payload))
            case _:
                response.error(unsupported(f"TDS message {message.type:#04x}"))
                response.statement_done(0, None, failed=True)

    def _login(self, login: Login) -> None:
        response = Response(self._writer, self._shared.server_name)
        try:
            session = self._open_session(login)
        except SqlServerError as error:
            response.error(error)
            response.statement_done(0, None, failed=True)
            response.finish()
            raise ConnectionAbortedError("login refused") from error
        with self._mutex:
            self._session = session
            self._unanswered -= 1
        size = admitted_packet_size(login.packet_size)
        database = self._shared.database
        response.write(tokens.environment(tokens.EnvChange.DATABASE, database, "master"))
        response.information(5701, f"Changed database context to '{database}'.", state=2)
        response.write(tokens.environment_bytes(tokens.EnvChange.COLLATION, tokens.COLLATION, b""))
        response.write(tokens.environment(tokens.EnvChange.LANGUAGE, "us_english", ""))
        response.information(5703, "Changed language setting to us_english.")
        response.write(tokens.login_acknowledgement())
        response.write(tokens.environment(tokens.EnvChange.PACKET_SIZE, str(size), str(DEFAULT_PACKET_SIZE)))
        if login.wants_feature_acknowledgement:
            response.write(tokens.feature_extension_acknowledgement())
        response.finish()
        self._writer.packet_size = size

    def _open_session(self, login: Login) -> Session:
        try:
            principal = self._shared.authenticate(login.user, login.password)
        except psycopg.OperationalError as error:
            raise _not_accepting() from error
        if principal is None:
            raise SqlServerError(Number.LOGIN_FAILED, f"Login failed for user '{login.user}'.", severity=14)
        if login.database and login.database.lower() != self._shared.database.lower():
            raise SqlServerError(
                4060,
                f'Cannot open database "{login.database}" requested by the login. The login failed.',
                severity=11,
            )
        settings = {
            **_BACKEND_SETTINGS,
            "dpone.session_id": str(self._session_id),
            "dpone.login_id": str(principal.login_id),
            "dpone.user_id": str(principal.user_id),
        }
        try:
            backend = Backend(self._shared.cluster.conninfo(), f"session {self._session_id}", settings)
        except psycopg.OperationalError as error:
            raise _not_accepting() from error
        facts = SessionFacts(
            session_id=self._session_id,
            login=principal.login,
            login_id=principal.login_id,
            user_id=principal.user_id,
            host_name=login.host_name,
            host_process_id=login.host_process_id,
            program_name=login.program_name,
            client_library=login.library,
            backend_pid=backend.pid,
        )
        session = Session(self._shared, backend, principal, facts)
        self._faults = self._plan.watch(session)
        self._shared.sessions.enter(facts)
        return session

    def _fatal(self, text: str) -> None:
        with contextlib.suppress(OSError):
            response = Response(self._writer, self._shared.server_name)
            response.error(SqlServerError(50000, text, severity=_FATAL_SEVERITY))
            response.statement_done(0, None, failed=True)
            response.finish()

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
        self._shared.sessions.leave(self._session_id)
        self.close()
        self._socket.close()


def _not_accepting() -> SqlServerError:
    return SqlServerError(
        17142, "SQL Server service has been paused. No new connections will be allowed.", severity=14
    )
