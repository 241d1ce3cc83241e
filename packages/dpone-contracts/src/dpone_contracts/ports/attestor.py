"""Who vouches for a document that an issuer signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpone_contracts.effects import EffectKind, effect


@dataclass(frozen=True, slots=True)
class Attestation:
    """An issuer's word: its name, the digest of what it attests, the digest of its signature over that."""

    authority: str
    attestation_sha256: str
    signature_sha256: str


class Attestor(Protocol):
    """Signs the canonical bytes of a document's fields with the key of an authority."""

    @effect(EffectKind.READ)
    def attest(self, subject: bytes) -> Attestation:
        """Sign `subject` (canonical JSON of the document without issuer fields); the signature is kept by the issuer."""
        ...
