"""State publication: heads, checkpoint and journal of one operation, moved together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_contracts.journal import OperationState
from dpone_contracts.plan_bundle import PlanBundle
from dpone_contracts.ports.refresh_state import PublicationRows
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused
from dpone_mssql.literals import digest_bytes

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.document import Document
    from dpone_mssql.connection import Transaction
    from dpone_mssql.control_schema import ControlNames
    from dpone_mssql.heads import Heads
    from dpone_mssql.journal import Journal


class Publication:
    """Publication rows as parts of a transaction."""

    def __init__(self, names: ControlNames, journal: Journal, heads: Heads) -> None:
        self._sql = Statements("state/publication.sql", control=names.schema)
        self._activation_sql = Statements("state/activation.sql", control=names.schema)
        self._journal = journal
        self._heads = heads

    def rows(self, tx: Transaction, operation_id: str) -> PublicationRows:
        """Read and lock everything that a publication of the operation changes."""
        bundle = self._bundle(tx, operation_id)
        plan = next(plan for plan in bundle.operation_plans if plan.operation_id == operation_id)
        target = next(target for target in bundle.targets if target.model_unique_id == plan.model_unique_id)
        entries = self._journal.locked(tx, operation_id)
        if not entries:
            raise _absent(operation_id)
        return PublicationRows(
            target_head=self._heads.target_head(tx, target.clickhouse_target_authority_id),
            scope_head=self._heads.scope_head(tx, plan.scope_family_id, plan.scope_start),
            checkpoint=self._heads.checkpoint(tx, plan.scope_family_id),
            journal_state=entries[-1].state,
            journal_version=entries[-1].version,
        )

    def publish(
        self,
        tx: Transaction,
        attempt: AttemptBinding,
        before: PublicationRows,
        after: PublicationRows,
        receipt: Document,
    ) -> PublicationRows:
        """Replace exactly `before` by `after`; rows that already are `after` are found, anything else is refused."""
        self._journal.require_fence(tx, attempt)
        there = self.rows(tx, attempt.operation_id)
        if there == after:
            return after
        if there != before:
            raise Refused(
                Reason(
                    "DPONE_PUBLICATION_ROWS_MOVED",
                    "heads, checkpoint or journal are not what the publication starts from",
                    _differences(there, before),
                )
            )
        if (
            before.target_head is None
            or after.target_head is None
            or before.checkpoint is None
            or after.checkpoint is None
            or after.scope_head is None
            or after.journal_state is not OperationState.COMPLETE
        ):
            raise ValueError("a publication has heads and a checkpoint, and ends in COMPLETE")
        self._heads.move_target_head(tx, before.target_head, after.target_head)
        self._heads.move_scope_head(tx, before.scope_head, after.scope_head)
        self._heads.move_checkpoint(tx, before.checkpoint, after.checkpoint)
        self._journal.append(tx, attempt, before.journal_state, after.journal_state, receipt)
        return self.rows(tx, attempt.operation_id)

    def _bundle(self, tx: Transaction, operation_id: str) -> PlanBundle:
        plan = tx.one(self._sql["plan_of_operation"], digest_bytes(operation_id))
        found = (
            None
            if plan is None
            else tx.one(self._activation_sql["activation"], bytes(plan[0]), bytes(plan[1]))
        )
        if found is None:
            raise _absent(operation_id)
        return PlanBundle.from_bytes(bytes(found[3]))


def _absent(operation_id: str) -> Refused:
    return Refused(
        Reason("DPONE_ADMISSION_ABSENT", "the operation was never admitted", {"operation_id": operation_id})
    )


def _differences(there: PublicationRows, before: PublicationRows) -> dict[str, str]:
    return {
        name: "moved"
        for name in ("target_head", "scope_head", "checkpoint", "journal_state", "journal_version")
        if getattr(there, name) != getattr(before, name)
    }
