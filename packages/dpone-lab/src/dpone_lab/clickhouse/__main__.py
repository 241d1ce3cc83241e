"""Run the lab's ClickHouse until SIGTERM; prints one JSON line when it is ready."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpone_lab.clickhouse import library, server_face

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the chosen face; exit 0 after SIGTERM, 1 with one line on stderr when it cannot start."""
    options = _options().parse_args(arguments)
    stop = threading.Event()
    try:
        password = options.password_file.read_text().rstrip("\n")
        _require_free(options.port)
        options.data.mkdir(parents=True, exist_ok=True)
        served = (
            _serve_chdb(options, password)
            if options.face == "chdb"
            else _serve_library(options, password, stop)
        )
    except (OSError, RuntimeError, library.LibraryUnavailableError) as fault:
        print(f"the lab's ClickHouse cannot start: {fault}", file=sys.stderr)  # noqa: T201
        return 1
    # The engines install handlers of their own: ours comes after theirs.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # Ready is told last: who reads it may send SIGTERM at once.
    _print_ready(served, options.face)
    stop.wait()
    served.end()
    sys.stdout.flush()
    # Neither engine's background threads are worth waiting for: what was acknowledged is on disk.
    os._exit(0)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dpone_lab.clickhouse", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="data directory; one process at a time")
    parser.add_argument("--port", type=int, default=0, help="loopback port, 0 for a free one")
    parser.add_argument("--user", default="lab")
    parser.add_argument("--password-file", type=Path, required=True)
    parser.add_argument("--face", choices=("chdb", "server"), default="chdb")
    parser.add_argument(
        "--library", type=Path, help=f"shared library of the server face (or {library.LIBRARY_VARIABLE})"
    )
    parser.add_argument(
        "--config-file",
        type=Path,
        help="users, grants and filters for the server face, in place of the one user",
    )
    return parser


@dataclass(frozen=True, slots=True)
class _Served:
    """A face that answers, and how to end it."""

    port: int
    version: str
    end: Callable[[], None]


def _serve_chdb(options: argparse.Namespace, password: str) -> _Served:
    # The engine is half a gigabyte: only this face loads it.
    from dpone_lab.clickhouse.chdb_face import ChdbServer  # noqa: PLC0415

    server = ChdbServer(options.port, options.data, options.user, password)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()

    def end() -> None:
        server.shutdown()
        server.server_close()

    return _Served(server.server_port, server.engine.version, end)


def _serve_library(options: argparse.Namespace, password: str, stop: threading.Event) -> _Served:
    port = options.port or server_face.free_port()
    configuration = options.config_file
    if configuration is None:
        private = Path(tempfile.mkdtemp(prefix="clickhouse-", dir=options.data.parent))
        configuration = server_face.write_configuration(
            private, [server_face.LabUser(options.user, password)]
        )
    server = server_face.LibraryServer(options.library or library.find(), options.data, port, configuration)
    server.start()

    def watch() -> None:
        server.ended.wait()
        stop.set()

    threading.Thread(target=watch, name="watch", daemon=True).start()

    def end() -> None:
        """Nothing to undo: the library ends with the process."""

    return _Served(port, server_face.version(port, options.user, password), end)


def _require_free(port: int) -> None:
    if port:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as fault:
                raise OSError(f"port {port} of 127.0.0.1 is taken") from fault


def _print_ready(served: _Served, face: str) -> None:
    ready = {
        "url": f"http://127.0.0.1:{served.port}",
        "port": served.port,
        "pid": os.getpid(),
        "face": face,
        "version": served.version,
    }
    print(json.dumps(ready), flush=True)  # noqa: T201


if __name__ == "__main__":
    raise SystemExit(main())
