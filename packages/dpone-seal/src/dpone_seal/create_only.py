"""The artifact store over any versioned objects: create-only, read back by exact version, three outcomes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256 as _sha256
from typing import TYPE_CHECKING, assert_never

from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.artifact_store import StoredObject
from dpone_seal.versioned_objects import Created, Declined, Exists, StoreInDoubtError

if TYPE_CHECKING:
    from dpone_seal.encryption import Cipher
    from dpone_seal.versioned_objects import VersionedObjects

_KEY = re.compile(r"[A-Za-z0-9._=:-]+(?:/[A-Za-z0-9._=:-]+)*")
_LONGEST_KEY = 900
_PROBE = ".dpone-probe"
_PROBE_DATA = b"dpone create-only probe"
_NO_VERSION = "no-such-version"


@dataclass(frozen=True, slots=True)
class CreateOnlyStore:
    """`ArtifactStore` under one prefix; what is stored may be encrypted, digests and sizes are of the plaintext."""

    objects: VersionedObjects
    prefix: str
    cipher: Cipher

    def probe(self) -> None:
        """Prove that the store creates only, reads exact versions and never kept a second one.

        The object is always the same one, so probing leaves one small object a prefix. Raises
        DPONE_ARTIFACT_STORE_UNFIT, DPONE_ARTIFACT_STORE_UNAVAILABLE where nothing could be learnt, or the code with
        which the store declined.
        """
        key = f"{self.prefix}/{_PROBE}"
        try:
            finding = self._probe_finding(key)
        except StoreInDoubtError as doubt:
            raise DponeError("DPONE_ARTIFACT_STORE_UNAVAILABLE", str(doubt), {"key": key}) from doubt
        if finding:
            raise DponeError("DPONE_ARTIFACT_STORE_UNFIT", finding, {"key": key})

    def create(self, key: str, data: bytes, sha256: str) -> EffectResult[StoredObject]:
        """Create if absent and read back by exact version; an existing equal object is Applied, another is NotApplied."""
        self._require_key(key)
        if _digest(data) != sha256:
            raise DponeError(
                "DPONE_ARTIFACT_DIGEST_MISMATCH", "bytes to store have another digest", {"key": key}
            )
        try:
            answer = self.objects.create(key, self.cipher.seal(key, data))
        except StoreInDoubtError as doubt:
            return self._settled(key, sha256, sent=str(doubt))
        match answer:
            case Created(version):
                return self._read_back(key, version, sha256)
            case Exists():
                return self._settled(key, sha256, sent=None)
            case Declined(code, observed, evidence):
                return NotApplied(Reason(code, observed, {"key": key, **evidence}))
            case _ as never:
                assert_never(never)

    def stat(self, key: str) -> StoredObject | None:
        """The object under a key, or None; raises DPONE_ARTIFACT_OUTCOME_UNKNOWN where the store can't be read."""
        self._require_key(key)
        try:
            version = self.objects.head(key)
            return None if version is None else self._stored(key, version)
        except StoreInDoubtError as doubt:
            raise DponeError("DPONE_ARTIFACT_OUTCOME_UNKNOWN", str(doubt), {"key": key}) from doubt

    def read(self, key: str, version: str) -> bytes:
        """The bytes of one exact version; DPONE_ARTIFACT_MISSING where the store has no such version."""
        self._require_key(key)
        try:
            stored = self.objects.get(key, version)
        except StoreInDoubtError as doubt:
            raise DponeError("DPONE_ARTIFACT_OUTCOME_UNKNOWN", str(doubt), {"key": key}) from doubt
        if stored is None:
            raise DponeError("DPONE_ARTIFACT_MISSING", "no such version", {"key": key, "version": version})
        return self.cipher.open(key, stored)

    def _read_back(self, key: str, version: str, sha256: str) -> EffectResult[StoredObject]:
        try:
            stored = self._stored(key, version)
        except StoreInDoubtError as doubt:
            return _unknown(key, f"created, and not read back: {doubt}")
        if stored is None:
            return _unknown(key, f"created as version {version}, which cannot be read")
        return self._judged(stored, sha256)

    def _settled(self, key: str, sha256: str, *, sent: str | None) -> EffectResult[StoredObject]:
        """What stands under the key decides; `sent` tells of a request that may still land."""
        try:
            version = self.objects.head(key)
            stored = None if version is None else self._stored(key, version)
        except StoreInDoubtError as doubt:
            return _unknown(key, f"{sent or 'the key is taken'}; reading it: {doubt}")
        if stored is None:
            return _unknown(key, sent or "the key was taken and nothing stands under it now")
        return self._judged(stored, sha256)

    def _judged(self, stored: StoredObject, sha256: str) -> EffectResult[StoredObject]:
        if stored.sha256 == sha256:
            return Applied(stored)
        evidence = {"key": stored.key, "version": stored.version, "sha256": stored.sha256, "expected": sha256}
        return NotApplied(Reason("DPONE_ARTIFACT_CONFLICT", "other bytes stand under the key", evidence))

    def _stored(self, key: str, version: str) -> StoredObject | None:
        data = self.objects.get(key, version)
        if data is None:
            return None
        plain = self.cipher.open(key, data)
        return StoredObject(key, version, len(plain), _digest(plain))

    def _require_key(self, key: str) -> None:
        steps = key.split("/")
        exact = _KEY.fullmatch(key) and len(key) <= _LONGEST_KEY and not {".", ".."} & set(steps)
        if not exact or not key.startswith(f"{self.prefix}/"):
            raise DponeError(
                "DPONE_ARTIFACT_KEY_REFUSED",
                "not an exact key under the prefix",
                {"key": key, "prefix": self.prefix},
            )

    def _probe_finding(self, key: str) -> str | None:
        """What makes the store unfit, or None."""
        if isinstance(answer := self.objects.create(key, _PROBE_DATA), Declined):
            raise DponeError(answer.code, answer.observed, {"key": key, **answer.evidence})
        if not isinstance(self.objects.create(key, _PROBE_DATA + b", second"), Exists):
            return "a second create of a key is not refused"
        version = self.objects.head(key)
        if version is None:
            return "a created object is not shown"
        if isinstance(answer, Created) and answer.version != version:
            return "the current version is not the created one"
        if self.objects.get(key, version) != _PROBE_DATA:
            return "an exact version does not read as it was created"
        if self.objects.get(key, _NO_VERSION) is not None:
            return "a version that does not exist can be read"
        if self.objects.versions(key) != (version,):
            return "a key has more than one version"
        return None


def _digest(data: bytes) -> str:
    return f"sha256:{_sha256(data).hexdigest()}"


def _unknown(key: str, observed: str) -> Unknown:
    return Unknown(Reason("DPONE_ARTIFACT_OUTCOME_UNKNOWN", observed, {"key": key}))
