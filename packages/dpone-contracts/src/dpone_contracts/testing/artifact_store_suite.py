"""What every `ArtifactStore` must do; an adapter's tests subclass this and give the `store` fixture."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from dpone_contracts.effects import Applied, NotApplied
from dpone_contracts.testing.refusals import refused

if TYPE_CHECKING:
    from dpone_contracts.ports.artifact_store import ArtifactStore, StoredObject

PREFIX = "seal/operation-1"
"""The prefix that the store under test is opened with."""


def digest(data: bytes) -> str:
    """`sha256:` and the hex digest of bytes."""
    return f"sha256:{sha256(data).hexdigest()}"


def created(store: ArtifactStore, key: str, data: bytes) -> StoredObject:
    """The stored object of a create that must be applied."""
    result = store.create(key, data, digest(data))
    assert isinstance(result, Applied), result
    return result.value


class ArtifactStoreSuite:
    """Every store passes all of these on an empty prefix."""

    def test_a_fit_store_passes_its_probe_twice(self, store: ArtifactStore) -> None:
        store.probe()
        store.probe()

    def test_what_is_created_reads_back_by_exact_version(self, store: ArtifactStore) -> None:
        data = bytes(range(256)) * 5_000
        stored = created(store, f"{PREFIX}/chunk-1.parquet", data)
        assert (stored.byte_count, stored.sha256) == (len(data), digest(data))
        assert store.read(stored.key, stored.version) == data
        assert store.stat(stored.key) == stored

    def test_an_empty_object_is_an_object(self, store: ArtifactStore) -> None:
        stored = created(store, f"{PREFIX}/empty", b"")
        assert (stored.byte_count, store.read(stored.key, stored.version)) == (0, b"")

    def test_the_same_bytes_again_are_applied_and_the_version_stays(self, store: ArtifactStore) -> None:
        first = created(store, f"{PREFIX}/twice", b"same")
        assert created(store, f"{PREFIX}/twice", b"same") == first

    def test_other_bytes_under_a_key_are_not_applied_and_change_nothing(self, store: ArtifactStore) -> None:
        first = created(store, f"{PREFIX}/manifest.json", b"{}")
        second = store.create(f"{PREFIX}/manifest.json", b"[]", digest(b"[]"))
        assert isinstance(second, NotApplied)
        assert second.reason.code == "DPONE_ARTIFACT_CONFLICT"
        assert store.stat(f"{PREFIX}/manifest.json") == first
        assert store.read(first.key, first.version) == b"{}"

    def test_an_absent_key_has_no_stat(self, store: ArtifactStore) -> None:
        assert store.stat(f"{PREFIX}/absent") is None

    def test_a_version_that_is_not_there_is_missing(self, store: ArtifactStore) -> None:
        stored = created(store, f"{PREFIX}/versioned", b"1")
        with refused("DPONE_ARTIFACT_MISSING"):
            store.read(stored.key, "f" * 32)
        with refused("DPONE_ARTIFACT_MISSING"):
            store.read(f"{PREFIX}/other", stored.version)

    def test_a_key_may_lie_below_another(self, store: ArtifactStore) -> None:
        outer = created(store, f"{PREFIX}/a", b"outer")
        inner = created(store, f"{PREFIX}/a/b", b"inner")
        assert (store.stat(outer.key), store.stat(inner.key)) == (outer, inner)

    def test_a_key_may_hold_a_digest_as_published_manifests_have_it(self, store: ArtifactStore) -> None:
        stored = created(store, f"{PREFIX}/sha256:{'0f' * 32}/chunks/000001.parquet", b"chunk")
        assert store.read(stored.key, stored.version) == b"chunk"

    def test_bytes_that_are_not_their_digest_are_never_sent(self, store: ArtifactStore) -> None:
        with refused("DPONE_ARTIFACT_DIGEST_MISMATCH"):
            store.create(f"{PREFIX}/liar", b"data", digest(b"other"))
        assert store.stat(f"{PREFIX}/liar") is None

    def test_keys_outside_the_prefix_and_inexact_keys_are_refused(self, store: ArtifactStore) -> None:
        for key in (
            "seal/operation-2/chunk",
            "seal/operation-10",
            PREFIX,
            f"{PREFIX}/",
            f"{PREFIX}//x",
            f"{PREFIX}/../operation-2/x",
            f"{PREFIX}/./x",
            f"/{PREFIX}/x",
            f"{PREFIX}/a b",
            f"{PREFIX}/é",
            f"{PREFIX}/a\n",
            f"{PREFIX}/{'x' * 1_000}",
        ):
            with refused("DPONE_ARTIFACT_KEY_REFUSED"):
                store.create(key, b"x", digest(b"x"))
            with refused("DPONE_ARTIFACT_KEY_REFUSED"):
                store.stat(key)
