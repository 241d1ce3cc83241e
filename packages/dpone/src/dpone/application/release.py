"""From a compiled proof bundle to what a deployment stage takes: one workflow's frozen proofs, topology and dbt pack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone_contracts.canonical import digest_of
from dpone_contracts.descriptors import ProofBundle
from dpone_contracts.effective_key import key_column
from dpone_contracts.errors import DponeError
from dpone_contracts.identity import compile_topology
from dpone_contracts.policies import template_of
from dpone_contracts.proofs import MutationClosure, SqlServerLifecyclePolicy
from dpone_contracts.template_pack import (
    AdapterPolicy,
    AdapterRuntime,
    ExecutionPack,
    InvocationContext,
    SelectionLock,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpone_contracts.descriptors import ModelProofs
    from dpone_contracts.policies import WorkflowProfile
    from dpone_contracts.template_pack import Topology

GRAPH_POLICY = "dpone.dbt-sqlserver-exact-graph-policy.v1"


@dataclass(frozen=True, slots=True)
class WorkflowRelease:
    """What the platform adds to an author's proofs: timing profile, Asset URIs, connection reference, limits."""

    profile: WorkflowProfile
    asset_uris: Mapping[str, str]
    connection_ref: str
    database: str
    schema: str
    project_bundle_sha256: str
    login_timeout_seconds: int
    query_timeout_seconds: int
    timeout_seconds: int


def workflow_proof_bundle(compiled: Mapping[str, Any], release: WorkflowRelease) -> ProofBundle:
    """One workflow of a compiled project as a closed document; only a PROVEN workflow has all parts.

    Raises `DponeError` DPONE_PROOF_INCOMPLETE where the workflow or one of its proofs is not in the bundle, and
    names what is missing with the first reason that the compile gave.
    """
    name = release.profile.workflow_name
    workflow = next((each for each in compiled["workflows"] if each["name"] == name), None)
    if workflow is None:
        raise DponeError("DPONE_PROOF_INCOMPLETE", f"the compiled project has no workflow {name}")
    _require_parts(name, workflow)
    closure = MutationClosure.from_plain(workflow["mutation_closure"])
    lifecycle = SqlServerLifecyclePolicy.from_plain(workflow["sqlserver_lifecycle_policy"])
    models = sorted(workflow["models"], key=lambda model: str(model["unique_id"]))
    topology = compile_topology(release.profile, workflow["dependencies"], release.asset_uris, {})
    return ProofBundle.build(
        workflow_name=name,
        package_artifacts_sha256=lifecycle.package_artifacts_digest,
        mutation_closure=closure,
        lifecycle_policy=lifecycle,
        topology=topology,
        execution_pack=_execution_pack(release, topology, closure, models),
        models=[_model(model) for model in models],
    )


def proofs_of(bundle: ProofBundle, model_unique_id: str) -> ModelProofs:
    """One model's frozen proofs; raises `DponeError` DPONE_PROOF_INCOMPLETE where the bundle has none."""
    for model in bundle.models:
        if model.model_unique_id == model_unique_id:
            return model
    raise DponeError("DPONE_PROOF_INCOMPLETE", f"the proof bundle has no model {model_unique_id}")


def _require_parts(name: str, workflow: Mapping[str, Any]) -> None:
    for model in workflow["models"]:
        if model["status"] != "PROVEN":
            reason = next(iter(model["reasons"]), {"code": "none given", "message": ""})
            raise DponeError(
                "DPONE_PROOF_INCOMPLETE",
                f"{model['unique_id']} is {model['status']}: {reason['code']} {reason['message']}",
                {"path": str(reason.get("path", "")), "line": str(reason.get("line", ""))},
            )
        for part in ("model_definition_proof", "read_dependency_proof", "event_time_column"):
            if part not in model:
                raise DponeError("DPONE_PROOF_INCOMPLETE", f"{model['unique_id']} has no {part}")
    for part in ("mutation_closure", "sqlserver_lifecycle_policy", "dependencies"):
        if part not in workflow:
            raise DponeError("DPONE_PROOF_INCOMPLETE", f"{name} has no {part}")


def _model(model: Mapping[str, Any]) -> dict[str, Any]:
    key: Sequence[str] = model["effective_key"]
    event_time = model["event_time_column"]
    types = {column["name"]: column["source_type"] for column in model["columns"]}
    template = template_of([key_column(name, types[name]) for name in key])
    roles = dict.fromkeys(key, "EFFECTIVE_KEY") | {event_time: "EFFECTIVE_KEY_EVENT_TIME"}
    return {
        "model_unique_id": model["unique_id"],
        "definition": model["model_definition_proof"],
        "read_dependencies": model["read_dependency_proof"],
        "key_template": template,
        "event_time_column": event_time,
        "writable_columns": [
            {
                "name": column["name"],
                "nullable": column["nullable"],
                "source_type": column["source_type"],
                "target_type": column["target_type"],
                "writable_role": roles.get(column["name"], "MUTABLE_VALUE"),
            }
            for column in model["columns"]
        ],
    }


def _execution_pack(
    release: WorkflowRelease,
    topology: Topology,
    closure: MutationClosure,
    models: Sequence[Mapping[str, Any]],
) -> ExecutionPack:
    context = InvocationContext.build(
        environment_policy="isolated_v1",
        indirect_selection="empty",
        dynamic_vars=[],
        static_environment={
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
        },
    )
    manifests = [model["model_definition_proof"]["manifest_sha256"] for model in models]
    graph = {"nodes": list(closure.selected_node_ids), "schema": GRAPH_POLICY}
    return ExecutionPack.build(
        workflow_id=topology.workflow_name,
        dbt_core_version="1.10.13",
        dbt_adapter_version="1.10.1",
        dbt_warning_policy="fail",
        manifest_schema_version="v12",
        run_results_schema_version="v6",
        project_bundle_sha256=release.project_bundle_sha256,
        project_subdir=".",
        target_path="target",
        timeout_seconds=release.timeout_seconds,
        profile={
            "profile_name": topology.workflow_name,
            "target_name": release.profile.profile_name,
            "adapter_type": "sqlserver",
            "connection_ref": release.connection_ref,
            "database": release.database,
            "schema": release.schema,
            "threads": 1,
        },
        adapter_policy=AdapterPolicy.build(
            required_project_flags={
                "dbt_sqlserver_enable_safe_type_expansion": False,
                "dbt_sqlserver_use_dbt_transactions": True,
                "dbt_sqlserver_use_default_schema_concat": True,
                "dbt_sqlserver_use_native_string_types": True,
            }
        ),
        adapter_runtime=AdapterRuntime.build(
            backend="pyodbc",
            login_timeout_seconds=release.login_timeout_seconds,
            query_timeout_seconds=release.query_timeout_seconds,
            retries=1,
        ),
        invocation_context=context,
        selection_lock=SelectionLock.build(
            selectors=sorted(closure.selectors),
            selected_graph_unique_ids=sorted(closure.selected_node_ids),
            publish_model_unique_ids=sorted(closure.selected_mutating_node_ids),
            expected_run_result_unique_ids=sorted(closure.selected_node_ids),
            graph_contract_sha256=digest_of(graph),
            graph_policy_id=GRAPH_POLICY,
            graph_policy_sha256=digest_of({"policy": GRAPH_POLICY}),
            invocation_context_sha256=context.digest,
            manifest_sha256=digest_of({"manifests": manifests}),
            toolchain_sha256=models[0]["model_definition_proof"]["toolchain_sha256"],
        ),
    )
