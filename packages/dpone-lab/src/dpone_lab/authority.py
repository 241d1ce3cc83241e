"""The lab's own authority: an allow-guard for marked databases only, and a signer whose key dies with the lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dpone.composition.ed25519 import Ed25519Attestor, SigningKey
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from pathlib import Path

    from dpone_contracts.ports.attestor import Attestation
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
    """Attests with the lab's signing key and keeps every attestation beside it."""

    directory: Path

    @property
    def key(self) -> SigningKey:
        """The lab's key, made when it is first asked for; it dies with the lab's directory."""
        path = self.directory / "signing.pem"
        if path.exists():
            return SigningKey(f"file:{path}")
        self.directory.mkdir(parents=True, exist_ok=True)
        return SigningKey.generate(path)

    def attest(self, subject: bytes) -> Attestation:
        """Sign the subject; the attestation file holds subject digest, signature and public key."""
        attestor = Ed25519Attestor(AUTHORITY, self.key)
        word = attestor.attest(subject)
        for digest, data in attestor.kept.items():
            (self.directory / f"{digest.removeprefix('sha256:')}.json").write_bytes(data)
        return word
