"""The template pack that a projection carries: the dbt execution pack and the topology, closed at every level."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, ValidationInfo

from dpone_contracts.canonical import Json, Path
from dpone_contracts.closure import UNIQUE, Many, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken, lax, nested, without
from dpone_contracts.scalars import (
    READING,
    ExactSelector,
    Identifier,
    ModelId,
    NodeId,
    OnlyFalse,
    OnlyTrue,
    Positive,
    Producer,
    Sha256Text,
    Text,
    refuse,
    text_fault,
)

_NOT_IN_FINGERPRINT: Final = (
    "pack_fingerprint",
    "producer",
    "meta",
    "artifact_dir",
    "output_path",
    "bundle_path",
    "next_actions",
    "warnings",
    "blockers",
)
_CALENDAR_DATE: Final = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])", re.ASCII)


def pack_fingerprint(template: Mapping[str, Any]) -> str:
    """Digest a template pack; unlike every other digest this one is over text that is not escaped."""
    subject = without(template, *_NOT_IN_FINGERPRINT)
    text = json.dumps(subject, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _tree(value: Any, info: ValidationInfo) -> Any:
    """Check the texts of a free tree; its numbers were checked when the text was decoded."""
    if info.context is not READING:
        _check_tree(value, ())
    return value


def _check_tree(value: Json, path: Path) -> None:
    match value:
        case dict():
            for key, item in value.items():
                _check_tree(key, path)
                _check_tree(item, (*path, key))
        case list() | tuple():
            for index, item in enumerate(value):
                _check_tree(item, (*path, index))
        case str() if (reason := text_fault(value)) and value:
            refuse("visible-text", reason, path=path, readable=True)
        case _:
            pass


ConfigTree: TypeAlias = Annotated[dict[Identifier, Any], AfterValidator(_tree)]


class DagPolicy(Part):
    """The static DAG policy of the workflow profile: the scheduler's sole authority for timing."""

    schedule: Text | None
    start_date: Identifier
    timezone: Identifier
    catchup: bool
    max_active_runs: Positive
    max_active_tasks: Positive
    owner: Identifier
    tags: Many[Identifier] = Field(json_schema_extra=UNIQUE)

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.tags, "tags")
        if not _CALENDAR_DATE.fullmatch(self.start_date):
            yield lax("calendar-date", "not a date spelled YYYY-MM-DD", "start_date")


class ProjectOverlay(Document):
    """The model settings that the platform's root project lays over the author's."""

    SCHEMA: ClassVar[str] = "dpone.dbt-semantic-refresh-project-overlay.v1"
    DIGEST_FIELD: ClassVar[str] = "project_overlay_sha256"

    schema_id: Literal["dpone.dbt-semantic-refresh-project-overlay.v1"] = Field(alias="schema")
    project_overlay_sha256: Sha256Text
    models: ConfigTree


class Topology(Document):
    """The run-neutral shape of a workflow's DAG: models in commit order, dependencies, Assets and timing."""

    SCHEMA: ClassVar[str] = "dpone.dbt-semantic-refresh-topology-template.v1"
    DIGEST_FIELD: ClassVar[str] = "topology_sha256"

    schema_id: Literal["dpone.dbt-semantic-refresh-topology-template.v1"] = Field(alias="schema")
    topology_sha256: Sha256Text
    activation: Literal["POST_DEPLOYMENT_AUTHORITY_REQUIRED"]
    workflow_name: Identifier
    dag_id: Identifier
    dag_policy: DagPolicy
    profile_sha256: Sha256Text
    model_unique_ids: Several[ModelId] = Field(json_schema_extra=UNIQUE)
    dependencies: dict[ModelId, Many[ModelId]]
    logical_output_asset_uris: dict[ModelId, Identifier]
    project_config_overlay: ProjectOverlay

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the overlay's digest."""
        yield from nested(ProjectOverlay, plain["project_config_overlay"], "project_config_overlay")

    def _rules(self) -> Iterator[Fault]:
        models = set(self.model_unique_ids)
        if len(models) != len(self.model_unique_ids):
            yield broken("unique-names", "a model occurs twice", "model_unique_ids")
        if self.dependencies.keys() != models:
            yield broken("dependencies-cover-models", "not the models of the topology", "dependencies")
        if self.logical_output_asset_uris.keys() != models:
            yield broken("assets-cover-models", "not the models of the topology", "logical_output_asset_uris")
        if len(set(self.logical_output_asset_uris.values())) != len(self.logical_output_asset_uris):
            yield broken(
                "one-asset-a-model", "two models publish the same asset", "logical_output_asset_uris"
            )
        place = {model: index for index, model in enumerate(self.model_unique_ids)}
        for model, upstream in self.dependencies.items():
            yield from sorted_set(upstream, "dependencies", model)
            if not set(upstream) <= models:
                yield broken(
                    "dependencies-cover-models", "not a model of the topology", "dependencies", model
                )
            elif any(place[other] >= place.get(model, -1) for other in upstream):
                yield lax("commit-order", "committed before what it depends on", "dependencies", model)
        try:
            TopologicalSorter(self.dependencies).prepare()
        except CycleError:
            yield broken("acyclic", "the dependencies form a cycle", "dependencies")


