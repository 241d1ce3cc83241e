"""Whom a deployment believes: trust policy, revocation index, and the pure decision over a signed document.

A decision needs the documents, an instant, and what a verifier said of the bytes; it reads no clock and no store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from dpone_contracts.closure import Many, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken
from dpone_contracts.effects import Reason
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.signatures import Verification
from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt, window_rules
from dpone_contracts.scalars import Epoch, Identifier, Positive, Sha256Text, Text, UtcInstant, instant
from dpone_contracts.signatures import DocumentSignature, PublicKeyHex, key_id_of

DocumentKind: TypeAlias = Literal[
    "route_certification", "writer_exclusivity", "ddl_freeze", "utc_semantics", "revocation_index"
]
Certificate: TypeAlias = RouteLiveCertificationReceipt | RuntimeAssuranceReceipt


class KeyGrant(Part):
    """One kind of document that a key may issue, and where.

    `named_sha256` are deployment ids for an assurance and route policy digests for a route certification; scope
    `environment` needs no names and reaches every one of the environment.
    """

    document_kind: DocumentKind
    environment: Identifier
    scope: Literal["environment", "named"]
    named_sha256: Many[Sha256Text]

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.named_sha256, "named_sha256")
        if (self.scope == "named") != bool(self.named_sha256):
            yield broken("grant-scope", "names stand for scope `named` and for no other", "named_sha256")
        if self.document_kind == "revocation_index" and self.scope != "environment":
            yield broken("grant-scope", "a revocation index is about an environment", "scope")


class TrustedKey(Part):
    """A public key, whose it is, when it counts, and what it may issue."""

    key_id: Sha256Text
    algorithm: Literal["ed25519"]
    public_key: PublicKeyHex
    issuer_authority: Identifier
    effective_from: UtcInstant
    expires_at: UtcInstant
    grants: Several[KeyGrant]

    def _rules(self) -> Iterator[Fault]:
        if self.key_id != key_id_of(self.public_key):
            yield broken("key-id", "not the digest of the public key", "key_id")
        yield from window_rules(self.effective_from, self.expires_at)
        places = [(grant.document_kind, grant.environment, grant.named_sha256) for grant in self.grants]
        yield from sorted_set(places, "grants")


class TrustPolicy(Document):
    """Which keys a trust domain believes, and how fresh its revocation index has to be; nothing is defaulted."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-trust-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "trust_policy_sha256"

    schema_id: Literal["dpone.semantic-refresh-trust-policy.v1"] = Field(alias="schema")
    trust_policy_sha256: Sha256Text
    trust_domain: Identifier
    environment: Identifier
    effective_from: UtcInstant
    expires_at: UtcInstant
    max_revocation_index_age_seconds: Positive
    min_revocation_index_epoch: Epoch
    keys: Several[TrustedKey]

    def _rules(self) -> Iterator[Fault]:
        yield from window_rules(self.effective_from, self.expires_at)
        yield from sorted_set([key.key_id for key in self.keys], "keys")

    def key(self, key_id: str) -> TrustedKey | None:
        """The trusted key of an id."""
        return next((key for key in self.keys if key.key_id == key_id), None)


class RevokedDocument(Part):
    """A document that nobody may act on any more."""

    document_sha256: Sha256Text
    revoked_at: UtcInstant
    reason: Text


class RevokedKey(Part):
    """A key none of whose signatures counts any more, whenever it was made: a signature has no proven time."""

    key_id: Sha256Text
    revoked_at: UtcInstant
    reason: Text


class RevocationIndex(Document):
    """Everything that a trust domain has withdrawn, as one list; the next list has a higher epoch and is signed anew."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-revocation-index.v1"
    DIGEST_FIELD: ClassVar[str] = "revocation_index_sha256"

    schema_id: Literal["dpone.semantic-refresh-revocation-index.v1"] = Field(alias="schema")
    revocation_index_sha256: Sha256Text
    trust_domain: Identifier
    index_epoch: Epoch
    issued_at: UtcInstant
    documents: Many[RevokedDocument]
    keys: Many[RevokedKey]

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set([revoked.document_sha256 for revoked in self.documents], "documents")
        yield from sorted_set([revoked.key_id for revoked in self.keys], "keys")


@dataclass(frozen=True, slots=True)
class Admissible:
    """The document may be acted on; `key_id` signed it."""

    key_id: str


@dataclass(frozen=True, slots=True)
class NotAdmissible:
    """Something positive speaks against the document."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Undecided:
    """What a decision needs is missing or too old, so that nothing is decided."""

    reason: Reason


