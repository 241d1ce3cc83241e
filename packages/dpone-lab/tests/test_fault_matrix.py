"""The fault matrix in memory: nothing is wrong with the product, and every planted mutant of it is caught."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from dpone.application import commit
from dpone.application.services import Services
from dpone_contracts.effects import Applied, effect_of
from dpone_contracts.testing import memory_state
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_lab.fault_matrix import Case, Matrix, Wanted, cases_of, golden, pairs, play, report, sampled
from dpone_lab.fault_matrix_memory import EMPTY_DAY, NORMAL_DAY, MemoryWorld
from dpone_lab.fault_matrix_publish import landings
from dpone_lab.faults import LIMITS, FaultKind, Injection, port_protocols
from dpone_lab.faults_command import account, exit_class

if TYPE_CHECKING:
    from dpone_contracts.journal import OperationState
    from dpone_contracts.ports.publisher import Scratch
    from dpone_contracts.testing.memory_rows import Row

EXCHANGE = "COMMIT/arrivals/publisher.exchange/1"
BURN = "COMMIT/arrivals/publisher.burn_shadow_name/1"
INTENT = "COMMIT/arrivals/state.append/1"


@pytest.fixture(scope="module")
def world() -> MemoryWorld:
    return MemoryWorld.of(*NORMAL_DAY)


def wrong(world: MemoryWorld, *injections: Injection) -> list[str]:
    """What is wrong with the first of some cases that has anything wrong."""
    return next((found for each in injections if (found := play(world, Case(each)).wrong)), [])


def test_every_port_of_a_run_is_watched_and_every_call_of_it_is_marked() -> None:
    protocols = port_protocols()
    assert protocols.keys() == {each.name for each in fields(Services)} - LIMITS
    for protocol in protocols.values():
        public = [name for name in vars(protocol) if not name.startswith("_")]
        assert all(effect_of(getattr(protocol, name)) is not None for name in public)


def test_the_golden_run_passes_each_exchange_and_publication_once(world: MemoryWorld) -> None:
    recorded, outcome = golden(world)
    calls = Counter((each.model, each.method) for each in recorded if each.effect == "PUBLISH")
    assert outcome.wrong == []
    assert calls["arrivals", "exchange"] == calls["departures", "exchange"] == 1
    assert sum(each.method == "publish" for each in recorded) == 2


@pytest.mark.parametrize("day", [NORMAL_DAY, EMPTY_DAY], ids=["normal", "empty"])
def test_a_sample_of_all_boundaries_and_of_second_faults_leaves_nothing_wrong(
    day: tuple[list[Row], list[Row], list[Row]],
) -> None:
    world = MemoryWorld.of(*day)
    matrix = Matrix.of("memory", world, ())
    singles = sampled(cases_of(matrix.boundaries, landings, world.torn), 100, seed=74)
    played = matrix.play(world, singles)
    matrix.play(world, sampled(pairs(played, world.torn, seed=74), 60, seed=74))
    assert [(each.case, each.wrong) for each in matrix.outcomes if each.wrong] == []


@pytest.mark.parametrize("method", [EXCHANGE, BURN])
def test_a_doubled_exchange_or_burn_takes_nothing_away_wherever_its_second_delivery_lands(
    world: MemoryWorld, method: str
) -> None:
    late = [Injection(method, FaultKind.TWICE_LATE, landing) for landing in range(24)]
    assert wrong(world, *late) == []


@pytest.mark.parametrize(
    "fault", [FaultKind.BEFORE, FaultKind.AFTER, FaultKind.ACK_LOST, FaultKind.NOT_APPLIED]
)
def test_a_burn_that_was_interrupted_is_found_again_by_exact_uuid(
    world: MemoryWorld, fault: FaultKind
) -> None:
    assert wrong(world, Injection(BURN, fault)) == []


@pytest.mark.parametrize("fault", [FaultKind.BEFORE, FaultKind.AFTER, FaultKind.ACK_LOST, FaultKind.TWICE])
def test_an_exchange_is_settled_from_the_uuids_whatever_became_of_its_answer(
    world: MemoryWorld, fault: FaultKind
) -> None:
    assert wrong(world, Injection(EXCHANGE, fault)) == []


def test_a_late_exchange_fails_wherever_it_lands(world: MemoryWorld) -> None:
    late = [Injection(EXCHANGE, FaultKind.LATE, landing) for landing in range(0, 24, 2)]
    assert wrong(world, *late) == []


def test_a_mutant_without_the_fence_check_is_caught(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [Injection(INTENT, FaultKind.LATE, landing) for landing in range(30, 60, 3)]
    monkeypatch.setattr(memory_state, "require_fence", lambda *_: None)
    assert any("took effect without its fence" in text for text in wrong(world, *late))


def test_a_mutant_that_journals_its_intent_after_the_exchange_is_caught(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MemoryPublisher.exchange

    def swapped(this: commit._Commit) -> None:
        scratch, target_uuid = commit._scratch(this), this.prepared.target_uuid
        this.services.publisher.exchange(this.operation.target, this.operation.admitted, scratch, target_uuid)
        monkeypatch.setattr(MemoryPublisher, "exchange", lambda *_: Applied(None))
        unswapped(this)
        monkeypatch.setattr(MemoryPublisher, "exchange", real)

    unswapped = commit._exchange
    monkeypatch.setattr(commit, "_exchange", swapped)
    found = wrong(world, Injection(EXCHANGE, FaultKind.AFTER))
    assert "arrivals: the journal is at PREPARED over the successor's rows" in " ".join(found)


def test_a_mutant_that_sends_the_exchange_again_without_looking_is_caught(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def retried(this: commit._Commit, state: OperationState) -> None:
        publisher, scratch = this.services.publisher, commit._scratch(this)
        publisher.exchange(this.operation.target, this.operation.admitted, scratch, this.prepared.target_uuid)
        there = publisher.uuid_map(this.operation.target, scratch)
        commit._target_committed(this, scratch, scratch, state, there)

    late = [Injection(EXCHANGE, FaultKind.LATE, landing) for landing in range(12)]
    monkeypatch.setattr(commit, "_reconcile", retried)
    assert wrong(world, *late)


def test_a_mutant_that_does_not_burn_the_shadows_name_is_caught(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unburned(_: object, __: object, ___: object, scratch: Scratch, ____: str) -> Applied[Scratch]:
        return Applied(scratch)

    monkeypatch.setattr(MemoryPublisher, "burn_shadow_name", unburned)
    late = [Injection(EXCHANGE, FaultKind.LATE, landing) for landing in range(20)]
    assert wrong(world, *late)


def test_a_mutant_that_believes_the_map_before_the_name_is_burned_is_caught(
    world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_early(this: commit._Commit, state: OperationState) -> None:
        publisher, sent, operation = this.services.publisher, commit._scratch(this), this.operation
        there = publisher.uuid_map(operation.target, sent)
        burned = publisher.burn_shadow_name(
            operation.target, operation.admitted, sent, this.prepared.target_uuid
        )
        assert isinstance(burned, Applied)
        commit._target_committed(this, sent, burned.value, state, there)

    between = Injection(EXCHANGE, FaultKind.TWICE_LATE, 3)
    monkeypatch.setattr(commit, "_reconcile", too_early)
    assert "the journal is at COMPLETE over the predecessor's rows" in " ".join(wrong(world, between))


def test_an_entry_of_a_report_is_played_alone_by_its_name() -> None:
    case = Case(Injection(EXCHANGE, FaultKind.LATE, 3), Injection(INTENT, FaultKind.ACK_LOST))
    assert case.name == f"{EXCHANGE}:late@3+{INTENT}:ack_lost"
    assert Case.parse(case.name) == case
    assert Wanted(entry=f"memory~{case.name}").of("memory", []) == [case]


def test_only_a_whole_matrix_without_a_wrong_entry_is_done(world: MemoryWorld) -> None:
    matrix = Matrix.of("memory", world)
    whole = report("publish", [matrix], "dpone lab faults")
    assert (whole["verdict"], exit_class(whole)) == (False, 4)
    assert len(whole["left_out"]) == whole["boundaries"] > 50
    matrix.outcomes[0].wrong.append("something")
    spoiled = report("publish", [matrix], "dpone lab faults")
    assert exit_class(spoiled) == 1
    assert "run it alone: dpone lab faults --entry 'memory~golden run'" in account(spoiled)


def test_an_admission_whose_commit_is_unknown_is_told_by_its_code_and_never_continued(
    world: MemoryWorld,
) -> None:
    for fault in (FaultKind.ACK_LOST, FaultKind.NOT_APPLIED):
        outcome = play(world, Case(Injection("ADMIT/workflow/state.admit/1", fault)))
        first, *later = outcome.endings
        assert outcome.wrong == []
        assert first.startswith("DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN")
        if fault is FaultKind.ACK_LOST:
            # It landed: nobody goes on from it by himself, the operator looks at it.
            assert [ending.split(" ", 1)[0] for ending in later] == ["DPONE_SQL_OUTCOME_UNKNOWN"]


@pytest.mark.parametrize(
    "case",
    [
        "SEAL/arrivals/artifacts.create/1:before+ADMIT/workflow/state.guard_quiescence/2:down",
        "PUBLISH/arrivals/state.publish/1:after+PREPARE/departures/documents.list_for/1:down",
        "ADMIT/workflow/state.admit/1:not_applied+BUILD/workflow/documents.persist/1:before",
    ],
)
def test_a_process_that_is_started_again_under_its_own_attempt_goes_on(world: MemoryWorld, case: str) -> None:
    assert play(world, Case.parse(case)).wrong == []


@pytest.mark.parametrize(
    "boundary", ["SEAL/arrivals/documents.persist/1", "PREPARE/arrivals/documents.persist/1"]
)
def test_a_document_that_is_stored_late_replaces_nothing_that_was_built_on(
    world: MemoryWorld, boundary: str
) -> None:
    exchange = Injection(EXCHANGE, FaultKind.AFTER)
    late = [Injection(boundary, FaultKind.LATE, landing) for landing in range(24, 100, 4)]
    cases = [Case(each, exchange) for each in late]
    assert [(case.name, found) for case in cases if (found := play(world, case).wrong)] == []
