"""The operation journal: eight states, their edges as data, and a pure reducer over its entries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Iterable


class OperationState(StrEnum):
    """Canonical operation states (specification, Airflow, retry, replay, and state)."""

    PREPARING = "PREPARING"
    PREPARED = "PREPARED"
    COMMITTING = "COMMITTING"
    TARGET_COMMITTED = "TARGET_COMMITTED"
    COMPLETE = "COMPLETE"
    FAILED_PRE_COMMIT = "FAILED_PRE_COMMIT"
    COMMIT_UNKNOWN = "COMMIT_UNKNOWN"
    COMMITTED_INCOMPLETE = "COMMITTED_INCOMPLETE"


class Receipt(StrEnum):
    """Schema ids of the documents that prove edges; those outside the published 22 are additive evidence."""

    ADMISSION = "dpone.semantic-refresh-attempt-binding.v1"
    FAILED_SUMMARY = "dpone.semantic-refresh-failed-workflow-summary.v1"
    PREPARED = "dpone.semantic-refresh-prepared-receipt.v1"
    COMMIT_INTENT = "dpone.semantic-refresh-commit-intent.v1"
    EXCHANGE = "dpone.semantic-refresh-exchange-receipt.v1"
    PREDECESSOR = "dpone.semantic-refresh-predecessor-receipt.v1"
    EMPTY_SCOPE = "dpone.semantic-refresh-empty-scope-receipt.v1"
    PUBLICATION = "dpone.semantic-refresh-publication-receipt.v1"
    OBSERVATION = "dpone.semantic-refresh-outcome-observation.v1"


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of the normative state graph.

    `source` is the canonical predecessor (None: the operation begins); `receipt` proves the edge; `meaning` is
    the specification's label; `after` names a receipt that must stand earlier in the same journal.
    """

    source: OperationState | None
    target: OperationState
    receipt: Receipt
    meaning: str
    after: Receipt | None = None


_S = OperationState

# `after` keeps an operation that became unknown while PREPARING from ever counting as committed or as
# prepared: the graph leads it through PREPARED to FAILED_PRE_COMMIT only.
EDGES: tuple[Edge, ...] = (
    Edge(None, _S.PREPARING, Receipt.ADMISSION, "atomic admission + complete guard set"),
    Edge(_S.PREPARING, _S.PREPARED, Receipt.PREPARED, "every model sealed and prepared"),
    Edge(
        _S.PREPARING,
        _S.FAILED_PRE_COMMIT,
        Receipt.FAILED_SUMMARY,
        "reconciled failure or safe cancellation",
    ),
    Edge(_S.PREPARING, _S.COMMIT_UNKNOWN, Receipt.OBSERVATION, "unresolved MSSQL/artifact outcome"),
    Edge(_S.PREPARED, _S.COMMITTING, Receipt.COMMIT_INTENT, "durable commit intent", Receipt.PREPARED),
    Edge(_S.PREPARED, _S.COMPLETE, Receipt.EMPTY_SCOPE, "confirmed empty-scope fast path", Receipt.PREPARED),
    Edge(
        _S.PREPARED,
        _S.FAILED_PRE_COMMIT,
        Receipt.FAILED_SUMMARY,
        "reconciled failure before ClickHouse commit",
    ),
    Edge(_S.COMMITTING, _S.TARGET_COMMITTED, Receipt.EXCHANGE, "UUID map proves EXCHANGE"),
    Edge(_S.COMMITTING, _S.COMMIT_UNKNOWN, Receipt.OBSERVATION, "EXCHANGE outcome unresolved"),
    Edge(
        _S.TARGET_COMMITTED,
        _S.COMPLETE,
        Receipt.PUBLICATION,
        "atomic heads/checkpoint/journal publication",
    ),
    Edge(
        _S.TARGET_COMMITTED,
        _S.COMMITTED_INCOMPLETE,
        Receipt.OBSERVATION,
        "required evidence/publication incomplete",
    ),
    Edge(
        _S.COMMIT_UNKNOWN,
        _S.TARGET_COMMITTED,
        Receipt.EXCHANGE,
        "UUID reconciliation proves successor",
        Receipt.COMMIT_INTENT,
    ),
    Edge(_S.COMMIT_UNKNOWN, _S.PREPARED, Receipt.PREDECESSOR, "UUID reconciliation proves predecessor"),
    Edge(_S.COMMITTED_INCOMPLETE, _S.COMPLETE, Receipt.PUBLICATION, "exact publication recovery"),
)

