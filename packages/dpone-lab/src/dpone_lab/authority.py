"""The lab's own authority: an allow-guard for marked databases only, and a signer whose key dies with the lab."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.attestor import Attestation

if TYPE_CHECKING:
    from pathlib import Path

    from dpone_contracts.ports.guard import StoreIdentity

AUTHORITY: Final = "dpone-lab/disposable"
"""Names itself: nothing that it signs is production evidence."""


@dataclass(frozen=True)
class LabGuard:
    """Allows a run only against the disposable database that this lab made: the markers must be equal."""

    marker: str

    def require_allowed(self, store: StoreIdentity) -> None:
        """Return for this lab's own database; refuse any other, a real server's above all."""
        if not self.marker or store.disposable_marker != self.marker:
            raise DponeError(
                "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE",
                "the database does not carry this lab's disposable marker",
                {"store_id": store.store_id, "database": store.database},
            )


@dataclass(frozen=True)
class LabAttestor:
    """Signs with an Ed25519 key of the lab's directory and keeps every signature beside it."""

    directory: Path

    def attest(self, subject: bytes) -> Attestation:
        """Sign the subject; the attestation file holds subject digest, signature and public key."""
        key = self._key()
        signature = key.sign(subject)
        attestation = {
            "authority": AUTHORITY,
            "public_key": base64.b64encode(
                key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            ).decode(),
            "signature": base64.b64encode(signature).decode(),
            "subject_sha256": _sha256(subject),
        }
        data = json.dumps(attestation, sort_keys=True, separators=(",", ":")).encode()
        digest = _sha256(data)
        (self.directory / f"{digest.removeprefix('sha256:')}.json").write_bytes(data)
        return Attestation(AUTHORITY, digest, _sha256(signature))

    def _key(self) -> Ed25519PrivateKey:
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "signing.key"
        if path.exists():
            return Ed25519PrivateKey.from_private_bytes(path.read_bytes())
        key = Ed25519PrivateKey.generate()
        path.touch(mode=0o600)
        path.write_bytes(key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))
        return key


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
