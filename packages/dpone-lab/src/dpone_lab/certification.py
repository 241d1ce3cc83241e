"""What the lab issues for itself: an UNVERIFIED route, and whom its disposable environment trusts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpone.application.certify import issue_route
from dpone_contracts.canonical import digest_of
from dpone_contracts.hand_written import AttestedControls, RouteResult
from dpone_contracts.identity import DISPOSABLE_ENVIRONMENT
from dpone_contracts.measurements import RuntimeAssurancePolicy
from dpone_contracts.signatures import ALGORITHM, key_id_of
from dpone_contracts.trust import RevocationIndex, TrustPolicy
from dpone_lab.authority import AUTHORITY

if TYPE_CHECKING:
    from dpone_contracts.descriptors import ProofBundle
    from dpone_contracts.ports.attestor import Attestor
    from dpone_contracts.receipts import RouteLiveCertificationReceipt

FROM: Final = "2026-01-01T00:00:00Z"
UNTIL: Final = "2099-12-31T23:59:59Z"
PRODUCER: Final = "dpone-lab 0.74.0"


def lab_digest(subject: str) -> str:
    """A digest that stands for something that the lab only names."""
    return digest_of({"authority": AUTHORITY, "subject": subject})


def unverified_route(
    attestor: Attestor, proofs: ProofBundle, environment: str
) -> RouteLiveCertificationReceipt:
    """The route as it is on the lab: tried, and UNVERIFIED for production."""
    result = RouteResult.build(
        certification_policy_sha256=lab_digest("certification policy"),
        coordinates={
            "capability_policy_sha256": lab_digest("capability policy"),
            "environment": environment,
            "load_strategy": "semantic_refresh_v2",
            "route_policy_sha256": lab_digest("route policy"),
            "runtime_image_digest": proofs.lifecycle_policy.runtime_image_digest,
            "sink_capability_sha256": lab_digest("clickhouse capability"),
            "sink_connector": "clickhouse",
            "sink_connector_version": "0.74.0",
            "source_capability_sha256": lab_digest("mssql capability"),
            "source_connector": "mssql",
            "source_connector_version": "0.74.0",
            "toolchain_sha256": proofs.models[0].definition.toolchain_sha256,
        },
        effective_from=FROM,
        expires_at=UNTIL,
        tested_at=FROM,
        status="UNVERIFIED",
    )
    return issue_route(attestor, result)


def lab_assurance_policy(worker: str, administrators: tuple[str, ...]) -> RuntimeAssurancePolicy:
    """Who may write the lab's targets: its worker, and the administrators that the engine came with."""
    return RuntimeAssurancePolicy.build(
        environment=DISPOSABLE_ENVIRONMENT,
        acl_policy_version="lab 1",
        runtime_principals=[worker],
        installer_principals=[],
        administrator_logins=sorted(administrators),
        allowed_ways=[],
        external_jobs="MEASURED",
    )


def lab_attested() -> AttestedControls:
    """What nobody can measure in a disposable database: named, for as long as the lab lives."""
    return AttestedControls.build(
        environment=DISPOSABLE_ENVIRONMENT,
        external_job_inventory_sha256=lab_digest("no external jobs"),
        organizational_control_sha256=lab_digest("disposable database"),
        effective_from=FROM,
        expires_at=UNTIL,
        producer_version=PRODUCER,
    )


def lab_trust_policy(public_key: str) -> TrustPolicy:
    """Trusts the lab's one key for every kind of document, in the disposable environment alone."""
    kinds = ("ddl_freeze", "revocation_index", "route_certification", "utc_semantics", "writer_exclusivity")
    grant = {"environment": DISPOSABLE_ENVIRONMENT, "scope": "environment", "named_sha256": []}
    return TrustPolicy.build(
        trust_domain=AUTHORITY,
        environment=DISPOSABLE_ENVIRONMENT,
        effective_from=FROM,
        expires_at=UNTIL,
        max_revocation_index_age_seconds=86_400,
        min_revocation_index_epoch=1,
        keys=[
            {
                "key_id": key_id_of(public_key),
                "algorithm": ALGORITHM,
                "public_key": public_key,
                "issuer_authority": AUTHORITY,
                "effective_from": FROM,
                "expires_at": UNTIL,
                "grants": [{"document_kind": kind, **grant} for kind in kinds],
            }
        ],
    )


def lab_revocation_index(issued_at: str) -> RevocationIndex:
    """Nothing is revoked in a lab that was made a moment ago."""
    return RevocationIndex.build(
        trust_domain=AUTHORITY, index_epoch=1, issued_at=issued_at, documents=[], keys=[]
    )
