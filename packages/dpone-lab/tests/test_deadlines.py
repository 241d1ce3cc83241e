"""A passed deadline refuses the next side effect, and never stands in the way of settling one that was begun."""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from dpone.application.run import run_workflow
from dpone.application.stages import StageKind
from dpone_contracts.document import without
from dpone_contracts.errors import DponeError
from dpone_contracts.policies import DeadlinePolicy
from dpone_contracts.testing.plan_example import example_deadlines
from dpone_lab.fault_matrix_memory import EMPTY_DAY, NORMAL_DAY, MemoryWorld
from dpone_lab.faults import EFFECTS, FaultKind, Injection, Injector, WorkerKilled

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.application.services import Services
    from dpone_contracts.ports.model_build import BuildExit, BuildRequest
    from dpone_lab.faults import Boundary

YEAR = dt.timedelta(days=365)
LIMITS = {
    StageKind.ADMIT: "admission_seconds",
    StageKind.BUILD: "execution_seconds",
    StageKind.SEAL: "artifact_seconds",
    StageKind.PREPARE: "preparation_seconds",
    StageKind.COMMIT: "commit_seconds",
    StageKind.PUBLISH: "publication_seconds",
}


@dataclass
class Late(Injector):
    """A try whose clock leaps right before the call of the n-th boundary."""

    leap_at: int = 0
    leap: Callable[[], None] = lambda: None

    def _call(self, port: str, protocol: type, method: str, call: Callable[..., Any], *arguments: Any) -> Any:
        if (port, method) != ("progress", "stage") and len(self.recorded) + 1 == self.leap_at:
            self.leap()
        return super()._call(port, protocol, method, call, *arguments)


def leap(world: MemoryWorld, by: dt.timedelta) -> None:
    world.ports.clock.at += by


def attempt(
    world: MemoryWorld, number: int = 1, services: Services | None = None, leap_at: int = -1
) -> tuple[DponeError | None, list[Boundary]]:
    """One try, whose clock leaps a year before a boundary; its refusal, and the boundaries that it passed."""
    late = Late((), world.transport(), number, leap_at=leap_at, leap=lambda: leap(world, YEAR))
    try:
        run_workflow(
            late.around(services or world.services()),
            world.deployment_id,
            world.plan_bundle_sha256,
            world.worker(number),
        )
    except DponeError as error:
        return error, late.recorded
    return None, late.recorded


def settles(passed: list[Boundary], call: Boundary) -> bool:
    """Whether a call may be made after every deadline: it ends what `passed`, the calls before the leap, began."""
    done = {(each.stage, each.model, each.method) for each in passed}
    if call.stage == "ADMIT":
        return False
    if call.stage == "BUILD":
        # The first intent announces the launch: it is launched, reaped, and what became of it is recorded.
        gated = call.method in {"create_images", "record_intent", "build"}
        return (("BUILD", "workflow", "record_intent") in done) if gated else True
    committed = ("COMMIT", call.model, "exchange") in done
    if call.stage == "COMMIT":
        return committed
    if call.stage == "PUBLISH":
        return committed
    return call.stage == "SUMMARISE"


@pytest.mark.parametrize("day", [NORMAL_DAY, EMPTY_DAY], ids=["normal", "empty"])
def test_wherever_the_time_runs_out_nothing_new_is_begun_and_the_next_try_ends_what_was(day: Any) -> None:
    world = MemoryWorld.of(*day)
    world.begin("ADMIT")
    golden = attempt(world)[1]
    admitted = next(place for place, each in enumerate(golden, 1) if each.method == "admit")
    refused = 0
    # Before the first boundary no time counts yet, and the admission itself is what the overall one counts from.
    for place in [each for each in range(2, len(golden) + 1) if each != admitted]:
        world.begin("ADMIT")
        error, recorded = attempt(world, leap_at=place)
        after = [each for each in recorded[place:] if each.effect in EFFECTS or each.method == "probe"]
        assert [each.name for each in after if not settles(recorded[:place], each)] == []
        if error is not None:
            assert error.code == "DPONE_DEADLINE_PASSED", golden[place - 1].name
            refused += 1
            _require_recovery(world, golden[place - 1])
        else:
            assert world.standing().complete, golden[place - 1].name
    assert refused > len(golden) / 2


