"""The mutation closure of a workflow: what its selection may change, and what forbids it.

Every selected resource is mutating or read-only; every resource that the models read through is looked at too, so
that nothing which dbt would execute or expand inside them stays unclassified (*Workflow modes and closure*).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpone_contracts.proofs import MutationClosure
from dpone_dbt_proof.reasons import Code, Reason, Status, verdict
from dpone_dbt_proof.selection import INDIRECT_SELECTION, Selection, select, tests_by_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_dbt_proof.manifest import Manifest, Node

STRATEGY: Final = "dpone_scope_merge"
_BUILTIN_MATERIALIZATIONS: Final = (
    "view",
    "table",
    "incremental",
    "ephemeral",
    "seed",
    "snapshot",
    "test",
    "unit",
)
_NEVER_PUBLISHED: Final = ("operation", "test", "unit_test", "exposure")
"""Resources that inherit a project's settings without being meant by them."""
_ADAPTER_PACKAGES: Final = ("dbt", "dbt_sqlserver")
_PLATFORM_PROJECT: Final = "dpone_platform"


@dataclass(frozen=True, slots=True)
class PlatformProfiles:
    """The publish profiles that the platform offers, by name: `v1` or `v2`."""

    modes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Workflow:
    """Published models of one workflow name: `mode` is v1, v2, or mixed."""

    name: str
    mode: str
    node_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClosureProof:
    """The closure of one V2 workflow with the reasons of each node, and the document that states it."""

    workflow: Workflow
    selection: Selection
    reasons: Mapping[str, tuple[Reason, ...]]
    document: MutationClosure


def published(manifest: Manifest) -> list[Node]:
    """Return every node whose author enabled publishing, ordered by unique id."""
    return [
        manifest.nodes[key]
        for key in sorted(manifest.nodes)
        if (publish := manifest.nodes[key].publish) is not None
        and publish.get("enabled") is True
        and manifest.nodes[key].resource_type not in _NEVER_PUBLISHED
    ]


def workflows(manifest: Manifest, profiles: PlatformProfiles | None) -> list[Workflow]:
    """Group the published nodes by workflow and tell each one's mode."""
    groups: dict[str, list[Node]] = {}
    for node in published(manifest):
        groups.setdefault(str((node.publish or {}).get("workflow")), []).append(node)
    return [
        Workflow(name, _mode(nodes, profiles), tuple(node.unique_id for node in nodes))
        for name, nodes in sorted(groups.items())
    ]


def node_mode(node: Node, profiles: PlatformProfiles | None) -> str:
    """Return v1 or v2: by the platform's profile, or without a profile file by the model's strategy."""
    if profiles is not None:
        return profiles.modes.get(str((node.publish or {}).get("profile")), "v2")
    return "v2" if node.config.get("incremental_strategy") == STRATEGY else "v1"


def publish_reasons(
    manifest: Manifest, workflow: Workflow, profiles: PlatformProfiles | None
) -> dict[str, list[Reason]]:
    """Judge what stands under `meta.dpone.publish`, and that one workflow has one mode."""
    by_mode: dict[str, list[str]] = {}
    for key in workflow.node_ids:
        node = manifest.nodes[key]
        by_mode.setdefault(node_mode(node, profiles), []).append(node.name)
    reasons: dict[str, list[Reason]] = {}
    for key in workflow.node_ids:
        node = manifest.nodes[key]
        found = list(_publish_reasons(node, profiles))
        if workflow.mode == "mixed":
            named = "; ".join(
                f"{mode}: {', '.join(sorted(names))}" for mode, names in sorted(by_mode.items())
            )
            found.append(Reason(Code.WORKFLOW_MIXED, f"workflow {workflow.name} mixes {named}", node.path))
        reasons[key] = found
    return reasons


