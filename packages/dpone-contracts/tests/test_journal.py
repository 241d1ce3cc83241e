"""The state graph is the specification's, and no sequence of entries leaves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_contracts.errors import DponeError
from dpone_contracts.journal import (
    EDGES,
    TERMINAL_STATES,
    EntryRefused,
    JournalEntry,
    JournalHead,
    JournalRule,
    OperationState,
    Receipt,
    advance,
    edge,
    open_edges,
    reduce_journal,
    require_advance,
)

SPECIFIED_GRAPH = """
[*] PREPARING
PREPARING PREPARED
PREPARING FAILED_PRE_COMMIT
PREPARING COMMIT_UNKNOWN
PREPARED COMMITTING
PREPARED COMPLETE
PREPARED FAILED_PRE_COMMIT
COMMITTING TARGET_COMMITTED
COMMITTING COMMIT_UNKNOWN
TARGET_COMMITTED COMPLETE
TARGET_COMMITTED COMMITTED_INCOMPLETE
COMMIT_UNKNOWN TARGET_COMMITTED
COMMIT_UNKNOWN PREPARED
COMMITTED_INCOMPLETE COMPLETE
"""

S = OperationState
OPERATION = "sha256:" + "a" * 64
ATTEMPT = "sha256:" + "b" * 64


def entry(head: JournalHead | None, state: S, receipt: str | None = None) -> JournalEntry:
    """The entry that follows a head; its receipt is the edge's unless another is named."""
    step = edge(head.state if head else None, state)
    return JournalEntry(
        operation_id=OPERATION,
        version=head.version + 1 if head else 1,
        state=state,
        predecessor=head.state if head else None,
        attempt_binding_sha256=ATTEMPT,
        receipt_schema=receipt or (step.receipt.value if step else "none"),
        receipt_sha256="sha256:" + "c" * 64,
        recorded_at="2013-01-02T00:00:00.000000Z",
    )


def walk(*states: S) -> JournalHead | EntryRefused:
    """The head after following states, or the first refusal."""
    head: JournalHead | None = None
    for state in states:
        after = advance(head, entry(head, state))
        if isinstance(after, EntryRefused):
            return after
        head = after
    assert head is not None
    return head


def test_the_edges_are_those_of_the_specification() -> None:
    assert {(str(each.source or "[*]"), str(each.target)) for each in EDGES} == {
        tuple(line.split()) for line in SPECIFIED_GRAPH.strip().splitlines()
    }
    assert len(EDGES) == 14


def test_every_way_into_success_needs_its_own_receipt() -> None:
    into = {(each.source, each.receipt) for each in EDGES if each.target is S.COMPLETE}
    assert into == {
        (S.PREPARED, Receipt.EMPTY_SCOPE),
        (S.TARGET_COMMITTED, Receipt.PUBLICATION),
        (S.COMMITTED_INCOMPLETE, Receipt.PUBLICATION),
    }
    assert {each.receipt for each in EDGES if each.target is S.TARGET_COMMITTED} == {Receipt.EXCHANGE}


@pytest.mark.parametrize(
    "states",
    [
        (S.PREPARING, S.PREPARED, S.COMMITTING, S.TARGET_COMMITTED, S.COMPLETE),
        (S.PREPARING, S.PREPARED, S.COMPLETE),
        (S.PREPARING, S.PREPARED, S.COMMITTING, S.COMMIT_UNKNOWN, S.PREPARED, S.COMMITTING),
        (S.PREPARING, S.PREPARED, S.COMMITTING, S.COMMIT_UNKNOWN, S.TARGET_COMMITTED, S.COMMITTED_INCOMPLETE),
        (S.PREPARING, S.COMMIT_UNKNOWN, S.PREPARED, S.FAILED_PRE_COMMIT),
    ],
)
def test_legal_histories_reduce_to_their_last_state(states: tuple[S, ...]) -> None:
    head = walk(*states)
    assert isinstance(head, JournalHead)
    assert head.state is states[-1]
    assert head.version == len(states)


