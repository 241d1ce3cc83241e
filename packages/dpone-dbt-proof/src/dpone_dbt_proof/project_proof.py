"""Proves every published model of a project from its manifest: one verdict a model, whatever the others are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from dpone_contracts.document import DocumentError
from dpone_contracts.relations import SqlRelation
from dpone_dbt_proof.author_contract import AuthorContract, read_contract
from dpone_dbt_proof.jinja_closure import (
    ASKS_A_DATABASE,
    MacroClosure,
    MacroIndex,
    model_closure,
    overriding_macros,
)
from dpone_dbt_proof.lifecycle import platform_reasons
from dpone_dbt_proof.mutation_closure import ClosureProof, prove_closure, workflows
from dpone_dbt_proof.project_yaml import ProjectYaml
from dpone_dbt_proof.read_dependencies import ReadClosure, resolve_reads
from dpone_dbt_proof.reasons import Code, Reason, Status, verdict
from dpone_dbt_proof.relation_names import NameRules
from dpone_dbt_proof.selection import selector, tests_by_model
from dpone_dbt_proof.source_places import from_compiled, in_file, is_stale
from dpone_dbt_proof.target_dependency import TargetDependencies
from dpone_dbt_proof.tsql import QueryReading, read_query
from dpone_dbt_proof.tsql_policy import TsqlPolicy
from dpone_dbt_proof.two_roots import root_differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dpone_dbt_proof.catalog_snapshot import CatalogSnapshot, LoadedSnapshot
    from dpone_dbt_proof.lifecycle import CertifiedTuple
    from dpone_dbt_proof.manifest import Manifest, Node
    from dpone_dbt_proof.mutation_closure import PlatformProfiles, Workflow
    from dpone_dbt_proof.read_dependencies import ReadBudget

_DANGEROUS_IN_TESTS: Final = (Code.JINJA_RUN_QUERY, Code.JINJA_SIDE_EFFECT)


class ProofScope(StrEnum):
    """What a status speaks of: the definition alone, or also catalog and certified tuple."""

    DEFINITION = "definition"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class ProofInputs:
    """What cannot be observed offline, each an explicit input; absent ones leave their proofs UNVERIFIED."""

    snapshot: LoadedSnapshot | None = None
    budget: ReadBudget | None = None
    certified: CertifiedTuple | None = None
    profiles: PlatformProfiles | None = None
    policy: TsqlPolicy = field(default_factory=TsqlPolicy)


@dataclass(frozen=True, slots=True)
class TwoRoots:
    """The manifest under the author's own root, what went wrong there, and the root-only settings."""

    own: Manifest
    root_only: Sequence[str]
    failures: Mapping[str, str] = field(default_factory=dict)
    """dbt's message by unique id, for nodes that did not compile under either root."""


@dataclass(frozen=True, slots=True)
class ModelProof:
    """One published model: its verdict with reasons, what it reads, and the parts that documents are made of."""

    unique_id: str
    workflow: str
    status: Status
    reads: tuple[str, ...]
    reasons: tuple[Reason, ...]
    contract: AuthorContract
    macros: MacroClosure
    query: QueryReading | None
    closure: ReadClosure | None


@dataclass(frozen=True, slots=True)
class V1Model:
    """A model of the V1 profile: shown with its selector, judged by V1's own rules."""

    unique_id: str
    workflow: str
    selector: str


@dataclass(frozen=True, slots=True)
class WorkflowProof:
    """One V2 (or mixed) workflow: closure and models. `closure` is None where its names admit no document.

    `dependencies` are the other models of the workflow that each model is made from, directly or not.
    """

    workflow: Workflow
    closure: ClosureProof | None
    models: tuple[ModelProof, ...]
    dependencies: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ProjectProof:
    """All workflows of a project in order of their names."""

    workflows: tuple[WorkflowProof, ...]
    v1: tuple[V1Model, ...]

    @property
    def models(self) -> tuple[ModelProof, ...]:
        """Every judged model, by unique id."""
        return tuple(sorted((m for w in self.workflows for m in w.models), key=lambda model: model.unique_id))

    @property
    def status(self) -> Status:
        """The worst status of all models."""
        return verdict(reason for model in self.models for reason in model.reasons)


