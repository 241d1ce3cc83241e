"""Signatures beside documents: a key signs a document's exact bytes, and this says which key signed which bytes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from dpone_contracts.canonical import sha256_text
from dpone_contracts.document import Document
from dpone_contracts.scalars import Identifier, Sha256Text

ALGORITHM: Literal["ed25519"] = "ed25519"

PublicKeyHex: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", min_length=64, max_length=64)]
"""A raw Ed25519 public key (RFC 8032) in lower-case hex."""
SignatureHex: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$", min_length=128, max_length=128)]
"""A raw Ed25519 signature in lower-case hex."""


def key_id_of(public_key: str) -> str:
    """The id of a key is the digest of its raw public bytes, so that a key has no second name."""
    return sha256_text(bytes.fromhex(public_key))


class DocumentSignature(Document):
    """A detached signature. Only `signature` proves anything: it is over the signed document's bytes and nothing else.

    The published documents keep their fields, and `openssl pkeyutl -verify -rawin` can check a signature by itself.
    A document's bytes name their schema, so that a signature of one kind never passes for another's.
    """

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-document-signature.v1"
    DIGEST_FIELD: ClassVar[str] = "document_signature_sha256"

    schema_id: Literal["dpone.semantic-refresh-document-signature.v1"] = Field(alias="schema")
    document_signature_sha256: Sha256Text
    algorithm: Literal["ed25519"]
    issuer_authority: Identifier
    key_id: Sha256Text
    signed_schema: Identifier
    signed_document_sha256: Sha256Text
    signed_bytes_sha256: Sha256Text
    signature: SignatureHex

    def is_of(self, document: Document, data: bytes) -> bool:
        """Tell whether the signature claims to be of exactly this document and these bytes."""
        return (self.signed_schema, self.signed_document_sha256, self.signed_bytes_sha256) == (
            document.SCHEMA,
            document.digest,
            sha256_text(data),
        )
