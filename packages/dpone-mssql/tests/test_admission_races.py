"""Many workers at once over overlapping targets, over connections of their own."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.testing.overlapping_plans import (
    activate_all,
    admit_one,
    overlapping_plans,
    require_disjoint_winners,
)
from dpone_mssql.activation import MssqlActivationStore
from dpone_mssql.state import MssqlRefreshState

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.ports.refresh_state import Admission
    from dpone_contracts.testing.plan_example import Example
    from dpone_mssql.connection import SqlServerConfig
    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine

WORKERS = 10


@pytest.mark.parametrize("seed", [74, 75, 76])
def test_of_many_workers_exactly_disjoint_ones_win_and_losers_learn_the_holders(
    runtime: SqlServerConfig, names: ControlNames, database: str, seed: int
) -> None:
    chosen = random.Random(seed)
    wanted = [frozenset(chosen.sample(range(8), chosen.randint(1, 3))) for _ in range(WORKERS)]
    # Nobody gives up: a deadlock would be told as one, a wait only ends with the winner's commit.
    patient = replace(runtime, lock_timeout_ms=120_000, statement_timeout_seconds=300)
    state, activations = MssqlRefreshState(patient, names), MssqlActivationStore(patient, names)
    prefix = f"race_{seed}_{random.SystemRandom().randrange(1 << 32):08x}"
    plans = overlapping_plans(wanted, database=database, prefix=prefix)
    activate_all(activations, state, plans)
    together = threading.Barrier(WORKERS)

    def worker(plan: Example) -> EffectResult[Admission]:
        together.wait()
        return admit_one(MssqlRefreshState(patient, names), plan)

    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(worker, plans))
    won = require_disjoint_winners(state, plans, results)
    assert 1 <= won < WORKERS