@pytest.mark.parametrize(
    ("states", "rule"),
    [
        ((S.PREPARED,), JournalRule.NO_SUCH_EDGE),
        ((S.PREPARING, S.COMMITTING), JournalRule.NO_SUCH_EDGE),
        ((S.PREPARING, S.COMPLETE), JournalRule.NO_SUCH_EDGE),
        ((S.PREPARING, S.FAILED_PRE_COMMIT, S.PREPARING), JournalRule.TERMINAL_STATE),
        ((S.PREPARING, S.PREPARED, S.COMMITTING, S.PREPARED), JournalRule.NO_SUCH_EDGE),
        ((S.PREPARING, S.COMMIT_UNKNOWN, S.TARGET_COMMITTED), JournalRule.EARLIER_RECEIPT_MISSING),
        ((S.PREPARING, S.COMMIT_UNKNOWN, S.PREPARED, S.COMMITTING), JournalRule.EARLIER_RECEIPT_MISSING),
        ((S.PREPARING, S.COMMIT_UNKNOWN, S.PREPARED, S.COMPLETE), JournalRule.EARLIER_RECEIPT_MISSING),
    ],
)
def test_illegal_histories_are_refused_by_rule(states: tuple[S, ...], rule: JournalRule) -> None:
    refused = walk(*states)
    assert isinstance(refused, EntryRefused)
    assert refused.rule is rule


def test_a_refused_append_raises_and_a_stored_one_is_corruption() -> None:
    first = entry(None, S.PREPARING)
    wrong = entry(None, S.COMPLETE)
    with pytest.raises(DponeError, match="DPONE_JOURNAL_EDGE_REFUSED: NO_SUCH_EDGE"):
        require_advance(None, wrong)
    with pytest.raises(DponeError, match="DPONE_JOURNAL_CORRUPT: entry 1: VERSION_GAP"):
        reduce_journal([first, first])
    assert reduce_journal([]) is None


def test_another_operations_entry_is_refused() -> None:
    head = walk(S.PREPARING)
    assert isinstance(head, JournalHead)
    foreign = JournalHead(ATTEMPT, head.version, head.state, head.attempt_binding_sha256, head.receipts)
    refused = advance(foreign, entry(head, S.PREPARED))
    assert refused == EntryRefused(JournalRule.OTHER_OPERATION, f"entry of {OPERATION}")


entries = st.builds(
    JournalEntry,
    operation_id=st.just(OPERATION),
    version=st.integers(1, 8),
    state=st.sampled_from(S),
    predecessor=st.none() | st.sampled_from(S),
    attempt_binding_sha256=st.just(ATTEMPT),
    receipt_schema=st.sampled_from([each.value for each in Receipt]),
    receipt_sha256=st.just(ATTEMPT),
    recorded_at=st.just("2013-01-02T00:00:00.000000Z"),
)


@given(st.lists(entries, max_size=30))
def test_no_sequence_of_entries_leaves_the_graph(tried: list[JournalEntry]) -> None:
    head: JournalHead | None = None
    for each in tried:
        after = advance(head, each)
        if isinstance(after, JournalHead):
            step = edge(head.state if head else None, after.state)
            assert step in open_edges(head)
            assert step is not None
            assert step.receipt.value == each.receipt_schema
            head = after


@given(st.lists(st.sampled_from(S), max_size=14))
def test_terminal_states_stay_and_unknown_needs_its_receipt(states: list[S]) -> None:
    head: JournalHead | None = None
    for state in states:
        before, after = head, advance(head, entry(head, state))
        if not isinstance(after, JournalHead):
            continue
        assert before is None or before.state not in TERMINAL_STATES
        if before and before.state is S.COMMIT_UNKNOWN and state is S.TARGET_COMMITTED:
            assert after.has(Receipt.EXCHANGE)
            assert before.has(Receipt.COMMIT_INTENT)
        if state is S.COMPLETE:
            assert after.has(Receipt.PREPARED)
            assert after.has(Receipt.PUBLICATION) or after.has(Receipt.EMPTY_SCOPE)
        head = after
