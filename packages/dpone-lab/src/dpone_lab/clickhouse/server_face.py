"""Serve the HTTP interface of a real ClickHouse library, with users, grants and row filters from configuration.

The library runs as clickhouse-local told to listen. Its own session is the user `default`, which is left nothing but
the right to start listening; everybody else is a configured user with a password.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import socket
import threading
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.error import URLError
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_LISTEN = (
    "SYSTEM START LISTEN HTTP; "
    "SELECT sleepEachRow(3) FROM system.numbers FORMAT Null SETTINGS max_block_size = 1"
)
_OWN_SESSION_GRANTS = ("GRANT SYSTEM LISTEN ON *.*", "GRANT SELECT ON system.numbers")


@dataclass(frozen=True, slots=True)
class LabUser:
    """A user of the lab's server: without `grants` it may do everything; `filters` are its row policies."""

    name: str
    password: str
    grants: Sequence[str] = ()
    filters: Mapping[tuple[str, str], str] | None = None


def users_document(users: Sequence[LabUser]) -> str:
    """Render ClickHouse's users configuration for these users and the library's own session."""
    own = LabUser("default", "", _OWN_SESSION_GRANTS)
    body = "".join(_user(user) for user in (own, *users))
    return f"<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users>{body}</users></clickhouse>\n"


def server_document(users_file: Path) -> str:
    """Render the configuration that makes the library read its users from `users_file`."""
    return f"<clickhouse><users_config>{escape(str(users_file))}</users_config></clickhouse>\n"


def write_configuration(directory: Path, users: Sequence[LabUser]) -> Path:
    """Write both documents into `directory`, readable by the owner only; return the server's."""
    users_file, server_file = directory / "users.xml", directory / "config.xml"
    _write_private(users_file, users_document(users))
    _write_private(server_file, server_document(users_file))
    return server_file


class LibraryServer:
    """The library's HTTP server in this process; runs in a thread until the process ends."""

    def __init__(self, library: Path, data: Path, port: int, configuration: Path) -> None:
        self._arguments = [
            "clickhouse", "--path", str(data), "--listen_host", "127.0.0.1", "--http_port", str(port),
            "--config-file", str(configuration), "--query", _LISTEN,
        ]  # fmt: skip
        self._library = ctypes.CDLL(str(library))
        self._url = f"http://127.0.0.1:{port}/ping"
        self._thread = threading.Thread(target=self._run, name="clickhouse", daemon=True)
        self.ended = threading.Event()
        self.fault = ""

    def start(self) -> None:
        """Start serving; return when the server answers, raise RuntimeError with its own text when it ended."""
        self._thread.start()
        while not self.ended.wait(0.02):
            try:
                with urllib.request.urlopen(self._url, timeout=5):  # noqa: S310 - a literal loopback http URL
                    return
            except (URLError, OSError):
                continue
        raise RuntimeError(self.fault or "the ClickHouse library ended without a message")

    def _run(self) -> None:
        run = self._library.chdb_query_cmdline
        run.restype, run.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
        error = self._library.chdb_result_error
        error.restype, error.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
        arguments = [argument.encode() for argument in self._arguments]
        result = run(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
        message = error(result) if result else None
        self.fault = message.decode(errors="replace") if message else ""
        self.ended.set()


def version(port: int, user: str, password: str) -> str:
    """Ask the server for its version as `user`; '' when a configuration in place of ours doesn't know that user."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/?query=SELECT%20version()")
    request.add_header("X-ClickHouse-User", user)
    request.add_header("X-ClickHouse-Key", password)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            text: bytes = answer.read()
            return text.decode().strip()
    except URLError:
        return ""


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _user(user: LabUser) -> str:
    secret = (
        f"<password_sha256_hex>{hashlib.sha256(user.password.encode()).hexdigest()}</password_sha256_hex>"
        if user.password
        else "<password></password>"
    )
    grants = "".join(f"<query>{escape(grant)}</query>" for grant in user.grants)
    rights = f"<grants>{grants}</grants>" if grants else "<access_management>1</access_management>"
    databases = "".join(
        f"<database name={quoteattr(database)}><table name={quoteattr(table)}><filter>{escape(rule)}</filter></table></database>"
        for (database, table), rule in (user.filters or {}).items()
    )
    filters = f"<databases>{databases}</databases>" if databases else ""
    return (
        f"<{user.name}>{secret}<networks><ip>127.0.0.1</ip></networks>"
        f"<profile>default</profile><quota>default</quota>{rights}{filters}</{user.name}>"
    )


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
