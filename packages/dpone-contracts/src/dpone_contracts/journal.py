"""The operation journal: eight states, their edges, and the receipt that proves each edge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
