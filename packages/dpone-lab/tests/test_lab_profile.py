"""The disposable directory: what up makes, what down takes away, and what both refuse."""

from __future__ import annotations

import errno
import json
import socket
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from typer.testing import CliRunner

from dpone_contracts.errors import DponeError, ExitClass
from dpone_lab import odbc, profile
from dpone_lab.cli import app
from dpone_lab.sqlserver.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for a lab whose ClickHouse is somebody else's: only the SQL endpoint is started.

    It is not below pytest's own folders: each run of pytest closes them for every other account, and the database's
    account could not pass any more.
    """
    monkeypatch.delenv(profile.MSSQL_VARIABLE, raising=False)
    monkeypatch.delenv(profile.STORE_VARIABLE, raising=False)
    monkeypatch.setenv(profile.CLICKHOUSE_VARIABLE, "http://elsewhere:8123/")
    with tempfile.TemporaryDirectory(prefix="dpone-lab-test-") as parent:
        Path(parent).chmod(0o711)
        yield Path(parent) / "lab"


def processes_of(directory: Path) -> list[list[str]]:
    """The command lines of running processes that name a directory."""
    found = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return [command for command in found if any(str(directory) in argument for argument in command)]


def marker_of(dsn: str) -> str:
    with closing(odbc.open_connection(dsn)) as connection:
        query = (
            "SELECT CONVERT(nvarchar(64), value) FROM sys.extended_properties WHERE class = 0 AND name = ?"
        )
        return str(connection.execute(query, profile.MARKER_PROPERTY).fetchval())


@pytest.mark.engine
def test_up_starts_a_marked_database_and_down_leaves_nothing(directory: Path) -> None:
    with profile.running_lab(directory) as lab:
        assert marker_of(lab.mssql_dsn) == lab.marker
        assert lab.clickhouse_dsn == "http://elsewhere:8123/"
        assert lab.object_store == (directory / "objects").as_uri()
        assert profile.read_profile(directory) == lab
        assert (directory / profile.PROFILE_FILE).stat().st_mode & 0o077 == 0
        (process,) = lab.processes
        assert psutil.pid_exists(process.pid)
        children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        assert children
    assert not directory.exists()
    assert not any(psutil.pid_exists(pid) for pid in [process.pid, *children])


@pytest.mark.engine
def test_the_commands_print_dsns_and_end_the_lab(directory: Path) -> None:
    runner = CliRunner()
    started = runner.invoke(app, ["up", "--directory", str(directory)])
    assert started.exit_code == 0, started.output
    # As a shell takes them: pasted, not read.
    shell = subprocess.run(
        ["/bin/sh", "-ec", started.stdout + f'printf %s "${profile.MSSQL_VARIABLE}"'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert marker_of(shell.stdout) == profile.read_profile(directory).marker
    again = runner.invoke(app, ["up", "--directory", str(directory)])
    assert (again.exit_code, "already holds a lab" in again.output) == (1, True)
    ended = runner.invoke(app, ["down", "--directory", str(directory)])
    assert (ended.exit_code, "SQL Server endpoint" in ended.output) == (0, True)
    assert not directory.exists()


@pytest.mark.engine
def test_a_server_that_refuses_the_password_is_one_clear_error_without_it_and_leaves_no_trace(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with profile.running_lab(directory) as lab:
        dsn = lab.mssql_dsn.replace("PWD={", "PWD={canary-")
        monkeypatch.setenv(profile.MSSQL_VARIABLE, dsn)
        result = CliRunner().invoke(app, ["up", "--directory", str(tmp_path / "other")])
    assert (result.exit_code, "DPONE_LAB_CANNOT_CONNECT" in result.output) == (1, True)
    assert "canary" not in result.output
    assert not (tmp_path / "other").exists()


@pytest.mark.engine
def test_the_commands_print_json_for_programs(directory: Path) -> None:
    started = CliRunner().invoke(app, ["up", "--directory", str(directory), "--format", "json"])
    try:
        printed = json.loads(started.stdout)
        assert marker_of(printed[profile.MSSQL_VARIABLE]) == printed["marker"]
    finally:
        profile.down(directory)


@pytest.mark.engine
def test_two_labs_have_other_ports_passwords_and_markers(directory: Path) -> None:
    with profile.running_lab(directory) as one, profile.running_lab(directory.parent / "second") as other:
        assert one.mssql_dsn != other.mssql_dsn
        assert marker_of(one.mssql_dsn) != marker_of(other.mssql_dsn)


@pytest.mark.engine
def test_a_driver_that_is_not_there_is_one_clear_error_and_leaves_no_trace(directory: Path) -> None:
    result = CliRunner().invoke(app, ["up", "--directory", str(directory), "--driver", "No Such Driver"])
    assert (result.exit_code, "No Such Driver" in result.output) == (1, True)
    assert not directory.exists()


def test_a_taken_port_is_refused_before_anything_is_made(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(profile.LabError, match="is taken"):
        profile.up(directory, mssql_port=taken.getsockname()[1])
    assert not directory.exists()


def test_up_refuses_a_directory_of_somebody_else_and_touches_nothing(directory: Path) -> None:
    directory.mkdir()
    (directory / "thesis.txt").write_text("mine")
    with pytest.raises(profile.LabError, match="isn't a lab's"):
        profile.up(directory)
    with pytest.raises(profile.LabError, match="nothing was touched"):
        profile.down(directory)
    assert [path.name for path in directory.iterdir()] == ["thesis.txt"]


def test_a_full_disk_is_one_clear_error(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "_NEEDED_BYTES", 2**62)
    with pytest.raises(profile.LabError, match="no space left"):
        profile.up(directory)
    assert not directory.exists()


@pytest.mark.engine
def test_a_disk_that_fills_while_the_engines_start_is_one_clear_error_and_leaves_no_trace(
    small_disk: Callable[[int], Path], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = small_disk(16)
    monkeypatch.setattr(profile, "_NEEDED_BYTES", 0)
    with pytest.raises(profile.LabError) as caught:
        profile.up(disk / directory.name)
    assert (caught.value.code, caught.value.exit_class) == ("DPONE_LAB_NO_SPACE", ExitClass.REFUSED)
    assert list(disk.iterdir()) == []
    assert processes_of(disk) == []


def test_an_engine_that_meets_a_full_disk_is_that_error_on_any_machine(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tmp_path / "engine"
    engine.write_text(f"#!{sys.executable}\nwith open('/dev/full', 'w') as file:\n    file.write('x')\n")
    engine.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(engine))
    with pytest.raises(profile.LabError) as caught:
        profile.up(directory)
    assert caught.value.code == "DPONE_LAB_NO_SPACE"
    assert not directory.exists()


@pytest.mark.parametrize(
    ("fault", "full_bytes", "code"),
    [
        (OSError(errno.ENOSPC, "canary"), 0, "DPONE_LAB_NO_SPACE"),
        (DponeError("DPONE_MSSQL_STATEMENT_FAILED", "canary"), 2**62, "DPONE_LAB_NO_SPACE"),
        (RuntimeError("canary"), 2**62, "DPONE_LAB_NO_SPACE"),
        (DponeError("DPONE_MSSQL_STATEMENT_FAILED", "canary"), 0, "DPONE_MSSQL_STATEMENT_FAILED"),
        (RuntimeError("canary"), 0, None),
    ],
)
def test_what_goes_wrong_on_a_full_disk_is_told_as_that_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception, full_bytes: int, code: str | None
) -> None:
    monkeypatch.setattr(profile, "_FULL_BYTES", full_bytes)
    with (
        pytest.raises(type(fault) if code is None else DponeError) as caught,
        profile.a_full_disk_is_told(tmp_path),
    ):
        raise fault
    assert getattr(caught.value, "code", None) == code
    assert code != "DPONE_LAB_NO_SPACE" or "canary" not in str(caught.value)


@pytest.mark.engine
def test_a_killed_endpoint_leaves_no_socket_directory_after_down(directory: Path) -> None:
    long = directory.parent / ("long" * 20)
    lab = profile.up(long)
    folder = Cluster(long / "mssql" / "data", profile.DATABASE).socket_folder
    assert folder.is_dir()
    psutil.Process(lab.processes[0].pid).kill()
    profile.down(long)
    assert not folder.exists()
    assert not long.exists()


def test_an_engine_that_cannot_start_leaves_no_trace(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> str:
        raise profile.LabError(
            "DPONE_LAB_ENGINE_FAILED", "the lab's SQL Server endpoint did not start: broken"
        )

    monkeypatch.setattr(profile, "_spawn_mssql", fail)
    with pytest.raises(profile.LabError, match="did not start"):
        profile.up(directory)
    assert not directory.exists()


def stale(directory: Path, process: profile.LabProcess) -> None:
    """Leave what a lab leaves that was killed with its machine."""
    directory.mkdir()
    (directory / profile.MARKER_FILE).write_text(profile.MARKER_TEXT)
    fields = {
        "directory": str(directory), "marker": "m", "mssql_dsn": "", "clickhouse_dsn": "", "object_store": "",
        "odbc_driver": "", "processes": [{"name": process.name, "pid": process.pid, "started": process.started}],
    }  # fmt: skip
    (directory / profile.PROFILE_FILE).write_text(json.dumps(fields))


def test_down_spares_a_process_that_took_the_pid_later(directory: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        began = psutil.Process(stranger.pid).create_time()
        stale(directory, profile.LabProcess("SQL Server endpoint", stranger.pid, began - 100))
        assert profile.down(directory) == []
        assert not directory.exists()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_down_ends_the_process_that_the_profile_names(directory: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stale(directory, profile.LabProcess("ClickHouse", child.pid, psutil.Process(child.pid).create_time()))
    (ended,) = profile.down(directory)
    assert ended.pid == child.pid
    assert not psutil.pid_exists(child.pid)
    child.wait()


def test_down_of_a_stale_directory_removes_it(directory: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stale(directory, profile.LabProcess("ClickHouse", gone.pid, 1.0))
    assert profile.down(directory) == []
    assert not directory.exists()


def test_down_without_a_lab_says_so(directory: Path) -> None:
    result = CliRunner().invoke(app, ["down", "--directory", str(directory)])
    assert result.exit_code == 1
    assert "no lab here" in result.output


def test_a_profile_is_private_to_its_owner(directory: Path) -> None:
    path = directory.parent / "secret"
    profile._write_private(path, "x")
    assert path.stat().st_mode & 0o777 == 0o600
