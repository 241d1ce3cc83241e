"""The control store in memory: documents, activations and heads, each change all or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dpone_contracts.canonical import decode, digest_checked
from dpone_contracts.document import Valid, load_document, without
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason
from dpone_contracts.plan_bundle import PlanBundle
from dpone_contracts.ports.activation_store import (
    ActivationRecord,
    Checkpoint,
    ScopeHead,
    StoredPlan,
    TargetHead,
)
from dpone_contracts.ports.guard import StoreIdentity
from dpone_contracts.receipts import BaselineAdoptionReceipt, baseline_generation_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_contracts.document import Document
    from dpone_contracts.journal import JournalEntry
    from dpone_contracts.ports.refresh_state import AdmittedOperation

T = TypeVar("T")


class RefusedError(Exception):
    """Ends a transaction without a change."""

    def __init__(self, code: str, observed: str, **evidence: str) -> None:
        super().__init__(code, observed)
        self.reason = Reason(code, observed, evidence)


@dataclass(slots=True)
class HeldGuard:
    """A guard row; `operation` and `attempt` are None for a workflow's guard."""

    execution: str
    operation: str | None
    attempt: str | None
    fence: int
    status: str = "ACTIVE"


@dataclass(slots=True)
class ControlRows:
    """All tables of the control schema."""

    documents: dict[tuple[str, str], bytes] = field(default_factory=dict)
    of_operation: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    deployments: dict[str, str] = field(default_factory=dict)
    owners: dict[str, tuple[str, str, str, str]] = field(default_factory=dict)
    activations: dict[tuple[str, str], ActivationRecord] = field(default_factory=dict)
    target_heads: dict[str, TargetHead] = field(default_factory=dict)
    scope_heads: dict[tuple[str, str], ScopeHead] = field(default_factory=dict)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    executions: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    fence_counter: int = 0
    guards: dict[str, HeldGuard] = field(default_factory=dict)
    attempts: dict[str, list[AdmittedOperation]] = field(default_factory=dict)
    plan_of: dict[str, tuple[str, str]] = field(default_factory=dict)
    intents: set[str] = field(default_factory=set)
    fates: dict[str, str] = field(default_factory=dict)
    journals: dict[str, list[JournalEntry]] = field(default_factory=dict)
    build_receipts: dict[str, bytes] = field(default_factory=dict)
    summaries: dict[str, tuple[str, str]] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)

    def draft(self) -> ControlRows:
        """A copy to change: all containers and guards are its own, the documents and entries in them never change."""
        return replace(self, **{each.name: _copied(getattr(self, each.name)) for each in fields(self)})


@dataclass(slots=True)
class MemoryControl:
    """One store: its identity and its rows. `live_attempts` are those whose sessions the engine still shows."""

    store: StoreIdentity
    rows: ControlRows = field(default_factory=ControlRows)
    live_attempts: set[str] = field(default_factory=set)

    def commit(self, change: Callable[[ControlRows], T]) -> EffectResult[T]:
        """Apply a change to all rows, or to none where it raises."""
        draft = self.rows.draft()
        try:
            value = change(draft)
        except RefusedError as refused:
            return NotApplied(refused.reason)
        self.rows = draft
        return Applied(value)


def disposable_store(database: str = "memory") -> StoreIdentity:
    """The identity of a disposable store."""
    return StoreIdentity(
        store_id="6f2e4c1a-0b6d-4f0e-9c55-3f0f0a4f1f10",
        schema_version=1,
        server="memory",
        database=database,
        recovery_fork="0c9f1d62-54f8-4f7c-8a39-9a2f8f0d1b11",
        disposable_marker="2b1f3b9e-3c44-4d39-8d8e-0d6f1a2b3c4d",
    )


def put_document(rows: ControlRows, document: Document, operation_id: str | None) -> None:
    """Store a document's bytes under its digest, and list it for an operation."""
    key, data = (document.SCHEMA, document.digest), document.to_bytes()
    if rows.documents.setdefault(key, data) != data:
        raise RefusedError(
            "DPONE_DOCUMENT_CONFLICT", "other bytes are stored under the digest", digest=key[1]
        )
    if operation_id is not None and key not in rows.of_operation.setdefault(operation_id, []):
        rows.of_operation[operation_id].append(key)


@dataclass(frozen=True, slots=True)
class MemoryDocumentStore:
    """`DocumentStore` over the control rows."""

    control: MemoryControl

    def persist(self, operation_id: str | None, document: Document) -> EffectResult[str]:
        """Store a document."""

        def store(rows: ControlRows) -> str:
            put_document(rows, document, operation_id)
            return document.digest

        return self.control.commit(store)

    def read(self, schema: str, digest: str) -> bytes | None:
        """The stored bytes."""
        return self.control.rows.documents.get((schema, digest))

    def list_for(self, operation_id: str) -> tuple[tuple[str, str], ...]:
        """(schema, digest) of an operation's documents, in the order of storing."""
        return tuple(self.control.rows.of_operation.get(operation_id, ()))


