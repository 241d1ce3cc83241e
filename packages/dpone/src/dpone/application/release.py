"""From a compiled project to a release: one workflow's frozen proofs, topology and dbt pack, and what identifies them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone_contracts.canonical import digest_of
from dpone_contracts.descriptors import ProofBundle
from dpone_contracts.effective_key import key_column
from dpone_contracts.errors import DponeError
from dpone_contracts.identity import compile_release, compile_topology
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

    from dpone_contracts.descriptors import ModelProofs, ReleaseDescriptor
    from dpone_contracts.hand_written import ReleaseSettings
    from dpone_contracts.policies import PlatformPolicy, WorkflowProfile
    from dpone_contracts.template_pack import Topology

GRAPH_POLICY = "dpone.dbt-sqlserver-exact-graph-policy.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRelease:
    """What the platform adds to an author's proofs.

    `read_policy_sha256` is the digest of the read budget that the platform policy's limits are, as compiles name it.
    """

    profile: WorkflowProfile
    settings: ReleaseSettings
    platform: PlatformPolicy
    read_policy_sha256: str


def release_workflow(
    compiled: Mapping[str, Any], release: WorkflowRelease, *, product_version: str
) -> tuple[ProofBundle, ReleaseDescriptor]:
    """One workflow of a compiled project, frozen and identified; the same input gives the same bytes.

    `compiled` is a verified bundle of `dpone refresh compile`. Neither digest depends on a plan, a projection or a run.
    Raises `DponeError`: DPONE_PROOF_INCOMPLETE where the workflow or one of its proofs is not in the bundle or was proven
    under another read budget, DPONE_BUDGET_EXCEEDED for more models than the policy admits; `DocumentError` where the
    settings contradict the proofs.
    """
    proofs = workflow_proof_bundle(compiled, release)
    descriptor = compile_release(
        proofs,
        release.platform,
        product_version=product_version,
        toolchain_sha256=proofs.models[0].definition.toolchain_sha256,
    )
    return proofs, descriptor


def workflow_proof_bundle(compiled: Mapping[str, Any], release: WorkflowRelease) -> ProofBundle:
    """One workflow of a compiled project as a closed document; only a PROVEN workflow has all parts.

    Raises what `release_workflow` raises; names what is missing with the first reason that the compile gave.
    """
    name = release.profile.workflow_name
    workflow = next((each for each in compiled["workflows"] if each["name"] == name), None)
    if workflow is None:
        raise DponeError("DPONE_PROOF_INCOMPLETE", f"the compiled project has no workflow {name}")
    _require_parts(name, workflow)
    _require_limits(name, workflow, compiled, release)
    closure = MutationClosure.from_plain(workflow["mutation_closure"])
    lifecycle = SqlServerLifecyclePolicy.from_plain(workflow["sqlserver_lifecycle_policy"])
    models = sorted(workflow["models"], key=lambda model: str(model["unique_id"]))
    topology = compile_topology(release.profile, workflow["dependencies"], release.settings.asset_uris, {})
    project = digest_of({"bundle": compiled["bundle_sha256"]})
    return ProofBundle.build(
        workflow_name=name,
        package_artifacts_sha256=lifecycle.package_artifacts_digest,
        mutation_closure=closure,
        lifecycle_policy=lifecycle,
        topology=topology,
        execution_pack=_execution_pack(release, project, topology, closure, models),
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


def _require_limits(
    name: str, workflow: Mapping[str, Any], compiled: Mapping[str, Any], release: WorkflowRelease
) -> None:
    proven = compiled["policies"].get("read_dependency_policy_sha256")
    if proven != release.read_policy_sha256:
        raise DponeError(
            "DPONE_PROOF_INCOMPLETE",
            "the reads were proven under another budget than the platform policy's read_limits",
            {"proven": str(proven), "platform_policy": release.read_policy_sha256},
        )
    models, most = len(workflow["models"]), release.platform.max_models_per_workflow
    if models > most:
        raise DponeError(
            "DPONE_BUDGET_EXCEEDED",
            f"{name} has {models} models, the platform policy admits {most}",
            {"limit": "max_models_per_workflow"},
        )


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
    project_bundle_sha256: str,
    topology: Topology,
    closure: MutationClosure,
    models: Sequence[Mapping[str, Any]],
) -> ExecutionPack:
    settings = release.settings
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
        project_bundle_sha256=project_bundle_sha256,
        project_subdir=".",
        target_path="target",
        timeout_seconds=settings.timeout_seconds,
        profile={
            "profile_name": topology.workflow_name,
            "target_name": release.profile.profile_name,
            "adapter_type": "sqlserver",
            "connection_ref": settings.connection_ref,
            "database": settings.database,
            "schema": settings.model_schema,
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
            login_timeout_seconds=settings.login_timeout_seconds,
            query_timeout_seconds=settings.query_timeout_seconds,
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
