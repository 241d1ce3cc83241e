"""Whether a deployment's certificates may be acted on, by adoption and activation: signed, trusted, measured again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from dpone.application.services import require
from dpone_contracts.errors import DponeError
from dpone_contracts.measurements import (
    DdlFreezeMeasurement,
    Measurement,
    RuntimeAssurancePolicy,
    UtcMeasurement,
    WriterMeasurement,
    changed,
    freeze_findings,
    utc_findings,
    writer_findings,
)
from dpone_contracts.ports.signatures import Verification
from dpone_contracts.relations import SqlRelation
from dpone_contracts.scalars import instant
from dpone_contracts.signatures import DocumentSignature
from dpone_contracts.trust import (
    Presented,
    RevocationIndex,
    TrustPolicy,
    judge_certificate,
    judge_index,
    require_admissible,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from dpone_contracts.document import Document
    from dpone_contracts.effects import Reason
    from dpone_contracts.identity import DeploymentStage
    from dpone_contracts.ports.engine_measurer import EngineMeasurer
    from dpone_contracts.ports.revocation_log import RevocationLog
    from dpone_contracts.ports.signatures import SignatureVerifier
    from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt
    from dpone_contracts.trust import Certificate

M = TypeVar("M", bound=Measurement)


@dataclass(frozen=True, slots=True)
class TrustEvidence:
    """What lies beside a deployment's certificates: policies, index, signatures by what they sign, measurements."""

    policy: TrustPolicy | None
    assurance_policies: Mapping[str, RuntimeAssurancePolicy]
    index: RevocationIndex | None
    signatures: Mapping[str, DocumentSignature]
    measurements: Mapping[str, Measurement]

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Self:
        """Sort a folder's documents; a second trust policy, index or signature of one document is refused."""
        policies: list[TrustPolicy] = []
        indexes: list[RevocationIndex] = []
        allowed: dict[str, RuntimeAssurancePolicy] = {}
        signatures: dict[str, DocumentSignature] = {}
        measurements: dict[str, Measurement] = {}
        for document in documents:
            match document:
                case TrustPolicy():
                    policies.append(document)
                case RevocationIndex():
                    indexes.append(document)
                case RuntimeAssurancePolicy():
                    allowed[document.digest] = document
                case DocumentSignature():
                    if signatures.setdefault(document.signed_document_sha256, document) != document:
                        _ambiguous("two signatures of one document", document)
                case Measurement():
                    measurements[document.digest] = document
                case _:
                    pass
        for several in (policies, indexes):
            if len({one.digest for one in several}) > 1:
                _ambiguous("two trust policies or two revocation indexes", several[0])
        return cls(
            policies[0] if policies else None,
            allowed,
            indexes[0] if indexes else None,
            signatures,
            measurements,
        )

    def documents(self) -> tuple[Document, ...]:
        """Everything, to be kept with the activation that it was judged for."""
        one_each = [one for one in (self.policy, self.index) if one is not None]
        many = (self.assurance_policies, self.signatures, self.measurements)
        return (*one_each, *(document for group in many for document in group.values()))

    def presented(self, document: Document) -> Presented:
        """A document with the signature that lies beside it, if one does."""
        return Presented.of(document, self.signatures.get(document.digest))


@dataclass(frozen=True, slots=True)
class Certified:
    """One model's certificates and what they are about: its SQL Server target and the objects that it reads.

    Without `utc_assurance` nothing that is decided names one.
    """

    target: SqlRelation
    closure_object_ids: tuple[int, ...]
    route: RouteLiveCertificationReceipt
    writer_assurance: RuntimeAssuranceReceipt
    ddl_assurance: RuntimeAssuranceReceipt
    utc_assurance: RuntimeAssuranceReceipt | None

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """All that are named."""
        named = (self.route, self.writer_assurance, self.ddl_assurance, self.utc_assurance)
        return tuple(certificate for certificate in named if certificate is not None)


def certified_in(stage: DeploymentStage) -> tuple[Certified, ...]:
    """The certificates that a stage's plan bundle names."""
    proofs = {model.model_unique_id: model.read_dependencies for model in stage.proofs.models}
    return tuple(
        Certified(
            SqlRelation.from_id(held.baseline.mssql_relation_id),
            proofs[name].closure_object_ids,
            held.route,
            held.writer_assurance,
            held.ddl_assurance,
            held.utc_assurance,
        )
        for name, held in stage.models.items()
    )


class TrustJudge(Protocol):
    """Whether certificates may be acted on, and what that is decided from."""

    def require(self, certified: Iterable[Certified], now: str) -> None:
        """Return when every one may be; raise `DponeError` with the first reason why one may not."""
        ...

    def documents(self) -> tuple[Document, ...]:
        """What it was judged by, kept with the activation."""
        ...


def require_judge(judge: TrustJudge | None) -> TrustJudge:
    """The judge that is there; without one there is no trust policy, and nothing is acted on."""
    if judge is None:
        raise DponeError("DPONE_TRUST_POLICY_MISSING", "the deployment has no trust policy")
    return judge


@dataclass(frozen=True, slots=True)
class Trust:
    """The ports of the decision and what it is made from."""

    verifier: SignatureVerifier
    measurer: EngineMeasurer
    revocations: RevocationLog
    evidence: TrustEvidence

    def require(self, certified: Iterable[Certified], now: str) -> None:
        """`require_trusted` of this."""
        require_trusted(self, certified, now)

    def documents(self) -> tuple[Document, ...]:
        """Everything that the decision is made from."""
        return self.evidence.documents()


