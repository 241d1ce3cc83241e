"""One disposable profile: engines in a directory of their own, on random loopback ports, with random passwords."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import select
import shutil
import socket
import subprocess
import sys
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from dpone_contracts.errors import DponeError
from dpone_lab.odbc import find_driver, open_connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEFAULT_DIRECTORY = Path(".lab")
MARKER_FILE = "DISPOSABLE"
MARKER_TEXT = "This directory belongs to `dpone lab` and is removed by `dpone lab down`.\n"
MARKER_PROPERTY = "dpone.lab.marker"
PROFILE_FILE = "profile.json"
DATABASE = "lab"

MSSQL_VARIABLE = "DPONE_MSSQL_DSN"
CLICKHOUSE_VARIABLE = "DPONE_CLICKHOUSE_DSN"
STORE_VARIABLE = "DPONE_OBJECT_STORE"

_READY_SECONDS = 60
_STOP_SECONDS = 30
_NEEDED_BYTES = 512 * 1024 * 1024
_FULL_BYTES = 32 * 1024 * 1024
_LOOPBACK = "127.0.0.1"


class LabError(DponeError):
    """The lab can't do what was asked; the message is for a person, without values of theirs."""


@dataclass(frozen=True, slots=True)
class LabProcess:
    """A process that the lab started: its start time (seconds since the epoch) tells it from a later one of its pid."""

    name: str
    pid: int
    started: float


@dataclass(frozen=True, slots=True)
class LabProfile:
    """What a running lab consists of; ``marker`` is also the database's extended property ``dpone.lab.marker``.

    ``mssql_dsn`` is an ODBC connection string, ``clickhouse_dsn`` an HTTP URL with credentials, ``object_store``
    an fsspec URL. ``processes`` are the lab's own: a real engine put in place by a variable has none.
    """

    directory: str
    marker: str
    mssql_dsn: str
    clickhouse_dsn: str
    object_store: str
    odbc_driver: str
    processes: tuple[LabProcess, ...]

    def environment(self) -> dict[str, str]:
        """Return the variables by which the product finds the engines."""
        return {
            MSSQL_VARIABLE: self.mssql_dsn,
            CLICKHOUSE_VARIABLE: self.clickhouse_dsn,
            STORE_VARIABLE: self.object_store,
        }


def up(
    directory: Path = DEFAULT_DIRECTORY,
    *,
    mssql_port: int = 0,
    clickhouse_port: int = 0,
    driver: str | None = None,
) -> LabProfile:
    """Start the engines in a new directory and write its profile.

    ``DPONE_MSSQL_DSN``, ``DPONE_CLICKHOUSE_DSN`` and ``DPONE_OBJECT_STORE`` put a real engine in an engine's
    place. Raises :class:`LabError` and leaves nothing behind when anything can't start.
    """
    directory = directory.absolute()
    for port in (mssql_port, clickhouse_port):
        _require_free_port(port)
    _require_free_directory(directory)
    started: list[LabProcess] = []
    try:
        _create(directory)
        profile = _start(directory, started, mssql_port, clickhouse_port, driver)
        _write_private(directory / PROFILE_FILE, json.dumps(asdict(profile), indent=2) + "\n")
    except BaseException as fault:
        full = isinstance(fault, Exception) and _came_of_a_full_disk(fault, directory)
        stop_processes(started)
        _remove(directory, ignore_errors=True)
        if full:
            raise _no_space(directory) from fault
        raise
    return profile


def read_profile(directory: Path = DEFAULT_DIRECTORY) -> LabProfile:
    """Read the profile of a directory that `up` made; :class:`LabError` when there is none."""
    path = directory / PROFILE_FILE
    try:
        fields = json.loads(path.read_text())
        return LabProfile(
            **{**fields, "processes": tuple(LabProcess(**each) for each in fields["processes"])}
        )
    except FileNotFoundError:
        raise LabError("DPONE_LAB_NOT_HERE", f"no lab here: {directory} has no {PROFILE_FILE}") from None
    except (json.JSONDecodeError, KeyError, TypeError) as fault:
        raise LabError("DPONE_LAB_NOT_HERE", f"{path} is not a lab's profile") from fault


def down(directory: Path = DEFAULT_DIRECTORY) -> list[LabProcess]:
    """Stop the lab's processes and remove its directory; return those that were still running.

    A process is stopped only when its pid still belongs to the process that the profile names. A directory
    without the lab's marker file is refused.
    """
    directory = directory.absolute()
    if not directory.exists():
        raise LabError("DPONE_LAB_NOT_HERE", f"no lab here: {directory.name} does not exist")
    _require_marker(directory)
    stopped: list[LabProcess] = []
    if (directory / PROFILE_FILE).exists():
        stopped = stop_processes(read_profile(directory).processes)
    _remove(directory)
    return stopped