Verdict: TypeAlias = Admissible | NotAdmissible | Undecided


@dataclass(frozen=True, slots=True)
class Presented:
    """A document with the bytes that are stored of it, and the signature that lies beside it."""

    document: Document
    data: bytes
    signature: DocumentSignature | None

    @classmethod
    def of(cls, document: Document, signature: DocumentSignature | None) -> Presented:
        """A document whose stored bytes are its canonical ones."""
        return cls(document, document.to_bytes(), signature)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a signed document is about: its kind, who it says issued it, where, and the deployment or route policy."""

    kind: DocumentKind
    issuer_authority: str | None
    environment: str
    named_sha256: str | None


def subject_of(certificate: Certificate) -> Subject:
    """The subject of a route certification or an assurance."""
    if isinstance(certificate, RouteLiveCertificationReceipt):
        coordinates = certificate.coordinates
        return Subject(
            "route_certification",
            certificate.issuer_authority,
            coordinates.environment,
            coordinates.route_policy_sha256,
        )
    about = certificate.subject
    return Subject(
        about.assurance_kind, certificate.approver_authority, about.environment, about.deployment_id
    )


def judge_index(
    policy: TrustPolicy | None, presented: Presented | None, verification: Verification, at: datetime
) -> Verdict:
    """Decide whether a revocation index counts at an instant (aware, UTC): signed, of this domain, and fresh enough.

    That no later index was ever seen is the control store's to say (`RevocationLog`).
    """
    if policy is None:
        return _denied("DPONE_TRUST_POLICY_MISSING", "no trust policy was given")
    if presented is None:
        return _undecided("DPONE_REVOCATION_INDEX_MISSING", "no revocation index was given")
    index = presented.document
    if not isinstance(index, RevocationIndex) or index.trust_domain != policy.trust_domain:
        return _denied("DPONE_REVOCATION_INDEX_FOREIGN", "the revocation index is of another trust domain")
    signed = _signed(
        policy,
        presented,
        Subject("revocation_index", None, policy.environment, None),
        verification,
        at,
        index,
    )
    if not isinstance(signed, Admissible):
        return signed
    evidence = {"index_epoch": str(index.index_epoch), "issued_at": index.issued_at}
    if index.index_epoch < policy.min_revocation_index_epoch:
        observed = f"the policy asks for epoch {policy.min_revocation_index_epoch} or later"
        return _denied("DPONE_REVOCATION_INDEX_ROLLED_BACK", observed, **evidence)
    issued = instant(index.issued_at)
    if issued > at:
        return _denied(
            "DPONE_REVOCATION_INDEX_FUTURE", "the revocation index is of a later instant", **evidence
        )
    if at - issued > timedelta(seconds=policy.max_revocation_index_age_seconds):
        observed = f"older than the {policy.max_revocation_index_age_seconds} seconds of the policy"
        return _undecided("DPONE_REVOCATION_INDEX_STALE", observed, **evidence)
    return signed


def judge_certificate(
    policy: TrustPolicy | None,
    index: RevocationIndex,
    presented: Presented,
    verification: Verification,
    at: datetime,
) -> Verdict:
    """Decide whether a signed route certification or assurance counts at an instant, under an index that was judged."""
    certificate = presented.document
    assert isinstance(certificate, RouteLiveCertificationReceipt | RuntimeAssuranceReceipt)
    signed = _signed(policy, presented, subject_of(certificate), verification, at, index)
    if not isinstance(signed, Admissible):
        return signed
    evidence = {"document_sha256": certificate.digest}
    begins, ends = certificate.effective_from, certificate.expires_at
    if begins is None or ends is None:
        return _denied("DPONE_CERTIFICATE_NOT_CURRENT", "the document is itself a revocation", **evidence)
    if not instant(begins) <= at < instant(ends):
        observed = f"the document counts from {begins} until {ends}"
        return _denied("DPONE_CERTIFICATE_NOT_CURRENT", observed, **evidence)
    return signed


def require_admissible(verdict: Verdict) -> str:
    """The id of the key that signed an admissible document; raises the error of any other verdict."""
    if not isinstance(verdict, Admissible):
        raise DponeError.because(verdict.reason)
    return verdict.key_id


def _signed(
    policy: TrustPolicy | None,
    presented: Presented,
    subject: Subject,
    verification: Verification,
    at: datetime,
    index: RevocationIndex,
) -> Verdict:
    if policy is None:
        return _denied("DPONE_TRUST_POLICY_MISSING", "no trust policy was given")
    document, signature = presented.document, presented.signature
    evidence = {"schema": document.SCHEMA, "document_sha256": document.digest}
    if not instant(policy.effective_from) <= at < instant(policy.expires_at):
        observed = f"the policy counts from {policy.effective_from} until {policy.expires_at}"
        return _denied("DPONE_TRUST_POLICY_NOT_CURRENT", observed, trust_policy_sha256=policy.digest)
    if signature is None:
        return _denied("DPONE_SIGNATURE_MISSING", f"the {subject.kind} document has no signature", **evidence)
    if not signature.is_of(document, presented.data):
        observed = "the signature was made for another document or for other bytes"
        return _denied("DPONE_SIGNATURE_OF_OTHER_BYTES", observed, **evidence)
    evidence["key_id"] = signature.key_id
    key = policy.key(signature.key_id)
    if key is None:
        return _denied("DPONE_SIGNING_KEY_UNTRUSTED", "the trust policy does not know the key", **evidence)
    if {signature.issuer_authority, subject.issuer_authority or key.issuer_authority} != {
        key.issuer_authority
    }:
        observed = f"the key is {key.issuer_authority}'s, the document or signature names another issuer"
        return _denied("DPONE_SIGNATURE_ISSUER_DIFFERS", observed, **evidence)
    if verification is Verification.FORGED:
        return _denied(
            "DPONE_SIGNATURE_FORGED", "the signature is not of these bytes by this key", **evidence
        )
    if verification is not Verification.GENUINE:
        return _undecided("DPONE_SIGNATURE_UNVERIFIED", "nothing here can verify the signature", **evidence)
    if not instant(key.effective_from) <= at < instant(key.expires_at):
        observed = f"the key counts from {key.effective_from} until {key.expires_at}"
        return _denied("DPONE_SIGNING_KEY_NOT_CURRENT", observed, **evidence)
    if policy.environment != subject.environment or not any(_grants(grant, subject) for grant in key.grants):
        observed = f"the key may not issue {subject.kind} here"
        return _denied("DPONE_SIGNING_KEY_NOT_GRANTED", observed, **evidence)
    for revoked_key in index.keys:
        if revoked_key.key_id == key.key_id:
            return _denied("DPONE_SIGNING_KEY_REVOKED", f"revoked at {revoked_key.revoked_at}", **evidence)
    for revoked in index.documents:
        if revoked.document_sha256 == document.digest:
            return _denied("DPONE_CERTIFICATE_REVOKED", f"revoked at {revoked.revoked_at}", **evidence)
    return Admissible(key.key_id)


def _grants(grant: KeyGrant, subject: Subject) -> bool:
    if (grant.document_kind, grant.environment) != (subject.kind, subject.environment):
        return False
    return grant.scope == "environment" or subject.named_sha256 in grant.named_sha256


def _denied(code: str, observed: str, **evidence: str) -> NotAdmissible:
    return NotAdmissible(Reason(code, observed, evidence))


def _undecided(code: str, observed: str, **evidence: str) -> Undecided:
    return Undecided(Reason(code, observed, evidence))
