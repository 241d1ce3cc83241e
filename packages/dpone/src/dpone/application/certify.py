"""Issue the three assurances of a model over measurements, each signed; nothing is issued against what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone.application.services import refuse_first
from dpone_contracts.canonical import canonical_bytes
from dpone_contracts.measurements import freeze_findings, utc_findings, writer_findings
from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt

if TYPE_CHECKING:
    from dpone_contracts.descriptors import DeploymentDescriptor, ModelProofs, ProofBundle
    from dpone_contracts.effects import Reason
    from dpone_contracts.measurements import (
        DdlFreezeMeasurement,
        Measurement,
        RuntimeAssurancePolicy,
        UtcMeasurement,
        WriterMeasurement,
    )
    from dpone_contracts.policies import PlatformPolicy
    from dpone_contracts.ports.attestor import Attestor


@dataclass(frozen=True, slots=True)
class Attested:
    """What no engine can show and the organisation vouches for, by digest, and for how long the assurances count."""

    external_job_inventory_sha256: str
    organizational_control_sha256: str
    effective_from: str
    expires_at: str
    producer_version: str


@dataclass(frozen=True, slots=True)
class AssuranceIssuer:
    """Issues the assurances of one model for one deployment.

    The signature over each receipt's bytes is made beside it (`Signer`); the attestation that the published fields
    name is over the receipt's fields without its issuer.
    """

    attestor: Attestor
    policy: RuntimeAssurancePolicy
    attested: Attested
    deployment: DeploymentDescriptor
    platform: PlatformPolicy
    proofs: ProofBundle
    model: ModelProofs
    mssql_target_authority_id: str
    route_certification_receipt_sha256: str

    def writer_exclusivity(self, measured: WriterMeasurement) -> RuntimeAssuranceReceipt:
        """Only the runtime, named installers and administrators write the target; refused where somebody else does."""
        _refuse(writer_findings(measured, self.policy))
        return self._issue(
            measured,
            engine_acl_proof_sha256=measured.digest,
            engine_acl_proof_status="PASS",
            external_job_inventory_sha256=self.attested.external_job_inventory_sha256,
            external_job_inventory_status="PASS",
            organizational_control_sha256=self.attested.organizational_control_sha256,
            organizational_control_status="CERTIFIED",
            platform_allowlist_sha256=self.policy.allowlist_sha256,
            platform_allowlist_status="PASS",
        )

    def ddl_freeze(self, measured: DdlFreezeMeasurement) -> RuntimeAssuranceReceipt:
        """The measured positive epoch of the target and its read closure."""
        _refuse(
            freeze_findings(
                measured,
                self.policy,
                max(measured.ddl_epoch, 1),
                self.model.read_dependencies.closure_object_ids,
            )
        )
        return self._issue(measured, ddl_epoch=measured.ddl_epoch)

    def utc_semantics(self, measured: UtcMeasurement) -> RuntimeAssuranceReceipt:
        """The event-time column holds UTC: the issuer's word, with nothing in the engine against it."""
        _refuse(utc_findings(measured))
        return self._issue(measured, column=measured.column_name)

    def _issue(
        self, measured: Measurement, *, column: str | None = None, **fields: Any
    ) -> RuntimeAssuranceReceipt:
        deployment = self.deployment
        kind = _KINDS[measured.SCHEMA]
        body: dict[str, Any] = {
            "acl_policy_version": self.policy.acl_policy_version,
            "effective_from": self.attested.effective_from,
            "evidence_sha256": measured.digest,
            "expires_at": self.attested.expires_at,
            "producer_version": self.attested.producer_version,
            "runtime_assurance_policy_sha256": self.policy.digest,
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
                "subject_type": "target" if column is None else "column",
                "writable_schema_sha256": self.model.writable_schema_sha256,
                **({} if column is None else {"column_name": column}),
            },
            "transformation_version": self.attested.producer_version,
            **fields,
        }
        word = self.attestor.attest(canonical_bytes(body))
        return RuntimeAssuranceReceipt.build(
            **body,
            approver_authority=word.authority,
            approver_attestation_sha256=word.attestation_sha256,
            approver_signature_sha256=word.signature_sha256,
        )


def issue_route(attestor: Attestor, fields: dict[str, Any]) -> RouteLiveCertificationReceipt:
    """A route certification over its fields, with the attestation of its issuer."""
    word = attestor.attest(canonical_bytes(fields))
    return RouteLiveCertificationReceipt.build(
        **fields,
        issuer_authority=word.authority,
        issuer_attestation_sha256=word.attestation_sha256,
        issuer_signature_sha256=word.signature_sha256,
    )


_KINDS = {
    "dpone.semantic-refresh-writer-measurement.v1": "writer_exclusivity",
    "dpone.semantic-refresh-ddl-freeze-measurement.v1": "ddl_freeze",
    "dpone.semantic-refresh-utc-measurement.v1": "utc_semantics",
}


def _refuse(findings: tuple[Reason, ...]) -> None:
    refuse_first(tuple((reason.code, reason.observed) for reason in findings))