@contextlib.contextmanager
def running_lab(directory: Path, **options: Any) -> Iterator[LabProfile]:
    """Run a lab for the duration of a block; ``options`` are those of :func:`up`."""
    profile = up(directory, **options)
    try:
        with a_full_disk_is_told(directory):
            yield profile
    finally:
        down(directory)


@contextlib.contextmanager
def a_full_disk_is_told(directory: Path) -> Iterator[None]:
    """Raise DPONE_LAB_NO_SPACE for whatever goes wrong inside while the disk of a directory is full."""
    try:
        yield
    except Exception as fault:
        if _came_of_a_full_disk(fault, directory):
            raise _no_space(directory) from fault
        raise


def _no_space(directory: Path) -> LabError:
    return LabError("DPONE_LAB_NO_SPACE", f"no space left for the lab under {directory.name}")


def _came_of_a_full_disk(fault: Exception, directory: Path) -> bool:
    """Tell whether a failure names the full disk itself, or came where there is no room for one more segment of a log."""
    if isinstance(fault, OSError) and fault.errno == errno.ENOSPC:
        return True
    if isinstance(fault, LabError) and fault.code == "DPONE_LAB_NO_SPACE":
        return False
    if os.strerror(errno.ENOSPC) in str(fault):
        return True
    return directory.exists() and shutil.disk_usage(directory).free < _FULL_BYTES


# --- starting -----------------------------------------------------------------------------------------------------


def _start(
    directory: Path, started: list[LabProcess], mssql_port: int, clickhouse_port: int, driver: str | None
) -> LabProfile:
    profile = LabProfile(
        directory=str(directory),
        marker=str(uuid.uuid4()),
        mssql_dsn=os.environ.get(MSSQL_VARIABLE, ""),
        clickhouse_dsn=os.environ.get(CLICKHOUSE_VARIABLE, ""),
        object_store=os.environ.get(STORE_VARIABLE, ""),
        odbc_driver=find_driver(driver),
        processes=(),
    )
    if profile.mssql_dsn:
        # A database that is put in the lab's place brings its own marker, or none.
        profile = replace(profile, marker=disposable_marker(profile.mssql_dsn) or "")
    # Both start at once: each waits for its disk and its imports.
    mssql = None if profile.mssql_dsn else _spawn_mssql(directory, started, mssql_port)
    clickhouse = None if profile.clickhouse_dsn else _spawn_clickhouse(directory, started, clickhouse_port)
    if mssql is not None:
        profile = replace(profile, mssql_dsn=_mssql_dsn(mssql, profile.odbc_driver))
        mark_disposable(profile.mssql_dsn, profile.marker)
    if clickhouse is not None:
        address = f"{_LOOPBACK}:{clickhouse.ready()['port']}"
        profile = replace(profile, clickhouse_dsn=f"http://lab:{clickhouse.password}@{address}/")
    if not profile.object_store:
        store = directory / "objects"
        store.mkdir()
        profile = replace(profile, object_store=store.as_uri())
    return replace(profile, processes=tuple(started))


def _spawn_mssql(directory: Path, started: list[LabProcess], port: int) -> _Engine:
    module = ["dpone_lab.sqlserver", "--database", DATABASE, "--port", str(port)]
    return _spawn("SQL Server endpoint", module, directory / "mssql", started)


def _spawn_clickhouse(directory: Path, started: list[LabProcess], port: int) -> _Engine:
    module = ["dpone_lab.clickhouse", "--user", "lab", "--port", str(port)]
    return _spawn("ClickHouse", module, directory / "clickhouse", started)


def _mssql_dsn(engine: _Engine, driver: str) -> str:
    port = engine.ready()["port"]
    return (
        f"DRIVER={{{driver}}};SERVER={_LOOPBACK},{port};PORT={port};DATABASE={DATABASE};UID=sa;"
        f"PWD={{{engine.password}}};Encrypt=no;TrustServerCertificate=yes;TDS_Version=7.4"
    )


def disposable_marker(dsn: str) -> str | None:
    """The disposable marker that a database carries, or None; nothing is written."""
    with contextlib.closing(open_connection(dsn)) as connection:
        row = connection.execute(
            "SELECT CONVERT(nvarchar(64), value) FROM sys.extended_properties"
            f" WHERE class = 0 AND name = N'{MARKER_PROPERTY}'"
        ).fetchone()
    return None if row is None else str(row[0])


def require_disposable(profile: LabProfile) -> None:
    """Refuse a database without this lab's marker before anything is written to it."""
    if not profile.marker or disposable_marker(profile.mssql_dsn) != profile.marker:
        raise DponeError(
            "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE",
            "the database does not carry the lab's disposable marker; nothing was written to it",
        )


