"""Runs the tasks of a DAG in one process of Airflow's own, over a world in memory: a failing day, then a good one.

Run as a process of its own: `python airflow_day.py INDEX_FOLDER DAGS_FOLDER OUTPUT`, AIRFLOW_HOME set.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpone.application.services import Services
from dpone_airflow_pack.index import dag_file_text, write_index
from dpone_contracts.errors import DponeError
from dpone_contracts.projection import DagProjection
from dpone_contracts.template_pack import ExecutionPack, SelectionLock, Topology
from dpone_contracts.testing.control_suite import activated
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_contracts.testing.memory_ports import MemoryPorts, memory_ports, seed
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.plan_bundle import PlanBundle, PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.publisher import Scratch, ShadowBuild
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.memory_rows import Row

PUBLISHED = (
    Path(__file__).parents[1]
    / "packages/dpone-contracts/tests/vectors/published-0.74/valid/v2-dag-projection.normal.json"
)
EXAMPLE = example_bundle(
    [
        ExampleModel(name, (("at", "datetime2(6)", False), ("id", "int", False)), ("at", "id"))
        for name in ("arrivals", "departures")
    ],
    database="memory",
)
OLD: list[Row] = [(dt.datetime(2026, 8, 8, 1), 1)]  # noqa: DTZ001 - datetime2 has no zone
NEW: list[Row] = [(dt.datetime(2026, 8, 8, 2), 2)]  # noqa: DTZ001
WORLD: list[MemoryPorts] = []


class FailingPublisher(MemoryPublisher):
    """Builds no shadow of departures."""

    def build_shadow(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch
    ) -> EffectResult[ShadowBuild]:
        if plan.model_unique_id.endswith("departures"):
            raise DponeError("DPONE_CLICKHOUSE_UNAVAILABLE", "the server is gone")
        return super().build_shadow(plan, target, admitted, scratch)


def services() -> Services:
    """What the DAG file names: the services of the day's world, as if each task built them anew."""
    return Services(**{each.name: getattr(WORLD[-1], each.name) for each in fields(Services)})


def projection_of(bundle: PlanBundle) -> DagProjection:
    """The published template with the example's models and workflow in it."""
    published = json.loads(PUBLISHED.read_bytes())
    models = [plan.model_unique_id for plan in bundle.operation_plans]
    workflow = bundle.workflow_plan.workflow_name
    template = published["template_pack"]
    pack = template["dbt_execution_pack"]
    lock = _again(SelectionLock, pack["selection_lock"], publish_model_unique_ids=models)
    topology = _again(
        Topology,
        published["topology"],
        workflow_name=workflow,
        dag_id="DAG__example",
        model_unique_ids=models,
        dependencies={model: [] for model in models},
        logical_output_asset_uris={model: f"clickhouse://example/{model.split('.')[-1]}" for model in models},
    )
    template["dbt_execution_pack"] = _again(ExecutionPack, pack, workflow_id=workflow, selection_lock=lock)
    template["semantic_refresh"] |= {
        "pre_release_bundle_sha256": bundle.pre_release_bundle_sha256,
        "package_artifacts_sha256": bundle.package_artifacts_sha256,
        "topology": topology,
    }
    template["workload"]["workload_id"] = f"semantic__{workflow}"
    del template["pack_fingerprint"]
    return DagProjection.build(plan_bundle=bundle.to_plain(), topology=topology, template_pack=template)


def _again(kind: Any, plain: dict[str, Any], **changes: object) -> dict[str, Any]:
    kept = {name: value for name, value in plain.items() if name not in ("schema", kind.DIGEST_FIELD)}
    built: dict[str, Any] = kind.build(**{**kept, **changes}).to_plain()
    return built


def run_day(dag: Any, example: Example, publisher: MemoryPublisher) -> dict[str, Any]:
    """One DagRun over a fresh world: what Airflow says and what the journal says."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session

    ports = memory_ports(publisher)
    activated(ports.activations, example)
    seed(ports, example, OLD, NEW)
    WORLD.append(ports)
    run = dag.test(logical_date=dt.datetime(2026, 8, 9, len(WORLD), tzinfo=dt.UTC))
    with create_session() as session:
        events = [event.asset.uri for event in session.query(AssetEvent).filter_by(source_run_id=run.run_id)]
    return {
        "run": str(run.state),
        "tasks": {instance.task_id: str(instance.state) for instance in run.get_task_instances()},
        "asset_events": sorted(events),
        "operations": [
            ports.state.journal(plan.operation_id)[-1].state for plan in example.bundle.operation_plans
        ],
        "bound_to_this_run": ports.state.resolve_execution(
            example.bundle.release_deployment_authority.deployment_id, example.bundle.digest
        )[0]  # type: ignore[index]
        == run.run_id,
    }


def main(index_folder: str, dags_folder: str, output: str) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb

    index_file = write_index(Path(index_folder), [projection_of(EXAMPLE.bundle)])
    text = dag_file_text(index_file, Path(dags_folder), "__main__:services")
    Path(dags_folder, "example.py").write_text(text)
    initdb()
    dag = DagBag(dags_folder).dags["DAG__example"]
    report = {
        "failing": run_day(dag, EXAMPLE, FailingPublisher()),
        "good": run_day(dag, EXAMPLE, MemoryPublisher()),
    }
    Path(output).write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
