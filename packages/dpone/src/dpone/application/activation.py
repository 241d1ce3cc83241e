"""Activate one day of a deployment: plan bundle, receipt and projection, stored create-only, listed in an immutable index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone.application.planned import planned_days
from dpone.application.services import require
from dpone.application.trust import certified_in, require_judge
from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.document import DocumentError, without
from dpone_contracts.errors import DponeError
from dpone_contracts.identity import StageError, compile_plan_bundle, compile_projection
from dpone_contracts.plan_bundle import PlanBundle
from dpone_contracts.ports.activation_store import ActivationRecord
from dpone_contracts.projection import DagProjection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone.application.trust import TrustJudge
    from dpone_contracts.document import Document
    from dpone_contracts.identity import DeploymentStage
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.clock import Clock
    from dpone_contracts.ports.deployment_files import FrozenBytes, ProjectionIndex
    from dpone_contracts.ports.documents import DocumentStore
    from dpone_contracts.ports.guard import ActivationGuard, StoreIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationServices:
    """The ports of an activation; without `trust` there is no trust policy, and nothing is activated."""

    clock: Clock
    guard: ActivationGuard
    activations: ActivationStore
    documents: DocumentStore
    frozen: FrozenBytes
    index: ProjectionIndex
    trust: TrustJudge | None = None


@dataclass(frozen=True, slots=True)
class Activated:
    """An activated plan: what workers resolve by (deployment, plan bundle), and what the scheduler is shown.

    `index` is where the immutable index is; `unfinished` are the plans of the same DAG that are not terminal: while
    there is one, the index is not promoted.
    """

    bundle: PlanBundle
    projection: DagProjection
    index: str
    unfinished: tuple[str, ...]


def activate(
    services: ActivationServices, stage: DeploymentStage, authorities: Iterable[Document]
) -> Activated:
    """Compile the day's plan bundle and store its activation; the same plan again is reused as it stands.

    `authorities` are the documents that the bundle names by digest. `persisted_at` is frozen before the first commit is
    sent: an activation whose acknowledgement was lost is sent again as the same bytes, never with another clock.
    """
    store = services.activations.identity()
    services.guard.require_allowed(store)
    trust = require_judge(services.trust)
    trust.require(certified_in(stage), services.clock.now())
    try:
        bundle = compile_plan_bundle(stage)
        projection = compile_projection(bundle, stage.proofs)
    except StageError as error:
        raise DponeError("DPONE_STAGE_REFUSED", error.reason, {"rule": error.rule}) from None
    except DocumentError as error:
        raise DponeError("DPONE_STAGE_REFUSED", str(error)) from None
    deployment_id = stage.deployment.deployment_id
    there = services.activations.read_activation(deployment_id, bundle.digest)
    if there is None:
        receipt = _frozen(services, _receipt(services, store, stage, bundle, projection))
        beside = trust.documents()
        kept = {(d.SCHEMA, d.digest): d.to_bytes() for d in (*authorities, *beside, projection)}
        record = ActivationRecord(
            release_id=stage.deployment.release_id,
            deployment_id=deployment_id,
            plan_bundle_sha256=bundle.digest,
            receipt=receipt.to_bytes(),
            plan_bundle=bundle.to_bytes(),
            documents=tuple((schema, digest, data) for (schema, digest), data in sorted(kept.items())),
        )
        require(services.activations.activate(record))
    elif ActivationReceipt.from_bytes(there.receipt).dag_projection_sha256 != projection.digest:
        raise _conflict("the plan is activated with another projection", bundle.digest)
    return list_in_index(services, bundle, projection)


def list_in_index(services: ActivationServices, bundle: PlanBundle, projection: DagProjection) -> Activated:
    """Publish the projection as the current one of its DAG, beside those whose plans are not terminal."""
    deployment_id = projection.deployment_id
    days = planned_days(services.activations, deployment_id)
    unfinished = tuple(
        day.plan_bundle_sha256
        for day in days
        if day.plan_bundle_sha256 != bundle.digest
        and day.workflow_name == bundle.workflow_plan.workflow_name
        and not day.standing.is_terminal
    )
    projections = [stored_projection(services.activations, deployment_id, plan)[1] for plan in unfinished]
    index = require(services.index.publish((projection,), tuple(projections)))
    return Activated(bundle, projection, index, unfinished)


def promote(services: ActivationServices, activated: Activated) -> None:
    """Make the index the one that schedulers parse; refuses while a plan of the DAG before it is not terminal."""
    if activated.unfinished:
        raise not_promotable(activated.unfinished[0])
    services.guard.require_allowed(services.activations.identity())
    require(services.index.promote(activated.index))


def not_promotable(plan_bundle_sha256: str) -> DponeError:
    """The error of an index whose DAG has another open plan."""
    return DponeError(
        "DPONE_INDEX_NOT_PROMOTABLE",
        "another plan of the DAG is not terminal",
        {"plan_bundle_sha256": plan_bundle_sha256},
    )


def stored_projection(
    activations: ActivationStore, deployment_id: str, plan_bundle_sha256: str
) -> tuple[PlanBundle, DagProjection]:
    """The plan bundle and projection of an activation, from its stored bytes."""
    record = activations.read_activation(deployment_id, plan_bundle_sha256)
    if record is None:
        raise DponeError(
            "DPONE_ACTIVATION_NOT_FOUND",
            "no activation under this deployment and plan bundle",
            {"deployment_id": deployment_id, "plan_bundle_sha256": plan_bundle_sha256},
        )
    data = next(data for schema, _, data in record.documents if schema == DagProjection.SCHEMA)
    return PlanBundle.from_bytes(record.plan_bundle), DagProjection.from_bytes(data)


def _receipt(
    services: ActivationServices,
    store: StoreIdentity,
    stage: DeploymentStage,
    bundle: PlanBundle,
    projection: DagProjection,
) -> ActivationReceipt:
    deployment = stage.deployment
    return ActivationReceipt.build(
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


def _frozen(services: ActivationServices, receipt: ActivationReceipt) -> ActivationReceipt:
    """The receipt that was frozen first for this store and plan; it may differ in its instant only."""
    name = f"activation-receipt.{receipt.store_authority_id}.{receipt.plan_bundle_sha256.removeprefix('sha256:')}"
    first = ActivationReceipt.from_bytes(require(services.frozen.freeze(name, receipt.to_bytes())))
    if _but_for_the_instant(first) != _but_for_the_instant(receipt):
        raise _conflict("another receipt is frozen for this plan", receipt.plan_bundle_sha256)
    return first


def _but_for_the_instant(receipt: ActivationReceipt) -> dict[str, object]:
    return without(receipt.to_plain(), "persisted_at", ActivationReceipt.DIGEST_FIELD)


def _conflict(observed: str, plan_bundle_sha256: str) -> DponeError:
    return DponeError("DPONE_ACTIVATION_CONFLICT", observed, {"plan_bundle_sha256": plan_bundle_sha256})
