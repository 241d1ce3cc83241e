"""Receipts that the lab issues for itself: an UNVERIFIED route, and assurances that hold in a disposable database only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpone_contracts.canonical import canonical_bytes, digest_of
from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt

if TYPE_CHECKING:
    from dpone_contracts.descriptors import DeploymentDescriptor, ModelProofs, ProofBundle
    from dpone_contracts.policies import PlatformPolicy
    from dpone_contracts.ports.attestor import Attestor

FROM: Final = "2026-01-01T00:00:00Z"
UNTIL: Final = "2099-12-31T23:59:59Z"
PRODUCER: Final = "dpone-lab 0.74.0"


def lab_digest(subject: str) -> str:
    """A digest that stands for something that the lab only names."""
    return digest_of({"authority": "dpone-lab/disposable", "subject": subject})


def unverified_route(
    attestor: Attestor, proofs: ProofBundle, environment: str
) -> RouteLiveCertificationReceipt:
    """The route as it is on the lab: tried, and UNVERIFIED for production."""
    fields: dict[str, Any] = {
        "certification_policy_sha256": lab_digest("certification policy"),
        "coordinates": {
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
        "effective_from": FROM,
        "expires_at": UNTIL,
        "tested_at": FROM,
        "status": "UNVERIFIED",
    }
    word = attestor.attest(canonical_bytes(fields))
    return RouteLiveCertificationReceipt.build(
        **fields,
        issuer_authority=word.authority,
        issuer_attestation_sha256=word.attestation_sha256,
        issuer_signature_sha256=word.signature_sha256,
    )


@dataclass(frozen=True)
class Assurances:
    """Issues the three assurances of one model for one deployment."""

    attestor: Attestor
    deployment: DeploymentDescriptor
    platform: PlatformPolicy
    proofs: ProofBundle
    model: ModelProofs
    mssql_target_authority_id: str
    route_certification_receipt_sha256: str

    def writer_exclusivity(self) -> RuntimeAssuranceReceipt:
        """Nobody else writes a database that the lab made a minute ago."""
        return self._issue(
            "writer_exclusivity",
            "target",
            engine_acl_proof_sha256=lab_digest("engine acl"),
            engine_acl_proof_status="PASS",
            external_job_inventory_sha256=lab_digest("no external jobs"),
            external_job_inventory_status="PASS",
            organizational_control_sha256=lab_digest("disposable database"),
            organizational_control_status="CERTIFIED",
            platform_allowlist_sha256=lab_digest("allowlist"),
            platform_allowlist_status="PASS",
        )

    def ddl_freeze(self, epoch: int) -> RuntimeAssuranceReceipt:
        """The DDL epoch that the database counts for the target and its read closure."""
        return self._issue("ddl_freeze", "target", ddl_epoch=epoch)

    def utc_semantics(self, column: str) -> RuntimeAssuranceReceipt:
        """The real data's hours are UTC; see `dpone_lab.flights`."""
        return self._issue("utc_semantics", "column", {"column_name": column})

    def _issue(
        self, kind: str, subject_type: str, subject: dict[str, str] | None = None, **fields: Any
    ) -> RuntimeAssuranceReceipt:
        deployment = self.deployment
        body: dict[str, Any] = {
            "acl_policy_version": "lab 1",
            "effective_from": FROM,
            "evidence_sha256": lab_digest(f"{kind} of {self.model.model_unique_id}"),
            "expires_at": UNTIL,
            "producer_version": PRODUCER,
            "runtime_assurance_policy_sha256": lab_digest("runtime assurance policy"),
            "status": "CERTIFIED",
            "subject": {
                "assurance_kind": kind,
                "database": deployment.mssql_database,
                "deployment_id": deployment.deployment_id,
                "effective_key_template_sha256": self.model.key_template.digest,
                "environment": deployment.environment,
                "model_definition_proof_sha256": self.model.definition.digest,
                "model_unique_id": self.model.model_unique_id,
                "mssql_control_database": deployment.mssql_control_database,
                "mssql_control_schema": deployment.mssql_control_schema,
                "mssql_image_schema": deployment.mssql_image_schema,
                "mssql_target_authority_id": self.mssql_target_authority_id,
                "release_id": deployment.release_id,
                "route_certification_receipt_sha256": self.route_certification_receipt_sha256,
                "scope_image_namespace_policy_sha256": self.platform.scope_image_namespace_policy_sha256,
                "sqlserver_lifecycle_policy_sha256": self.proofs.lifecycle_policy.digest,
                "subject_type": subject_type,
                "writable_schema_sha256": self.model.writable_schema_sha256,
                **(subject or {}),
            },
            "transformation_version": PRODUCER,
            **fields,
        }
        word = self.attestor.attest(canonical_bytes(body))
        return RuntimeAssuranceReceipt.build(
            **body,
            approver_authority=word.authority,
            approver_attestation_sha256=word.attestation_sha256,
            approver_signature_sha256=word.signature_sha256,
        )