TERMINAL_STATES = frozenset({OperationState.COMPLETE, OperationState.FAILED_PRE_COMMIT})


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One append-only row of an operation's journal.

    `version` counts from 1 without gaps; `predecessor` is the state of the entry before it (None for the
    first); `receipt_schema` and `receipt_sha256` name the stored document that proves the edge;
    `recorded_at` is a UTC instant with six fractional digits, set by the store.
    """

    operation_id: str
    version: int
    state: OperationState
    predecessor: OperationState | None
    attempt_binding_sha256: str
    receipt_schema: str
    receipt_sha256: str
    recorded_at: str


@dataclass(frozen=True, slots=True)
class JournalHead:
    """Where a journal stands: its last entry, and the receipt schemas of all its entries."""

    operation_id: str
    version: int
    state: OperationState
    attempt_binding_sha256: str
    receipts: frozenset[str]

    def has(self, receipt: Receipt) -> bool:
        """Whether an entry was proven by this receipt."""
        return receipt.value in self.receipts


class JournalRule(StrEnum):
    """The rule that a refused entry breaks."""

    OTHER_OPERATION = "OTHER_OPERATION"
    VERSION_GAP = "VERSION_GAP"
    WRONG_PREDECESSOR = "WRONG_PREDECESSOR"
    TERMINAL_STATE = "TERMINAL_STATE"
    NO_SUCH_EDGE = "NO_SUCH_EDGE"
    WRONG_RECEIPT = "WRONG_RECEIPT"
    EARLIER_RECEIPT_MISSING = "EARLIER_RECEIPT_MISSING"


@dataclass(frozen=True, slots=True)
class EntryRefused:
    """Why an entry cannot follow."""

    rule: JournalRule
    observed: str


def edge(source: OperationState | None, target: OperationState) -> Edge | None:
    """The edge between two states, or None where the graph has none."""
    return next((each for each in EDGES if (each.source, each.target) == (source, target)), None)


def open_edges(head: JournalHead | None) -> tuple[Edge, ...]:
    """The edges that may follow, each with its own receipt still to be brought."""
    source = head.state if head else None
    return tuple(
        each
        for each in EDGES
        if each.source == source and (each.after is None or (head and head.has(each.after)))
    )


def advance(head: JournalHead | None, entry: JournalEntry) -> JournalHead | EntryRefused:
    """The head after one more entry, or the rule that refuses it."""
    source = head.state if head else None
    version = head.version + 1 if head else 1
    if head and entry.operation_id != head.operation_id:
        return EntryRefused(JournalRule.OTHER_OPERATION, f"entry of {entry.operation_id}")
    if entry.version != version:
        return EntryRefused(JournalRule.VERSION_GAP, f"version {entry.version} where {version} follows")
    if entry.predecessor != source:
        return EntryRefused(JournalRule.WRONG_PREDECESSOR, f"{entry.predecessor} named, head is {source}")
    if source in TERMINAL_STATES:
        return EntryRefused(JournalRule.TERMINAL_STATE, f"nothing follows {source}")
    step = edge(source, entry.state)
    if step is None:
        return EntryRefused(JournalRule.NO_SUCH_EDGE, f"{source} -> {entry.state}")
    if entry.receipt_schema != step.receipt.value:
        return EntryRefused(
            JournalRule.WRONG_RECEIPT, f"{entry.receipt_schema} where {step.receipt.value} proves"
        )
    receipts = head.receipts if head else frozenset()
    if step.after and step.after.value not in receipts:
        return EntryRefused(JournalRule.EARLIER_RECEIPT_MISSING, f"no entry proven by {step.after.value}")
    return JournalHead(
        operation_id=entry.operation_id,
        version=entry.version,
        state=entry.state,
        attempt_binding_sha256=entry.attempt_binding_sha256,
        receipts=receipts | {entry.receipt_schema},
    )


def require_advance(head: JournalHead | None, entry: JournalEntry) -> JournalHead:
    """`advance` for a store about to append: raises DPONE_JOURNAL_EDGE_REFUSED with the rule."""
    after = advance(head, entry)
    if isinstance(after, EntryRefused):
        raise DponeError(
            "DPONE_JOURNAL_EDGE_REFUSED",
            f"{after.rule}: {after.observed}",
            {"operation_id": entry.operation_id, "rule": after.rule},
        )
    return after


def reduce_journal(entries: Iterable[JournalEntry]) -> JournalHead | None:
    """The head of a stored journal (None: empty); raises DPONE_JOURNAL_CORRUPT at the first entry off the graph."""
    head: JournalHead | None = None
    for entry in entries:
        after = advance(head, entry)
        if isinstance(after, EntryRefused):
            raise DponeError(
                "DPONE_JOURNAL_CORRUPT",
                f"entry {entry.version}: {after.rule}: {after.observed}",
                {"operation_id": entry.operation_id, "rule": after.rule},
            )
        head = after
    return head
