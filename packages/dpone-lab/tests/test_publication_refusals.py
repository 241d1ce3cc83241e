"""Whatever refuses a publication: one error with its code, nothing published, scratch that goes by exact UUID alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dpone.application.run import run_workflow
from dpone_contracts.effects import Applied, EffectResult, NotApplied
from dpone_contracts.errors import CATALOGUE, DponeError
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_lab.fault_matrix_memory import NORMAL_DAY, MemoryWorld

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