@dataclass(frozen=True, slots=True)
class MemoryActivationStore:
    """`ActivationStore` over the control rows."""

    control: MemoryControl

    def identity(self) -> StoreIdentity:
        """Who the store is."""
        return self.control.store

    def adopt_baseline(
        self, receipt: BaselineAdoptionReceipt, scope_family_id: str
    ) -> EffectResult[TargetHead]:
        """Store the receipt, the owner, the initial head and the checkpoint."""
        authority = receipt.clickhouse_target_authority_id
        head = TargetHead(
            target_authority_id=authority,
            generation=receipt.clickhouse_generation,
            generation_id=baseline_generation_id(receipt.to_plain()),
            target_uuid=receipt.clickhouse_target_uuid,
            owner_operation_id=receipt.digest,
            terminal_receipt_sha256=None,
        )
        owner = (receipt.deployment_id, receipt.model_unique_id, scope_family_id, receipt.digest)

        def adopt(rows: ControlRows) -> TargetHead:
            _require_deployment(rows, receipt.deployment_id, receipt.release_id)
            there = rows.owners.setdefault(authority, owner)
            if there != owner:
                raise RefusedError(
                    "DPONE_TARGET_OWNED", "the target has an owner and a baseline already", model=there[1]
                )
            put_document(rows, receipt, None)
            rows.target_heads.setdefault(authority, head)
            rows.checkpoints.setdefault(scope_family_id, Checkpoint(scope_family_id, receipt.coverage_end))
            return head

        return self.control.commit(adopt)

    def activate(self, record: ActivationRecord) -> EffectResult[str]:
        """Store one activation create-only."""
        digest = _receipt_digest(record)
        key = (record.deployment_id, record.plan_bundle_sha256)

        def store(rows: ControlRows) -> str:
            _require_deployment(rows, record.deployment_id, record.release_id)
            if rows.activations.setdefault(key, record) != record:
                raise RefusedError(
                    "DPONE_ACTIVATION_CONFLICT",
                    "another activation is stored there",
                    plan_bundle_sha256=key[1],
                )
            return digest

        return self.control.commit(store)

    def read_activation(self, deployment_id: str, plan_bundle_sha256: str) -> ActivationRecord | None:
        """The activation of a composite key."""
        return self.control.rows.activations.get((deployment_id, plan_bundle_sha256))

    def plans_of(self, deployment_id: str) -> tuple[StoredPlan, ...]:
        """All activations of a deployment in the order of storing."""
        rows = self.control.rows
        return tuple(
            _stored_plan(rows, key, record)
            for key, record in rows.activations.items()
            if key[0] == deployment_id
        )

    def target_head(self, target_authority_id: str) -> TargetHead | None:
        """The head of a target."""
        return self.control.rows.target_heads.get(target_authority_id)

    def scope_head(self, scope_family_id: str, scope_start: str) -> ScopeHead | None:
        """The head of one scope."""
        return self.control.rows.scope_heads.get((scope_family_id, scope_start))

    def checkpoint(self, scope_family_id: str) -> Checkpoint | None:
        """The checkpoint of a scope family."""
        return self.control.rows.checkpoints.get(scope_family_id)


def _stored_plan(rows: ControlRows, key: tuple[str, str], record: ActivationRecord) -> StoredPlan:
    dag_run_id, binding = rows.executions.get(key, (None, ""))
    return StoredPlan(record.receipt, dag_run_id, rows.summaries.get(binding, (None, ""))[0])


def bundle_of(rows: ControlRows, operation_id: str) -> PlanBundle | None:
    """The activated bundle that an admitted operation belongs to."""
    key = rows.plan_of.get(operation_id)
    return None if key is None else PlanBundle.from_bytes(rows.activations[key].plan_bundle)


def _copied(value: Any) -> Any:
    match value:
        case dict():
            return {key: _copied(each) for key, each in value.items()}
        case list():
            return [_copied(each) for each in value]
        case set():
            return set(value)
        case HeldGuard():
            return replace(value)
        case _:
            return value


def _require_deployment(rows: ControlRows, deployment_id: str, release_id: str) -> None:
    there = rows.deployments.setdefault(deployment_id, release_id)
    if there != release_id:
        raise RefusedError(
            "DPONE_DEPLOYMENT_CONFLICT", "the deployment belongs to another release", release_id=there
        )


def _receipt_digest(record: ActivationRecord) -> str:
    bundle = decode(record.plan_bundle).value
    if digest_checked(without(bundle, "plan_bundle_sha256")) != record.plan_bundle_sha256:
        raise ValueError("the bytes are not those of the plan bundle's digest")
    match load_document(record.receipt):
        case Valid(document):
            return document.digest
        case other:
            raise ValueError(f"the activation receipt is no valid document: {type(other).__name__}")
