"""A deployment as its documents say it: read whole, each linked to what names it, before anything is done with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dpone.application.trust import TrustEvidence
from dpone_contracts.descriptors import DeploymentDescriptor, ModelProofs, ProofBundle, ReleaseDescriptor
from dpone_contracts.document import Document, DocumentError, admit_document
from dpone_contracts.errors import DponeError
from dpone_contracts.model_deployment import ModelDeployment
from dpone_contracts.plan_bundle import ResourcePolicy
from dpone_contracts.policies import (
    DeadlinePolicy,
    PlatformPolicy,
    SealPolicy,
    WorkflowProfile,
    WorkflowResourcePolicy,
)
from dpone_contracts.receipts import RouteLiveCertificationReceipt, RuntimeAssuranceReceipt

if TYPE_CHECKING:
    from collections.abc import Mapping

D = TypeVar("D", bound=Document)


@dataclass(frozen=True, slots=True)
class ModelInputs:
    """One model: frozen proofs, what the deployment holds for it, and the receipts that it names."""

    proofs: ModelProofs
    held: ModelDeployment
    resource_policy: ResourcePolicy
    route: RouteLiveCertificationReceipt
    writer_assurance: RuntimeAssuranceReceipt
    ddl_assurance: RuntimeAssuranceReceipt
    utc_assurance: RuntimeAssuranceReceipt | None

    @property
    def documents(self) -> tuple[Document, ...]:
        """Everything of this model that a plan bundle names by digest."""
        proofs = (self.proofs.definition, self.proofs.read_dependencies, self.proofs.key_template)
        receipts = (self.held, self.resource_policy, self.route, self.writer_assurance, self.ddl_assurance)
        return (*proofs, *receipts, *(() if self.utc_assurance is None else (self.utc_assurance,)))


@dataclass(frozen=True, slots=True)
class DeploymentInputs:
    """One deployment of one workflow."""

    proofs: ProofBundle
    platform: PlatformPolicy
    release: ReleaseDescriptor
    descriptor: DeploymentDescriptor
    deadlines: DeadlinePolicy
    seal: SealPolicy
    resources: WorkflowResourcePolicy
    profile: WorkflowProfile
    models: Mapping[str, ModelInputs]
    trust: TrustEvidence

    @property
    def documents(self) -> tuple[Document, ...]:
        """Everything that an activation keeps, but for the baselines."""
        policies = (self.platform, self.deadlines, self.seal, self.resources, self.profile)
        proofs = (self.proofs, self.proofs.mutation_closure, self.proofs.lifecycle_policy)
        models = (document for model in self.models.values() for document in model.documents)
        return (*proofs, self.release, self.descriptor, *policies, *models)


def read_deployment(files: Mapping[str, bytes]) -> DeploymentInputs:
    """Join the documents of some files; raises `DponeError` DPONE_DEPLOYMENT_DOCUMENTS where one is absent, twice, or unlinked.

    A document's schema says what it is, its digest which one: file names mean nothing.
    """
    found = _Documents({name: _admitted(name, data) for name, data in sorted(files.items())})
    proofs, descriptor = found.only(ProofBundle), found.only(DeploymentDescriptor)
    platform = found.named(PlatformPolicy, found.only(ReleaseDescriptor).platform_policy_digest)
    inputs = DeploymentInputs(
        proofs=proofs,
        platform=platform,
        release=found.named(ReleaseDescriptor, descriptor.release_id),
        descriptor=descriptor,
        deadlines=found.named(DeadlinePolicy, platform.deadline_policy_sha256),
        seal=found.named(SealPolicy, platform.seal_policy_sha256),
        resources=found.named(WorkflowResourcePolicy, platform.workflow_resource_policy_sha256),
        profile=found.named(WorkflowProfile, descriptor.profile_sha256),
        models={
            model.model_unique_id: _model(found, model, descriptor.deployment_id) for model in proofs.models
        },
        trust=TrustEvidence.of(found.by_file.values()),
    )
    _require_links(inputs)
    return inputs


@dataclass(frozen=True, slots=True)
class _Documents:
    by_file: Mapping[str, Document]

    def of(self, kind: type[D]) -> list[D]:
        return [document for document in self.by_file.values() if isinstance(document, kind)]

    def only(self, kind: type[D]) -> D:
        there = self.of(kind)
        if len(there) != 1:
            raise _refused(f"{len(there)} documents where one is needed", schema=kind.SCHEMA)
        return there[0]

    def named(self, kind: type[D], digest: str) -> D:
        for document in self.of(kind):
            if document.digest == digest:
                return document
        raise _refused("a document that another one names is absent", schema=kind.SCHEMA, digest=digest)


def _admitted(name: str, data: bytes) -> Document:
    try:
        return admit_document(data)
    except DocumentError as error:
        raise _refused(f"{name}: {error}", file=name) from None


def _model(found: _Documents, proofs: ModelProofs, deployment_id: str) -> ModelInputs:
    there = [held for held in found.of(ModelDeployment) if held.model_unique_id == proofs.model_unique_id]
    if len(there) != 1:
        raise _refused(
            f"{len(there)} documents say what the deployment holds for {proofs.model_unique_id}",
            schema=ModelDeployment.SCHEMA,
        )
    held = there[0]
    if held.deployment_id != deployment_id:
        raise _refused(f"{proofs.model_unique_id} is held by another deployment", digest=held.digest)
    utc = held.utc_semantics_assurance_receipt_sha256
    return ModelInputs(
        proofs=proofs,
        held=held,
        resource_policy=found.named(ResourcePolicy, held.resource_policy_sha256),
        route=found.named(RouteLiveCertificationReceipt, held.route_certification_receipt_sha256),
        writer_assurance=found.named(
            RuntimeAssuranceReceipt, held.writer_exclusivity_assurance_receipt_sha256
        ),
        ddl_assurance=found.named(RuntimeAssuranceReceipt, held.ddl_freeze_assurance_receipt_sha256),
        utc_assurance=None if utc is None else found.named(RuntimeAssuranceReceipt, utc),
    )


def _require_links(inputs: DeploymentInputs) -> None:
    for what, named, there in (
        ("the release's proofs", inputs.release.pre_release_bundle_sha256, inputs.proofs.digest),
        ("the deployment's runtime policy", inputs.descriptor.runtime_policy_sha256, inputs.deadlines.digest),
        ("the topology's profile", inputs.proofs.topology.profile_sha256, inputs.profile.digest),
        ("the platform's environment", inputs.platform.environment, inputs.descriptor.environment),
    ):
        if named != there:
            raise _refused(f"{what} is another one", named=named, there=there)


def _refused(observed: str, **evidence: str) -> DponeError:
    return DponeError("DPONE_DEPLOYMENT_DOCUMENTS", observed, evidence)
