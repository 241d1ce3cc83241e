"""A real S3 server (SeaweedFS) behind the store: the suite, conditional creates, versions, object lock, lost answers."""

from __future__ import annotations

import base64
import datetime as dt
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.redaction import Redacted
from dpone_contracts.testing.artifact_store_suite import PREFIX, ArtifactStoreSuite, created, digest
from dpone_seal.create_only import CreateOnlyStore
from dpone_seal.encryption import StoreEncrypted, aes_gcm
from dpone_seal.s3_objects import S3Connection, S3Objects, StorePolicy

s3 = pytest.importorskip("dpone_lab.s3", reason="the lab's wheel is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


pytestmark = pytest.mark.engine

KEY = f"{PREFIX}/chunk"
UNTIL = dt.datetime(2099, 1, 1, tzinfo=dt.UTC)
METADATA_ONLY = StorePolicy(None, None, retain_until=UNTIL, object_lock=False)
STARTUP_SECONDS = 60


@pytest.fixture(scope="session")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Connection]:
    try:
        with s3.s3_server(tmp_path_factory.mktemp("s3")) as running:
            yield running
    except DponeError as absent:
        pytest.skip(str(absent))


@pytest.fixture
def objects(connection: S3Connection) -> S3Objects:
    system = connection.open()
    return S3Objects(system, s3.bucket(system), METADATA_ONLY)


@pytest.fixture
def store(objects: S3Objects) -> CreateOnlyStore:
    return CreateOnlyStore(objects, PREFIX, StoreEncrypted())


class TestS3Store(ArtifactStoreSuite):
    """The fixture `store` is the module's."""


