"""The run-neutral DAG projection: all that a scheduler may know, listed by the deployment index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from dpone_contracts.canonical import Path
from dpone_contracts.closure import Several
from dpone_contracts.document import Document, Fault, Part, broken, lax, nested
from dpone_contracts.plan_bundle import PlanBundle
from dpone_contracts.scalars import Identifier, ModelId, Sha256Text
from dpone_contracts.template_pack import TemplatePack, Topology, pack_fingerprint, template_digests

DBT_TASK_ID: Final = "semantic_refresh__dbt_build_test"
SUMMARY_TASK_ID: Final = "semantic_refresh__durable_workflow_summary"
TASKS_SCHEMA: Final = "dpone.semantic-refresh-v2-dag-task-projection.v1"


class ProjectedTask(Part):
    """One Airflow task with static identity only; model and operation are null for the gate and the summary."""

    task_id: Identifier
    task_kind: Literal[
        "DBT_BUILD_TEST_GATE", "CLICKHOUSE_PREPARE", "CLICKHOUSE_COMMIT", "DURABLE_WORKFLOW_SUMMARY"
    ]
    trigger_rule: Literal["all_success", "all_done"]
    upstream_task_ids: Annotated[tuple[Identifier, ...], Field(strict=False)]
    model_unique_id: ModelId | None
    operation_id: Sha256Text | None


class TaskProjection(Part):
    """One build, parallel prepares, sequential commits, one summary; follows from topology and operations."""

    schema_id: Literal["dpone.semantic-refresh-v2-dag-task-projection.v1"] = Field(alias="schema")
    topology_sha256: Sha256Text
    dag_id: Identifier
    asset_uris: Several[Identifier]
    dbt_task: ProjectedTask
    prepare_tasks: Several[ProjectedTask]
    commit_tasks: Several[ProjectedTask]
    summary_task: ProjectedTask


def project_tasks(topology: Mapping[str, Any], operation_ids_by_model: Mapping[str, str]) -> dict[str, Any]:
    """Derive the tasks of a workflow from its topology and the operations of its models."""
    models: Sequence[str] = topology["model_unique_ids"]

    def task(task_id: str, kind: str, upstream: Sequence[str], model: str | None = None) -> dict[str, Any]:
        return {
            "task_id": task_id,
            "task_kind": kind,
            "trigger_rule": "all_done" if kind == "DURABLE_WORKFLOW_SUMMARY" else "all_success",
            "upstream_task_ids": list(upstream),
            "model_unique_id": model,
            "operation_id": operation_ids_by_model[model] if model is not None else None,
        }

    prepares = [
        task(f"semantic_refresh__prepare__{_task_name(model)}", "CLICKHOUSE_PREPARE", [DBT_TASK_ID], model)
        for model in models
    ]
    commits: list[dict[str, Any]] = []
    for index, model in enumerate(models):
        upstream = [commits[-1]["task_id"]] if commits else [prepare["task_id"] for prepare in prepares]
        task_id = f"semantic_refresh__commit__{index:04d}__{_task_name(model)}"
        commits.append(task(task_id, "CLICKHOUSE_COMMIT", upstream, model))
    return {
        "schema": TASKS_SCHEMA,
        "topology_sha256": topology["topology_sha256"],
        "dag_id": topology["dag_id"],
        "asset_uris": [topology["logical_output_asset_uris"][model] for model in models],
        "dbt_task": task(DBT_TASK_ID, "DBT_BUILD_TEST_GATE", []),
        "prepare_tasks": prepares,
        "commit_tasks": commits,
        "summary_task": task(SUMMARY_TASK_ID, "DURABLE_WORKFLOW_SUMMARY", [commits[-1]["task_id"]]),
    }


def _task_name(model: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", model)


class DagProjection(Document):
    """The create-only projection of one plan bundle; it knows no DagRun, attempt, fence or execution binding."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-v2-dag-projection.v1"
    DIGEST_FIELD: ClassVar[str] = "dag_projection_sha256"
    PREVIEW_OPEN: ClassVar[tuple[str, ...]] = ("plan_bundle", "template_pack")

    schema_id: Literal["dpone.semantic-refresh-v2-dag-projection.v1"] = Field(alias="schema")
    dag_projection_sha256: Sha256Text
    release_id: Sha256Text
    deployment_id: Sha256Text
    pre_release_bundle_sha256: Sha256Text
    package_artifacts_sha256: Sha256Text
    plan_bundle: PlanBundle
    plan_bundle_sha256: Sha256Text
    workflow_plan_sha256: Sha256Text
    operation_ids_by_model: dict[ModelId, Sha256Text]
    topology: Topology
    topology_sha256: Sha256Text
    task_projection: TaskProjection
    template_pack: TemplatePack
    template_pack_fingerprint: Sha256Text

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digests of everything nested, and where they are repeated."""
        bundle, topology, template = plain["plan_bundle"], plain["topology"], plain["template_pack"]
        yield from nested(PlanBundle, bundle, "plan_bundle")
        yield from nested(Topology, topology, "topology")
        yield from template_digests(template, "template_pack")
        yield ("plan_bundle_sha256",), bundle["plan_bundle_sha256"]
        yield ("workflow_plan_sha256",), bundle["workflow_plan"]["workflow_plan_sha256"]
        yield ("topology_sha256",), topology["topology_sha256"]
        yield ("task_projection", "topology_sha256"), topology["topology_sha256"]
        repeated = ("template_pack", "semantic_refresh", "topology", "topology_sha256")
        yield repeated, topology["topology_sha256"]
        yield ("template_pack_fingerprint",), template["pack_fingerprint"]

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Repeat the nested identities, derive the tasks and fingerprint the template where that is absent."""
        bundle, topology, template = plain["plan_bundle"], plain["topology"], plain["template_pack"]
        template.setdefault("pack_fingerprint", pack_fingerprint(template))
        plain.setdefault("plan_bundle_sha256", bundle["plan_bundle_sha256"])
        plain.setdefault("workflow_plan_sha256", bundle["workflow_plan"]["workflow_plan_sha256"])
        plain.setdefault("topology_sha256", topology["topology_sha256"])
        plain.setdefault("template_pack_fingerprint", template["pack_fingerprint"])
        authority = bundle["release_deployment_authority"]
        plain.setdefault("release_id", authority["release_id"])
        plain.setdefault("deployment_id", authority["deployment_id"])
        plain.setdefault("pre_release_bundle_sha256", bundle["pre_release_bundle_sha256"])
        plain.setdefault("package_artifacts_sha256", bundle["package_artifacts_sha256"])
        operations = {plan["model_unique_id"]: plan["operation_id"] for plan in bundle["operation_plans"]}
        plain.setdefault("operation_ids_by_model", operations)
        plain.setdefault("task_projection", project_tasks(topology, plain["operation_ids_by_model"]))

    def _rules(self) -> Iterator[Fault]:
        bundle, authority = self.plan_bundle, self.plan_bundle.release_deployment_authority
        template = self.template_pack.semantic_refresh
        for name, wanted in (
            ("release_id", authority.release_id),
            ("deployment_id", authority.deployment_id),
            ("pre_release_bundle_sha256", bundle.pre_release_bundle_sha256),
            ("package_artifacts_sha256", bundle.package_artifacts_sha256),
        ):
            if getattr(self, name) != wanted:
                yield broken("one-identity", "differs from the plan bundle's", name)
        for name in ("pre_release_bundle_sha256", "package_artifacts_sha256"):
            if getattr(template, name) != getattr(self, name):
                yield broken(
                    "one-identity", "differs from the projection's", "template_pack", "semantic_refresh", name
                )
        operations = {plan.model_unique_id: plan.operation_id for plan in bundle.operation_plans}
        if self.operation_ids_by_model != operations:
            yield broken(
                "operations-of-bundle", "not the operations of the plan bundle", "operation_ids_by_model"
            )
        if set(self.topology.model_unique_ids) != operations.keys():
            yield broken(
                "operations-of-bundle", "not the models of the plan bundle", "topology", "model_unique_ids"
            )
        elif (path := self._first_other_task()) is not None:
            yield broken(
                "tasks-follow-topology", "not the task that the topology gives", "task_projection", *path
            )
        if template.topology != self.topology:
            yield broken(
                "one-topology",
                "differs from the projection's",
                "template_pack",
                "semantic_refresh",
                "topology",
            )
        workflow = bundle.workflow_plan.workflow_name
        pack = self.template_pack.dbt_execution_pack
        if self.topology.workflow_name != workflow:
            yield lax("one-workflow", "names another workflow", "topology", "workflow_name")
        if pack.workflow_id != workflow:
            yield lax(
                "one-workflow", "names another workflow", "template_pack", "dbt_execution_pack", "workflow_id"
            )
        if self.template_pack.workload.workload_id != f"semantic__{workflow}":
            yield lax("one-workflow", "names another workflow", "template_pack", "workload", "workload_id")
        published = pack.selection_lock.publish_model_unique_ids
        if set(published) != operations.keys():
            at = ("template_pack", "dbt_execution_pack", "selection_lock", "publish_model_unique_ids")
            yield lax("operations-of-bundle", "not the models of the plan bundle", *at)

    def _first_other_task(self) -> Path | None:
        """Return where the tasks first differ from those that the topology gives."""
        topology = self.topology.model_dump(by_alias=True)
        found = self.task_projection.model_dump(by_alias=True)
        return _first_difference(found, project_tasks(topology, self.operation_ids_by_model))


def _first_difference(left: Any, right: Any) -> Path | None:
    """Return the path where two plain values first differ, None when they are equal."""
    if type(left) is dict and type(right) is dict and left.keys() == right.keys():
        steps: Sequence[str | int] = sorted(left)
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)) and len(left) == len(right):
        steps = range(len(left))
    else:
        return None if left == right and type(left) is type(right) else ()
    for step in steps:
        if (deeper := _first_difference(left[step], right[step])) is not None:
            return (step, *deeper)
    return None
