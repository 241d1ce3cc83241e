"""The next action against tables written by hand from the specification, state by state, over all evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpone_contracts.journal import OperationState
from dpone_contracts.outcomes import (
    ArtifactOutcome,
    EmptyScopeOutcome,
    ExchangeOutcome,
    PublicationOutcome,
    SqlOutcome,
)
from dpone_contracts.recovery import (
    Action,
    Gate,
    Holder,
    RecoveryEvidence,
    ReplacementAction,
    decide,
    replacement_action,
)
from dpone_contracts.testing.evidence_tables import Point, Table, points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

YES_NO = ("yes", "no")
COMMON: Mapping[str, Sequence[str]] = {
    "holder": ("now", "next", "later", "other", "operator"),
    "ended": YES_NO,
    "polls": YES_NO,
}
HOLDERS = dict(zip(COMMON["holder"], Holder, strict=True))
SQL = {
    "not": SqlOutcome.NOT_INVOKED,
    "rolled": SqlOutcome.ROLLED_BACK,
    "committed": SqlOutcome.COMMITTED_WITH_IMAGES,
    "unknown": SqlOutcome.COMMIT_UNKNOWN,
}
GATE = {"passed": Gate.PASSED, "failed": Gate.FAILED, "not-run": Gate.NOT_RUN}
ARTIFACT = {
    "none": ArtifactOutcome.NOT_SEALED,
    "sealed": ArtifactOutcome.SEALED,
    "conflict": ArtifactOutcome.CONFLICT,
    "unknown": ArtifactOutcome.ARTIFACT_UNKNOWN,
}
EXCHANGE = {
    "old": ExchangeOutcome.PREDECESSOR,
    "new": ExchangeOutcome.SUCCESSOR,
    "mixed": ExchangeOutcome.MIXED,
    "unknown": ExchangeOutcome.EXCHANGE_UNKNOWN,
}
PUBLICATION = {
    "old": PublicationOutcome.ALL_PREDECESSOR,
    "new": PublicationOutcome.ALL_SUCCESSOR,
    "mixed": PublicationOutcome.MIXED,
    "unknown": PublicationOutcome.PUBLICATION_UNKNOWN,
}
EMPTY = {
    "empty": EmptyScopeOutcome.NOT_REQUIRED_EMPTY_SCOPE,
    "diverged": EmptyScopeOutcome.TARGET_DIVERGED,
    "rows": EmptyScopeOutcome.NOT_EMPTY,
    "refused": EmptyScopeOutcome.REFUSED,
}


def evidence(state: OperationState, point: Point) -> RecoveryEvidence:
    """The evidence that a point stands for; what its table doesn't name is as unread as can be."""
    return RecoveryEvidence(
        state=state,
        holder=HOLDERS[point.get("holder", "now")],
        attempt_ended=point.get("ended") == "yes",
        sql=SQL[point.get("sql", "unknown")],
        gate=GATE[point.get("gate", "not-run")],
        artifact=ARTIFACT[point.get("artifact", "unknown")],
        exchange=EXCHANGE[point.get("exchange", "unknown")],
        publication=PUBLICATION[point.get("rows", "unknown")],
        empty_scope=EMPTY[point.get("scope", "refused")],
        prepared=point.get("prepared") == "yes",
        intended=point.get("intended") == "yes",
        polls_left=point.get("polls", "yes") == "yes",
        cancel_requested=point.get("cancel") == "yes",
        commit_refused=point.get("refused") == "yes",
        cleanup_acknowledged=point.get("clean") == "yes",
        replaced=point.get("replaced") == "yes",
    )


