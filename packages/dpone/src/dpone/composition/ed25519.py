"""Ed25519 keys and signatures: the one module that signs and verifies, by the library `cryptography`.

A private key is a PEM file that only its owner may read. It is loaded for each signature and shown nowhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from dpone_contracts.canonical import canonical_bytes, sha256_text
from dpone_contracts.document import admit_document
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.attestor import Attestation
from dpone_contracts.ports.signatures import Verification
from dpone_contracts.signatures import ALGORITHM, DocumentSignature, key_id_of

if TYPE_CHECKING:
    from typing import Self

_OTHERS = 0o077


class Ed25519Verifier:
    """`SignatureVerifier` by RFC 8032."""

    def verify(self, public_key: str, signature: str, data: bytes) -> Verification:
        """Verify raw hex against the bytes; a key that is no point of the curve verifies nothing."""
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
            key.verify(bytes.fromhex(signature), data)
        except (InvalidSignature, ValueError):
            return Verification.FORGED
        return Verification.GENUINE


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key by reference (`file:/path`)."""

    reference: str

    @classmethod
    def generate(cls, path: Path) -> Self:
        """Write a new key create-only with mode 0600; raises DPONE_SIGNING_KEY_EXISTS where something is."""
        pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise DponeError(
                "DPONE_SIGNING_KEY_EXISTS", "something is there already", {"path": str(path)}
            ) from None
        with os.fdopen(handle, "wb") as file:
            file.write(pem)
        return cls(f"file:{path}")

    @property
    def public_key(self) -> str:
        """The raw public key in hex."""
        return self._load().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def signature(self, data: bytes) -> str:
        """Sign bytes as they are; the raw signature in hex."""
        return self._load().sign(data).hex()

    def _load(self) -> Ed25519PrivateKey:
        """Read the key; an error names the reference and nothing of what stands there."""
        scheme, _, name = self.reference.partition(":")
        key: object = None
        try:
            with Path(name).open("rb") as file:
                mode, pem = os.fstat(file.fileno()).st_mode, file.read()
            key = load_pem_private_key(pem, password=None) if scheme == "file" else None
        except (OSError, ValueError, TypeError):
            mode = 0
        if mode & _OTHERS:
            raise DponeError(
                "DPONE_SIGNING_KEY_EXPOSED",
                "the key's file may be read by others: chmod 600",
                {"key_reference": self.reference},
            )
        if not isinstance(key, Ed25519PrivateKey):
            raise DponeError(
                "DPONE_KEY_REFERENCE_UNRESOLVED",
                "no Ed25519 private key in PEM there",
                {"key_reference": self.reference},
            )
        return key


@dataclass(frozen=True, slots=True)
class Ed25519Signer:
    """`Signer` of one issuer with one key."""

    issuer_authority: str
    key: SigningKey

    def sign(self, data: bytes) -> DocumentSignature:
        """Sign the bytes of a valid document."""
        document = admit_document(data)
        return DocumentSignature.build(
            algorithm=ALGORITHM,
            issuer_authority=self.issuer_authority,
            key_id=key_id_of(self.key.public_key),
            signed_schema=document.SCHEMA,
            signed_document_sha256=document.digest,
            signed_bytes_sha256=sha256_text(data),
            signature=self.key.signature(data),
        )


@dataclass(frozen=True, slots=True)
class Ed25519Attestor:
    """`Attestor` of one issuer with one key.

    `kept` gets each attestation by its digest: subject digest, signature and public key as canonical JSON, for the
    issuer to keep. The published receipts name nothing of it but digests.
    """

    authority: str
    key: SigningKey
    kept: dict[str, bytes] = field(default_factory=dict)

    def attest(self, subject: bytes) -> Attestation:
        """Sign the subject."""
        signature = self.key.signature(subject)
        data = canonical_bytes(
            {
                "authority": self.authority,
                "public_key": self.key.public_key,
                "signature": signature,
                "subject_sha256": sha256_text(subject),
            }
        )
        digest = sha256_text(data)
        self.kept[digest] = data
        return Attestation(self.authority, digest, sha256_text(bytes.fromhex(signature)))
