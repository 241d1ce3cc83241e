"""Issue the three assurances of a model over measurements, each signed; nothing is issued against what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone.application.release import proofs_of
from dpone.application.trust import verify_certificate
from dpone_contracts.canonical import canonical_bytes
from dpone_contracts.document import without
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.identity import route_admitted
from dpone_contracts.measurements import freeze_findings, utc_findings, writer_findings
from dpone_contracts.receipts import ROUTE_EVIDENCE, RouteLiveCertificationReceipt, RuntimeAssuranceReceipt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dpone.application.trust import TrustEvidence
    from dpone_contracts.descriptors import DeploymentDescriptor, ModelProofs, ProofBundle, ReleaseDescriptor
    from dpone_contracts.hand_written import AttestedControls, RouteResult
    from dpone_contracts.measurements import (
        DdlFreezeMeasurement,
        Measurement,
        RuntimeAssurancePolicy,
        UtcMeasurement,
        WriterMeasurement,
    )
    from dpone_contracts.policies import PlatformPolicy
    from dpone_contracts.ports.attestor import Attestor
    from dpone_contracts.ports.signatures import SignatureVerifier


@dataclass(frozen=True, slots=True)
class Measured:
    """SQL Server's part of a model's three assurances: three measurements of one target."""

    writers: WriterMeasurement
    freeze: DdlFreezeMeasurement
    utc: UtcMeasurement


@dataclass(frozen=True, slots=True, kw_only=True)
class AssuranceIssuer:
    """Issues the assurances of one model for one deployment.

    The signature over each receipt's bytes is made beside it (`Signer`); the attestation that the published fields
    name is over the receipt's fields without its issuer.
    """

    attestor: Attestor
    policy: RuntimeAssurancePolicy
    attested: AttestedControls
    release: ReleaseDescriptor
    deployment: DeploymentDescriptor
    platform: PlatformPolicy
    proofs: ProofBundle
    route: RouteLiveCertificationReceipt
    model_unique_id: str
    evidence: TrustEvidence
    verifier: SignatureVerifier

    def issue(self, measured: Measured, now: str) -> tuple[RuntimeAssuranceReceipt, ...]:
        """Writer exclusivity, DDL freeze and UTC semantics, in this order: all three, or none.

        Raises `DponeError`: DPONE_ASSURANCE_NOT_ISSUABLE where the documents are of several releases, targets or
        environments, or the route permits nothing here; why the route's own signature is not believed at this instant;
        the finding that speaks against an assurance (a positive one before what is only hidden).
        """
        model = proofs_of(self.proofs, self.model_unique_id)
        for rule, holds, observed in self._links(model, measured):
            if not holds:
                raise DponeError("DPONE_ASSURANCE_NOT_ISSUABLE", observed, {"rule": rule})
        verify_certificate(self.evidence, self.verifier, self.route, now)
        self._refuse_findings(model, measured)
        return (
            self._issue(
                model,
                measured.writers,
                engine_acl_proof_sha256=measured.writers.digest,
                engine_acl_proof_status="PASS",
                external_job_inventory_sha256=self.attested.external_job_inventory_sha256,
                external_job_inventory_status="PASS",
                organizational_control_sha256=self.attested.organizational_control_sha256,
                organizational_control_status="CERTIFIED",
                platform_allowlist_sha256=self.policy.allowlist_sha256,
                platform_allowlist_status="PASS",
            ),
            self._issue(model, measured.freeze, ddl_epoch=measured.freeze.ddl_epoch),
            self._issue(model, measured.utc, column=measured.utc.column_name),
        )

    def _links(self, model: ModelProofs, measured: Measured) -> Iterator[tuple[str, bool, str]]:
        """Rule, whether it holds, and what was seen where it does not."""
        release, deployment, route = self.release, self.deployment, self.route
        yield (
            "one-release",
            release.pre_release_bundle_sha256 == self.proofs.digest,
            "the release has other proofs",
        )
        yield (
            "one-release",
            release.platform_policy_digest == self.platform.digest,
            "the release was built under another platform policy",
        )
        yield (
            "one-release",
            deployment.release_id == release.release_id,
            "the deployment is of another release",
        )
        environments = {
            "deployment": deployment.environment,
            "platform policy": self.platform.environment,
            "assurance policy": self.policy.environment,
            "attested controls": self.attested.environment,
            "route": route.coordinates.environment,
        }
        others = ", ".join(name for name, each in environments.items() if each != deployment.environment)
        yield "one-environment", not others, f"of another environment than the deployment: {others}"
        yield (
            "route-passed",
            route_admitted(route, deployment.environment),
            f"the route is {route.status} in {deployment.environment}",
        )
        yield (
            "one-route",
            route.coordinates.runtime_image_digest == self.proofs.lifecycle_policy.runtime_image_digest,
            "the route was tested with another runtime image",
        )
        yield (
            "one-route",
            route.coordinates.toolchain_sha256 == release.toolchain_sha256,
            "the route was tested with another toolchain",
        )
        targets = {_target(each) for each in (measured.writers, measured.freeze, measured.utc)}
        yield "one-target", len(targets) == 1, "the three measurements are of several targets"
        yield (
            "one-target",
            measured.writers.database == deployment.mssql_database,
            "the measured target is in another database than the deployment's",
        )
        yield (
            "one-target",
            measured.utc.column_name == model.event_time_column,
            f"the event-time column of the proofs is {model.event_time_column}",
        )

    def _refuse_findings(self, model: ModelProofs, measured: Measured) -> None:
        closure, epoch = model.read_dependencies.closure_object_ids, max(measured.freeze.ddl_epoch, 1)
        findings = (
            *writer_findings(measured.writers, self.policy),
            *freeze_findings(measured.freeze, self.policy, epoch, closure),
            *utc_findings(measured.utc),
        )
        errors = [DponeError.because(reason) for reason in findings]
        for error in sorted(errors, key=lambda error: error.exit_class is ExitClass.UNVERIFIED):
            raise error

    def _issue(
        self, model: ModelProofs, measured: Measurement, *, column: str | None = None, **fields: Any
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
                "effective_key_template_sha256": model.key_template.digest,
                "environment": deployment.environment,
                "model_definition_proof_sha256": model.definition.digest,
                "model_unique_id": model.model_unique_id,
                "mssql_control_database": deployment.mssql_control_database,
                "mssql_control_schema": deployment.mssql_control_schema,
                "mssql_image_schema": deployment.mssql_image_schema,
                "mssql_target_authority_id": f"mssql://{deployment.mssql_connection_authority_id}/{_target(measured)}",
                "release_id": deployment.release_id,
                "route_certification_receipt_sha256": self.route.digest,
                "scope_image_namespace_policy_sha256": self.platform.scope_image_namespace_policy_sha256,
                "sqlserver_lifecycle_policy_sha256": self.proofs.lifecycle_policy.digest,
                "subject_type": "target" if column is None else "column",
                "writable_schema_sha256": model.writable_schema_sha256,
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


def issue_route(
    attestor: Attestor, result: RouteResult, evidence: Collection[str] = ()
) -> RouteLiveCertificationReceipt:
    """A route certification of a test's result, with the attestation of its issuer.

    `evidence` are the digests of the files that are at hand. Raises `DponeError` DPONE_ASSURANCE_NOT_ISSUABLE where a
    live result names evidence that is not: what is skipped or unavailable stays UNVERIFIED (specification, test plan).
    """
    fields = without(result.to_plain(), "schema", result.DIGEST_FIELD)
    for name in ROUTE_EVIDENCE:
        if fields.get(name) is not None and fields[name] not in evidence:
            raise DponeError(
                "DPONE_ASSURANCE_NOT_ISSUABLE",
                f"the file of {name} is not at hand",
                {"rule": "live-evidence", name: fields[name]},
            )
    word = attestor.attest(canonical_bytes(fields))
    return RouteLiveCertificationReceipt.build(
        **fields,
        issuer_authority=word.authority,
        issuer_attestation_sha256=word.attestation_sha256,
        issuer_signature_sha256=word.signature_sha256,
    )


def _target(measured: Measurement) -> str:
    return f"{measured.database}.{measured.schema_name}.{measured.object_name}"


_KINDS = {
    "dpone.semantic-refresh-writer-measurement.v1": "writer_exclusivity",
    "dpone.semantic-refresh-ddl-freeze-measurement.v1": "ddl_freeze",
    "dpone.semantic-refresh-utc-measurement.v1": "utc_semantics",
}
