"""Heads and checkpoint of targets: reading them locked, creating them at adoption, moving them by compare-and-set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_contracts.ports.activation_store import Checkpoint, ScopeHead, TargetHead
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused
from dpone_mssql.literals import digest_bytes, digest_text

if TYPE_CHECKING:
    from dpone_mssql.connection import Transaction
    from dpone_mssql.control_schema import ControlNames


class Heads:
    """The compare-and-set rows of publication, as parts of a transaction."""

    def __init__(self, names: ControlNames) -> None:
        self._sql = Statements("state/publication.sql", control=names.schema)

    def target_head(self, tx: Transaction, target_authority_id: str) -> TargetHead | None:
        """Read and lock the head of a target."""
        found = tx.one(self._sql["target_head"], target_authority_id)
        if found is None:
            return None
        generation, generation_id, target_uuid, owner, terminal = found
        return TargetHead(
            target_authority_id=target_authority_id,
            generation=int(generation),
            generation_id=digest_text(generation_id),
            target_uuid=str(target_uuid),
            owner_operation_id=digest_text(owner),
            terminal_receipt_sha256=None if terminal is None else digest_text(terminal),
        )

    def scope_head(self, tx: Transaction, scope_family_id: str, scope_start: str) -> ScopeHead | None:
        """Read and lock the head of one scope."""
        found = tx.one(self._sql["scope_head"], digest_bytes(scope_family_id), scope_start)
        return (
            None
            if found is None
            else ScopeHead(scope_family_id, scope_start, int(found[0]), digest_text(found[1]))
        )

    def checkpoint(self, tx: Transaction, scope_family_id: str) -> Checkpoint | None:
        """Read and lock the checkpoint of a scope family."""
        found = tx.one(self._sql["checkpoint"], digest_bytes(scope_family_id))
        return None if found is None else Checkpoint(scope_family_id, str(found[0]))

    def move_target_head(self, tx: Transaction, before: TargetHead, after: TargetHead) -> None:
        """Move a target's head; equal rows are left alone."""
        if before == after:
            return
        if after.terminal_receipt_sha256 is None or before.target_authority_id != after.target_authority_id:
            raise ValueError("a moved head names the terminal receipt of the same target")
        changed = tx.write(
            self._sql["move_target_head"],
            after.generation,
            digest_bytes(after.generation_id),
            after.target_uuid,
            digest_bytes(after.owner_operation_id),
            digest_bytes(after.terminal_receipt_sha256),
            before.target_authority_id,
            before.generation,
            digest_bytes(before.generation_id),
            before.target_uuid,
            digest_bytes(before.owner_operation_id),
        )
        require_one(changed, "target head")

    def move_scope_head(self, tx: Transaction, before: ScopeHead | None, after: ScopeHead) -> None:
        """Insert a scope's first head or move it to the next revision."""
        key = (digest_bytes(after.scope_family_id), after.scope_start)
        new = (after.scope_revision, digest_bytes(after.operation_id))
        if before is None:
            require_one(tx.write(self._sql["insert_scope_head"], *key, *new), "scope head")
        elif before != after:
            old = (before.scope_revision, digest_bytes(before.operation_id))
            require_one(tx.write(self._sql["move_scope_head"], *new, *key, *old), "scope head")

    def move_checkpoint(self, tx: Transaction, before: Checkpoint, after: Checkpoint) -> None:
        """Move a checkpoint forward; an equal one is left alone."""
        if before != after:
            family = digest_bytes(after.scope_family_id)
            changed = tx.write(
                self._sql["move_checkpoint"], after.covered_until, family, before.covered_until
            )
            require_one(changed, "checkpoint")


def require_one(changed: int, what: str) -> None:
    """Refuse a compare-and-set that did not find its row."""
    if changed != 1:
        raise Refused(
            Reason("DPONE_STATE_ROW_MOVED", f"the {what} is not what was expected", {"rows": str(changed)})
        )
