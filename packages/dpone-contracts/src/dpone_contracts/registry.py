"""Which class models which schema id: `module:Class`, imported on first use so that importing the package stays cheap."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_PREFIX = "dpone.semantic-refresh-"

PUBLISHED: Mapping[str, str] = MappingProxyType(
    {
        f"{_PREFIX}{name}.v1": where
        for name, where in {
            "operation-plan": "plans:OperationPlan",
            "workflow-plan": "plans:WorkflowPlan",
            "workflow-replacement-plan": "plans:WorkflowReplacementPlan",
            "workflow-execution-binding": "bindings:WorkflowExecutionBinding",
            "attempt-binding": "bindings:AttemptBinding",
            "attempt-continuation-receipt": "bindings:AttemptContinuationReceipt",
            "model-definition-proof": "proofs:ModelDefinitionProof",
            "mutation-closure": "proofs:MutationClosure",
            "sqlserver-lifecycle-policy": "proofs:SqlServerLifecyclePolicy",
            "read-dependency-proof": "proofs:ReadDependencyProof",
            "compiler-runtime-authority-bundle": "bindings:CompilerRuntimeAuthorityBundle",
            "baseline-adoption-receipt": "receipts:BaselineAdoptionReceipt",
            "route-live-certification-receipt": "receipts:RouteLiveCertificationReceipt",
            "runtime-assurance-receipt": "receipts:RuntimeAssuranceReceipt",
            "seal-authorization-receipt": "artifacts:SealAuthorizationReceipt",
            "sealed-artifact-manifest": "artifacts:SealedArtifactManifest",
            "v2-dag-projection": "projection:DagProjection",
            "failed-workflow-summary": "summaries:FailedWorkflowSummary",
            "durable-workflow-summary": "summaries:DurableWorkflowSummary",
            "trusted-attempt-termination-receipt": "receipts:TrustedAttemptTerminationReceipt",
            "clickhouse-failed-scratch-cleanup-receipt": "cleanup:ScratchCleanupReceipt",
            "mssql-failed-precommit-cleanup-ack": "cleanup:CleanupAcknowledgement",
        }.items()
    }
)
"""The 22 documents of the published contract."""

ADDITIVE: Mapping[str, str] = MappingProxyType(
    {
        "dpone.dbt-semantic-refresh-plan-bundle.v1": "plan_bundle:PlanBundle",
        "dpone.dbt-semantic-refresh-resource-policy.v1": "plan_bundle:ResourcePolicy",
        "dpone.dbt-semantic-refresh-topology-template.v1": "template_pack:Topology",
        "dpone.dbt-execution-pack.v1": "template_pack:ExecutionPack",
        "dpone.semantic-refresh-model-build-receipt.v1": "build_receipt:ModelBuildReceipt",
        f"{_PREFIX}model-build-receipt.v1": "build_receipt:ModelBuildReceipt",
        f"{_PREFIX}build-gate-receipt.v1": "run_receipts:BuildGateReceipt",
        f"{_PREFIX}content-record.v1": "run_receipts:ContentRecord",
        f"{_PREFIX}prepared-receipt.v1": "run_receipts:PreparedReceipt",
        f"{_PREFIX}commit-intent.v1": "run_receipts:CommitIntent",
        f"{_PREFIX}exchange-receipt.v1": "run_receipts:ExchangeReceipt",
        f"{_PREFIX}predecessor-receipt.v1": "run_receipts:PredecessorReceipt",
        f"{_PREFIX}outcome-observation.v1": "run_receipts:OutcomeObservation",
        f"{_PREFIX}publication-receipt.v1": "run_receipts:PublicationReceipt",
        f"{_PREFIX}empty-scope-receipt.v1": "run_receipts:EmptyScopeReceipt",
        f"{_PREFIX}effective-key-template.v1": "policies:EffectiveKeyTemplate",
        f"{_PREFIX}platform-policy.v1": "policies:PlatformPolicy",
        f"{_PREFIX}workflow-resource-policy.v1": "policies:WorkflowResourcePolicy",
        f"{_PREFIX}deadline-policy.v1": "policies:DeadlinePolicy",
        f"{_PREFIX}seal-policy.v1": "policies:SealPolicy",
        f"{_PREFIX}workflow-profile.v1": "policies:WorkflowProfile",
        f"{_PREFIX}proof-bundle.v1": "descriptors:ProofBundle",
        f"{_PREFIX}release-descriptor.v1": "descriptors:ReleaseDescriptor",
        f"{_PREFIX}deployment-descriptor.v1": "descriptors:DeploymentDescriptor",
        f"{_PREFIX}model-deployment.v1": "model_deployment:ModelDeployment",
        f"{_PREFIX}activation-receipt.v1": "descriptors:ActivationReceipt",
        f"{_PREFIX}deployment-index.v1": "descriptors:DeploymentIndex",
        f"{_PREFIX}document-signature.v1": "signatures:DocumentSignature",
        f"{_PREFIX}trust-policy.v1": "trust:TrustPolicy",
        f"{_PREFIX}revocation-index.v1": "trust:RevocationIndex",
        f"{_PREFIX}runtime-assurance-policy.v1": "measurements:RuntimeAssurancePolicy",
        f"{_PREFIX}writer-measurement.v1": "measurements:WriterMeasurement",
        f"{_PREFIX}ddl-freeze-measurement.v1": "measurements:DdlFreezeMeasurement",
        f"{_PREFIX}utc-measurement.v1": "measurements:UtcMeasurement",
        f"{_PREFIX}release-settings.v1": "hand_written:ReleaseSettings",
        f"{_PREFIX}attested-controls.v1": "hand_written:AttestedControls",
        f"{_PREFIX}route-result.v1": "hand_written:RouteResult",
    }
)
"""Documents that stand alone beside the published 22."""

DOCUMENTS: Mapping[str, str] = MappingProxyType({**PUBLISHED, **ADDITIVE})
