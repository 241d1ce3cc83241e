"""Deployment authority in SQL Server: baselines, owners, activations and heads."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from dpone_contracts.canonical import decode, digest_checked
from dpone_contracts.document import Valid, load_document, without
from dpone_contracts.effects import Reason
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.activation_store import (
    ActivationRecord,
    Checkpoint,
    ScopeHead,
    StoredPlan,
    TargetHead,
)
from dpone_contracts.receipts import baseline_generation_id
from dpone_mssql.batches import Statements
from dpone_mssql.connection import (
    Refused,
    SqlServerError,
    before_commit,
    commit_serializable,
    read_committed,
    read_consistently,
)
from dpone_mssql.control_schema import identity, require_store
from dpone_mssql.documents import StoredDocuments, verified
from dpone_mssql.heads import Heads
from dpone_mssql.literals import digest_bytes, digest_text

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.ports.guard import StoreIdentity
    from dpone_contracts.receipts import BaselineAdoptionReceipt
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames

UNKNOWN = "DPONE_ACTIVATION_COMMIT_UNKNOWN"


class MssqlActivationStore:
    """`ActivationStore` on the control schema."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._names = names
        self._sql = Statements("state/activation.sql", control=names.schema)
        self._documents = StoredDocuments(names)
        self._heads = Heads(names)

    def identity(self) -> StoreIdentity:
        """Read who the store is; raises DponeError for none, another version, or one that can't be reached."""
        try:
            return read_committed(self._config, lambda session: identity(session, self._names))
        except SqlServerError as error:
            raise DponeError.because(before_commit(error)) from None

    def adopt_baseline(
        self, receipt: BaselineAdoptionReceipt, scope_family_id: str
    ) -> EffectResult[TargetHead]:
        """Store the receipt, the target's owner, its initial head and checkpoint in one transaction."""
        head = TargetHead(
            target_authority_id=receipt.clickhouse_target_authority_id,
            generation=receipt.clickhouse_generation,
            generation_id=baseline_generation_id(receipt.to_plain()),
            target_uuid=receipt.clickhouse_target_uuid,
            owner_operation_id=receipt.digest,
            terminal_receipt_sha256=None,
        )

        def adopt(tx: Transaction) -> TargetHead:
            self._require_deployment(tx, receipt.deployment_id, receipt.release_id)
            owner = tx.one(self._sql["owner"], head.target_authority_id)
            if owner is not None:
                self._require_same_owner(receipt, scope_family_id, owner)
                return head
            self._documents.put(tx, receipt)
            tx.write(
                self._sql["insert_owner"],
                head.target_authority_id,
                digest_bytes(receipt.deployment_id),
                digest_bytes(receipt.release_id),
                receipt.model_unique_id,
                digest_bytes(scope_family_id),
                receipt.SCHEMA,
                digest_bytes(receipt.digest),
            )
            tx.write(
                self._sql["insert_initial_head"],
                head.target_authority_id,
                head.generation,
                digest_bytes(head.generation_id),
                head.target_uuid,
                digest_bytes(head.owner_operation_id),
            )
            tx.write(self._sql["insert_checkpoint"], digest_bytes(scope_family_id), receipt.coverage_end)
            return head

        return commit_serializable(self._config, adopt, unknown_code=UNKNOWN)

    def activate(self, record: ActivationRecord) -> EffectResult[str]:
        """Store one activation with every document that its bundle names; the same bytes again are Applied."""
        digest = _receipt_digest(record)
        key = (digest_bytes(record.deployment_id), digest_bytes(record.plan_bundle_sha256))

        def store(tx: Transaction) -> str:
            self._require_deployment(tx, record.deployment_id, record.release_id)
            there = self._read(tx, record.deployment_id, record.plan_bundle_sha256)
            if there is not None:
                if there != _sorted(record):
                    raise Refused(
                        Reason(
                            "DPONE_ACTIVATION_CONFLICT",
                            "another activation is stored under this deployment and plan bundle",
                            {"plan_bundle_sha256": record.plan_bundle_sha256},
                        )
                    )
                return digest
            for schema, own, data in record.documents:
                self._documents.put_bytes(tx, schema, own, data)
            tx.write(
                self._sql["insert_activation"],
                *key,
                digest_bytes(record.release_id),
                record.receipt,
                sha256(record.receipt).digest(),
                record.plan_bundle,
                sha256(record.plan_bundle).digest(),
            )
            for schema, own, _ in record.documents:
                tx.write(self._sql["insert_activation_document"], *key, schema, digest_bytes(own))
            return digest

        return commit_serializable(self._config, store, unknown_code=UNKNOWN)

    def read_activation(self, deployment_id: str, plan_bundle_sha256: str) -> ActivationRecord | None:
        """Read the exact activation of a composite key, every stored byte verified."""
        return read_consistently(self._config, lambda tx: self._read(tx, deployment_id, plan_bundle_sha256))

    def plans_of(self, deployment_id: str) -> tuple[StoredPlan, ...]:
        """Read all activations of a deployment with what they are bound to and ended by, every byte verified."""
        found = read_consistently(
            self._config, lambda tx: tx.rows(self._sql["plans"], digest_bytes(deployment_id))
        )
        return tuple(
            StoredPlan(
                _stored_bytes(data, stored, deployment_id),
                None if dag_run_id is None else str(dag_run_id),
                None if summary is None else str(summary),
            )
            for data, stored, dag_run_id, summary in found
        )

    def target_head(self, target_authority_id: str) -> TargetHead | None:
        """Read the head of a target."""
        return read_consistently(self._config, lambda tx: self._heads.target_head(tx, target_authority_id))

    def scope_head(self, scope_family_id: str, scope_start: str) -> ScopeHead | None:
        """Read the head of one scope."""
        return read_consistently(
            self._config, lambda tx: self._heads.scope_head(tx, scope_family_id, scope_start)
        )

    def checkpoint(self, scope_family_id: str) -> Checkpoint | None:
        """Read the checkpoint of a scope family."""
        return read_consistently(self._config, lambda tx: self._heads.checkpoint(tx, scope_family_id))

    def _read(self, tx: Transaction, deployment_id: str, plan_bundle_sha256: str) -> ActivationRecord | None:
        key = (digest_bytes(deployment_id), digest_bytes(plan_bundle_sha256))
        found = tx.one(self._sql["activation"], *key)
        if found is None:
            return None
        release_id, receipt, receipt_sha256, bundle, bundle_sha256 = found
        documents = (
            (
                str(schema),
                digest_text(own),
                verified(str(schema), digest_text(own), bytes(data), bytes(stored)),
            )
            for schema, own, data, stored in tx.rows(self._sql["activation_documents"], *key)
        )
        return ActivationRecord(
            release_id=digest_text(release_id),
            deployment_id=deployment_id,
            plan_bundle_sha256=plan_bundle_sha256,
            receipt=_stored_bytes(receipt, receipt_sha256, deployment_id),
            plan_bundle=_stored_bytes(bundle, bundle_sha256, deployment_id),
            documents=tuple(sorted(documents)),
        )

    def _require_deployment(self, tx: Transaction, deployment_id: str, release_id: str) -> None:
        """Find or create the deployment; refuses a second release or store under it."""
        store_id = require_store(tx, self._names)
        found = tx.one(self._sql["deployment"], digest_bytes(deployment_id))
        if found is None:
            tx.write(
                self._sql["insert_deployment"],
                digest_bytes(deployment_id),
                digest_bytes(release_id),
                store_id,
            )
        elif (digest_text(found[0]), str(found[1])) != (release_id, store_id):
            raise Refused(
                Reason(
                    "DPONE_DEPLOYMENT_CONFLICT",
                    "the deployment belongs to another release or store",
                    {"deployment_id": deployment_id, "release_id": digest_text(found[0])},
                )
            )

    def _require_same_owner(
        self, receipt: BaselineAdoptionReceipt, scope_family_id: str, owner: tuple[object, ...]
    ) -> None:
        deployment, model, family, baseline = owner
        wanted = (
            digest_bytes(receipt.deployment_id),
            receipt.model_unique_id,
            digest_bytes(scope_family_id),
            digest_bytes(receipt.digest),
        )
        if (deployment, model, family, baseline) != wanted:
            raise Refused(
                Reason(
                    "DPONE_TARGET_OWNED",
                    "the target has an owner and a baseline already",
                    {"target_authority_id": receipt.clickhouse_target_authority_id, "model": str(model)},
                )
            )