def _require_recovery(world: MemoryWorld, boundary: Boundary) -> None:
    """The successor try has time of its own: what was built is published; what was not, no try may take up."""
    before = world.standing()
    world.end(world.worker(1))
    error = attempt(world, 2)[0]
    if all(model.built for model in before.models) or not any(model.journal for model in before.models):
        assert error is None, boundary.name
        assert world.standing().complete, boundary.name
    else:
        assert error is not None, boundary.name
        assert error.code != "DPONE_DEADLINE_PASSED", boundary.name
        assert world.standing().models == before.models, boundary.name


def limited(limit: str, seconds: int) -> DeadlinePolicy:
    """A policy with one short limit, and all others longer than any leap."""
    plain = without(example_deadlines().to_plain(), "schema", DeadlinePolicy.DIGEST_FIELD)
    longest = int(YEAR.total_seconds()) * 9
    longer = dict.fromkeys(("overall_seconds", *LIMITS.values()), longest)
    nested = {"statement_seconds": 1, "lock_timeout_milliseconds": 1}
    return DeadlinePolicy.build(**{**plain, **longer, **nested, limit: seconds})


@pytest.mark.parametrize(
    ("stage", "reading"),
    [
        (StageKind.ADMIT, "ADMIT/workflow/activations.read_activation/1"),
        (StageKind.BUILD, "BUILD/workflow/mutation.preflight/1"),
        (StageKind.SEAL, "SEAL/arrivals/images.batches/1"),
        (StageKind.PREPARE, "PREPARE/arrivals/publisher.authority/1"),
        (StageKind.COMMIT, "COMMIT/arrivals/publisher.exchange_refusals/1"),
        (StageKind.PUBLISH, "PUBLISH/arrivals/publisher.scope_rows/1"),
    ],
)
def test_each_stage_has_its_own_limit_and_the_refusal_says_stage_limit_and_elapsed(
    stage: StageKind, reading: str
) -> None:
    world = MemoryWorld.of(*(EMPTY_DAY if stage is StageKind.PUBLISH else NORMAL_DAY))
    place = [each.name for each in attempt(world)[1]].index(reading) + 1
    world.begin("ADMIT")
    services = replace(world.services(), deadlines=limited(LIMITS[stage], 60))
    error, recorded = attempt(world, services=services, leap_at=place)
    assert error is not None
    assert error.code == "DPONE_DEADLINE_PASSED"
    assert recorded[-1].stage == stage
    evidence = dict(error.evidence)
    assert float(evidence.pop("elapsed_seconds")) >= YEAR.total_seconds()
    assert evidence.pop("since").startswith("2026-08-09T01:00:00")
    assert evidence == {"stage": stage.value, "limit": LIMITS[stage], "allowed_seconds": "60"}


def killed_at(world: MemoryWorld, injection: Injection) -> None:
    """The first try is killed at a boundary."""
    injector = Injector((injection,), world.transport())
    with pytest.raises(WorkerKilled):
        run_workflow(
            injector.around(world.services()),
            world.deployment_id,
            world.plan_bundle_sha256,
            world.worker(1),
        )


def states(world: MemoryWorld) -> list[str]:
    return [model.journal[-1].state for model in world.standing().models]


def test_the_overall_deadline_counts_from_the_admission_whatever_starts_again_since() -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    killed_at(world, Injection("PREPARE/arrivals/publisher.build_shadow/1", FaultKind.BEFORE))
    leap(world, dt.timedelta(seconds=world.ports.deadlines.overall_seconds))
    error = attempt(world)[0]
    assert error is not None
    assert error.code == "DPONE_DEADLINE_PASSED"
    assert error.evidence["limit"] == "overall_seconds"
    assert states(world) == ["PREPARING"] * 2


def test_a_worker_that_starts_again_in_time_goes_on() -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    killed_at(world, Injection("PREPARE/arrivals/publisher.build_shadow/1", FaultKind.BEFORE))
    leap(world, dt.timedelta(seconds=world.ports.deadlines.overall_seconds - 60))
    assert attempt(world)[0] is None


def test_scratch_that_an_earlier_start_left_is_not_dropped_once_the_time_is_over() -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    killed_at(world, Injection("PREPARE/arrivals/publisher.create_scratch/1", FaultKind.AFTER))
    kept = world.ports
    world.ports = copy.deepcopy(kept)
    found = "PREPARE/arrivals/publisher.find_scratch/1"
    place = [each.name for each in attempt(world)[1]].index(found) + 1
    world.ports = kept
    before = world.standing()
    error, recorded = attempt(world, leap_at=place)
    assert error is not None
    assert error.code == "DPONE_DEADLINE_PASSED"
    assert [each for each in recorded[place:] if each.effect in EFFECTS] == []
    assert world.standing() == before


