"""Covering a target with a DDL epoch: the guard first, one database, the closure that is proven, a lost answer."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpone.application.freeze import FreezeServices, freeze_target
from dpone.composition.guard import ProductionGuard
from dpone_contracts.effects import EffectResult, Unknown
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.relations import SqlRelation
from dpone_contracts.testing.memory_catalog import MemoryDdlFreeze
from dpone_contracts.testing.memory_control import MemoryActivationStore, MemoryControl, disposable_store
from dpone_contracts.testing.memory_edges import DisposableStoresOnly

sys.path.insert(0, str(Path(__file__).parent))
from deployment_in_memory import story

PROOFS = story.proofs()
DATABASE = PROOFS.execution_pack.profile.database
TARGET = SqlRelation(DATABASE, "mart", "price")
CLOSURE = next(m for m in PROOFS.models if m.model_unique_id == story.PRICE).read_dependencies


class LosingFreeze(MemoryDdlFreeze):
    """The commit lands and its answer is lost."""

    def cover(self, target: SqlRelation, closure_object_ids: tuple[int, ...]) -> EffectResult[int]:
        MemoryDdlFreeze.cover(self, target, closure_object_ids)
        return Unknown(DponeError("DPONE_DDL_FREEZE_COMMIT_UNKNOWN", "no answer").reason)


def services(database: str = DATABASE) -> FreezeServices:
    store = MemoryActivationStore(MemoryControl(disposable_store(database)))
    return FreezeServices(guard=DisposableStoresOnly(), activations=store, ddl_freeze=MemoryDdlFreeze())


def covered(one: FreezeServices) -> dict[SqlRelation, tuple[int, frozenset[int]]]:
    assert isinstance(one.ddl_freeze, MemoryDdlFreeze)
    return one.ddl_freeze.covered


def test_the_target_is_covered_with_what_its_model_is_proven_to_read_and_again_changes_nothing() -> None:
    one = services()
    assert freeze_target(one, TARGET, PROOFS, story.PRICE) == 1
    assert covered(one) == {TARGET: (1, frozenset(CLOSURE.closure_object_ids))}
    assert freeze_target(one, TARGET, PROOFS, story.PRICE) == 1


def test_the_production_guard_stands_before_the_epoch() -> None:
    one = replace(services(), guard=ProductionGuard())
    with pytest.raises(DponeError, match="DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"):
        freeze_target(one, TARGET, PROOFS, story.PRICE)
    assert covered(one) == {}


@pytest.mark.parametrize(
    ("one", "target"),
    [(services("elsewhere"), TARGET), (services(), replace(TARGET, database="elsewhere"))],
    ids=["another control database", "another target database"],
)
def test_a_target_of_another_database_is_not_covered_by_its_name(
    one: FreezeServices, target: SqlRelation
) -> None:
    with pytest.raises(DponeError, match="DPONE_DATABASE_DIFFERS"):
        freeze_target(one, target, PROOFS, story.PRICE)
    assert covered(one) == {}


def test_a_model_that_is_not_proven_is_not_covered() -> None:
    one = services()
    with pytest.raises(DponeError, match="DPONE_PROOF_INCOMPLETE"):
        freeze_target(one, TARGET, PROOFS, "model.example.unknown")
    assert covered(one) == {}


def test_a_lost_answer_is_unknown_and_the_same_command_again_says_the_epoch() -> None:
    one = services()
    losing = LosingFreeze(covered(one))
    with pytest.raises(DponeError) as lost:
        freeze_target(replace(one, ddl_freeze=losing), TARGET, PROOFS, story.PRICE)
    assert lost.value.exit_class is ExitClass.UNKNOWN
    assert lost.value.entry.next_command == "dpone certify freeze"
    assert freeze_target(one, TARGET, PROOFS, story.PRICE) == 1
