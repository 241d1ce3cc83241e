"""Compile-time proofs: model definition, mutation closure, read dependencies, and the SQL Server lifecycle policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Field

from dpone_contracts.closure import UNIQUE, Many, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken, lax
from dpone_contracts.scalars import (
    ExactSelector,
    Identifier,
    ModelId,
    NodeId,
    OnlyFalse,
    OnlyTrue,
    Positive,
    Sha256Text,
)

ProofStatus: TypeAlias = Literal["PROVEN", "NONCONFORMANT", "UNVERIFIED"]


_PROVEN: Final[Mapping[str, Any]] = {"properties": {"status": {"const": "PROVEN"}}}


class ModelDefinitionProof(Document):
    """What one model is: its text, closures, toolchain and resolved dependencies."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-model-definition-proof.v1"
    DIGEST_FIELD: ClassVar[str] = "model_definition_proof_sha256"

    schema_id: Literal["dpone.semantic-refresh-model-definition-proof.v1"] = Field(alias="schema")
    model_definition_proof_sha256: Sha256Text
    status: ProofStatus
    model_unique_id: ModelId
    manifest_sha256: Sha256Text
    raw_code_sha256: Sha256Text
    compiled_sql_sha256: Sha256Text
    macro_closure_sha256: Sha256Text
    toolchain_sha256: Sha256Text
    resolved_relation_dependency_digest: Sha256Text
    resolved_module_dependency_digest: Sha256Text
    catalog_observation_digest: Sha256Text
    parser_runtime_policy_digest: Sha256Text
    target_independence_policy_digest: Sha256Text


class MutationClosure(Document):
    """The selected nodes of a workflow, each either mutating or read-only; only PROVEN executes."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-mutation-closure.v1"
    DIGEST_FIELD: ClassVar[str] = "mutation_closure_sha256"

    schema_id: Literal["dpone.semantic-refresh-mutation-closure.v1"] = Field(alias="schema")
    mutation_closure_sha256: Sha256Text
    status: ProofStatus
    indirect_selection: Literal["empty"]
    selectors: Several[ExactSelector] = Field(json_schema_extra=UNIQUE)
    selected_node_ids: Several[NodeId] = Field(json_schema_extra=UNIQUE)
    selected_mutating_node_ids: Several[NodeId] = Field(json_schema_extra=UNIQUE)
    selected_read_only_node_ids: Many[NodeId] = Field(json_schema_extra=UNIQUE)
    unclassified_mutating_node_ids: Many[NodeId] = Field(json_schema_extra=UNIQUE)

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "if": _PROVEN,
        "then": {
            "properties": {
                "unclassified_mutating_node_ids": {"maxItems": 0},
                "selected_mutating_node_ids": {"items": {"pattern": r"^model\."}},
            }
        },
    }

    def _rules(self) -> Iterator[Fault]:
        for name in (
            "selectors",
            "selected_node_ids",
            "selected_mutating_node_ids",
            "selected_read_only_node_ids",
            "unclassified_mutating_node_ids",
        ):
            yield from sorted_set(getattr(self, name), name)
        mutating, reading = set(self.selected_mutating_node_ids), set(self.selected_read_only_node_ids)
        if mutating & reading:
            yield broken(
                "one-class-a-node", "a node is both mutating and read-only", "selected_read_only_node_ids"
            )
        if mutating | reading != set(self.selected_node_ids):
            yield broken(
                "classes-cover-selection", "the two classes are not the selection", "selected_node_ids"
            )
        if not set(self.unclassified_mutating_node_ids) <= mutating:
            reason = "an unclassified node is not among the mutating ones"
            yield broken("unclassified-is-mutating", reason, "unclassified_mutating_node_ids")
        names = {node.split(".", 2)[-1] for node in self.selected_mutating_node_ids}
        for index, selector in enumerate(self.selectors):
            if names.isdisjoint(_selected_names(selector)):
                yield lax("exact-selector", "names no selected mutating node", "selectors", index)
        if self.status == "PROVEN":
            if self.unclassified_mutating_node_ids:
                reason = "a proven closure has no unclassified node"
                yield broken("proven-is-classified", reason, "unclassified_mutating_node_ids")
            for index, node in enumerate(self.selected_mutating_node_ids):
                if not node.startswith("model."):
                    yield lax("models-mutate", "only models mutate", "selected_mutating_node_ids", index)


def _selected_names(selector: str) -> Iterator[str]:
    """Yield each end of an fqn: one is the node's name (with its version, which dbt appends to both)."""
    parts = selector.split(".")
    return (".".join(parts[start:]) for start in range(1, len(parts)))