PREPARING = Table("""
holder              ended polls cancel sql        gate    artifact     => action
later               *     *     *      *          *       *            => STOP_FOR_OPERATOR
next/other/operator no    *     *      *          *       *            => WAIT_FOR_ATTEMPT_END
now                 *     yes   *      unknown    *       *            => RECONCILE_SQL
next/other/operator yes   yes   *      unknown    *       *            => RECONCILE_SQL
now                 *     no    *      unknown    *       !conflict    => RECORD_COMMIT_UNKNOWN
next/other/operator yes   no    *      unknown    *       !conflict    => RECORD_COMMIT_UNKNOWN
now                 *     no    *      unknown    *       conflict     => STOP_FOR_OPERATOR
next/other/operator yes   no    *      unknown    *       conflict     => STOP_FOR_OPERATOR
now                 *     *     *      not/rolled *       *            => FAIL_PRE_COMMIT
next/other/operator yes   *     *      not/rolled *       *            => FAIL_PRE_COMMIT
now                 *     *     *      committed  *       conflict     => STOP_FOR_OPERATOR
next/other/operator yes   *     *      committed  *       conflict     => STOP_FOR_OPERATOR
now                 *     yes   *      committed  *       unknown      => RECONCILE_ARTIFACT
next/other/operator yes   yes   *      committed  *       unknown      => RECONCILE_ARTIFACT
now                 *     no    *      committed  *       unknown      => RECORD_COMMIT_UNKNOWN
next/other/operator yes   no    *      committed  *       unknown      => RECORD_COMMIT_UNKNOWN
other/operator      yes   *     *      committed  *       none/sealed  => FAIL_PRE_COMMIT
now                 *     *     yes    committed  *       none/sealed  => FAIL_PRE_COMMIT
next                yes   *     yes    committed  *       none/sealed  => FAIL_PRE_COMMIT
now                 *     *     *      committed  failed  none/sealed  => FAIL_PRE_COMMIT
next                yes   *     *      committed  failed  none/sealed  => FAIL_PRE_COMMIT
now                 *     *     no     committed  not-run none/sealed  => RUN_GATE
next                yes   *     no     committed  not-run none/sealed  => RUN_GATE
now                 *     *     no     committed  passed  none/sealed  => SEAL_AND_PREPARE
next                yes   *     no     committed  passed  none/sealed  => SEAL_AND_PREPARE
""")

PREPARED = Table("""
holder              ended polls cancel prepared refused scope    => action
later               *     *     *      *        *       *        => STOP_FOR_OPERATOR
next/other/operator no    *     *      *        *       *        => WAIT_FOR_ATTEMPT_END
other/operator      yes   *     *      *        *       *        => FAIL_PRE_COMMIT
now                 *     *     yes    *        *       *        => FAIL_PRE_COMMIT
next                yes   *     yes    *        *       *        => FAIL_PRE_COMMIT
now                 *     *     *      no       *       *        => FAIL_PRE_COMMIT
next                yes   *     *      no       *       *        => FAIL_PRE_COMMIT
now                 *     *     *      *        yes     *        => FAIL_PRE_COMMIT
next                yes   *     *      *        yes     *        => FAIL_PRE_COMMIT
now                 *     *     *      *        *       diverged => FAIL_PRE_COMMIT
next                yes   *     *      *        *       diverged => FAIL_PRE_COMMIT
now                 *     *     no     yes      no      rows     => COMMIT
next                yes   *     no     yes      no      rows     => COMMIT
now                 *     *     no     yes      no      empty    => COMPLETE_EMPTY_SCOPE
next                yes   *     no     yes      no      empty    => COMPLETE_EMPTY_SCOPE
now                 *     *     no     yes      no      refused  => STOP_FOR_OPERATOR
next                yes   *     no     yes      no      refused  => STOP_FOR_OPERATOR
""")

COMMITTING = Table("""
holder              ended polls cancel exchange => action
later               *     *     *      *        => STOP_FOR_OPERATOR
next/other/operator no    *     *      *        => WAIT_FOR_ATTEMPT_END
other               yes   *     *      *        => STOP_FOR_OPERATOR
now                 *     *     *      mixed    => STOP_FOR_OPERATOR
next/operator       yes   *     *      mixed    => STOP_FOR_OPERATOR
now                 *     *     *      new      => CONFIRM_TARGET
next/operator       yes   *     *      new      => CONFIRM_TARGET
now                 *     *     *      old      => RECORD_COMMIT_UNKNOWN
next/operator       yes   *     *      old      => RECORD_COMMIT_UNKNOWN
now                 *     yes   *      unknown  => RECONCILE_EXCHANGE
next/operator       yes   yes   *      unknown  => RECONCILE_EXCHANGE
now                 *     no    *      unknown  => RECORD_COMMIT_UNKNOWN
next/operator       yes   no    *      unknown  => RECORD_COMMIT_UNKNOWN
""")