def require_trusted(trust: Trust, certified: Iterable[Certified], now: str) -> None:
    """Return when every certificate may be acted on now; raise the first reason why one may not.

    The guard has allowed the store before: the verified revocation index is remembered there, so that an older one is
    never believed again. Then each certificate is judged, and what the engine shows is measured anew.
    """
    if trust.evidence.policy is None:
        raise DponeError("DPONE_TRUST_POLICY_MISSING", "the deployment has no trust policy")
    index = _require_index(trust.evidence, trust.verifier, instant(now))
    require(trust.revocations.remember(index.trust_domain, index.index_epoch, index.digest))
    for each in certified:
        for certificate in each.certificates:
            _require_certificate(trust.evidence, trust.verifier, index, certificate, instant(now))
        _measure_again(trust, each, now)


def verify_certificate(
    evidence: TrustEvidence, verifier: SignatureVerifier, certificate: Certificate, now: str
) -> str:
    """The id of the key that signed an admissible certificate; raises the error of any other verdict.

    Nothing is remembered and nothing measured: an older index is refused by the policy's least epoch alone.
    """
    index = _require_index(evidence, verifier, instant(now))
    return _require_certificate(evidence, verifier, index, certificate, instant(now))


def _require_index(evidence: TrustEvidence, verifier: SignatureVerifier, at: datetime) -> RevocationIndex:
    shown = None if evidence.index is None else evidence.presented(evidence.index)
    require_admissible(judge_index(evidence.policy, shown, _verification(evidence, verifier, shown), at))
    assert evidence.index is not None
    return evidence.index


def _require_certificate(
    evidence: TrustEvidence,
    verifier: SignatureVerifier,
    index: RevocationIndex,
    certificate: Certificate,
    at: datetime,
) -> str:
    shown = evidence.presented(certificate)
    verification = _verification(evidence, verifier, shown)
    return require_admissible(judge_certificate(evidence.policy, index, shown, verification, at))


def _verification(
    evidence: TrustEvidence, verifier: SignatureVerifier, shown: Presented | None
) -> Verification:
    """Verify by the trust policy's key; without one nobody has looked."""
    if shown is None or shown.signature is None or evidence.policy is None:
        return Verification.UNVERIFIED
    key = evidence.policy.key(shown.signature.key_id)
    if key is None:
        return Verification.UNVERIFIED
    return verifier.verify(key.public_key, shown.signature.signature, shown.data)


def _measure_again(trust: Trust, held: Certified, now: str) -> None:
    """Take the three measurements again: each holds by its rules, and equals the certified one in what matters."""
    target = held.target
    writers, policy = _bound(trust.evidence, held.writer_assurance, WriterMeasurement)
    measured = trust.measurer.writers(target, now)
    _hold(writer_findings(measured, policy), writers, measured)

    freeze, policy = _bound(trust.evidence, held.ddl_assurance, DdlFreezeMeasurement)
    epoch = held.ddl_assurance.ddl_epoch or 0
    frozen = trust.measurer.ddl_freeze(target, now)
    _hold(freeze_findings(frozen, policy, epoch, held.closure_object_ids), freeze, frozen)

    if held.utc_assurance is not None:
        column, _ = _bound(trust.evidence, held.utc_assurance, UtcMeasurement)
        seen = trust.measurer.utc_semantics(target, held.utc_assurance.subject.column_name or "", now)
        _hold(utc_findings(seen), column, seen)


def _bound(
    evidence: TrustEvidence, assurance: RuntimeAssuranceReceipt, kind: type[M]
) -> tuple[M, RuntimeAssurancePolicy]:
    """The measurement and the policy that an assurance names by digest."""
    measured = evidence.measurements.get(assurance.evidence_sha256 or "")
    policy = evidence.assurance_policies.get(assurance.runtime_assurance_policy_sha256)
    about = f"the {assurance.subject.assurance_kind} assurance of {assurance.subject.model_unique_id}"
    if not isinstance(measured, kind):
        raise DponeError(
            "DPONE_ASSURANCE_EVIDENCE_DIFFERS",
            f"{about} names a measurement that is not there",
            {"evidence_sha256": assurance.evidence_sha256 or ""},
        )
    if policy is None or (policy.environment, policy.acl_policy_version) != (
        assurance.subject.environment,
        assurance.acl_policy_version,
    ):
        raise DponeError(
            "DPONE_ASSURANCE_EVIDENCE_DIFFERS",
            f"{about} names a policy that is not there, or of another environment or version",
            {"runtime_assurance_policy_sha256": assurance.runtime_assurance_policy_sha256},
        )
    if kind is WriterMeasurement and (
        assurance.engine_acl_proof_sha256 != measured.digest
        or assurance.platform_allowlist_sha256 != policy.allowlist_sha256
    ):
        raise DponeError(
            "DPONE_ASSURANCE_EVIDENCE_DIFFERS", f"{about} names another proof of access or another allowlist"
        )
    return measured, policy


def _hold(findings: tuple[Reason, ...], certified: Measurement, measured: Measurement) -> None:
    difference = changed(certified, measured)
    for reason in (*findings, *([difference] if difference else [])):
        raise DponeError.because(reason)


def _ambiguous(what: str, document: Document) -> None:
    raise DponeError("DPONE_ASSURANCE_EVIDENCE_DIFFERS", what, {"schema": document.SCHEMA})