def prove_project(
    manifest: Manifest,
    *,
    inputs: ProofInputs | None = None,
    scope: ProofScope = ProofScope.FULL,
    project: Path | None = None,
    roots: TwoRoots | None = None,
    root_only: Sequence[str] = (),
) -> ProjectProof:
    """Judge every published model.

    `project` is where the author's files are, for exact places only. `root_only` are the settings of the author's
    `dbt_project.yml` that do not travel with it as a package.
    """
    inputs = inputs or ProofInputs()
    judge = _Judge(manifest, inputs, scope, project, roots)
    judge.root_only(roots.root_only if roots else root_only)
    proofs: list[WorkflowProof] = []
    v1: list[V1Model] = []
    for workflow in workflows(manifest, inputs.profiles):
        if workflow.mode == "v1":
            v1 += [
                V1Model(key, workflow.name, f"+{selector(manifest.nodes[key])}") for key in workflow.node_ids
            ]
        else:
            proofs.append(judge.workflow(workflow))
    return ProjectProof(tuple(proofs), tuple(v1))


def catalog_roots(manifest: Manifest, proof: ProjectProof) -> tuple[SqlRelation, ...]:
    """Return what a catalog snapshot must begin with: all that is read, and each target, whose indexes matter."""
    targets = (relation_of(manifest.nodes[model.unique_id]) for model in proof.models)
    found = {target for target in targets if target is not None}
    for query in (model.query for model in proof.models):
        found |= {*query.reads, *query.functions} if query else set()
    return tuple(sorted(found))


