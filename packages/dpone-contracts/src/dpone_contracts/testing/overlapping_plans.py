"""Plans of one deployment that want overlapping sets of targets, and what their admission must come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Applied, NotApplied
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_contracts.testing.control_suite import AMOUNTS
from dpone_contracts.testing.memory_ports import activation_of
from dpone_contracts.testing.plan_example import ExampleModel, example_bundle
from dpone_contracts.testing.results import applied
from dpone_contracts.worker_stage import bind_execution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.effects import EffectResult
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.refresh_state import Admission, RefreshState
    from dpone_contracts.testing.plan_example import Example

COLUMNS = (("at", "datetime2(6)", False), ("id", "int", False))


def overlapping_plans(wanted: Sequence[frozenset[int]], *, database: str, prefix: str) -> list[Example]:
    """Build one plan for each set of target numbers; names begin with the prefix, all are of one deployment."""
    models = [ExampleModel(f"{prefix}_{number}", COLUMNS, ("at", "id")) for number in range(8)]
    return [
        example_bundle(
            [models[number] for number in sorted(targets)],
            database=database,
            workflow=f"{prefix}-{place}",
            deployment=prefix,
        )
        for place, targets in enumerate(wanted)
    ]


def activate_all(activations: ActivationStore, state: RefreshState, plans: Sequence[Example]) -> None:
    """Adopt every target once, activate every plan, bind each to a DagRun of its own."""
    for plan in plans:
        for baseline, operation in zip(plan.baselines, plan.bundle.operation_plans, strict=True):
            applied(activations.adopt_baseline(baseline, operation.scope_family_id))
        applied(activations.activate(activation_of(plan, activations.identity())))
        run = plan.bundle.workflow_plan.workflow_name
        applied(state.bind_execution(bind_execution(plan.bundle, run), plan.bundle, run))


def admit_one(state: RefreshState, plan: Example) -> EffectResult[Admission]:
    """Try to admit a plan in its DagRun."""
    run = plan.bundle.workflow_plan.workflow_name
    worker = WorkerIdentity(run, "build", 1, "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01", "worker-1")
    amounts = dict.fromkeys((each.operation_id for each in plan.bundle.operation_plans), AMOUNTS)
    return state.admit(bind_execution(plan.bundle, run), plan.bundle, worker, amounts)


def require_disjoint_winners(
    state: RefreshState, plans: Sequence[Example], results: Sequence[EffectResult[Admission]]
) -> int:
    """Exactly a maximal disjoint set was admitted, losers were told every holder and left nothing; how many won."""
    holders: dict[str, str] = {}
    for result in results:
        if isinstance(result, Applied):
            for operation in result.value.operations:
                assert operation.guard_resource_id not in holders, "two winners hold one target"
                holders[operation.guard_resource_id] = (
                    f"{operation.operation_id} attempt {operation.attempt.digest} "
                    f"fence {operation.attempt.fencing_epoch}"
                )
    fences = [int(holder.rsplit(" ", 1)[1]) for holder in holders.values()]
    assert len(set(fences)) == len(fences), "a fence was given twice"
    for plan, result in zip(plans, results, strict=True):
        binding = bind_execution(plan.bundle, plan.bundle.workflow_plan.workflow_name)
        admission = state.read_admission(binding.digest)
        if isinstance(result, Applied):
            assert admission == result.value
            continue
        assert isinstance(result, NotApplied), result
        assert result.reason.code == "DPONE_GUARD_HELD", result
        held = {
            each: holders[each]
            for each in plan.bundle.run_guard_closure.resource_guard_ids
            if each in holders
        }
        assert held, "a plan was refused although nobody wanted its targets"
        told = dict(result.reason.evidence)
        assert told, "a loser was told no holder"
        assert told.items() <= held.items(), "a loser was told of another holder than there is"
        assert admission is None
        assert all(state.journal(each.operation_id) == () for each in plan.bundle.operation_plans)
    return sum(isinstance(result, Applied) for result in results)
