"""What all sessions of one endpoint share: locks, the list of sessions, domains, and the lab's own connection."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from dpone_lab.sqlserver.catalog import Generation, Principal, authenticate
from dpone_lab.sqlserver.locks import LockTable
from dpone_lab.sqlserver.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from dpone_lab.sqlserver.cluster import Cluster
    from dpone_lab.sqlserver.language.types import Domain

SERVER_NAME = "DPONE-LAB"
T = TypeVar("T")


def _execute(sql: str, connection: psycopg.Connection[Any]) -> None:
    connection.execute(sql.encode())


@dataclass(slots=True)
class Shared:
    """The endpoint behind its sessions; `row_versioning` is READ_COMMITTED_SNAPSHOT for readers."""

    cluster: Cluster
    row_versioning: bool
    locks: LockTable = field(default_factory=LockTable)
    sessions: Sessions = field(default_factory=Sessions)
    generation: Generation = field(default_factory=Generation)
    server_name: str = SERVER_NAME
    record: Path | None = None
    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _admin: psycopg.Connection[Any] | None = None
    _domains: set[str] = field(default_factory=set)

    def note(self, kind: str, **facts: object) -> None:
        """Append a statement, or an error that a client got, to the record, when one is kept."""
        record = self.record
        if record is None:
            return
        line = json.dumps({"kind": kind, **facts}) + "\n"
        with self._mutex, record.open("a") as lines:
            lines.write(line)

    @property
    def database(self) -> str:
        """Return the name of the one database."""
        return self.cluster.database

    def ensure_domains(self, domains: Iterable[Domain]) -> None:
        """Create the domains that a plan needs, committed at once on the lab's own connection."""
        missing = [domain for domain in domains if domain.name not in self._domains]
        if not missing:
            return
        for domain in missing:
            self.administer(partial(_execute, domain.create_sql))
            self._domains.add(domain.name)

    def authenticate(self, login: str, password: str) -> Principal | None:
        """Return who logs in, None for an unknown login or a wrong password; 4060 without a user."""
        return self.administer(lambda admin: authenticate(admin, login, password))

    def administer(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Do something idempotent on the lab's own connection; once more when PostgreSQL was restarted since."""
        with self._mutex:
            try:
                return work(self._connection())
            except psycopg.OperationalError:
                if self._admin is None or not self._admin.broken:
                    raise
                return work(self._connection())

    def close(self) -> None:
        """Close the lab's own connection."""
        with self._mutex:
            if self._admin is not None:
                self._admin.close()
                self._admin = None

    def _connection(self) -> psycopg.Connection[Any]:
        if self._admin is None or self._admin.closed or self._admin.broken:
            self._admin = self.cluster.connect()
        return self._admin
