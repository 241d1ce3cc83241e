"""Every store passes the suite; doubt, conflict and refusal stay apart; a store that lies is refused."""

from __future__ import annotations

import base64
import errno
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.testing.artifact_store_suite import PREFIX, ArtifactStoreSuite, created, digest
from dpone_seal import versioned_directory
from dpone_seal.create_only import CreateOnlyStore
from dpone_seal.encryption import AesGcm, StoreEncrypted, aes_gcm
from dpone_seal.filesystem_objects import FileSystemObjects
from dpone_seal.memory_objects import MemoryObjects
from dpone_seal.versioned_directory import VersionedDirectory
from dpone_seal.versioned_objects import CreateAnswer, Created, Declined, Exists, StoreInDoubtError

if TYPE_CHECKING:
    from pathlib import Path

    from dpone_seal.versioned_objects import VersionedObjects

KEY = f"{PREFIX}/chunk"


def cipher(secret: bytes = b"k" * 32, reference: str = "env:KEY") -> AesGcm:
    return aes_gcm(reference, {"KEY": base64.b64encode(secret).decode()})


def local(directory: Path) -> FileSystemObjects:
    return FileSystemObjects(VersionedDirectory(str(directory)))


class TestMemoryStore(ArtifactStoreSuite):
    @pytest.fixture
    def store(self) -> CreateOnlyStore:
        return CreateOnlyStore(MemoryObjects(), PREFIX, StoreEncrypted())


