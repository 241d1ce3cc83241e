"""From the full evidence of one operation to the one permitted next action, and why not the others.

Actions are data: each has the conditions under which it is permitted. At most one action is permitted for any
evidence (tested exhaustively); where none is, the operator decides. Nothing here assumes a commit, forces a
writer or resumes in another DagRun: no such action exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from dpone_contracts.journal import OperationState as State
from dpone_contracts.outcomes import (
    ArtifactOutcome,
    EmptyScopeOutcome,
    ExchangeOutcome,
    PublicationOutcome,
    SqlOutcome,
)


class Holder(StrEnum):
    """Who asks, relative to the attempt that holds the operation's fence."""

    CURRENT = "CURRENT"
    """The attempt itself, alive."""
    SUCCESSOR_TRY = "SUCCESSOR_TRY"
    """Its immediate successor try in the same logical DagRun: N -> N+1."""
    LATER_TRY = "LATER_TRY"
    """A try beyond N+1: unsupported by the continuation receipt v1."""
    OTHER_DAG_RUN = "OTHER_DAG_RUN"
    OPERATOR = "OPERATOR"
    """`dpone refresh recover apply`, with the digest of a plan."""


class Gate(StrEnum):
    """The dbt tests behind the build, as evidence recorded them."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    NOT_RUN = "NOT_RUN"


class Action(StrEnum):
    """What may be done next with an operation."""

    WAIT_FOR_ATTEMPT_END = "WAIT_FOR_ATTEMPT_END"
    RECONCILE_SQL = "RECONCILE_SQL"
    RECONCILE_ARTIFACT = "RECONCILE_ARTIFACT"
    RECONCILE_EXCHANGE = "RECONCILE_EXCHANGE"
    RECONCILE_PUBLICATION = "RECONCILE_PUBLICATION"
    RECORD_COMMIT_UNKNOWN = "RECORD_COMMIT_UNKNOWN"
    RECORD_INCOMPLETE = "RECORD_INCOMPLETE"
    RUN_GATE = "RUN_GATE"
    SEAL_AND_PREPARE = "SEAL_AND_PREPARE"
    COMMIT = "COMMIT"
    COMPLETE_EMPTY_SCOPE = "COMPLETE_EMPTY_SCOPE"
    RETURN_TO_PREPARED = "RETURN_TO_PREPARED"
    CONFIRM_TARGET = "CONFIRM_TARGET"
    PUBLISH_STATE = "PUBLISH_STATE"
    FAIL_PRE_COMMIT = "FAIL_PRE_COMMIT"
    CLEAN_UP = "CLEAN_UP"
    REPLACE = "REPLACE"
    NOTHING = "NOTHING"
    STOP_FOR_OPERATOR = "STOP_FOR_OPERATOR"


class ReplacementAction(StrEnum):
    """What a failed-workflow replacement does with one model."""

    RESTORE_THEN_REBUILD = "RESTORE_THEN_REBUILD"
    BUILD_FRESH = "BUILD_FRESH"
    BLOCK = "BLOCK"


def replacement_action(outcome: SqlOutcome) -> ReplacementAction:
    """Committed models are restored then rebuilt, others built fresh, unknown ones block the replacement."""
    match outcome:
        case SqlOutcome.COMMITTED_WITH_IMAGES:
            return ReplacementAction.RESTORE_THEN_REBUILD
        case SqlOutcome.ROLLED_BACK | SqlOutcome.NOT_INVOKED:
            return ReplacementAction.BUILD_FRESH
        case SqlOutcome.COMMIT_UNKNOWN:
            return ReplacementAction.BLOCK
        case _ as never:
            assert_never(never)


@dataclass(frozen=True, slots=True)
class RecoveryEvidence:
    """Everything that decides about one operation. An outcome that was not read is its unknown value.

    `attempt_ended`: trusted termination and exact quiescence of both engines. `prepared` and `intended`: the
    journal has an entry proven by the prepared receipt, by the commit intent. `polls_left`: policy still
    allows another observation. `commit_refused`: a gate in front of EXCHANGE refused. `replaced`: a successor
    holds the replacement's compare-and-set.
    """

    state: State
    holder: Holder
    attempt_ended: bool
    sql: SqlOutcome = SqlOutcome.COMMIT_UNKNOWN
    gate: Gate = Gate.NOT_RUN
    artifact: ArtifactOutcome = ArtifactOutcome.ARTIFACT_UNKNOWN
    exchange: ExchangeOutcome = ExchangeOutcome.EXCHANGE_UNKNOWN
    publication: PublicationOutcome = PublicationOutcome.PUBLICATION_UNKNOWN
    empty_scope: EmptyScopeOutcome = EmptyScopeOutcome.REFUSED
    prepared: bool = False
    intended: bool = False
    polls_left: bool = True
    cancel_requested: bool = False
    commit_refused: bool = False
    cleanup_acknowledged: bool = False
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The permitted action, and for every other one the conditions that it lacks."""

    action: Action
    refused: tuple[tuple[Action, tuple[str, ...]], ...]

    def why_not(self, action: Action) -> tuple[str, ...]:
        """What an action lacks; empty for the permitted one."""
        return dict(self.refused).get(action, ())