UNKNOWN_AFTER_INTENT = Table("""
holder              ended polls cancel exchange => action
later               *     *     *      *        => STOP_FOR_OPERATOR
next/other/operator no    *     *      *        => WAIT_FOR_ATTEMPT_END
other               yes   *     *      *        => STOP_FOR_OPERATOR
now                 *     *     *      mixed    => STOP_FOR_OPERATOR
next/operator       yes   *     *      mixed    => STOP_FOR_OPERATOR
now                 *     *     *      new      => CONFIRM_TARGET
next/operator       yes   *     *      new      => CONFIRM_TARGET
now                 *     *     *      old      => RETURN_TO_PREPARED
next/operator       yes   *     *      old      => RETURN_TO_PREPARED
now                 *     yes   *      unknown  => RECONCILE_EXCHANGE
next/operator       yes   yes   *      unknown  => RECONCILE_EXCHANGE
now                 *     no    *      unknown  => STOP_FOR_OPERATOR
next/operator       yes   no    *      unknown  => STOP_FOR_OPERATOR
""")

UNKNOWN_BEFORE_INTENT = Table("""
holder              ended polls sql        artifact    exchange  => action
later               *     *     *          *           *         => STOP_FOR_OPERATOR
next/other/operator no    *     *          *           *         => WAIT_FOR_ATTEMPT_END
now                 *     yes   unknown    *           *         => RECONCILE_SQL
next/other/operator yes   yes   unknown    *           *         => RECONCILE_SQL
*                   yes   no    unknown    *           *         => STOP_FOR_OPERATOR
now                 no    no    unknown    *           *         => STOP_FOR_OPERATOR
now                 *     yes   committed  unknown     *         => RECONCILE_ARTIFACT
next/other/operator yes   yes   committed  unknown     *         => RECONCILE_ARTIFACT
*                   yes   no    committed  unknown     *         => STOP_FOR_OPERATOR
now                 no    no    committed  unknown     *         => STOP_FOR_OPERATOR
*                   yes   *     committed  conflict    *         => STOP_FOR_OPERATOR
now                 no    *     committed  conflict    *         => STOP_FOR_OPERATOR
other               yes   *     not/rolled *           *         => STOP_FOR_OPERATOR
other               yes   *     committed  none/sealed *         => STOP_FOR_OPERATOR
*                   yes   *     not/rolled *           new/mixed => STOP_FOR_OPERATOR
now                 no    *     not/rolled *           new/mixed => STOP_FOR_OPERATOR
*                   yes   *     committed  none/sealed new/mixed => STOP_FOR_OPERATOR
now                 no    *     committed  none/sealed new/mixed => STOP_FOR_OPERATOR
now                 *     yes   not/rolled *           unknown   => RECONCILE_EXCHANGE
next/operator       yes   yes   not/rolled *           unknown   => RECONCILE_EXCHANGE
now                 *     yes   committed  none/sealed unknown   => RECONCILE_EXCHANGE
next/operator       yes   yes   committed  none/sealed unknown   => RECONCILE_EXCHANGE
*                   yes   no    not/rolled *           unknown   => STOP_FOR_OPERATOR
now                 no    no    not/rolled *           unknown   => STOP_FOR_OPERATOR
*                   yes   no    committed  none/sealed unknown   => STOP_FOR_OPERATOR
now                 no    no    committed  none/sealed unknown   => STOP_FOR_OPERATOR
now                 *     *     not/rolled *           old       => RETURN_TO_PREPARED
next/operator       yes   *     not/rolled *           old       => RETURN_TO_PREPARED
now                 *     *     committed  none/sealed old       => RETURN_TO_PREPARED
next/operator       yes   *     committed  none/sealed old       => RETURN_TO_PREPARED
""")

