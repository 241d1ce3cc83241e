"""Start and stop the lab's ClickHouse as a child process."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class ClickHouseStartError(Exception):
    """The process ended before it was ready; carries its own one-line explanation."""


@dataclass(slots=True)
class ClickHouseProcess:
    """A running lab ClickHouse: where it listens, who may log in, and the process to end."""

    host: str
    port: int
    user: str
    password: str
    face: str
    version: str
    pid: int
    _child: subprocess.Popen[str]

    @property
    def url(self) -> str:
        """The HTTP address, without credentials."""
        return f"http://{self.host}:{self.port}"

    @property
    def dsn(self) -> str:
        """A DSN with credentials, as `DPONE_CLICKHOUSE_DSN` takes it."""
        return f"http://{self.user}:{self.password}@{self.host}:{self.port}/"

    def stop(self) -> None:
        """End the process with SIGTERM and wait for it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process with SIGKILL and wait for it."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._child.poll() is None:
            self._child.send_signal(number)
        try:
            self._child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()


def start(
    directory: Path,
    *,
    face: str = "chdb",
    port: int = 0,
    user: str = "lab",
    password: str | None = None,
    library: Path | None = None,
    config_file: Path | None = None,
) -> ClickHouseProcess:
    """Start the engine on `directory` (its data, password file and log) and wait until it is ready.

    Raise `ClickHouseStartError` when it isn't. Calling again on the same directory keeps its data and password.
    """
    directory.mkdir(parents=True, exist_ok=True)
    password_file = directory / "password"
    if password is not None or not password_file.exists():
        _write_private(password_file, password if password is not None else secrets.token_urlsafe(24))
    secret = password_file.read_text()
    command = [
        sys.executable, "-m", "dpone_lab.clickhouse", "--data", str(directory / "data"), "--port", str(port),
        "--user", user, "--password-file", str(password_file), "--face", face,
    ]  # fmt: skip
    if library is not None:
        command += ["--library", str(library)]
    if config_file is not None:
        command += ["--config-file", str(config_file)]
    log = directory / "log"
    with log.open("w") as errors:
        # A session of its own: a signal to the caller's group must not reach the database.
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
    line = child.stdout.readline() if child.stdout is not None else ""
    if not line:
        child.wait()
        raise ClickHouseStartError(log.read_text().strip()[-600:] or f"exit {child.returncode}")
    ready = json.loads(line)
    return ClickHouseProcess(
        "127.0.0.1", ready["port"], user, secret, ready["face"], ready["version"], ready["pid"], child
    )


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
