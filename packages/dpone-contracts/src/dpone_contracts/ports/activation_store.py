"""Immutable deployment authorities: activation receipts and heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from dpone_contracts.ports.guard import StoreIdentity
    from dpone_contracts.receipts import BaselineAdoptionReceipt


@dataclass(frozen=True, slots=True)
class ActivationRecord:
    """One activation: the exact canonical bytes that every later worker resolves.

    The key is (deployment_id, plan_bundle_sha256). `documents` are the canonical bytes of every document
    that the plan bundle names by digest (proofs, policies, assurances, baselines), by (schema, digest).
    """

    release_id: str
    deployment_id: str
    plan_bundle_sha256: str
    receipt: bytes
    plan_bundle: bytes
    documents: tuple[tuple[str, str, bytes], ...]


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """An activation receipt's bytes, the DagRun that the plan is bound to, and the schema of the summary that ends it."""

    receipt: bytes
    dag_run_id: str | None
    summary_schema: str | None


@dataclass(frozen=True, slots=True)
class TargetHead:
    """The published generation of one target (specification, identity and state publication).

    `generation` counts from the baseline's; `generation_id` is the digest that plans name as predecessor;
    `target_uuid` is the ClickHouse UUID under the target's name; `owner_operation_id` the operation that
    published it (the baseline receipt's digest after adoption).
    """

    target_authority_id: str
    generation: int
    generation_id: str
    target_uuid: str
    owner_operation_id: str
    terminal_receipt_sha256: str | None


@dataclass(frozen=True, slots=True)
class ScopeHead:
    """The latest published revision of one scope of a family."""

    scope_family_id: str
    scope_start: str
    scope_revision: int
    operation_id: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a scope family is covered without a gap: the end of the last covered day."""

    scope_family_id: str
    covered_until: str


class ActivationStore(Protocol):
    """Create-only deployment authority in the control database."""

    @effect(EffectKind.READ)
    def identity(self) -> StoreIdentity:
        """Identity and schema version; raises `DponeError` for a store of another version or none."""
        ...

    @effect(EffectKind.COMMIT)
    def adopt_baseline(
        self, receipt: BaselineAdoptionReceipt, scope_family_id: str
    ) -> EffectResult[TargetHead]:
        """Store the receipt and the initial head and checkpoint in one transaction; the same bytes again are Applied."""
        ...

    @effect(EffectKind.COMMIT)
    def activate(self, record: ActivationRecord) -> EffectResult[str]:
        """Store one activation create-only; the value is the receipt's digest. Other bytes under the key: NotApplied."""
        ...

    @effect(EffectKind.READ)
    def read_activation(self, deployment_id: str, plan_bundle_sha256: str) -> ActivationRecord | None:
        """The exact activation of a composite key; there is no latest."""
        ...

    @effect(EffectKind.READ)
    def plans_of(self, deployment_id: str) -> tuple[StoredPlan, ...]:
        """All activations of a deployment in the order of storing: to discover, never authority."""
        ...

    @effect(EffectKind.READ)
    def target_head(self, target_authority_id: str) -> TargetHead | None:
        """The head of a target."""
        ...

    @effect(EffectKind.READ)
    def scope_head(self, scope_family_id: str, scope_start: str) -> ScopeHead | None:
        """The head of one scope."""
        ...

    @effect(EffectKind.READ)
    def checkpoint(self, scope_family_id: str) -> Checkpoint | None:
        """The checkpoint of a scope family."""
        ...