def _stored_bytes(data: bytes, stored_sha256: bytes, deployment_id: str) -> bytes:
    """Return the bytes of an activation whose SHA-256 holds; raises DponeError DPONE_DOCUMENT_CORRUPT otherwise."""
    if sha256(bytes(data)).digest() != bytes(stored_sha256):
        raise DponeError(
            "DPONE_DOCUMENT_CORRUPT",
            "the stored bytes of an activation are not those of their digest",
            {"deployment_id": deployment_id},
        )
    return bytes(data)


def _sorted(record: ActivationRecord) -> ActivationRecord:
    return ActivationRecord(
        record.release_id,
        record.deployment_id,
        record.plan_bundle_sha256,
        record.receipt,
        record.plan_bundle,
        tuple(sorted(record.documents)),
    )


def _receipt_digest(record: ActivationRecord) -> str:
    """Verify that the bundle's bytes are those of its digest, and return the receipt's own digest."""
    bundle = decode(record.plan_bundle).value
    if digest_checked(without(bundle, "plan_bundle_sha256")) != record.plan_bundle_sha256:
        raise DponeError("DPONE_INTERNAL", "the bytes are not those of the plan bundle's digest")
    match load_document(record.receipt):
        case Valid(document):
            return document.digest
        case other:
            raise DponeError(
                "DPONE_INTERNAL", f"the activation receipt is no valid document: {type(other).__name__}"
            )
