"""The operation journal, invocation intents and the fence that every write of an attempt stands behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_contracts.journal import EntryRefused, JournalEntry, OperationState, advance, reduce_journal
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused
from dpone_mssql.heads import require_one
from dpone_mssql.literals import digest_bytes, digest_text

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.document import Document
    from dpone_mssql.connection import Transaction
    from dpone_mssql.control_schema import ControlNames
    from dpone_mssql.documents import StoredDocuments


class Journal:
    """The journal as parts of a transaction."""

    def __init__(self, names: ControlNames, documents: StoredDocuments) -> None:
        self._sql = Statements("state/journal.sql", control=names.schema)
        self._documents = documents

    def require_fence(self, tx: Transaction, attempt: AttemptBinding) -> None:
        """Lock the attempt's guard row and refuse unless it is exactly this attempt's, under its fence, ACTIVE."""
        own = digest_bytes(attempt.digest)
        held = tx.one(self._sql["fence"], own, digest_bytes(attempt.operation_id), own, attempt.fencing_epoch)
        if held is None:
            raise Refused(
                Reason(
                    "DPONE_FENCE_LOST",
                    "the guard is not held by this attempt under this fencing epoch",
                    {"operation_id": attempt.operation_id, "fencing_epoch": str(attempt.fencing_epoch)},
                )
            )

    def locked(self, tx: Transaction, operation_id: str) -> tuple[JournalEntry, ...]:
        """Read all entries of an operation, nobody appending until the transaction ends."""
        tx.rows(self._sql["lock_entries"], digest_bytes(operation_id))
        return self.entries(tx, operation_id)

    def open(self, tx: Transaction, attempt: AttemptBinding) -> None:
        """Write the first entry, PREPARING, proven by the attempt binding itself."""
        binding = digest_bytes(attempt.digest)
        changed = tx.write(
            self._sql["insert_first"], digest_bytes(attempt.operation_id), binding, attempt.SCHEMA, binding
        )
        require_one(changed, "journal")

    def append(
        self,
        tx: Transaction,
        attempt: AttemptBinding,
        expected: OperationState,
        state: OperationState,
        proof: Document,
    ) -> JournalEntry:
        """Append one entry behind the fence; the same entry by the same attempt is found, not repeated.

        What may follow what, proven by which receipt, is the state graph's; the table's constraints hold the edges.
        """
        self.require_fence(tx, attempt)
        there = self.locked(tx, attempt.operation_id)
        key = (state, attempt.digest, proof.SCHEMA, proof.digest)
        if there and (there[-1].state, there[-1].attempt_binding_sha256, *_receipt_of(there[-1])) == key:
            return there[-1]
        head = reduce_journal(there)
        version = len(there) + 1
        entry = JournalEntry(
            operation_id=attempt.operation_id,
            version=version,
            state=state,
            predecessor=expected,
            attempt_binding_sha256=attempt.digest,
            receipt_schema=proof.SCHEMA,
            receipt_sha256=proof.digest,
            recorded_at="",
        )
        after = advance(head, entry)
        if isinstance(after, EntryRefused):
            raise Refused(
                Reason(
                    "DPONE_JOURNAL_EDGE_REFUSED",
                    f"{after.rule}: {after.observed}",
                    {"operation_id": attempt.operation_id, "rule": after.rule},
                )
            )
        self._documents.put(tx, proof, operation_id=attempt.operation_id)
        changed = tx.write(
            self._sql["insert_next"],
            digest_bytes(attempt.operation_id),
            version,
            state.value,
            version - 1,
            expected.value,
            digest_bytes(attempt.digest),
            proof.SCHEMA,
            digest_bytes(proof.digest),
        )
        require_one(changed, "journal")
        return self.entries(tx, attempt.operation_id)[-1]

    def entries(self, tx: Transaction, operation_id: str) -> tuple[JournalEntry, ...]:
        """Read all entries of an operation by version."""
        return tuple(
            JournalEntry(
                operation_id=operation_id,
                version=int(version),
                state=OperationState(str(state)),
                predecessor=None if predecessor is None else OperationState(str(predecessor)),
                attempt_binding_sha256=digest_text(attempt),
                receipt_schema=str(schema),
                receipt_sha256=digest_text(receipt),
                recorded_at=str(recorded).replace(" ", "T") + "Z",
            )
            for version, state, predecessor, attempt, schema, receipt, recorded in tx.rows(
                self._sql["entries"], digest_bytes(operation_id)
            )
        )

    def record_intent(self, tx: Transaction, attempt: AttemptBinding) -> None:
        """Write INVOCATION_INTENT once; an attempt that has one, or a fate, may not be launched again."""
        self.require_fence(tx, attempt)
        own = digest_bytes(attempt.digest)
        if tx.one(self._sql["intent"], own) is not None or tx.one(self._sql["fate"], own) is not None:
            raise Refused(
                Reason(
                    "DPONE_ATTEMPT_ALREADY_INVOKED",
                    "this attempt has been launched before; SQL is never tried again",
                    {"attempt_binding_sha256": attempt.digest},
                )
            )
        require_one(tx.write(self._sql["insert_intent"], own), "invocation intent")

    def abandon(self, tx: Transaction, attempt: AttemptBinding) -> str:
        """Make ABANDONED the attempt's fate unless it has one, and return the fate that is there.

        The read waits for a mutation that is about to commit COMMITTED, until the lock timeout.
        """
        own = digest_bytes(attempt.digest)
        if tx.one(self._sql["fate"], own) is None:
            require_one(tx.write(self._sql["insert_abandoned"], own), "attempt fate")
        found = tx.one(self._sql["fate"], own)
        return "" if found is None else str(found[0])


def _receipt_of(entry: JournalEntry) -> tuple[str, str]:
    return entry.receipt_schema, entry.receipt_sha256