def prove_closure(
    manifest: Manifest, workflow: Workflow, profiles: PlatformProfiles | None = None
) -> ClosureProof:
    """Classify everything that the workflow's exact selection touches and state the closure as a document."""
    selection = select(manifest, workflow.node_ids)
    reasons = publish_reasons(manifest, workflow, profiles)
    authors = {manifest.nodes[key].package for key in workflow.node_ids}
    shared = [*_operations(manifest, authors), *_beside(manifest, selection)]
    tests = tests_by_model(manifest, selection.test_ids)
    for key in workflow.node_ids:
        node = manifest.nodes[key]
        reasons[key] += [
            *_model_reasons(node),
            *_read_through(manifest, node),
            *(reason for test in tests.get(key, ()) for reason in _test_reasons(test)),
            *shared,
        ]
    ordered = {
        key: tuple(sorted(found, key=lambda reason: reason.sort_key))
        for key, found in sorted(reasons.items())
    }
    return ClosureProof(workflow, selection, ordered, _document(manifest, workflow, selection, ordered))


def _mode(nodes: list[Node], profiles: PlatformProfiles | None) -> str:
    modes = {node_mode(node, profiles) for node in nodes}
    return modes.pop() if len(modes) == 1 else "mixed"


def _publish_reasons(node: Node, profiles: PlatformProfiles | None) -> Iterator[Reason]:
    publish = node.publish or {}
    for name in ("profile", "workflow"):
        if not isinstance(publish.get(name), str) or not publish[name]:
            yield Reason(Code.PUBLISH_INVALID, f"meta.dpone.publish.{name} is not text", node.path)
    for name in sorted(set(publish) - {"enabled", "profile", "workflow"}):
        yield Reason(Code.PUBLISH_INVALID, f"meta.dpone.publish.{name} is unknown", node.path)
    if profiles is not None and publish.get("profile") not in profiles.modes:
        yield Reason(Code.PROFILE_UNKNOWN, f"profile {publish.get('profile')} is not offered", node.path)


def _model_reasons(node: Node) -> Iterator[Reason]:
    """Judge a published node's own settings: only one shape may mutate."""
    if node.resource_type != "model":
        yield Reason(_resource_code(node), f"{node.resource_type} {node.name} is published", node.path)
        return
    config = node.config
    if node.language != "sql":
        yield Reason(Code.PYTHON_MODEL, f"the model is written in {node.language}", node.path)
    materialized = str(config.get("materialized"))
    if materialized == "ephemeral":
        yield Reason(Code.EPHEMERAL, "an ephemeral model has no table", node.path)
    elif materialized not in _BUILTIN_MATERIALIZATIONS:
        yield Reason(Code.CUSTOM_MATERIALIZATION, f"materialized is {materialized}", node.path)
    elif materialized != "incremental":
        yield Reason(Code.NOT_INCREMENTAL, f"materialized is {materialized}", node.path)
    if config.get("incremental_strategy") != STRATEGY:
        yield Reason(
            Code.STRATEGY, f"incremental_strategy is {config.get('incremental_strategy')}", node.path
        )
    contract = config.get("contract")
    if not (isinstance(contract, Mapping) and contract.get("enforced") is True):
        yield Reason(Code.CONTRACT, "the contract is not enforced", node.path)
    if config.get("on_schema_change") != "fail":
        yield Reason(
            Code.ON_SCHEMA_CHANGE, f"on_schema_change is {config.get('on_schema_change')}", node.path
        )
    for name, code in _CLOSED_SETTINGS.items():
        if _is_set(config.get(name)):
            yield Reason(code, f"{name} is set", node.path)


_CLOSED_SETTINGS: Final = {
    "pre-hook": Code.MODEL_HOOK,
    "post-hook": Code.MODEL_HOOK,
    "pre_hook": Code.MODEL_HOOK,
    "post_hook": Code.MODEL_HOOK,
    "full_refresh": Code.FULL_REFRESH,
    "grants": Code.GRANTS,
    "persist_docs": Code.PERSIST_DOCS,
    "indexes": Code.INDEXES,
    "as_columnstore": Code.INDEXES,
    "predicates": Code.PREDICATES,
    "incremental_predicates": Code.PREDICATES,
    "merge_update_columns": Code.PREDICATES,
    "merge_exclude_columns": Code.PREDICATES,
    "sql_header": Code.QUERY_OPTIONS,
    "query_options": Code.QUERY_OPTIONS,
    "query_tag": Code.QUERY_OPTIONS,
    "batch_size": Code.BATCHES,
    "begin": Code.BATCHES,
    "concurrent_batches": Code.BATCHES,
}
"""Settings that open another branch of the adapter's materialisation when they are not empty."""


def _is_set(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_is_set(item) for item in value.values())
    return bool(value)


