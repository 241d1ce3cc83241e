"""Lock table: SQL Server's compatibility, order of grants, conversions, deadlocks, timeouts and cancelled waits."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_lab.sqlserver.locks import (
    DeadlockVictim,
    LockTable,
    LockTimeout,
    Mode,
    Owner,
    Resource,
    WaitCancelled,
    combined,
)

TABLE = Resource("OBJECT", ("dbo", "t"))
OTHER = Resource("OBJECT", ("dbo", "u"))


def owner(session: int) -> Owner:
    return Owner(session, "TRANSACTION")


def waits(table: LockTable, session: int) -> bool:
    return any(row.owner.session == session and row.status != "GRANT" for row in table.rows())


class Waiter:
    """A request in a thread of its own; `until_waiting` returns once the table lists it as waiting."""

    def __init__(
        self, table: LockTable, session: int, resource: Resource, mode: Mode, timeout: float | None = None
    ) -> None:
        self.done: Future[bool] = Future()
        self._table, self._session = table, session

        def run() -> None:
            try:
                self.done.set_result(table.acquire(owner(session), resource, mode, timeout))
            except (DeadlockVictim, LockTimeout, WaitCancelled) as error:
                self.done.set_exception(error)

        threading.Thread(target=run, daemon=True).start()

    def until_waiting(self) -> Waiter:
        while not waits(self._table, self._session):
            assert not self.done.done(), "the lock was granted at once"
            time.sleep(0.001)
        return self


@pytest.mark.parametrize(
    ("held", "asked", "granted"),
    [
        (Mode.S, Mode.S, True),
        (Mode.S, Mode.U, True),
        (Mode.S, Mode.X, False),
        (Mode.U, Mode.S, True),
        (Mode.U, Mode.U, False),
        (Mode.U, Mode.X, False),
        (Mode.X, Mode.S, False),
        (Mode.X, Mode.U, False),
        (Mode.X, Mode.X, False),
        (Mode.IX, Mode.IX, True),
        (Mode.IX, Mode.S, False),
        (Mode.IS, Mode.U, True),
        (Mode.IS, Mode.X, False),
        (Mode.SIX, Mode.IS, True),
        (Mode.SIX, Mode.IX, False),
        (Mode.SCH_S, Mode.X, True),
        (Mode.SCH_S, Mode.SCH_M, False),
        (Mode.SCH_M, Mode.SCH_S, False),
    ],
)
def test_compatibility_is_the_documented_matrix(held: Mode, asked: Mode, granted: bool) -> None:  # noqa: FBT001
    table = LockTable()
    table.acquire(owner(1), TABLE, held, 0)
    if granted:
        table.acquire(owner(2), TABLE, asked, 0)
    else:
        with pytest.raises(LockTimeout):
            table.acquire(owner(2), TABLE, asked, 0)


def test_a_release_wakes_the_waiter() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.X, 0)
    waiter = Waiter(table, 2, TABLE, Mode.S).until_waiting()
    table.release(owner(1))
    assert waiter.done.result(10) is True
    assert table.held(owner(2), TABLE) is Mode.S


def test_requests_are_granted_in_order_of_arrival() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.S, 0)
    writer = Waiter(table, 2, TABLE, Mode.X).until_waiting()
    reader = Waiter(table, 3, TABLE, Mode.S).until_waiting()  # compatible with S, but behind the writer
    table.release(owner(1))
    writer.done.result(10)
    assert waits(table, 3)
    table.release(owner(2))
    reader.done.result(10)


def test_a_conversion_goes_before_new_requests() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.S, 0)
    table.acquire(owner(2), TABLE, Mode.S, 0)
    stranger = Waiter(table, 3, TABLE, Mode.X).until_waiting()
    conversion = Waiter(table, 1, TABLE, Mode.X).until_waiting()
    assert [row.status for row in table.rows() if row.status != "GRANT"] == ["CONVERT", "WAIT"]
    table.release(owner(2))
    conversion.done.result(10)
    assert waits(table, 3)
    table.release(owner(1))
    stranger.done.result(10)


def test_two_readers_that_both_want_to_write_deadlock_and_the_second_is_the_victim() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.S, 0)
    table.acquire(owner(2), TABLE, Mode.S, 0)
    first = Waiter(table, 1, TABLE, Mode.X).until_waiting()
    with pytest.raises(DeadlockVictim):
        table.acquire(owner(2), TABLE, Mode.X, None)
    assert table.held(owner(2), TABLE) is Mode.S
    table.release(owner(2))
    first.done.result(10)


def test_a_cycle_over_two_tables_is_found() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.X, 0)
    table.acquire(owner(2), OTHER, Mode.X, 0)
    waiter = Waiter(table, 1, OTHER, Mode.S).until_waiting()
    with pytest.raises(DeadlockVictim):
        table.acquire(owner(2), TABLE, Mode.S, None)
    table.release(owner(2))
    waiter.done.result(10)


def test_a_cycle_through_the_queue_is_found() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.S, 0)
    table.acquire(owner(3), OTHER, Mode.X, 0)
    Waiter(table, 2, TABLE, Mode.X).until_waiting()
    Waiter(table, 1, OTHER, Mode.S).until_waiting()
    # Session 3 would stand behind 2, which waits for 1, which waits for 3.
    with pytest.raises(DeadlockVictim):
        table.acquire(owner(3), TABLE, Mode.S, None)


def test_a_timeout_leaves_what_was_held() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.S, 0)
    table.acquire(owner(2), TABLE, Mode.S, 0)
    with pytest.raises(LockTimeout):
        table.acquire(owner(1), TABLE, Mode.X, 0.01)
    assert table.held(owner(1), TABLE) is Mode.S
    assert not waits(table, 1)


def test_a_cancelled_wait_ends_without_the_lock() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.X, 0)
    waiter = Waiter(table, 2, TABLE, Mode.S).until_waiting()
    table.cancel(2)
    with pytest.raises(WaitCancelled):
        waiter.done.result(10)
    assert table.held(owner(2), TABLE) is None


def test_transaction_and_session_of_one_connection_do_not_block_each_other() -> None:
    table = LockTable()
    table.acquire(Owner(1, "SESSION"), TABLE, Mode.X, 0)
    table.acquire(Owner(1, "TRANSACTION"), TABLE, Mode.X, 0)
    table.release(Owner(1, "TRANSACTION"))
    assert table.held(Owner(1, "SESSION"), TABLE) is Mode.X


def test_a_short_lock_gives_back_only_what_it_added() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.S, 0)
    table.acquire(owner(1), TABLE, Mode.X, 0)
    table.restore(owner(1), TABLE, Mode.S)
    table.acquire(owner(2), TABLE, Mode.S, 0)


def test_shared_and_intent_exclusive_make_six() -> None:
    assert combined(Mode.S, Mode.IX) is Mode.SIX
    assert combined(Mode.U, Mode.S) is Mode.U
    assert combined(Mode.U, Mode.IX) is Mode.X


def test_who_blocks_whom_is_told() -> None:
    table = LockTable()
    table.acquire(owner(1), TABLE, Mode.X, 0)
    Waiter(table, 2, TABLE, Mode.S).until_waiting()
    blocker, wait_type, _seconds = table.blockers()[2]
    assert (blocker, wait_type) == (1, "LCK_M_S")
    table.release(owner(1))


ALLOWED = {(Mode.S, Mode.S), (Mode.S, Mode.U), (Mode.U, Mode.S)}


def _compatible(rows: list[tuple[Owner, Mode]]) -> bool:
    return all(
        a_owner.session == b_owner.session or (a, b) in ALLOWED
        for i, (a_owner, a) in enumerate(rows)
        for b_owner, b in rows[i + 1 :]
    )


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from([Mode.S, Mode.U, Mode.X]), st.booleans()), max_size=30
    )
)
def test_granted_locks_are_always_compatible(steps: list[tuple[int, Mode, bool]]) -> None:
    table = LockTable()
    for session, mode, release in steps:
        if release:
            table.release(owner(session))
            continue
        with contextlib.suppress(LockTimeout):
            table.acquire(owner(session), TABLE, mode, 0)
        assert _compatible([(row.owner, row.mode) for row in table.rows()])


def test_a_counter_under_an_exclusive_lock_loses_nothing() -> None:
    table = LockTable()
    count = 0

    def add(session: int) -> None:
        nonlocal count
        for _ in range(50):
            table.acquire(owner(session), TABLE, Mode.X, None)
            seen = count
            count = seen + 1
            table.release(owner(session))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(1, 5)))
    assert count == 200
    assert table.rows() == []