class ProjectFlags(Part):
    """The adapter flags that the root project pins."""

    dbt_sqlserver_enable_safe_type_expansion: OnlyFalse
    dbt_sqlserver_use_dbt_transactions: OnlyTrue
    dbt_sqlserver_use_default_schema_concat: bool
    dbt_sqlserver_use_native_string_types: bool


class AdapterPolicy(Document):
    """What the adapter must be told."""

    SCHEMA: ClassVar[str] = "dpone.dbt-sqlserver-capability-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "adapter_policy_sha256"

    schema_id: Literal["dpone.dbt-sqlserver-capability-policy.v1"] = Field(alias="schema")
    adapter_policy_sha256: Sha256Text
    required_project_flags: ProjectFlags


class AdapterRuntime(Document):
    """The adapter's connection limits, in seconds."""

    SCHEMA: ClassVar[str] = "dpone.dbt-sqlserver-runtime-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "adapter_runtime_sha256"

    schema_id: Literal["dpone.dbt-sqlserver-runtime-policy.v1"] = Field(alias="schema")
    adapter_runtime_sha256: Sha256Text
    backend: Literal["pyodbc"]
    login_timeout_seconds: Positive
    query_timeout_seconds: Positive
    retries: Positive


class InvocationContext(Document):
    """Everything that a dbt invocation sees of its surroundings."""

    SCHEMA: ClassVar[str] = "dpone.dbt-invocation-context.v1"
    DIGEST_FIELD: ClassVar[str] = "invocation_context_sha256"

    schema_id: Literal["dpone.dbt-invocation-context.v1"] = Field(alias="schema")
    invocation_context_sha256: Sha256Text
    environment_policy: Identifier
    indirect_selection: Literal["eager", "cautious", "buildable", "empty"]
    dynamic_vars: Many[Identifier] = Field(json_schema_extra=UNIQUE)
    static_environment: dict[Identifier, Text]

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.dynamic_vars, "dynamic_vars")


class ExecutionProfile(Part):
    """The dbt profile without credentials; one thread, because two deadlock on system tables."""

    profile_name: Identifier
    target_name: Identifier
    adapter_type: Literal["sqlserver"]
    connection_ref: Identifier
    database: Identifier
    schema_name: Identifier = Field(alias="schema")
    threads: Positive

    def _rules(self) -> Iterator[Fault]:
        if self.threads != 1:
            yield lax("one-thread", "models are built one after the other", "threads")