def _read_through(manifest: Manifest, node: Node) -> Iterator[Reason]:
    """Judge what the model reads: none of it is run, but none of it may be expanded or unknown."""
    for key in manifest.ancestors(node.unique_id):
        parent = manifest.nodes.get(key)
        if parent is None:
            yield Reason(Code.MISSING_NODE, f"{key} is not in the manifest", node.path)
            continue
        materialized = str(parent.config.get("materialized"))
        match parent.resource_type:
            case "source":
                continue
            case "model" if materialized == "ephemeral":
                yield Reason(Code.EPHEMERAL, f"{parent.name} is ephemeral", node.path)
            case "model" if materialized not in _BUILTIN_MATERIALIZATIONS:
                message = f"{parent.name} has materialisation {materialized}"
                yield Reason(Code.CUSTOM_MATERIALIZATION, message, node.path)
            case "model":
                continue
            case _:
                message = f"{parent.resource_type} {parent.name} is read"
                yield Reason(_resource_code(parent), message, node.path)


def _resource_code(node: Node) -> Code:
    codes = {"seed": Code.SEED, "snapshot": Code.SNAPSHOT, "operation": Code.OPERATION}
    return codes.get(node.resource_type, Code.NOT_A_MODEL)


def _test_reasons(test: Node) -> Iterator[Reason]:
    """Tests stay read-only: they store nothing, and have no hooks."""
    config = test.config
    if config.get("store_failures") or config.get("store_failures_as") not in (None, "ephemeral"):
        yield Reason(Code.STORE_FAILURES, f"test {test.name} stores its failures", test.path)
    for name in ("pre-hook", "post-hook", "sql_header"):
        if _is_set(config.get(name)):
            yield Reason(Code.MODEL_HOOK, f"test {test.name} has {name}", test.path)


def _operations(manifest: Manifest, authors: set[str]) -> Iterator[Reason]:
    """on-run-start and on-run-end of every project that takes part run around every selection."""
    for node in manifest.of_type("operation"):
        if node.package in _ADAPTER_PACKAGES:
            code = Code.ADAPTER_HOOK
        elif node.package in {manifest.project_name, _PLATFORM_PROJECT, *authors}:
            code = Code.PROJECT_HOOK
        else:
            code = Code.PACKAGE_HOOK
        foreign = code is not Code.PROJECT_HOOK
        path = f"dbt_packages/{node.package}/{node.path}" if foreign else node.path
        yield Reason(code, f"{node.package} runs {node.name}", path)


def _beside(manifest: Manifest, selection: Selection) -> Iterator[Reason]:
    for key in selection.node_ids:
        if key not in selection.model_ids and key not in selection.test_ids:
            node = manifest.nodes[key]
            code = Code.SELECTOR_NOT_EXACT if node.resource_type == "model" else Code.UNCLASSIFIED
            yield Reason(code, f"the selection also holds {node.resource_type} {node.name}", node.path)


def _document(
    manifest: Manifest,
    workflow: Workflow,
    selection: Selection,
    reasons: Mapping[str, tuple[Reason, ...]],
) -> MutationClosure:
    reading = [
        key for key in selection.node_ids if manifest.nodes[key].resource_type in ("test", "unit_test")
    ]
    mutating = [key for key in selection.node_ids if key not in reading]
    unclassified = [key for key in mutating if key not in workflow.node_ids or _unclassified(reasons[key])]
    status = verdict(reason for found in reasons.values() for reason in found)
    return MutationClosure.build(
        status=Status(status).value,
        indirect_selection=INDIRECT_SELECTION,
        selectors=list(selection.model_selectors),
        selected_node_ids=list(selection.node_ids),
        selected_mutating_node_ids=mutating,
        selected_read_only_node_ids=reading,
        unclassified_mutating_node_ids=unclassified,
    )


def _unclassified(reasons: tuple[Reason, ...]) -> bool:
    shapes = {
        Code.CUSTOM_MATERIALIZATION,
        Code.STRATEGY,
        Code.NOT_INCREMENTAL,
        Code.EPHEMERAL,
        Code.PYTHON_MODEL,
    }
    shapes |= {Code.NOT_A_MODEL, Code.SEED, Code.SNAPSHOT, Code.OPERATION}
    return any(reason.code in shapes for reason in reasons)
