"""Activate one day of a deployment: plan bundle, receipt and projection, stored create-only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone.application.services import require
from dpone.application.trust import require_trusted
from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.identity import compile_plan_bundle, compile_projection
from dpone_contracts.ports.activation_store import ActivationRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone.application.trust import Trust
    from dpone_contracts.document import Document
    from dpone_contracts.identity import DeploymentStage
    from dpone_contracts.plan_bundle import PlanBundle
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.clock import Clock
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.projection import DagProjection


@dataclass(frozen=True, slots=True)
class ActivationServices:
    """The ports of an activation; without `trust` there is no trust policy, and nothing is activated."""

    clock: Clock
    guard: ActivationGuard
    activations: ActivationStore
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class Activated:
    """An activated plan: what workers resolve by (deployment, plan bundle), and what the scheduler is shown."""

    bundle: PlanBundle
    projection: DagProjection


def activate(
    services: ActivationServices, stage: DeploymentStage, authorities: Iterable[Document]
) -> Activated:
    """Compile the day's plan bundle and store its activation; the same plan again is reused as it stands.

    `authorities` are the documents that the bundle names by digest. `persisted_at` is frozen with the first stored
    receipt: an activation whose acknowledgement was lost is found again, never written anew with another clock.
    """
    store = services.activations.identity()
    services.guard.require_allowed(store)
    require_trusted(services.trust, stage, services.clock.now())
    bundle = compile_plan_bundle(stage)
    projection = compile_projection(bundle, stage.proofs)
    deployment = stage.deployment
    if services.activations.read_activation(deployment.deployment_id, bundle.digest) is None:
        receipt = ActivationReceipt.build(
            status="ACTIVE",
            release_id=deployment.release_id,
            deployment_id=deployment.deployment_id,
            store_authority_id=store.store_id,
            recovery_fork=store.recovery_fork,
            authority_receipt_sha256=deployment.authority_receipt_sha256,
            pre_release_bundle_sha256=bundle.pre_release_bundle_sha256,
            package_artifacts_sha256=bundle.package_artifacts_sha256,
            plan_bundle_sha256=bundle.digest,
            workflow_plan_sha256=bundle.workflow_plan.digest,
            dag_projection_sha256=projection.digest,
            workflow_name=bundle.workflow_plan.workflow_name,
            scope_start=bundle.workflow_plan.scope_start,
            scope_end=bundle.workflow_plan.scope_end,
            persisted_at=services.clock.now(),
        )
        beside = () if services.trust is None else services.trust.evidence.documents()
        kept = {(d.SCHEMA, d.digest): d.to_bytes() for d in (*authorities, *beside, projection)}
        record = ActivationRecord(
            release_id=deployment.release_id,
            deployment_id=deployment.deployment_id,
            plan_bundle_sha256=bundle.digest,
            receipt=receipt.to_bytes(),
            plan_bundle=bundle.to_bytes(),
            documents=tuple((schema, digest, data) for (schema, digest), data in sorted(kept.items())),
        )
        require(services.activations.activate(record))
    return Activated(bundle, projection)
