"""dbt that is imported already: a process of its own forks one child for every run, in which dbt itself is unmodified.

The child is what an interpreter of its own would be: its own session and group, environment, working directory and
arguments. Only the imports, and what dbt's own libraries remember of parsing any project, are done beforehand.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone_dbt_proof.dbt_process import WaitingProcess

_MOST = 1 << 20


class PreparedDbt:
    """Starts dbt by forking the prepared process; give `start` to `DbtModelBuild`."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._parent = subprocess.Popen(
                [sys.executable, "-P", "-m", "dpone_lab.prepared_dbt", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "LANG": "C.UTF-8", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            )

    def start(self, environment: Mapping[str, str]) -> WaitingProcess:
        """One dbt process; it is forked when its command is there."""
        return _Forked(environment, self._socket)

    def close(self) -> None:
        """End the prepared process; its children have been waited for."""
        self._socket.close()
        self._parent.wait(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class _Forked:
    """One dbt process: what `DbtProcess` needs of `subprocess.Popen`."""

    def __init__(self, environment: Mapping[str, str], prepared: socket.socket) -> None:
        self.returncode: int | None = None
        self._environment = environment
        self._prepared = prepared
        self._pid: int | None = None
        self._output = -1
        self._printed: list[bytes] = []

    @property
    def pid(self) -> int:
        """Its process id; ProcessLookupError before its command was given."""
        if self._pid is None:
            raise ProcessLookupError
        return self._pid

    def _fork(self, command: str) -> None:
        told = json.loads(command)
        told["environment"] = {**self._environment, **told["environment"]}
        self._output, writable = os.pipe()
        try:
            socket.send_fds(self._prepared, [json.dumps(told).encode()], [writable])
        finally:
            os.close(writable)
        self._pid = int(json.loads(self._prepared.recv(_MOST))["pid"])

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, None]:  # noqa: A002
        """Give the command, read everything that is printed, and wait for the end."""
        if input is not None:
            self._fork(input)
        if self._pid is None:
            return "", None
        until = None if timeout is None else time.monotonic() + timeout
        while self._output >= 0:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._output], [], [], left)[0]:
                raise subprocess.TimeoutExpired("dbt", timeout or 0)
            piece = os.read(self._output, 1 << 16)
            self._printed.append(piece)
            if not piece:
                os.close(self._output)
                self._output = -1
        if self.returncode is None:
            self.returncode = int(json.loads(self._prepared.recv(_MOST))["returncode"])
        return b"".join(self._printed).decode("utf-8", "replace"), None


def _serve(asked: socket.socket) -> None:
    """Fork for every request, one at a time, until the other side is closed."""
    prepared = False
    while True:
        message, handles, _, _ = socket.recv_fds(asked, _MOST, 1)
        if not message:
            return
        output = handles[0]
        if not prepared:
            _parse_once(json.loads(message))
            prepared = True
        pid = os.fork()
        if pid == 0:
            asked.close()
            _become_dbt(json.loads(message), output)
        os.close(output)
        asked.send(json.dumps({"pid": pid}).encode())
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(BrokenPipeError):
            asked.send(json.dumps({"returncode": os.waitstatus_to_exitcode(status)}).encode())


def _become_dbt(request: dict[str, Any], output: int) -> None:
    from dbt.cli.main import cli  # noqa: PLC0415 - imported already, in the process that this one was forked from

    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-c", *request["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(cli())


def _import() -> None:
    import dbt.adapters.sqlserver  # noqa: PLC0415 - the point of this process
    import dbt.cli.main  # noqa: PLC0415
    import dbt.task.build  # noqa: PLC0415
    import dbt.task.test  # noqa: F401, PLC0415


def _parse_once(request: dict[str, Any]) -> None:
    """Parse the first project once, as `dbtRunner` may any number of times: schemas of dbt's classes are kept by it.

    Every child parses anew; what comes of this parse is thrown away, and its failure is the child's to tell.
    """
    from dbt.cli.main import dbtRunner  # noqa: PLC0415 - imported already

    before = dict(os.environ)
    os.environ.update(request["environment"])
    project = request["directory"]
    with tempfile.TemporaryDirectory() as thrown_away:
        places = ("--project-dir", project, "--profiles-dir", project)
        outputs = ("--target-path", thrown_away, "--log-path", thrown_away)
        with contextlib.redirect_stdout(None):
            # The static parser is native code with threads of its own, which no fork would take along.
            dbtRunner().invoke(
                ["--quiet", "parse", "--no-partial-parse", "--no-static-parser", *places, *outputs]
            )
    os.environ.clear()
    os.environ.update(before)


if __name__ == "__main__":
    _import()
    _serve(socket.socket(fileno=int(sys.argv[1])))