class TestLocalStore(ArtifactStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> CreateOnlyStore:
        return over(local(tmp_path))


class TestEncryptedLocalStore(ArtifactStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> CreateOnlyStore:
        return CreateOnlyStore(local(tmp_path), PREFIX, cipher())


@dataclass(slots=True)
class Unsure(MemoryObjects):
    """A store whose answer to a create is lost, before or after it took effect, and whose reads may fail."""

    lands: bool = True
    readable: bool = True
    sent: int = 0

    def create(self, key: str, data: bytes) -> CreateAnswer:
        self.sent += 1
        if self.lands:
            MemoryObjects.create(self, key, data)
        raise StoreInDoubtError("no answer")

    def head(self, key: str) -> str | None:
        if not self.readable:
            raise StoreInDoubtError("no answer to a read")
        return MemoryObjects.head(self, key)


def over(objects: VersionedObjects) -> CreateOnlyStore:
    return CreateOnlyStore(objects, PREFIX, StoreEncrypted())


def test_a_lost_answer_is_settled_by_reading_and_nothing_is_sent_twice() -> None:
    objects = Unsure()
    assert isinstance(over(objects).create(KEY, b"1", digest(b"1")), Applied)
    assert objects.sent == 1


def test_a_lost_answer_with_nothing_there_stays_unknown() -> None:
    result = over(Unsure(lands=False)).create(KEY, b"1", digest(b"1"))
    assert isinstance(result, Unknown)
    assert result.reason.code == "DPONE_ARTIFACT_OUTCOME_UNKNOWN"


def test_a_lost_answer_that_cannot_be_read_stays_unknown() -> None:
    store = over(Unsure(readable=False))
    assert isinstance(store.create(KEY, b"1", digest(b"1")), Unknown)
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_OUTCOME_UNKNOWN"):
        store.stat(KEY)


def test_a_lost_answer_with_other_bytes_there_is_a_conflict() -> None:
    objects = Unsure(lands=False)
    MemoryObjects.create(objects, KEY, b"other")
    result = over(objects).create(KEY, b"1", digest(b"1"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ARTIFACT_CONFLICT"


def test_a_declined_create_is_not_applied_with_the_stores_code() -> None:
    class Busy(MemoryObjects):
        def create(self, key: str, data: bytes) -> CreateAnswer:
            return Declined(
                "DPONE_ARTIFACT_CONCURRENT_CREATE", "another create was under way", {"status": "409"}
            )

    result = over(Busy()).create(KEY, b"1", digest(b"1"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ARTIFACT_CONCURRENT_CREATE"
    assert result.reason.evidence == {"key": KEY, "status": "409"}


def test_a_created_object_that_reads_differently_is_a_conflict_not_a_success() -> None:
    class Corrupting(MemoryObjects):
        def get(self, key: str, version: str) -> bytes | None:
            return b"rotten"

    result = over(Corrupting()).create(KEY, b"1", digest(b"1"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_ARTIFACT_CONFLICT"


class Overwriting(MemoryObjects):
    """Takes every create."""

    def create(self, key: str, data: bytes) -> CreateAnswer:
        self.held.pop(key, None)
        return MemoryObjects.create(self, key, data)


class Versionless(MemoryObjects):
    """Reads the current bytes whatever version is asked for."""

    def get(self, key: str, version: str) -> bytes | None:
        return self.held[key][1]


class Forgetful(MemoryObjects):
    """Doesn't show what it has just taken."""

    def head(self, key: str) -> str | None:
        return None


@dataclass(slots=True)
class SecretlyOverwriting(MemoryObjects):
    """Says that the key is taken, and keeps the second bytes as another version all the same."""

    kept: list[str] = field(default_factory=list)

    def create(self, key: str, data: bytes) -> CreateAnswer:
        answer = MemoryObjects.create(self, key, data)
        if isinstance(answer, Exists):
            self.kept.append("second")
        return answer

    def versions(self, key: str) -> tuple[str, ...]:
        return (*MemoryObjects.versions(self, key), *self.kept)


class OtherVersion(MemoryObjects):
    """Names another version than it keeps."""

    def create(self, key: str, data: bytes) -> CreateAnswer:
        answer = MemoryObjects.create(self, key, data)
        return Created("invented") if isinstance(answer, Created) else answer


@pytest.mark.parametrize("liar", [Overwriting, Versionless, Forgetful, SecretlyOverwriting, OtherVersion])
def test_a_store_that_lies_fails_the_probe(liar: type[MemoryObjects]) -> None:
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_STORE_UNFIT"):
        over(liar()).probe()


def test_a_store_that_does_not_answer_the_probe_is_unavailable() -> None:
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_STORE_UNAVAILABLE"):
        over(Unsure()).probe()


@pytest.mark.parametrize(
    "code",
    ["DPONE_ARTIFACT_STORE_UNAVAILABLE", "DPONE_ARTIFACT_STORE_REFUSED", "DPONE_ARTIFACT_STORE_FULL"],
)
def test_a_store_that_declines_the_probe_is_told_by_its_own_code_and_is_not_called_unfit(code: str) -> None:
    class Declining(MemoryObjects):
        def create(self, key: str, data: bytes) -> CreateAnswer:
            return Declined(code, "said no", {"status": "None"})

    with pytest.raises(DponeError, match=f"{code}: said no") as declined:
        over(Declining()).probe()
    assert declined.value.evidence == {"key": f"{PREFIX}/.dpone-probe", "status": "None"}


def test_concurrent_creates_have_one_winner(tmp_path: Path) -> None:
    store = over(local(tmp_path))
    contents = [b"%d" % number for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda data: store.create(KEY, data, digest(data)), contents))
    assert [type(result) for result in results].count(Applied) == 1
    assert not list(tmp_path.glob(".aside-*"))


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, "DPONE_ARTIFACT_STORE_FULL"), (errno.EACCES, "DPONE_ARTIFACT_STORE_REFUSED")],
)
def test_a_write_that_fails_leaves_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def failing(path: Path, data: bytes) -> None:
        path.write_bytes(data[:1])
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(versioned_directory, "_write_durably", failing)
    store = over(local(tmp_path))
    result = store.create(KEY, b"data", digest(b"data"))
    assert isinstance(result, NotApplied)
    assert result.reason.code == code
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_retention_stands_with_the_object(tmp_path: Path) -> None:
    directory = VersionedDirectory(str(tmp_path), retain_until="2026-12-31T00:00:00Z")
    created(over(FileSystemObjects(directory)), KEY, b"x")
    assert directory.info(KEY)["RetainUntil"] == "2026-12-31T00:00:00Z"


def test_a_name_whose_durability_is_unknown_is_doubt_that_reading_settles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(directory: Path) -> None:
        raise OSError(errno.EIO, f"canary {directory}")

    monkeypatch.setattr(versioned_directory, "_sync", failing)
    with pytest.raises(StoreInDoubtError, match=os.strerror(errno.EIO)):
        local(tmp_path).create(KEY, b"data")
    assert isinstance(over(local(tmp_path)).create(KEY, b"data", digest(b"data")), Applied)


def test_a_file_of_another_format_is_doubt_and_not_an_object(tmp_path: Path) -> None:
    path = tmp_path / f"{KEY}.object"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"somebody else's")
    with pytest.raises(StoreInDoubtError):
        local(tmp_path).head(KEY)
    assert isinstance(over(local(tmp_path)).create(KEY, b"data", digest(b"data")), Unknown)
    assert path.read_bytes() == b"somebody else's"


def test_fsspecs_own_local_filesystem_does_not_pass_the_probe(tmp_path: Path) -> None:
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_STORE_UNAVAILABLE"):
        over(FileSystemObjects(DirFileSystem(str(tmp_path), LocalFileSystem(auto_mkdir=True)))).probe()


def test_encrypted_objects_hold_no_plaintext(tmp_path: Path) -> None:
    created(CreateOnlyStore(local(tmp_path), PREFIX, cipher()), KEY, b"canary" * 100)
    stored = (tmp_path / f"{KEY}.object").read_bytes()
    assert b"canary" not in stored
    assert b"k" * 32 not in stored


def moved_to_another_key(stored: bytes) -> bytes:
    return cipher().open(f"{PREFIX}/other", stored)


def opened_with_another_secret(stored: bytes) -> bytes:
    return cipher(b"x" * 32).open(KEY, stored)


def opened_under_another_reference(stored: bytes) -> bytes:
    return AesGcm(cipher().secret, "env:OTHER").open(KEY, stored)


def with_a_flipped_bit(stored: bytes) -> bytes:
    return cipher().open(KEY, stored[:-1] + bytes([stored[-1] ^ 1]))


def with_another_magic(stored: bytes) -> bytes:
    return cipher().open(KEY, b"D" + stored[1:])


def cut_short(stored: bytes) -> bytes:
    return cipher().open(KEY, stored[:20])


@pytest.mark.parametrize(
    "tampered",
    [
        moved_to_another_key,
        opened_with_another_secret,
        opened_under_another_reference,
        with_a_flipped_bit,
        with_another_magic,
        cut_short,
    ],
)
def test_ciphertext_opens_only_as_it_was_sealed(tampered: object) -> None:
    stored = cipher().seal(KEY, b"data")
    assert cipher().open(KEY, stored) == b"data"
    assert callable(tampered)
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_DIGEST_MISMATCH"):
        tampered(stored)


@pytest.mark.parametrize(
    "reference", ["env:ABSENT", "env:SHORT", "env:NOT_BASE64", "file:/nonexistent", "vault:x", "KEY", ""]
)
def test_a_key_reference_without_a_key_is_refused_and_no_key_is_shown(reference: str) -> None:
    canary = base64.b64encode(b"canary").decode()
    with pytest.raises(DponeError) as caught:
        aes_gcm(reference, {"SHORT": canary, "NOT_BASE64": "canary!"})
    assert caught.value.code == "DPONE_KEY_REFERENCE_UNRESOLVED"
    assert not {canary, "canary!"} & set(str(caught.value.diagnostics()).split())


def test_a_key_file_is_read_by_reference(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(base64.b64encode(b"k" * 32).decode() + "\n")
    assert aes_gcm(f"file:{path}").secret.reveal() == b"k" * 32
    assert "kkkk" not in repr(aes_gcm(f"file:{path}"))