class SelectionLock(Document):
    """The exact selection of a dbt invocation and the graph that it was taken from."""

    SCHEMA: ClassVar[str] = "dpone.dbt-selection-lock.v1"
    DIGEST_FIELD: ClassVar[str] = "selection_sha256"

    schema_id: Literal["dpone.dbt-selection-lock.v1"] = Field(alias="schema")
    selection_sha256: Sha256Text
    selectors: Several[ExactSelector] = Field(json_schema_extra=UNIQUE)
    selected_graph_unique_ids: Several[NodeId] = Field(json_schema_extra=UNIQUE)
    publish_model_unique_ids: Several[ModelId] = Field(json_schema_extra=UNIQUE)
    expected_run_result_unique_ids: Several[NodeId] = Field(json_schema_extra=UNIQUE)
    graph_contract_sha256: Sha256Text
    graph_policy_id: Identifier
    graph_policy_sha256: Sha256Text
    invocation_context_sha256: Sha256Text
    manifest_sha256: Sha256Text
    toolchain_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        for name in (
            "selectors",
            "selected_graph_unique_ids",
            "publish_model_unique_ids",
            "expected_run_result_unique_ids",
        ):
            yield from sorted_set(getattr(self, name), name)


class ExecutionPack(Document):
    """What the dbt gate executes."""

    SCHEMA: ClassVar[str] = "dpone.dbt-execution-pack.v1"
    DIGEST_FIELD: ClassVar[str] = "pack_sha256"

    schema_id: Literal["dpone.dbt-execution-pack.v1"] = Field(alias="schema")
    pack_sha256: Sha256Text
    workflow_id: Identifier
    dbt_core_version: Literal["1.10.13"]
    dbt_adapter_version: Literal["1.10.1"]
    dbt_warning_policy: Literal["fail"]
    manifest_schema_version: Identifier
    run_results_schema_version: Identifier
    project_bundle_sha256: Sha256Text
    project_subdir: Identifier
    target_path: Identifier
    timeout_seconds: Positive
    profile: ExecutionProfile
    adapter_policy: AdapterPolicy
    adapter_runtime: AdapterRuntime
    invocation_context: InvocationContext
    selection_lock: SelectionLock

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digests of the nested policies and locks."""
        yield from nested(AdapterPolicy, plain["adapter_policy"], "adapter_policy")
        yield from nested(AdapterRuntime, plain["adapter_runtime"], "adapter_runtime")
        yield from nested(InvocationContext, plain["invocation_context"], "invocation_context")
        yield from nested(SelectionLock, plain["selection_lock"], "selection_lock")
        context = plain["invocation_context"]["invocation_context_sha256"]
        yield ("selection_lock", "invocation_context_sha256"), context


class PackIdentity(Part):
    """Names the identity scheme of the pack."""

    schema_id: Literal["dpone.airflow-pack-identity.v1"] = Field(alias="schema")


class SemanticRefreshTemplate(Part):
    """The semantic-refresh part of a template."""

    mode: Literal["semantic_refresh_v2_template"]
    pre_release_bundle_sha256: Sha256Text
    package_artifacts_sha256: Sha256Text
    topology: Topology


class Authoring(Part):
    """How the workload was authored."""

    mode: Literal["semantic_refresh_v2_template"]


class EffectiveConfig(Part):
    """The workload's configuration."""

    authoring: Authoring


class Workload(Part):
    """The workload that the pack was made for."""

    workload_id: Identifier
    effective_config: EffectiveConfig


class TemplatePack(Part):
    """A pack that is no DAG yet; fields outside its fingerprint are pinned or absent."""

    schema_version: Literal["3"]
    kind: Literal["gitops.airflow_pack"]
    producer: Producer
    activation: Literal["POST_DEPLOYMENT_AUTHORITY_REQUIRED"]
    executable: OnlyFalse
    runtime_command: Literal[""]
    runtime_payload_ids: Several[Identifier] = Field(json_schema_extra=UNIQUE)
    pack_identity: PackIdentity
    pack_fingerprint: Sha256Text
    dbt_execution_pack: ExecutionPack
    semantic_refresh: SemanticRefreshTemplate
    workload: Workload


def template_digests(template: Mapping[str, Any], *at: str | int) -> Iterator[tuple[Path, str]]:
    """Yield the digests inside of a template pack that stands at path `at`."""
    yield from nested(ExecutionPack, template["dbt_execution_pack"], *at, "dbt_execution_pack")
    yield from nested(Topology, template["semantic_refresh"]["topology"], *at, "semantic_refresh", "topology")
    yield (*at, "pack_fingerprint"), pack_fingerprint(template)
