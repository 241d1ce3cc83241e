"""Serve ClickHouse's HTTP interface on loopback over the embedded engine.

Not carried over from a server: query ids inside the engine (a caller's `query_id` is echoed, `log_comment` is seen
in `system.processes`), KILL QUERY by query id, users beside the one, row policies, the asynchronous insert queue,
streamed results and external tables.
"""

from __future__ import annotations

import hmac
import json
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from dpone_lab.clickhouse.engine import Answer, Engine, StatementError
from dpone_lab.clickhouse.request import RequestError, credentials, read_statement

if TYPE_CHECKING:
    from email.message import Message
    from pathlib import Path

_STATUS = {
    36: 400, 41: 400, 43: 400, 44: 400, 47: 404, 53: 400, 60: 404, 62: 400, 81: 404, 115: 400, 117: 400,
    158: 413, 164: 403, 193: 403, 194: 403, 497: 403, 516: 403,
}  # fmt: skip
_CONTENT_TYPES = {
    "JSON": "application/json; charset=UTF-8",
    "JSONCompact": "application/json; charset=UTF-8",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "Native": "application/octet-stream",
    "Parquet": "application/octet-stream",
}


class ChdbServer(ThreadingHTTPServer):
    """A loopback HTTP server in front of one engine, for one user."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, data: Path, user: str, password: str) -> None:
        self.engine = Engine(data)
        self._user, self._password = user, password
        super().__init__(("127.0.0.1", port), _Exchange)

    def check(self, user: str, password: str) -> None:
        """Refuse anybody but the lab's user, with ClickHouse's own error."""
        right_user = hmac.compare_digest(user.encode(), self._user.encode())
        right_password = hmac.compare_digest(password.encode(), self._password.encode())
        if not (right_user and right_password):
            raise RequestError(
                516,
                "AUTHENTICATION_FAILED",
                f"{user}: Authentication failed: password is incorrect, or there is no user with such name.",
                403,
            )


class _Headers(dict[str, str]):
    """A request's headers under their names in lower case: HTTP names know no case."""

    def __init__(self, headers: Message[str, str]) -> None:
        super().__init__((name.lower(), value) for name, value in headers.items())


class _Exchange(BaseHTTPRequestHandler):
    """One connection's requests, answered one after another."""

    server: ChdbServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = True
    wbufsize = 1 << 16

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        if path.path == "/ping" or (path.path == "/" and not path.query):
            self._send(200, b"Ok.\n", {"Content-Type": "text/html; charset=UTF-8"})
        else:
            self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep requests out of the log: a URL may carry values."""

    def _answer(self) -> None:
        body = self._body()
        query_id, headers = str(uuid.uuid4()), _Headers(self.headers)
        try:
            self.server.check(*credentials(self.path, headers))
            request = read_statement(self.command, self.path, headers, body)
            query_id = request.query_id or query_id
            answer = self.server.engine.run(request)
        except RequestError as refusal:
            text = f"DB::Exception: {refusal.message} ({refusal.name})"
            self._send_error(refusal.code, text, refusal.status, query_id)
        except StatementError as failure:
            self._send_error(failure.code, failure.message, _STATUS.get(failure.code, 500), query_id)
        else:
            self._send_answer(answer, query_id)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunks()
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in {b"\r\n", b"\n", b""}:
            continue
        return b"".join(parts)

    def _send_answer(self, answer: Answer, query_id: str) -> None:
        headers = {
            "X-ClickHouse-Query-Id": query_id,
            "X-ClickHouse-Summary": json.dumps(answer.summary, separators=(",", ":")),
            "X-ClickHouse-Timezone": self.server.engine.timezone,
            "X-ClickHouse-Server-Display-Name": "dpone-lab",
        }
        if answer.format_name is not None:
            headers["X-ClickHouse-Format"] = answer.format_name
        headers["Content-Type"] = _CONTENT_TYPES.get(answer.format_name or "", "text/plain; charset=UTF-8")
        self._send(200, answer.body, headers)

    def _send_error(self, code: int, text: str, status: int, query_id: str) -> None:
        version = self.server.engine.version
        trailer = "" if "(version " in text else f" (version {version} (official build))"
        headers = {
            "X-ClickHouse-Exception-Code": str(code),
            "X-ClickHouse-Query-Id": query_id,
            "Content-Type": "text/plain; charset=UTF-8",
        }
        self._send(status, f"Code: {code}. {text}{trailer}\n".encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            # The client went away; the statement has run to its end, as on a server.
            self.close_connection = True