Condition = tuple[str, Callable[[RecoveryEvidence], bool]]

_FORWARD = (Holder.CURRENT, Holder.SUCCESSOR_TRY)
_BEFORE_COMMIT = (State.PREPARING, State.PREPARED)
_RUNNING = (
    State.PREPARING,
    State.PREPARED,
    State.COMMITTING,
    State.TARGET_COMMITTED,
    State.COMMIT_UNKNOWN,
    State.COMMITTED_INCOMPLETE,
)


def _in(*states: State) -> Condition:
    names = ", ".join(states)
    return f"the state is {names}", lambda e: e.state in states


def _ended(e: RecoveryEvidence) -> bool:
    return e.holder is Holder.CURRENT or e.attempt_ended


def _wants_failure(e: RecoveryEvidence) -> bool:
    """A reason to end an operation whose outcomes are resolved before the ClickHouse commit."""
    asked = e.cancel_requested or e.holder in (Holder.OPERATOR, Holder.OTHER_DAG_RUN)
    if e.state is State.PREPARING:
        return asked or e.sql is not SqlOutcome.COMMITTED_WITH_IMAGES or e.gate is Gate.FAILED
    return asked or e.commit_refused or not e.prepared or e.empty_scope is EmptyScopeOutcome.TARGET_DIVERGED


def _is_resolved(e: RecoveryEvidence) -> bool:
    """No boundary that was crossed before COMMITTING is in doubt or in conflict."""
    if e.sql is SqlOutcome.COMMIT_UNKNOWN:
        return False
    committed = e.sql is SqlOutcome.COMMITTED_WITH_IMAGES
    return not committed or e.artifact in (ArtifactOutcome.NOT_SEALED, ArtifactOutcome.SEALED)