TARGET_COMMITTED = Table("""
holder              ended polls cancel rows      => action
later               *     *     *      *         => STOP_FOR_OPERATOR
next/other/operator no    *     *      *         => WAIT_FOR_ATTEMPT_END
other               yes   *     *      *         => STOP_FOR_OPERATOR
now                 *     *     *      new/mixed => STOP_FOR_OPERATOR
next/operator       yes   *     *      new/mixed => STOP_FOR_OPERATOR
now                 *     *     *      old       => PUBLISH_STATE
next/operator       yes   *     *      old       => PUBLISH_STATE
now                 *     yes   *      unknown   => RECONCILE_PUBLICATION
next/operator       yes   yes   *      unknown   => RECONCILE_PUBLICATION
now                 *     no    *      unknown   => RECORD_INCOMPLETE
next/operator       yes   no    *      unknown   => RECORD_INCOMPLETE
""")

COMMITTED_INCOMPLETE = Table("""
holder              ended polls cancel rows      => action
later               *     *     *      *         => STOP_FOR_OPERATOR
next/other/operator no    *     *      *         => WAIT_FOR_ATTEMPT_END
other               yes   *     *      *         => STOP_FOR_OPERATOR
now                 *     *     *      new/mixed => STOP_FOR_OPERATOR
next/operator       yes   *     *      new/mixed => STOP_FOR_OPERATOR
now                 *     *     *      old       => PUBLISH_STATE
next/operator       yes   *     *      old       => PUBLISH_STATE
now                 *     yes   *      unknown   => RECONCILE_PUBLICATION
next/operator       yes   yes   *      unknown   => RECONCILE_PUBLICATION
now                 *     no    *      unknown   => STOP_FOR_OPERATOR
next/operator       yes   no    *      unknown   => STOP_FOR_OPERATOR
""")

COMPLETE = Table("""
holder ended polls cancel rows => action
*      *     *     *      *    => NOTHING
""")

FAILED = Table("""
holder ended polls clean replaced => action
*      *     *     no    *        => CLEAN_UP
*      *     *     yes   no       => REPLACE
*      *     *     yes   yes      => NOTHING
""")

S = OperationState
CASES: list[tuple[str, OperationState, dict[str, str], Table, dict[str, Sequence[str]]]] = [
    (
        "preparing",
        S.PREPARING,
        {},
        PREPARING,
        {"cancel": YES_NO, "sql": list(SQL), "gate": list(GATE), "artifact": list(ARTIFACT)},
    ),
    (
        "prepared",
        S.PREPARED,
        {},
        PREPARED,
        {"cancel": YES_NO, "prepared": YES_NO, "refused": YES_NO, "scope": list(EMPTY)},
    ),
    (
        "committing",
        S.COMMITTING,
        {"intended": "yes"},
        COMMITTING,
        {"cancel": YES_NO, "exchange": list(EXCHANGE)},
    ),
    (
        "unknown-after-intent",
        S.COMMIT_UNKNOWN,
        {"intended": "yes"},
        UNKNOWN_AFTER_INTENT,
        {"cancel": YES_NO, "exchange": list(EXCHANGE)},
    ),
    (
        "unknown-before-intent",
        S.COMMIT_UNKNOWN,
        {"intended": "no"},
        UNKNOWN_BEFORE_INTENT,
        {"sql": list(SQL), "artifact": list(ARTIFACT), "exchange": list(EXCHANGE)},
    ),
    (
        "target-committed",
        S.TARGET_COMMITTED,
        {},
        TARGET_COMMITTED,
        {"cancel": YES_NO, "rows": list(PUBLICATION)},
    ),
    (
        "incomplete",
        S.COMMITTED_INCOMPLETE,
        {},
        COMMITTED_INCOMPLETE,
        {"cancel": YES_NO, "rows": list(PUBLICATION)},
    ),
    ("complete", S.COMPLETE, {}, COMPLETE, {"cancel": YES_NO, "rows": list(PUBLICATION)}),
    ("failed", S.FAILED_PRE_COMMIT, {}, FAILED, {"clean": YES_NO, "replaced": YES_NO}),
]