def mark_disposable(dsn: str, marker: str) -> None:
    """Write the disposable marker into a database: its extended property ``dpone.lab.marker``."""
    with contextlib.closing(open_connection(dsn)) as connection:
        connection.execute(
            f"EXEC sys.sp_addextendedproperty @name = N'{MARKER_PROPERTY}', @value = N'{uuid.UUID(marker)}'"
        )


@dataclass(frozen=True, slots=True)
class _Engine:
    """A process that is coming up: it prints one JSON line when it is ready."""

    name: str
    password: str
    log: Path
    child: subprocess.Popen[bytes]

    def ready(self) -> dict[str, Any]:
        """Wait for the ready line and return it; :class:`LabError` with the process's own words when none comes."""
        output = self.child.stdout
        readable, _, _ = select.select([output], [], [], _READY_SECONDS)
        line = output.readline() if output is not None and readable else b""
        if not line:
            self.child.kill()
            self.child.wait()
            if os.strerror(errno.ENOSPC) in self.log.read_text(errors="replace"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise LabError(
                "DPONE_LAB_ENGINE_FAILED", f"the lab's {self.name} did not start: {_last_line(self.log)}"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def _spawn(name: str, module: list[str], folder: Path, started: list[LabProcess]) -> _Engine:
    """Start a process over a folder of its own, and note it in ``started`` as soon as it exists."""
    folder.mkdir()
    password, log = secrets.token_urlsafe(24), folder / "log"
    _write_private(folder / "password", password)
    command = [sys.executable, "-m", *module, "--data", str(folder / "data")]
    command += ["--password-file", str(folder / "password")]
    with log.open("wb") as errors:
        # A session of its own: a signal to the caller's group must not reach the engine.
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
    try:
        started.append(LabProcess(name, child.pid, psutil.Process(child.pid).create_time()))
    except psutil.NoSuchProcess:
        raise LabError(
            "DPONE_LAB_ENGINE_FAILED", f"the lab's {name} did not start: {_last_line(log)}"
        ) from None
    return _Engine(name, password, log, child)


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "it ended without a word"


# --- directory, ports, processes ----------------------------------------------------------------------------------


def _require_free_directory(directory: Path) -> None:
    if directory.exists() and any(directory.iterdir()):
        if (directory / MARKER_FILE).is_file():
            raise LabError(
                "DPONE_LAB_DIRECTORY_TAKEN",
                f"{directory.name} already holds a lab: `dpone lab down` stops and removes it, running or stale",
            )
        raise LabError(
            "DPONE_LAB_DIRECTORY_TAKEN",
            f"{directory.name} exists, isn't empty and isn't a lab's: choose another directory",
        )


def _create(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o711)
    if shutil.disk_usage(directory).free < _NEEDED_BYTES:
        raise LabError(
            "DPONE_LAB_NO_SPACE", f"no space left for the lab: {_NEEDED_BYTES // 2**20} MiB are needed"
        )
    (directory / MARKER_FILE).write_text(MARKER_TEXT)


def _remove(directory: Path, *, ignore_errors: bool = False) -> None:
    """Remove a lab's directory, after what a killed endpoint could not end or take away."""
    from dpone_lab.sqlserver.cluster import Cluster  # noqa: PLC0415 - the engine's package, not needed to read a profile

    Cluster(directory / "mssql" / "data", DATABASE).abandon()
    shutil.rmtree(directory, ignore_errors=ignore_errors)


def _require_marker(directory: Path) -> None:
    marker = directory / MARKER_FILE
    if not marker.is_file() or marker.read_text() != MARKER_TEXT:
        raise LabError(
            "DPONE_LAB_NOT_HERE",
            f"{directory.name} isn't a lab's directory: it has no {MARKER_FILE} file; nothing was touched",
        )


def _require_free_port(port: int) -> None:
    if port:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_LOOPBACK, port))
            except OSError as fault:
                raise LabError(
                    "DPONE_LAB_PORT_TAKEN", f"port {port} is taken: free it or choose another"
                ) from fault


def stop_processes(processes: Iterable[LabProcess]) -> list[LabProcess]:
    """End those processes that are still the ones that were started, all at once; return them."""
    found = {process: running for process in processes if (running := _running(process)) is not None}
    for running in found.values():
        with contextlib.suppress(psutil.NoSuchProcess):
            running.terminate()
    _, stubborn = psutil.wait_procs(list(found.values()), timeout=_STOP_SECONDS)
    for running in stubborn:
        running.kill()
    psutil.wait_procs(stubborn, timeout=_STOP_SECONDS)
    return list(found)


def _running(process: LabProcess) -> psutil.Process | None:
    try:
        found = psutil.Process(process.pid)
        same = found.create_time() == process.started and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return found if same else None


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