class SqlServerLifecyclePolicy(Document):
    """The one certified tuple of dbt, adapter, driver and server, and the adapter branches that it leaves open."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-sqlserver-lifecycle-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "sqlserver_lifecycle_policy_sha256"

    schema_id: Literal["dpone.semantic-refresh-sqlserver-lifecycle-policy.v1"] = Field(alias="schema")
    sqlserver_lifecycle_policy_sha256: Sha256Text
    dbt_core_version: Literal["1.10.13"]
    dbt_sqlserver_version: Literal["1.10.1"]
    python_version: Identifier
    pyodbc_version: Identifier
    odbc_driver: Identifier
    sqlserver_version: Identifier
    compatibility_level: Positive
    materialization: Literal["incremental"]
    incremental_strategy: Literal["dpone_scope_merge"]
    on_schema_change: Literal["fail"]
    contract_enforced: OnlyTrue
    existing_table_required: OnlyTrue
    full_refresh_allowed: OnlyFalse
    hooks_allowed: OnlyFalse
    schema_mutation_allowed: OnlyFalse
    runtime_image_digest: Sha256Text
    driver_digest: Sha256Text
    package_artifacts_digest: Sha256Text
    macro_closure_sha256: Sha256Text
    materialization_closure_digest: Sha256Text
    dispatch_closure_digest: Sha256Text
    adapter_policy_digest: Sha256Text
    project_policy_digest: Sha256Text
    profile_policy_digest: Sha256Text
    invocation_policy_digest: Sha256Text


class DependencyEdge(Part):
    """One resolved dependency between catalog objects, by object id."""

    from_object_id: Positive
    to_object_id: Positive
    dependency_kind: Literal["BASE_TABLE", "SCHEMABOUND_VIEW", "SCHEMABOUND_INLINE_TVF"]


class ReadDependencyProof(Document):
    """The bounded closure of what a model reads; missing limits are not defaulted (*Read dependency policy*)."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-read-dependency-proof.v1"
    DIGEST_FIELD: ClassVar[str] = "read_dependency_proof_sha256"

    schema_id: Literal["dpone.semantic-refresh-read-dependency-proof.v1"] = Field(alias="schema")
    read_dependency_proof_sha256: Sha256Text
    status: ProofStatus
    model_unique_id: ModelId
    database_name: Identifier
    compiled_sql_sha256: Sha256Text
    catalog_snapshot_sha256: Sha256Text
    normalized_definitions_sha256: Sha256Text
    policy_sha256: Sha256Text
    max_depth: Positive
    max_nodes: Positive
    max_edges: Positive
    max_definition_bytes: Positive
    base_relation_object_ids: Annotated[Many[Positive], Field(json_schema_extra=UNIQUE)]
    dependency_edges: Annotated[Many[DependencyEdge], Field(json_schema_extra=UNIQUE)]

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "if": _PROVEN,
        "then": {"properties": {"base_relation_object_ids": {"minItems": 1}}},
    }

    @property
    def closure_object_ids(self) -> tuple[int, ...]:
        """Every object of the closure: base relations, and the views and functions on the way to them."""
        ends = {end for edge in self.dependency_edges for end in (edge.from_object_id, edge.to_object_id)}
        return tuple(sorted(ends.union(self.base_relation_object_ids)))

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.base_relation_object_ids, "base_relation_object_ids")
        edges = [
            (edge.from_object_id, edge.to_object_id, edge.dependency_kind) for edge in self.dependency_edges
        ]
        yield from sorted_set(edges, "dependency_edges")
        if len(edges) > self.max_edges:
            yield broken("edge-budget", "more edges than max_edges", "dependency_edges")
        if len(self.closure_object_ids) > self.max_nodes:
            yield broken("node-budget", "more objects than max_nodes", "dependency_edges")
        if self.status == "PROVEN":
            yield from self._proven_rules()

    def _proven_rules(self) -> Iterator[Fault]:
        bases = set(self.base_relation_object_ids)
        if not bases:
            yield broken("proven-has-bases", "nothing resolved is not a proof", "base_relation_object_ids")
        sources = {edge.from_object_id for edge in self.dependency_edges}
        for index, edge in enumerate(self.dependency_edges):
            at_end = edge.dependency_kind == "BASE_TABLE"
            if edge.from_object_id == edge.to_object_id:
                yield lax("acyclic", "an object depends on itself", "dependency_edges", index)
            if at_end and edge.to_object_id not in bases:
                yield lax(
                    "bases-listed", "leads to a base table that is not listed", "dependency_edges", index
                )
            if at_end and edge.to_object_id in sources:
                yield lax("bases-end", "a base table depends on nothing", "dependency_edges", index)
            if not at_end and edge.to_object_id in bases:
                yield lax(
                    "bases-end", "an object is both a module and a base table", "dependency_edges", index
                )
        depth = longest_path([(edge.from_object_id, edge.to_object_id) for edge in self.dependency_edges])
        if depth is None:
            yield lax("acyclic", "the dependencies form a cycle", "dependency_edges")
        elif depth > self.max_depth:
            yield lax("depth-budget", "deeper than max_depth", "dependency_edges")


def longest_path(edges: Sequence[tuple[int, int]]) -> int | None:
    """Return the number of edges on the longest path of a graph; None when it has a cycle."""
    depth: dict[int, int] = {}
    waiting: dict[int, set[int]] = {}
    for source, target in edges:
        waiting.setdefault(source, set()).add(target)
        waiting.setdefault(target, set())
    while waiting:
        ready = [node for node, targets in waiting.items() if targets <= depth.keys()]
        if not ready:
            return None
        for node in ready:
            depth[node] = max((depth[target] + 1 for target in waiting.pop(node)), default=0)
    return max(depth.values(), default=0)
