"""Whatever refuses a publication: one error with its code, nothing published, scratch that goes by exact UUID alone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpone.application.admission import load_run
from dpone.application.run import run_workflow
from dpone.application.seal import seal
from dpone_contracts.effects import Applied, EffectResult, NotApplied
from dpone_contracts.errors import CATALOGUE, DponeError
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_lab.fault_matrix_lab import Until
from dpone_lab.fault_matrix_memory import NORMAL_DAY, MemoryWorld
from dpone_lab.faults import WorkerKilled

if TYPE_CHECKING:
    from dpone_contracts.ports.publisher import ShadowBuild
    from dpone_lab.fault_matrix_check import Standing

CODES = sorted(code for code in CATALOGUE if code.startswith("DPONE_CLICKHOUSE_"))


@pytest.fixture(scope="module")
def world() -> MemoryWorld:
    return MemoryWorld.of(*NORMAL_DAY)


def refused(world: MemoryWorld) -> tuple[DponeError, Standing, Standing]:
    """The error that a run ends with, and what stood before and stands after it."""
    before = world.standing()
    with pytest.raises(DponeError) as error:
        run_workflow(world.services(), world.deployment_id, world.plan_bundle_sha256, world.worker(1))
    return error.value, before, world.standing()


def require_nothing_published(before: Standing, after: Standing) -> None:
    assert after.summary is None
    for old, new in zip(before.models, after.models, strict=True):
        assert (new.heads, new.target_uuid, new.clickhouse) == (old.heads, old.target_uuid, "predecessor")


@pytest.mark.parametrize("code", CODES)
def test_a_target_that_is_refused_ends_the_run_with_that_code_and_no_scratch(
    world: MemoryWorld, code: str
) -> None:
    world.begin("SEAL")
    world.ports.publisher.refusals.append((code, "db.named"))
    error, before, after = refused(world)
    assert (error.code, error.observed) == (code, "db.named")
    require_nothing_published(before, after)
    assert [model.tables for model in after.models] == [(), ()]


@pytest.mark.parametrize("code", CODES)
def test_a_refusal_in_front_of_the_exchange_leaves_scratch_that_only_its_uuid_removes(
    world: MemoryWorld, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.begin("SEAL")
    publisher, real, built = world.ports.publisher, MemoryPublisher.build_shadow, []

    def build(self: MemoryPublisher, *arguments: object) -> EffectResult[ShadowBuild]:
        answer = real(self, *arguments)  # type: ignore[arg-type]
        built.append(answer)
        if len(built) == len(before.models):
            self.refusals.append((code, "db.named"))
        return answer

    before = world.standing()
    monkeypatch.setattr(MemoryPublisher, "build_shadow", build)
    error, _, after = refused(world)
    assert (error.code, error.observed) == (code, "db.named")
    require_nothing_published(before, after)
    target = world.example.bundle.targets[0]
    scratch = [(name, uuid) for name, uuid in publisher.names.items() if name.name.startswith("dpone_")]
    assert len(scratch) == 2 * len(before.models)
    (_, other), *_ = scratch
    admitted = None
    for name, uuid in scratch:
        wrong = other if other != uuid else scratch[1][1]
        assert isinstance(publisher.drop_scratch(target, admitted, name, wrong), NotApplied)  # type: ignore[arg-type]
        assert isinstance(publisher.drop_scratch(target, admitted, name, uuid), Applied)  # type: ignore[arg-type]
    relation = ClickHouseRelation(target.publication_database, target.publication_target_table)
    assert isinstance(
        publisher.drop_scratch(target, admitted, relation, publisher.names[relation]),  # type: ignore[arg-type]
        NotApplied,
    )
    assert world.standing().models[0].clickhouse == "predecessor"


def test_an_artifact_beyond_its_reservation_is_refused_before_the_chunk_is_stored(world: MemoryWorld) -> None:
    world.begin("SEAL")
    services = world.services()
    with suppress(WorkerKilled):
        run_workflow(
            replace(services, progress=Until("SEAL")),
            world.deployment_id,
            world.plan_bundle_sha256,
            world.worker(1),
        )
    run = load_run(services, world.deployment_id, world.plan_bundle_sha256, world.worker(1).dag_run_id)
    operation, before = run.operations[0], world.standing()
    authority = operation.target.artifact_authority.model_copy(update={"max_artifact_bytes": 1})
    small = replace(operation, target=operation.target.model_copy(update={"artifact_authority": authority}))
    with pytest.raises(DponeError) as refused:
        seal(services, run, small)
    assert refused.value.code == "DPONE_BUDGET_EXCEEDED"
    assert (refused.value.evidence["allowed"], int(refused.value.evidence["needed"]) > 1) == ("1", True)
    assert world.standing().objects == before.objects == ()
    assert seal(services, run, operation).total_rows == 3


def test_a_publication_over_another_generation_than_the_prepared_one_is_refused(world: MemoryWorld) -> None:
    world.begin("SEAL")
    services = world.services()
    moved = "00000000-0000-4000-8000-000000000001"

    class Moving:
        """Somebody publishes another generation in front of the rows' first reading."""

        def __getattr__(self, name: str) -> object:
            if name == "publication_rows":
                heads = world.ports.server.control.rows.target_heads
                heads.update({target: replace(head, target_uuid=moved) for target, head in heads.items()})
            return getattr(services.state, name)

    with pytest.raises(DponeError) as refused:
        run_workflow(
            replace(services, state=Moving()),  # type: ignore[arg-type]
            world.deployment_id,
            world.plan_bundle_sha256,
            world.worker(1),
        )
    assert refused.value.code == "DPONE_TARGET_HEAD_MOVED"
    assert refused.value.evidence["head"] == moved
    assert {model.heads.target_uuid for model in world.standing().models} == {moved}
    assert world.standing().summary is None