@pytest.mark.parametrize(
    ("state", "fixed", "table", "dimensions"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_the_next_action_is_that_of_the_table_everywhere(
    state: OperationState, fixed: dict[str, str], table: Table, dimensions: dict[str, Sequence[str]]
) -> None:
    for point in points({**COMMON, **dimensions}):
        assert decide(evidence(state, {**fixed, **point})).action == table.expected(point), point


def any_evidence() -> st.SearchStrategy[RecoveryEvidence]:
    """All evidence, contradictory evidence included."""
    return st.builds(RecoveryEvidence, **{name: st.from_type(kind) for name, kind in EVIDENCE_TYPES.items()})


EVIDENCE_TYPES: dict[str, type] = {
    "state": OperationState,
    "holder": Holder,
    "attempt_ended": bool,
    "sql": SqlOutcome,
    "gate": Gate,
    "artifact": ArtifactOutcome,
    "exchange": ExchangeOutcome,
    "publication": PublicationOutcome,
    "empty_scope": EmptyScopeOutcome,
    "prepared": bool,
    "intended": bool,
    "polls_left": bool,
    "cancel_requested": bool,
    "commit_refused": bool,
    "cleanup_acknowledged": bool,
    "replaced": bool,
}


@settings(max_examples=1_000)
@given(any_evidence())
def test_exactly_one_action_is_permitted_and_every_other_says_what_it_lacks(
    given_evidence: RecoveryEvidence,
) -> None:
    decision = decide(given_evidence)
    assert {decision.action, *dict(decision.refused)} == set(Action)
    assert all(lacking for action, lacking in decision.refused)
    assert decision.why_not(decision.action) == ()


@settings(max_examples=1_000)
@given(any_evidence())
def test_no_action_assumes_a_success_that_is_not_proven(given_evidence: RecoveryEvidence) -> None:
    action = decide(given_evidence).action
    if action in (Action.SEAL_AND_PREPARE, Action.RUN_GATE):
        assert given_evidence.sql is SqlOutcome.COMMITTED_WITH_IMAGES
    if action is Action.CONFIRM_TARGET:
        assert given_evidence.exchange is ExchangeOutcome.SUCCESSOR
    if action in (Action.FAIL_PRE_COMMIT, Action.CLEAN_UP):
        assert given_evidence.state in (S.PREPARING, S.PREPARED, S.FAILED_PRE_COMMIT)
    if action in (Action.SEAL_AND_PREPARE, Action.RUN_GATE, Action.COMMIT, Action.COMPLETE_EMPTY_SCOPE):
        assert given_evidence.holder in (Holder.CURRENT, Holder.SUCCESSOR_TRY)


def test_a_committed_model_with_a_failed_gate_ends_and_its_replacement_restores_it() -> None:
    failed = evidence(S.PREPARING, {"sql": "committed", "gate": "failed", "artifact": "none"})
    assert decide(failed).action is Action.FAIL_PRE_COMMIT
    assert replacement_action(failed.sql) is ReplacementAction.RESTORE_THEN_REBUILD
    assert "the tests passed" in decide(failed).why_not(Action.SEAL_AND_PREPARE)


@pytest.mark.parametrize(
    ("outcome", "action"),
    [
        (SqlOutcome.COMMITTED_WITH_IMAGES, ReplacementAction.RESTORE_THEN_REBUILD),
        (SqlOutcome.ROLLED_BACK, ReplacementAction.BUILD_FRESH),
        (SqlOutcome.NOT_INVOKED, ReplacementAction.BUILD_FRESH),
        (SqlOutcome.COMMIT_UNKNOWN, ReplacementAction.BLOCK),
    ],
)
def test_a_replacement_treats_each_outcome_as_specified(
    outcome: SqlOutcome, action: ReplacementAction
) -> None:
    assert replacement_action(outcome) is action