def test_no_time_that_passes_grants_a_takeover() -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    killed_at(world, Injection("PREPARE/arrivals/publisher.build_shadow/1", FaultKind.BEFORE))
    leap(world, YEAR)
    error = attempt(world, 2)[0]
    assert error is not None
    assert error.code == "DPONE_ATTEMPT_NOT_TERMINATED"


@pytest.mark.parametrize("call", ["publisher.active_queries", "documents.persist"])
@pytest.mark.parametrize("settling", [False, True])
def test_a_takeover_that_takes_too_long_is_refused_unless_it_is_to_settle(
    call: str, *, settling: bool
) -> None:
    killed = "COMMIT/arrivals/publisher.exchange/1" if settling else "COMMIT/arrivals/state.append_prepared/1"
    world = MemoryWorld.of(*NORMAL_DAY)
    killed_at(world, Injection(killed, FaultKind.AFTER))
    world.end(world.worker(1))
    kept = world.ports
    world.ports = copy.deepcopy(kept)
    place = [each.name for each in attempt(world, 2)[1]].index(f"ADMIT/workflow/{call}/1") + 1
    world.ports = kept
    services = replace(world.services(), deadlines=limited("admission_seconds", 60))
    error, recorded = attempt(world, 2, services, leap_at=place)
    handed = [each.name for each in recorded if each.method == "continue_attempt"]
    if settling:
        # The other model is PREPARED only, and keeps nobody from the one that is to be settled.
        assert len(handed) == 2
        assert error is None
        assert world.standing().complete
    else:
        assert error is not None
        assert error.evidence["limit"] == "admission_seconds"
        assert [each.name for each in recorded[place:] if each.effect in EFFECTS] == []


@pytest.mark.parametrize("fault", [FaultKind.BEFORE, FaultKind.AFTER])
@pytest.mark.parametrize("number", [1, 2], ids=["the same try", "its successor"])
def test_what_is_committing_is_settled_and_published_however_late(fault: FaultKind, number: int) -> None:
    world = MemoryWorld.of(*NORMAL_DAY)
    killed_at(world, Injection("COMMIT/arrivals/publisher.burn_shadow_name/1", fault))
    leap(world, YEAR)
    world.end(world.worker(1))
    services = replace(world.services(), deadlines=limited("admission_seconds", 1))
    error = attempt(world, number, None if number == 1 else services)[0]
    if number == 1:
        assert error is not None
        assert error.evidence["limit"] == "overall_seconds"
    assert states(world) == ["COMPLETE", "PREPARED" if number == 1 else "COMPLETE"]


def test_a_try_whose_time_ran_out_before_the_exchange_is_brought_back_to_prepared_and_exchanges_nothing() -> (
    None
):
    world = MemoryWorld.of(*NORMAL_DAY)
    sent = "COMMIT/arrivals/publisher.exchange/1"
    killed_at(world, Injection(sent, FaultKind.BEFORE))
    names = dict(world.standing().models[0].tables)
    leap(world, YEAR)
    error, recorded = attempt(world)
    assert error is not None
    assert error.code == "DPONE_DEADLINE_PASSED"
    assert states(world) == ["PREPARED"] * 2
    assert sent not in {each.name for each in recorded}
    assert set(names.values()) == set(dict(world.standing().models[0].tables).values())
    assert world.standing().models[0].clickhouse == "predecessor"


@dataclass
class Asked:
    """A build that remembers what it was asked for."""

    port: Any
    requests: list[BuildRequest]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)

    def build(self, request: BuildRequest) -> BuildExit:
        self.requests.append(request)
        answer: BuildExit = self.port.build(request)
        return answer


@pytest.mark.parametrize(("limit", "whole", "query"), [(600, 120, 60), (100, 100, 60), (30, 30, 30)])
def test_dbt_gets_no_more_time_than_its_models_and_the_execution_have(
    limit: int, whole: int, query: int
) -> None:
    requests: list[BuildRequest] = []
    world = MemoryWorld.of(*NORMAL_DAY)
    services = world.services()
    services = replace(
        services, build=Asked(services.build, requests), deadlines=limited("execution_seconds", limit)
    )
    assert attempt(world, services=services)[0] is None
    assert [(each.timeout_seconds, each.query_timeout_seconds) for each in requests] == [(whole, query)]
