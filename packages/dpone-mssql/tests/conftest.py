"""Fixtures of the SQL Server adapter's tests: one example plan, and a store on an engine where there is one."""

from __future__ import annotations

import pytest

from dpone_contracts.bindings import AttemptBinding
from dpone_contracts.ports.refresh_state import AdmittedOperation
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle

FLIGHT = ExampleModel(
    "flight",
    (
        ("time_hour", "datetime2(6)", False),
        ("carrier_id", "smallint", False),
        ("flight", "int", False),
        ("dep_delay", "decimal(9,2)", True),
        ("tail_number", "nvarchar(20)", True),
        ("cancelled", "bit", False),
    ),
    ("time_hour", "carrier_id", "flight"),
)
WEATHER = ExampleModel(
    "weather",
    (
        ("day", "date", False),
        ("station", "uniqueidentifier", False),
        ("note", "nvarchar(max)", True),
        ("raw", "varbinary(10)", True),
        ("seen_on", "date", True),
    ),
    ("day", "station"),
)
KEYS_ONLY = ExampleModel("seen", (("day", "date", False), ("id", "bigint", False)), ("day", "id"))


@pytest.fixture(scope="session")
def example() -> Example:
    return example_bundle((FLIGHT, WEATHER, KEYS_ONLY), database="lab")


@pytest.fixture(scope="session")
def admitted(example: Example) -> dict[str, AdmittedOperation]:
    """One attempt a model, as an admission would give them."""
    binding = example.binding("run-1")
    found = {}
    for epoch, (plan, target) in enumerate(
        zip(example.bundle.operation_plans, example.bundle.targets, strict=True), 1
    ):
        attempt = AttemptBinding.build(
            dag_run_id="run-1",
            fencing_epoch=epoch,
            operation_id=plan.operation_id,
            operation_plan_sha256=plan.digest,
            owner_id="worker/o'brien",
            pod_uid="cf66ab73-a0ba-441d-9199-3a434e3852a3",
            task_id="build",
            try_number=1,
            workflow_execution_id="run-1",
            workflow_execution_binding_sha256=binding.digest,
        )
        found[plan.model_unique_id] = AdmittedOperation(
            plan.operation_id, attempt, target.target_resource_id, f"reservation-{epoch}", ()
        )
    return found
