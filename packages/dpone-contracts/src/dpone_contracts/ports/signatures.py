"""Signing and verifying bytes; what a signature means is decided in `dpone_contracts.trust`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, effect

if TYPE_CHECKING:
    from dpone_contracts.signatures import DocumentSignature


class Verification(StrEnum):
    """What a verifier says of one signature."""

    GENUINE = "GENUINE"
    FORGED = "FORGED"
    UNVERIFIED = "UNVERIFIED"
    """Nobody looked: no key to verify with, or no means to."""


class SignatureVerifier(Protocol):
    """Verifies an Ed25519 signature."""

    @effect(EffectKind.READ)
    def verify(self, public_key: str, signature: str, data: bytes) -> Verification:
        """Verify a signature (128 hex digits) of `data` by a raw public key (64 hex digits)."""
        ...


class Signer(Protocol):
    """Signs with one key of one issuer; the private key stays where its reference points to."""

    @effect(EffectKind.READ)
    def sign(self, data: bytes) -> DocumentSignature:
        """Sign the exact bytes of a document and say so; raises DponeError for bytes that are no valid document."""
        ...
