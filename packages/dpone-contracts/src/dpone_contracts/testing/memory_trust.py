"""In-memory signer, verifier and measurer: for tests, without a key and without an engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from dpone_contracts.canonical import sha256_text
from dpone_contracts.document import admit_document
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.signatures import Verification
from dpone_contracts.signatures import ALGORITHM, DocumentSignature, key_id_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone_contracts.measurements import DdlFreezeMeasurement, UtcMeasurement, WriterMeasurement
    from dpone_contracts.relations import SqlRelation

K = TypeVar("K")
T = TypeVar("T")


def _signed(public_key: str, data: bytes) -> str:
    return 2 * sha256(bytes.fromhex(public_key) + data).hexdigest()


@dataclass(frozen=True, slots=True)
class DigestVerifier:
    """Verifies what `DigestSigner` signed: whoever knows the public key can sign."""

    def verify(self, public_key: str, signature: str, data: bytes) -> Verification:
        """Compare with the digest that stands for a signature."""
        return Verification.GENUINE if signature == _signed(public_key, data) else Verification.FORGED


@dataclass(frozen=True, slots=True)
class DigestSigner:
    """Signs with a digest of public key and bytes."""

    issuer_authority: str = "signer/memory"
    public_key: str = "5e" * 32

    def sign(self, data: bytes) -> DocumentSignature:
        """Say that the bytes of a valid document are signed."""
        document = admit_document(data)
        return DocumentSignature.build(
            algorithm=ALGORITHM,
            issuer_authority=self.issuer_authority,
            key_id=key_id_of(self.public_key),
            signed_schema=document.SCHEMA,
            signed_document_sha256=document.digest,
            signed_bytes_sha256=sha256_text(data),
            signature=_signed(self.public_key, data),
        )


@dataclass(slots=True)
class MemoryMeasurer:
    """Shows the measurements that it was given, by target."""

    writers_of: dict[SqlRelation, WriterMeasurement] = field(default_factory=dict)
    freeze_of: dict[SqlRelation, DdlFreezeMeasurement] = field(default_factory=dict)
    column_of: dict[tuple[SqlRelation, str], UtcMeasurement] = field(default_factory=dict)

    def writers(self, target: SqlRelation, at: str) -> WriterMeasurement:  # noqa: ARG002 - it stands still
        """Who can write the target."""
        return _there(self.writers_of, target)

    def ddl_freeze(self, target: SqlRelation, at: str) -> DdlFreezeMeasurement:  # noqa: ARG002
        """The target's DDL freeze."""
        return _there(self.freeze_of, target)

    def utc_semantics(self, target: SqlRelation, column: str, at: str) -> UtcMeasurement:  # noqa: ARG002
        """The event-time column."""
        return _there(self.column_of, (target, column))


def _there(measured: Mapping[K, T], key: K) -> T:
    found = measured.get(key)
    if found is None:
        raise DponeError("DPONE_TARGET_ABSENT", "nothing was measured of this target")
    return found
