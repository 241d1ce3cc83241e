"""Read one request of ClickHouse's HTTP interface into a statement with its settings and parameters."""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import lz4.frame
from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Mapping

# Parameters of the transport: they say how to answer and never reach the engine as settings.
_TRANSPORT = frozenset(
    {
        "query", "database", "default_format", "query_id", "session_id", "session_timeout", "session_check",
        "user", "password", "quota_key", "compress", "decompress", "wait_end_of_query", "buffer_size",
        "client_protocol_version", "role", "enable_http_compression", "send_progress_in_http_headers",
        "http_headers_progress_interval_ms", "http_make_head_request", "cancel_http_readonly_queries_on_client_close",
        "stacktrace", "close_session",
    }
)  # fmt: skip


class RequestError(Exception):
    """The request cannot be served; carries ClickHouse's error code and the HTTP status."""

    def __init__(self, code: int, name: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.name, self.message, self.status = code, name, message, status


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement as the client sent it, apart from transport."""

    text: bytes
    settings: dict[str, str]
    parameters: dict[str, str]
    database: str | None
    default_format: str
    query_id: str | None
    session_id: str | None
    read_only: bool


def read_statement(method: str, target: str, headers: Mapping[str, str], body: bytes) -> StatementRequest:
    """Build the statement of a request whose header names are in lower case; raise `RequestError` for what this face doesn't serve."""
    pairs = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
    if headers.get("content-type", "").startswith("multipart/form-data"):
        raise RequestError(48, "NOT_IMPLEMENTED", "The lab's HTTP face takes no multipart requests", 501)
    if pairs.get("decompress") in {"1", "true"} or pairs.get("compress") in {"1", "true"}:
        raise RequestError(48, "NOT_IMPLEMENTED", "The lab's HTTP face takes HTTP compression only", 501)
    content = _decoded(body, headers.get("content-encoding", "identity"))
    query = pairs.get("query", "").encode()
    return StatementRequest(
        text=query + b"\n" + content if query and content else query or content,
        settings={name: value for name, value in pairs.items() if _is_setting(name)},
        parameters={n.removeprefix("param_"): v for n, v in pairs.items() if n.startswith("param_")},
        database=pairs.get("database") or headers.get("x-clickhouse-database"),
        default_format=pairs.get("default_format") or headers.get("x-clickhouse-format") or "TabSeparated",
        query_id=pairs.get("query_id"),
        session_id=pairs.get("session_id"),
        read_only=method == "GET",
    )


def credentials(target: str, headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the user and password of a request, from wherever ClickHouse accepts them (header names in lower case)."""
    authorization = headers.get("authorization", "")
    if authorization.startswith("Basic "):
        try:
            user, _, password = base64.b64decode(authorization[6:], validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError) as fault:
            raise RequestError(516, "AUTHENTICATION_FAILED", "Invalid Authorization header", 403) from fault
        return user, password
    if "x-clickhouse-user" in headers or "x-clickhouse-key" in headers:
        return headers.get("x-clickhouse-user", "default"), headers.get("x-clickhouse-key", "")
    pairs = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
    return pairs.get("user", "default"), pairs.get("password", "")


def _is_setting(name: str) -> bool:
    return name not in _TRANSPORT and not name.startswith("param_")


def _decoded(body: bytes, encoding: str) -> bytes:
    match encoding.lower():
        case "" | "identity":
            return body
        case "gzip":
            return gzip.decompress(body)
        case "deflate":
            return zlib.decompress(body)
        case "lz4":
            plain: bytes = lz4.frame.decompress(body)
            return plain
        case "zstd":
            return zstd.decompress(body)
        case other:
            raise RequestError(48, "NOT_IMPLEMENTED", f"Unsupported Content-Encoding {other}", 501)