class _Judge:
    def __init__(
        self,
        manifest: Manifest,
        inputs: ProofInputs,
        scope: ProofScope,
        project: Path | None,
        roots: TwoRoots | None,
    ) -> None:
        self._manifest = manifest
        self._inputs = inputs
        self._scope = scope
        self._project = project
        self._roots = roots
        self._index = MacroIndex(manifest)
        self._rules = inputs.snapshot.snapshot.rules if inputs.snapshot else NameRules()
        self._dependencies = TargetDependencies(manifest, self._rules)
        self._yaml = ProjectYaml(project, manifest)
        self._shared = platform_reasons(manifest, self._index) if scope is ProofScope.FULL and roots else []

    def root_only(self, settings: Sequence[str]) -> None:
        """Refuse a dispatch order: the platform's root has none, whatever it would have chosen."""
        if "dispatch" in settings:
            message = "the project orders macro packages by dispatch"
            self._shared = [*self._shared, Reason(Code.DISPATCH_OVERRIDE, message, "dbt_project.yml")]

    def workflow(self, workflow: Workflow) -> WorkflowProof:
        try:
            closure = prove_closure(self._manifest, workflow, self._inputs.profiles)
        except DocumentError as error:
            refusal = Reason(
                Code.UNCLASSIFIED, f"no closure can state the selection: {error.path} {error.reason}"
            )
            models = tuple(self._model(key, workflow, [refusal], ()) for key in workflow.node_ids)
            return WorkflowProof(workflow, None, models, self._upstream(models))
        tests = tests_by_model(self._manifest, closure.selection.test_ids)
        models = tuple(
            self._model(key, workflow, closure.reasons[key], tests.get(key, ())) for key in workflow.node_ids
        )
        return WorkflowProof(workflow, closure, models, self._upstream(models))

    def _upstream(self, models: Sequence[ModelProof]) -> dict[str, tuple[str, ...]]:
        keys = {model.unique_id for model in models}
        return {
            model.unique_id: tuple(
                sorted(
                    keys.intersection(
                        self._dependencies.upstream(
                            self._manifest.nodes[model.unique_id], model.query.reads if model.query else ()
                        )
                    )
                    - {model.unique_id}
                )
            )
            for model in models
        }

    def _model(
        self, key: str, workflow: Workflow, found: Sequence[Reason], tests: Sequence[Node]
    ) -> ModelProof:
        node = self._manifest.nodes[key]
        reasons = [*found, *self._shared]
        contract = read_contract(node)
        macros = MacroClosure((), ())
        query: QueryReading | None = None
        closure: ReadClosure | None = None
        if node.resource_type == "model" and node.language == "sql":
            macros = model_closure(self._manifest, self._index, node)
            query = self._query(node)
            closure = self._closure(node, query)
            reasons += contract.reasons
            if is_stale(self._project, node):
                reasons.append(Reason(Code.MANIFEST_STALE, "the manifest holds another text", node.path))
            reasons += in_file(self._project, node, macros.reasons)
            reasons += self._yaml.reasons(node)
            reasons += overriding_macros(self._index, node.package)
            reasons += self._tests(tests)
            reasons += self._query_reasons(node, query, macros)
            reasons += self._root_reasons(node)
            reasons += self._observed(node, query, closure)
        ordered = tuple(dict.fromkeys(sorted(reasons, key=lambda reason: reason.sort_key)))
        reads = self._reads(node, query)
        return ModelProof(
            key, workflow.name, verdict(ordered), reads, ordered, contract, macros, query, closure
        )

    def _query(self, node: Node) -> QueryReading | None:
        if node.compiled_code is None:
            return None
        return read_query(
            node.compiled_code,
            node.database or "",
            rules=self._rules,
            policy=self._inputs.policy,
            target=relation_of(node),
            protected=_protected(node),
        )

    def _query_reasons(
        self, node: Node, query: QueryReading | None, macros: MacroClosure
    ) -> Iterator[Reason]:
        failure = self._roots.failures.get(node.unique_id) if self._roots else None
        if query is None and self._roots and any(reason.code in ASKS_A_DATABASE for reason in macros.reasons):
            return
        if query is None:
            code = Code.COMPILE_FAILED if failure else Code.COMPILE_REQUIRED
            yield Reason(code, failure or "the manifest holds no compiled SQL of the model", node.path)
            return
        yield from in_file(self._project, node, from_compiled(node, query.reasons))
        for relation in query.reads:
            through = self._dependencies.through(relation, node)
            if through is not None:
                message = f"{relation} is derived from the target (model {through})"
                yield Reason(Code.SQL_TARGET_DEPENDENCY, message, node.path)

    def _tests(self, tests: Sequence[Node]) -> Iterator[Reason]:
        for test in tests:
            if test.resource_type == "test":
                for reason in model_closure(self._manifest, self._index, test).reasons:
                    if reason.code in _DANGEROUS_IN_TESTS:
                        yield replace(reason, message=f"test {test.name}: {reason.message}")

    def _root_reasons(self, node: Node) -> Iterator[Reason]:
        if self._roots is not None:
            yield from root_differences(
                self._roots.own, self._manifest, node.unique_id, self._roots.root_only
            )

    def _closure(self, node: Node, query: QueryReading | None) -> ReadClosure | None:
        snapshot, budget, target = self._inputs.snapshot, self._inputs.budget, relation_of(node)
        if query is None or snapshot is None or budget is None or target is None:
            return None
        return resolve_reads(snapshot, (*query.reads, *query.functions), target, budget)

    def _observed(
        self, node: Node, query: QueryReading | None, closure: ReadClosure | None
    ) -> Iterator[Reason]:
        """What a catalog snapshot and a certified tuple show, or that they are not there."""
        if query is not None and closure is None:
            yield from in_file(self._project, node, from_compiled(node, query.calls))
        if self._scope is ProofScope.DEFINITION:
            return
        if closure is not None:
            yield from (replace(reason, path=node.path) for reason in closure.reasons)
        elif query is not None:
            yield Reason(
                Code.CATALOG_REQUIRED, "no catalog snapshot, or no budget for it, was given", node.path
            )
        if self._inputs.certified is None:
            yield Reason(Code.TUPLE_REQUIRED, "no certified tuple of server, driver and image was given")
        if self._inputs.snapshot is not None:
            yield from self._target(node, self._inputs.snapshot.snapshot)

    def _target(self, node: Node, snapshot: CatalogSnapshot) -> Iterator[Reason]:
        """The target is a table that stands, and has no index that dbt would take for its own."""
        target = relation_of(node)
        found = snapshot.find(target) if target else None
        if found is None:
            yield Reason(Code.CATALOG_UNRESOLVED, f"the snapshot has no target {target}", node.path)
        elif found.type != "U":
            yield Reason(Code.CATALOG_KIND, f"the target is no table but {found.type}", node.path)
        for name in found.indexes if found else ():
            if name.casefold().startswith("dbt_idx_"):
                yield Reason(Code.STRAY_INDEX, f"dbt would drop index {name} of the target", node.path)

    def _reads(self, node: Node, query: QueryReading | None) -> tuple[str, ...]:
        if query is not None:
            return tuple(sorted({str(relation) for relation in (*query.reads, *query.functions)}))
        declared = (self._manifest.nodes.get(key) for key in node.depends_on)
        return tuple(sorted({str(relation) for item in declared if item and (relation := relation_of(item))}))


def relation_of(node: Node) -> SqlRelation | None:
    """Return the three-part name of a node's relation, None where it has none."""
    if node.database is None or node.schema is None or node.identifier is None:
        return None
    return SqlRelation(node.database, node.schema, node.identifier)


def _protected(node: Node) -> frozenset[str]:
    contract = read_contract(node)
    return frozenset(name.upper() for name in (*contract.key, contract.event_time or ""))
