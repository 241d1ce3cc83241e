"""The endpoint: a listener on loopback, its sessions, and the PostgreSQL cluster below them."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.catalog import install, mark_started, set_password
from dpone_lab.sqlserver.cluster import Cluster
from dpone_lab.sqlserver.connection import Connection
from dpone_lab.sqlserver.faults import FaultPlan
from dpone_lab.sqlserver.shared import Shared
from dpone_lab.sqlserver.wire.prelogin import server_tls_context

if TYPE_CHECKING:
    from pathlib import Path
from typing import Self

_LOOPBACK = "127.0.0.1"
_BACKLOG = 128


class Endpoint:
    """A SQL Server endpoint over one data directory, for tests and for the process of `python -m dpone_lab.sqlserver`.

    `sa_password` becomes the password of login `sa`. `row_versioning` is READ_COMMITTED_SNAPSHOT: readers
    don't wait for writers. `faults` names the control file of `faults.py`.
    """

    def __init__(
        self,
        data: Path,
        sa_password: str,
        *,
        database: str = "lab",
        port: int = 0,
        row_versioning: bool = False,
        faults: Path | None = None,
    ) -> None:
        self.cluster = Cluster(data, database)
        self.shared = Shared(self.cluster, row_versioning=row_versioning)
        self.faults = FaultPlan(faults)
        self.port = port
        self._password = sa_password
        self._tls = server_tls_context()
        self._listener: socket.socket | None = None

    def start(self) -> None:
        """Bring up PostgreSQL, recover, and listen.

        OSError when the port is taken, ClusterInUseError when another endpoint serves the directory.
        """
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((_LOOPBACK, self.port))
            self._prepare()
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            self.cluster.stop()
            raise
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), name="listener", daemon=True).start()

    def _prepare(self) -> None:
        self.cluster.start()
        with self.cluster.connect(autocommit=False) as admin:
            installed = admin.execute("SELECT to_regnamespace('_lab') IS NOT NULL").fetchone()
            if not (installed and installed[0]):
                install(admin, self.cluster.database)
            set_password(admin, "sa", self._password)
            mark_started(admin)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _address = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                Connection(client, self.shared, self._tls, self.faults).start()

    def stop(self) -> None:
        """Close every connection, the listener and PostgreSQL."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.shared.sessions.end_all()
        self.shared.close()
        self.cluster.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()