def test_a_bucket_without_versioning_is_refused(connection: S3Connection) -> None:
    system = connection.open()
    unversioned = S3Objects(system, s3.bucket(system, versioned=False), METADATA_ONLY)
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
    locked = S3Objects(system, s3.bucket(system, lockable=True), policy)
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
    (port,) = s3.free_ports(1)
    absent = replace(connection, endpoint_url=f"http://127.0.0.1:{port}")
    store = CreateOnlyStore(S3Objects(absent.open(), "bucket", METADATA_ONLY), PREFIX, StoreEncrypted())
    result = store.create(KEY, b"1", digest(b"1"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ARTIFACT_STORE_UNAVAILABLE"


@pytest.mark.parametrize("forward", [True, False])
def test_a_lost_answer_is_doubt_and_settled_by_version_without_a_second_object(
    connection: S3Connection, objects: S3Objects, *, forward: bool
) -> None:
    def lose(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
        if forward:
            way_on(request)
        return b""

    with s3.relayed(connection, lose) as (there, requests):
        store = CreateOnlyStore(replace(objects, system=there.open()), PREFIX, StoreEncrypted())
        result = store.create(KEY, b"1", digest(b"1"))
    assert isinstance(result, Unknown)
    assert b"PUT" in requests
    assert (objects.head(KEY) is not None) == forward
    settled = CreateOnlyStore(objects, PREFIX, StoreEncrypted()).create(KEY, b"1", digest(b"1"))
    assert isinstance(settled, Applied)
    assert len(objects.versions(KEY)) == 1


def test_a_409_means_that_nothing_landed_and_a_later_create_does(
    connection: S3Connection, objects: S3Objects
) -> None:
    conflict = b"<Error><Code>ConditionalRequestConflict</Code><Message>again</Message></Error>"
    answer = b"HTTP/1.1 409 Conflict\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n" % len(
        conflict
    )
    with s3.relayed(connection, lambda *_: answer + conflict) as (there, requests):
        contended = CreateOnlyStore(replace(objects, system=there.open()), PREFIX, StoreEncrypted())
        result = contended.create(KEY, b"1", digest(b"1"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ARTIFACT_CONCURRENT_CREATE"
    assert requests == [b"PUT"]
    assert objects.head(KEY) is None
    created(CreateOnlyStore(objects, PREFIX, StoreEncrypted()), KEY, b"1")
    assert len(objects.versions(KEY)) == 1


def test_of_concurrent_creates_on_a_real_server_one_lands_and_nothing_is_overwritten(
    connection: S3Connection, objects: S3Objects
) -> None:
    def create(number: int) -> object:
        store = CreateOnlyStore(replace(objects, system=connection.open()), PREFIX, StoreEncrypted())
        data = b"%d" % number
        return store.create(KEY, data, digest(data))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(create, range(8)))
    applied = [result for result in results if isinstance(result, Applied)]
    codes = {result.reason.code for result in results if isinstance(result, NotApplied)}
    assert len(applied) == 1
    assert codes <= {"DPONE_ARTIFACT_CONFLICT", "DPONE_ARTIFACT_CONCURRENT_CREATE"}
    assert not [result for result in results if isinstance(result, Unknown)]
    assert objects.versions(KEY) == (applied[0].value.version,)


def test_what_the_store_encrypts_is_asked_for_and_asserted_from_its_answers(
    connection: S3Connection, objects: S3Objects
) -> None:
    strict = replace(objects, policy=replace(objects.policy, server_side_encryption="AES256"))
    store = CreateOnlyStore(strict, PREFIX, StoreEncrypted())
    store.probe()
    stored = created(store, KEY, b"encrypted there")
    assert store.read(KEY, stored.version) == b"encrypted there"
    answer = objects.system.call_s3("head_object", Bucket=objects.bucket, Key=KEY)
    assert answer["ServerSideEncryption"] == "AES256"

    def deny(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
        return re.sub(rb"(?i)x-amz-server-side-encryption: \S+\r\n", b"", way_on(request))

    with s3.relayed(connection, deny) as (there, _):
        lying = CreateOnlyStore(replace(strict, system=there.open()), PREFIX, StoreEncrypted())
        with pytest.raises(
            DponeError, match="DPONE_ARTIFACT_STORE_UNFIT: an object lacks server-side encryption"
        ):
            lying.stat(KEY)


def test_what_the_store_does_not_encrypt_we_do_and_it_never_sees_the_plaintext(
    connection: S3Connection, objects: S3Objects
) -> None:
    seen: list[bytes] = []

    def listen(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
        seen.append(request)
        return way_on(request)

    cipher = aes_gcm("env:SEAL_KEY", {"SEAL_KEY": base64.b64encode(bytes(range(32))).decode()})
    with s3.relayed(connection, listen) as (there, _):
        store = CreateOnlyStore(replace(objects, system=there.open()), PREFIX, cipher)
        stored = created(store, KEY, b"a canary in plain text")
        assert store.read(KEY, stored.version) == b"a canary in plain text"
    assert any(b"PUT" in request for request in seen)
    assert not [request for request in seen if b"canary" in request]
    at_rest = objects.get(KEY, stored.version)
    assert at_rest is not None
    assert b"canary" not in at_rest


def overwrites(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
    """Says that every create succeeded."""
    answer = way_on(request)
    if answer.startswith(b"HTTP/1.1 412"):
        return b'HTTP/1.1 200 OK\r\nETag: "0"\r\nx-amz-version-id: lie\r\nContent-Length: 0\r\n\r\n'
    return answer


def forgets_versions(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
    """Answers without the version."""
    return re.sub(rb"(?i)x-amz-version-id: \S+\r\n", b"", way_on(request))


def reads_something_else(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
    """Answers a GET with other bytes of the same length."""
    head, _, body = way_on(request).partition(b"\r\n\r\n")
    changed = request.startswith(b"GET ") and b"versions" not in request.split(b"\r\n", 1)[0]
    head = re.sub(rb"(?i)x-amz-checksum[^:]*: \S+\r\n", b"", head)
    return head + b"\r\n\r\n" + (body[::-1] if changed else body)


@pytest.mark.parametrize("lie", [overwrites, forgets_versions, reads_something_else])
def test_a_server_that_lies_on_the_wire_fails_the_probe(
    connection: S3Connection, objects: S3Objects, lie: Callable[[bytes, Callable[[bytes], bytes]], bytes]
) -> None:
    CreateOnlyStore(objects, PREFIX, StoreEncrypted()).probe()
    with s3.relayed(connection, lie) as (there, _):
        lying = CreateOnlyStore(replace(objects, system=there.open()), PREFIX, StoreEncrypted())
        with pytest.raises(DponeError, match=r"DPONE_ARTIFACT_STORE_(UNFIT|UNAVAILABLE)"):
            lying.probe()


def test_an_honest_server_behind_the_relay_passes_the_probe(
    connection: S3Connection, objects: S3Objects
) -> None:
    with s3.relayed(connection, lambda request, way_on: way_on(request)) as (there, _):
        CreateOnlyStore(replace(objects, system=there.open()), PREFIX, StoreEncrypted()).probe()