_HOLDER_IN_LINE: Condition = (
    "the asker holds the attempt, is its immediate successor try, another DagRun or the operator",
    lambda e: e.holder is not Holder.LATER_TRY,
)
_ATTEMPT_ENDED: Condition = ("the attempt's end and both engines' quiescence are proven", _ended)
_SAME_RUN: Condition = (
    "the asker continues in the same DagRun (attempt or immediate successor)",
    lambda e: e.holder in _FORWARD,
)
_RECONCILER: Condition = (
    "the asker is the attempt, its immediate successor or the operator",
    lambda e: e.holder in (*_FORWARD, Holder.OPERATOR),
)
_COMMITTED: Condition = (
    "SQL Server is COMMITTED_WITH_IMAGES",
    lambda e: e.sql is SqlOutcome.COMMITTED_WITH_IMAGES,
)
_NOT_CANCELLED: Condition = ("no cancellation is requested", lambda e: not e.cancel_requested)
_POLLS_LEFT: Condition = ("the polling policy allows another observation", lambda e: e.polls_left)
_UNKNOWN_BEFORE_COMMIT: Condition = (
    "the doubt arose before COMMITTING",
    lambda e: e.state is State.PREPARING or (e.state is State.COMMIT_UNKNOWN and not e.intended),
)
_EXCHANGE_IN_DOUBT: Condition = (
    "the UUID map is the open question",
    lambda e: (e.intended or _is_resolved(e)) and e.exchange is ExchangeOutcome.EXCHANGE_UNKNOWN,
)
_PREDECESSOR: Condition = (
    "the UUID map proves the predecessor",
    lambda e: e.exchange is ExchangeOutcome.PREDECESSOR,
)
_SUCCESSOR: Condition = (
    "the UUID map proves the successor",
    lambda e: e.exchange is ExchangeOutcome.SUCCESSOR,
)
_PUBLICATION_IN_DOUBT: Condition = (
    "the state publication's outcome is unknown",
    lambda e: e.publication is PublicationOutcome.PUBLICATION_UNKNOWN,
)
_READY: Condition = (
    "nothing refuses the commit and all models are prepared",
    lambda e: e.prepared and not e.commit_refused,
)
_TAKEOVER = (_HOLDER_IN_LINE, _ATTEMPT_ENDED)

