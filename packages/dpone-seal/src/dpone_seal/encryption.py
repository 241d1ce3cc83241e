"""Encryption of objects where the store does not do it: AES-256-GCM, the key by reference."""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dpone_contracts.errors import DponeError
from dpone_contracts.redaction import Redacted

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAGIC = b"dpone-aesgcm-1\n"
_NONCE_BYTES = 12
_KEY_BYTES = 32


class Cipher(Protocol):
    """How bytes become what is stored under a key, and back."""

    def seal(self, key: str, data: bytes) -> bytes:
        """The bytes to store."""
        ...

    def open(self, key: str, stored: bytes) -> bytes:
        """The plaintext; DPONE_ARTIFACT_DIGEST_MISMATCH where the stored bytes were not sealed for this key."""
        ...


@dataclass(frozen=True, slots=True)
class StoreEncrypted:
    """The store encrypts by itself and was asserted to; bytes go as they are."""

    def seal(self, key: str, data: bytes) -> bytes:  # noqa: ARG002 - the protocol's argument
        """The same bytes."""
        return data

    def open(self, key: str, stored: bytes) -> bytes:  # noqa: ARG002 - the protocol's argument
        """The same bytes."""
        return stored


@dataclass(frozen=True, slots=True)
class AesGcm:
    """AES-256-GCM with a random nonce; object key and key reference are authenticated with the bytes."""

    secret: Redacted[bytes]
    reference: str

    def seal(self, key: str, data: bytes) -> bytes:
        """Magic, nonce, ciphertext with tag."""
        nonce = token_bytes(_NONCE_BYTES)
        return _MAGIC + nonce + AESGCM(self.secret.reveal()).encrypt(nonce, data, self._bound_to(key, _MAGIC))

    def open(self, key: str, stored: bytes) -> bytes:
        """The plaintext of an object that was sealed under this key with this secret."""
        start = len(_MAGIC) + _NONCE_BYTES
        try:
            magic, nonce, sealed = stored[: len(_MAGIC)], stored[len(_MAGIC) : start], stored[start:]
            return AESGCM(self.secret.reveal()).decrypt(nonce, sealed, self._bound_to(key, magic))
        except (InvalidTag, ValueError):
            raise DponeError(
                "DPONE_ARTIFACT_DIGEST_MISMATCH",
                "the stored bytes were not sealed for this key with this secret",
                {"key": key, "key_reference": self.reference},
            ) from None

    def _bound_to(self, key: str, magic: bytes) -> bytes:
        return magic + f"{self.reference}\0{key}".encode()


def aes_gcm(reference: str, environment: Mapping[str, str] | None = None) -> AesGcm:
    """The cipher of a key reference: `env:NAME` or `file:/path`, base64 of 32 bytes there.

    Raises DPONE_KEY_REFERENCE_UNRESOLVED, which shows the reference and never the key.
    """
    try:
        encoded = _encoded_key(reference, os.environ if environment is None else environment)
        secret = base64.b64decode(encoded.strip(), validate=True)
    except (OSError, UnicodeError, binascii.Error):
        secret = b""
    if len(secret) != _KEY_BYTES:
        raise DponeError(
            "DPONE_KEY_REFERENCE_UNRESOLVED", "no 256-bit key in base64 there", {"key_reference": reference}
        )
    return AesGcm(Redacted(secret), reference)


def _encoded_key(reference: str, environment: Mapping[str, str]) -> str:
    """What a reference points to; empty for a kind of reference that does not exist."""
    match reference.partition(":"):
        case ("env", _, name):
            return environment.get(name, "")
        case ("file", _, name):
            return Path(name).read_text(encoding="ascii")
        case _:
            return ""
