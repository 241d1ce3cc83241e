"""A workflow reserves no more than its own policy allows, of any kind, decided before anything is written."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING

import pytest

from dpone.application.admission import admit
from dpone.application.budgets import amounts_of, require_concurrency, require_reservations
from dpone.application.services import Services
from dpone_contracts.errors import DponeError
from dpone_contracts.policies import WorkflowResourcePolicy
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_contracts.template_pack import DagPolicy
from dpone_contracts.testing.control_suite import activated
from dpone_contracts.testing.memory_ports import memory_ports, seed
from dpone_contracts.testing.plan_example import ExampleModel, example_bundle, example_resources

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanBundle
    from dpone_contracts.testing.memory_rows import Row

MODELS = [
    ExampleModel(name, (("at", "datetime2(6)", False), ("id", "int", False)), ("at", "id"))
    for name in ("arrivals", "departures")
]
KINDS = [
    "clickhouse_staging_bytes",
    "disk_bytes",
    "prepared_models",
    "retained_generation_bytes",
    "sealed_extract_bytes",
    "shadow_bytes",
]
WORKER = WorkerIdentity("scheduled__1", "build", 1, "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a01", "worker-1")
ROWS: list[Row] = [(dt.datetime(2026, 8, 8, 1), 1)]  # noqa: DTZ001 - datetime2 has no zone


def needed(bundle: PlanBundle, kind: str) -> int:
    """What the example's models reserve together, added up here and not by the product."""
    if kind == "disk_bytes":
        return sum(t.resource_policy.max_clickhouse_total_transient_bytes for t in bundle.targets)
    return sum(asdict(amounts_of(target))[kind] for target in bundle.targets)


def limited(kind: str, amount: int) -> WorkflowResourcePolicy:
    plain = example_resources().to_plain()
    kept = {
        name: value
        for name, value in plain.items()
        if name not in {"schema", "workflow_resource_policy_sha256"}
    }
    return WorkflowResourcePolicy.build(**{**kept, f"max_{kind}": amount})


def test_every_allocated_kind_has_a_limit_of_the_workflow() -> None:
    bundle = example_bundle(MODELS, database="memory").bundle
    limits = {name for name in WorkflowResourcePolicy.model_fields if name.startswith("max_")}
    kinds = {
        f"max_{kind}"
        for kind in (*asdict(amounts_of(bundle.targets[0])), "disk_bytes", "concurrent_prepares")
    }
    assert limits == kinds


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_fit_alone_are_refused_where_together_they_do_not(kind: str) -> None:
    bundle = example_bundle(MODELS, database="memory").bundle
    total = needed(bundle, kind)
    require_reservations(bundle.targets, limited(kind, total))
    with pytest.raises(DponeError) as refused:
        require_reservations(bundle.targets, limited(kind, total - 1))
    assert refused.value.code == "DPONE_BUDGET_EXCEEDED"
    assert refused.value.evidence == {"kind": kind, "needed": str(total), "allowed": str(total - 1)}


@pytest.mark.parametrize(("models", "tasks", "allowed"), [(2, 8, 2), (8, 2, 2), (1, 8, 1)])
def test_a_dag_runs_no_more_prepares_at_once_than_the_policy_allows(
    models: int, tasks: int, allowed: int
) -> None:
    dag = DagPolicy(
        schedule=None,
        start_date="2026-01-01",
        timezone="UTC",
        catchup=False,
        max_active_runs=1,
        max_active_tasks=tasks,
        owner="team",
        tags=("dpone",),
    )
    require_concurrency(models, dag, limited("concurrent_prepares", allowed))
    with pytest.raises(DponeError) as refused:
        require_concurrency(
            models + 1, replace_tasks(dag, tasks + 1), limited("concurrent_prepares", allowed)
        )
    assert refused.value.evidence == {
        "kind": "concurrent_prepares",
        "needed": str(allowed + 1),
        "allowed": str(allowed),
    }


def replace_tasks(dag: DagPolicy, tasks: int) -> DagPolicy:
    return dag.model_copy(update={"max_active_tasks": tasks})


@pytest.mark.parametrize("kind", KINDS)
def test_an_admission_over_a_budget_binds_and_acquires_nothing(kind: str) -> None:
    example, ports = example_bundle(MODELS, database="memory"), memory_ports()
    activated(ports.activations, example)
    seed(ports, example, ROWS, ROWS)
    services = Services(**{each.name: getattr(ports, each.name) for each in fields(Services)})
    plan = (example.bundle.release_deployment_authority.deployment_id, example.bundle.digest)
    tight = replace(services, resources=limited(kind, needed(example.bundle, kind) - 1))
    before = repr(ports.activations.control)
    with pytest.raises(DponeError, match="DPONE_BUDGET_EXCEEDED"):
        admit(tight, *plan, WORKER)
    assert repr(ports.activations.control) == before
    # What is admitted is settled under any later budget.
    admitted = admit(services, *plan, WORKER)
    assert admit(tight, *plan, WORKER) == admitted