PERMITTED_WHEN: dict[Action, tuple[Condition, ...]] = {
    Action.WAIT_FOR_ATTEMPT_END: (
        _in(*_RUNNING),
        _HOLDER_IN_LINE,
        ("the attempt may still be alive", lambda e: not _ended(e)),
    ),
    Action.RECONCILE_SQL: (
        *_TAKEOVER,
        _UNKNOWN_BEFORE_COMMIT,
        ("SQL Server's outcome is unknown", lambda e: e.sql is SqlOutcome.COMMIT_UNKNOWN),
        _POLLS_LEFT,
    ),
    Action.RECONCILE_ARTIFACT: (
        *_TAKEOVER,
        _UNKNOWN_BEFORE_COMMIT,
        _COMMITTED,
        ("the artifact's outcome is unknown", lambda e: e.artifact is ArtifactOutcome.ARTIFACT_UNKNOWN),
        _POLLS_LEFT,
    ),
    Action.RECONCILE_EXCHANGE: (
        *_TAKEOVER,
        _RECONCILER,
        _in(State.COMMITTING, State.COMMIT_UNKNOWN),
        _EXCHANGE_IN_DOUBT,
        _POLLS_LEFT,
    ),
    Action.RECONCILE_PUBLICATION: (
        *_TAKEOVER,
        _RECONCILER,
        _in(State.TARGET_COMMITTED, State.COMMITTED_INCOMPLETE),
        _PUBLICATION_IN_DOUBT,
        _POLLS_LEFT,
    ),
    Action.RECORD_COMMIT_UNKNOWN: (
        *_TAKEOVER,
        _in(State.PREPARING, State.COMMITTING),
        (
            "the outcome stays unknown after the last poll, or is the predecessor after COMMITTING",
            lambda e: (
                (not _is_resolved(e) and e.artifact is not ArtifactOutcome.CONFLICT and not e.polls_left)
                if e.state is State.PREPARING
                else e.exchange is ExchangeOutcome.PREDECESSOR
                or (e.exchange is ExchangeOutcome.EXCHANGE_UNKNOWN and not e.polls_left)
            ),
        ),
        (
            "the asker may record it in this state",
            lambda e: e.state is State.PREPARING or e.holder in (*_FORWARD, Holder.OPERATOR),
        ),
    ),
    Action.RECORD_INCOMPLETE: (
        *_TAKEOVER,
        _RECONCILER,
        _in(State.TARGET_COMMITTED),
        _PUBLICATION_IN_DOUBT,
        ("no poll is left", lambda e: not e.polls_left),
    ),
    Action.RUN_GATE: (
        *_TAKEOVER,
        _SAME_RUN,
        _in(State.PREPARING),
        _COMMITTED,
        ("the tests have not run", lambda e: e.gate is Gate.NOT_RUN),
        ("the artifact is neither in doubt nor in conflict", _is_resolved),
        _NOT_CANCELLED,
    ),
    Action.SEAL_AND_PREPARE: (
        *_TAKEOVER,
        _SAME_RUN,
        _in(State.PREPARING),
        _COMMITTED,
        ("the tests passed", lambda e: e.gate is Gate.PASSED),
        ("the artifact is neither in doubt nor in conflict", _is_resolved),
        _NOT_CANCELLED,
    ),
    Action.COMMIT: (
        *_TAKEOVER,
        _SAME_RUN,
        _in(State.PREPARED),
        _READY,
        ("the scope is not empty", lambda e: e.empty_scope is EmptyScopeOutcome.NOT_EMPTY),
        _NOT_CANCELLED,
    ),
    Action.COMPLETE_EMPTY_SCOPE: (
        *_TAKEOVER,
        _SAME_RUN,
        _in(State.PREPARED),
        _READY,
        (
            "manifest and target are empty in the scope and every precondition is proven",
            lambda e: e.empty_scope is EmptyScopeOutcome.NOT_REQUIRED_EMPTY_SCOPE,
        ),
        _NOT_CANCELLED,
    ),
    Action.RETURN_TO_PREPARED: (
        *_TAKEOVER,
        _RECONCILER,
        _in(State.COMMIT_UNKNOWN),
        _PREDECESSOR,
        ("outcomes before COMMITTING are resolved", lambda e: e.intended or _is_resolved(e)),
    ),
    Action.CONFIRM_TARGET: (
        *_TAKEOVER,
        _RECONCILER,
        _in(State.COMMITTING, State.COMMIT_UNKNOWN),
        ("an EXCHANGE was intended", lambda e: e.intended),
        _SUCCESSOR,
    ),
    Action.PUBLISH_STATE: (
        *_TAKEOVER,
        _RECONCILER,
        _in(State.TARGET_COMMITTED, State.COMMITTED_INCOMPLETE),
        (
            "heads, checkpoint and journal are all predecessor",
            lambda e: e.publication is PublicationOutcome.ALL_PREDECESSOR,
        ),
    ),
    Action.FAIL_PRE_COMMIT: (
        *_TAKEOVER,
        _in(*_BEFORE_COMMIT),
        ("outcomes are resolved", lambda e: e.state is State.PREPARED or _is_resolved(e)),
        ("there is a reason to end the operation", _wants_failure),
    ),
    Action.CLEAN_UP: (
        _in(State.FAILED_PRE_COMMIT),
        ("no cleanup acknowledgement is stored", lambda e: not e.cleanup_acknowledged),
    ),
    Action.REPLACE: (
        _in(State.FAILED_PRE_COMMIT),
        ("the cleanup acknowledgement is stored", lambda e: e.cleanup_acknowledged),
        ("no successor replaced it yet", lambda e: not e.replaced),
    ),
    Action.NOTHING: (
        _in(State.COMPLETE, State.FAILED_PRE_COMMIT),
        ("the operation is published or replaced", lambda e: e.state is State.COMPLETE or _is_closed(e)),
    ),
}
"""For each action all conditions that must hold; STOP_FOR_OPERATOR is what remains."""


def _is_closed(e: RecoveryEvidence) -> bool:
    return e.cleanup_acknowledged and e.replaced


def decide(evidence: RecoveryEvidence) -> Decision:
    """The one permitted next action. Raises `AssertionError` if the conditions permit two: a fault of this module."""
    lacking = {
        action: tuple(text for text, holds in conditions if not holds(evidence))
        for action, conditions in PERMITTED_WHEN.items()
    }
    permitted = [action for action, missing in lacking.items() if not missing]
    if len(permitted) > 1:
        raise AssertionError(f"{permitted} are permitted at once")
    if permitted:
        lacking[Action.STOP_FOR_OPERATOR] = (f"{permitted[0]} is permitted",)
    action = permitted[0] if permitted else Action.STOP_FOR_OPERATOR
    return Decision(action, tuple((each, missing) for each, missing in lacking.items() if missing))
