"""The read-dependency closure: from the relations that a query names to base tables, by object identity.

A pure function over a catalog snapshot (*Read dependency policy*). Base tables, schema-bound non-encrypted views and
schema-bound inline functions of the model's own database are admitted and followed; everything else ends the proof.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from dpone_contracts.canonical import digest_of
from dpone_contracts.proofs import ReadDependencyProof, longest_path
from dpone_dbt_proof.reasons import Code, Reason, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.canonical import Json
    from dpone_contracts.relations import SqlRelation
    from dpone_dbt_proof.catalog_snapshot import CatalogDependency, CatalogObject, LoadedSnapshot

_KINDS: Final = {"U": "BASE_TABLE", "V": "SCHEMABOUND_VIEW", "IF": "SCHEMABOUND_INLINE_TVF"}
MAX_NESTING: Final = 32
_NAMES: Final = {
    "TF": "a multi-statement function",
    "FN": "a scalar function",
    "FS": "a CLR function",
    "FT": "a CLR function",
    "P": "a procedure",
    "PC": "a CLR procedure",
    "SN": "a synonym",
    "ET": "an external table",
    "SO": "a sequence",
    "X": "an extended procedure",
}


@dataclass(frozen=True, slots=True)
class ReadBudget:
    """The platform's limits; none has a default. `max_definition_bytes` is over all modules together."""

    max_depth: int
    max_nodes: int
    max_edges: int
    max_definition_bytes: int

    def __post_init__(self) -> None:
        """Refuse limits that bound nothing: SQL Server itself nests views 32 deep at most."""
        if not 0 < self.max_depth <= MAX_NESTING or min(asdict(self).values()) <= 0:
            raise ValueError(f"limits are positive, and max_depth is at most {MAX_NESTING}")

    @property
    def sha256(self) -> str:
        """Digest of the policy: limits and admitted kinds."""
        admitted: list[Json] = [*sorted(_KINDS.values())]
        return digest_of({"schema": "dpone.read-dependency-policy.v1", "admitted": admitted, **asdict(self)})


@dataclass(frozen=True, slots=True)
class ReadClosure:
    """What the named relations lead to, and why that is not a proof."""

    base_object_ids: tuple[int, ...]
    edges: tuple[tuple[int, int, str], ...]
    definitions_sha256: str
    reasons: tuple[Reason, ...]


def resolve_reads(
    loaded: LoadedSnapshot, reads: Sequence[SqlRelation], target: SqlRelation, budget: ReadBudget
) -> ReadClosure:
    """Resolve every named relation to base tables by object id, within the budget."""
    walk = _Walk(loaded, budget, loaded.snapshot.find(target))
    for relation in reads:
        item = loaded.snapshot.find(relation)
        if item is None:
            walk.refuse(*walk.absent(str(relation)))
        else:
            walk.visit(item, path=(), named=str(relation))
    return walk.closure()


def read_dependency_document(
    model_unique_id: str,
    compiled_sql_sha256: str,
    loaded: LoadedSnapshot,
    budget: ReadBudget,
    closure: ReadClosure,
) -> ReadDependencyProof:
    """State the closure as the published document."""
    return ReadDependencyProof.build(
        status=verdict(closure.reasons).value,
        model_unique_id=model_unique_id,
        database_name=loaded.snapshot.database,
        compiled_sql_sha256=compiled_sql_sha256,
        catalog_snapshot_sha256=loaded.sha256,
        normalized_definitions_sha256=closure.definitions_sha256,
        policy_sha256=budget.sha256,
        **asdict(budget),
        base_relation_object_ids=list(closure.base_object_ids),
        dependency_edges=[
            {"from_object_id": source, "to_object_id": target, "dependency_kind": kind}
            for source, target, kind in closure.edges
        ],
    )


def normalised_definition(text: str) -> str:
    """Drop what does not belong to a module's meaning and differs by client: line ends and outer blanks."""
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").strip().split("\n"))


@dataclass(slots=True)
class _Walk:
    loaded: LoadedSnapshot
    budget: ReadBudget
    target: CatalogObject | None
    seen: set[int] = field(default_factory=set)
    bases: set[int] = field(default_factory=set)
    edges: set[tuple[int, int, str]] = field(default_factory=set)
    definitions: dict[int, str] = field(default_factory=dict)
    reasons: dict[tuple[Code, str], Reason] = field(default_factory=dict)

    def refuse(self, code: Code, message: str) -> None:
        self.reasons.setdefault((code, message), Reason(code, message))

    def absent(self, name: str) -> tuple[Code, str]:
        """An object that the reader can't see is not an object that isn't there."""
        if self.loaded.snapshot.view_definition:
            return Code.CATALOG_UNRESOLVED, f"{name} is not in the catalog"
        return Code.CATALOG_INVISIBLE, f"{name} is not visible to the reader of the catalog"

    def visit(self, item: CatalogObject, path: tuple[int, ...], named: str) -> None:
        if item.object_id in path:
            self.refuse(Code.CATALOG_CYCLE, f"{named} depends on itself")
            return
        if self.target is not None and item.object_id == self.target.object_id:
            self.refuse(Code.CATALOG_TARGET, f"the target is read through {named}")
            return
        if len(path) > self.budget.max_depth:
            self.refuse(Code.CATALOG_BUDGET, f"deeper than max_depth {self.budget.max_depth}")
            return
        if item.type not in _KINDS:
            self.refuse(Code.CATALOG_KIND, f"{named} is {_NAMES[item.type]}")
            return
        if item.object_id in self.seen:
            return
        self.seen.add(item.object_id)
        if len(self.seen) > self.budget.max_nodes:
            self.refuse(Code.CATALOG_BUDGET, f"more objects than max_nodes {self.budget.max_nodes}")
            return
        if item.type == "U":
            self._base(item, named)
        elif self._module(item, named):
            self._follow(item, path, named)

    def _base(self, item: CatalogObject, named: str) -> None:
        if item.computed_columns:
            self.refuse(
                Code.CATALOG_COMPUTED_COLUMN, f"{named} has computed column {item.computed_columns[0]}"
            )
        self.bases.add(item.object_id)

    def _module(self, item: CatalogObject, named: str) -> bool:
        if item.encrypted:
            self.refuse(Code.CATALOG_ENCRYPTED, f"{named} is encrypted")
        elif item.definition is None:
            self.refuse(Code.CATALOG_INVISIBLE, f"the definition of {named} is not visible")
        elif not item.schema_bound:
            self.refuse(Code.CATALOG_UNBOUND, f"{named} is not schema-bound")
        else:
            self.definitions[item.object_id] = normalised_definition(item.definition)
            size = sum(len(text.encode()) for text in self.definitions.values())
            if size > self.budget.max_definition_bytes:
                limit = self.budget.max_definition_bytes
                self.refuse(Code.CATALOG_BUDGET, f"definitions are larger than max_definition_bytes {limit}")
                return False
            return True
        return False

    def _follow(self, item: CatalogObject, path: tuple[int, ...], named: str) -> None:
        dependencies = self.loaded.snapshot.outgoing.get(item.object_id, ())
        if not dependencies:
            self.refuse(Code.CATALOG_UNRESOLVED, f"the catalog has no dependencies of {named}")
        for dependency in dependencies:
            found = self._referenced(dependency, named)
            if found is None:
                continue
            kind = _KINDS.get(found.type)
            if kind is not None and not self._add_edge((item.object_id, found.object_id, kind)):
                return
            self.visit(found, (*path, item.object_id), f"{found.schema_name}.{found.name}")

    def _referenced(self, dependency: CatalogDependency, named: str) -> CatalogObject | None:
        snapshot = self.loaded.snapshot
        elsewhere = dependency.database is not None and not snapshot.rules.surely_equal(
            dependency.database, snapshot.database
        )
        if dependency.server is not None or elsewhere:
            self.refuse(
                Code.CATALOG_CROSS_DATABASE, f"{named} reads {dependency.name} of another database or server"
            )
            return None
        if dependency.caller_dependent or dependency.ambiguous:
            self.refuse(
                Code.CATALOG_CALLER_DEPENDENT,
                f"what {dependency.name} means in {named} depends on the caller",
            )
            return None
        found = snapshot.by_id.get(dependency.to_object_id or 0)
        if found is None:
            self.refuse(*self.absent(f"{dependency.name}, read by {named},"))
        return found

    def _add_edge(self, edge: tuple[int, int, str]) -> bool:
        if edge not in self.edges and len(self.edges) == self.budget.max_edges:
            self.refuse(Code.CATALOG_BUDGET, f"more dependencies than max_edges {self.budget.max_edges}")
            return False
        self.edges.add(edge)
        return True

    def closure(self) -> ReadClosure:
        definitions: list[Json] = [
            {"definition": text, "object_id": key} for key, text in sorted(self.definitions.items())
        ]
        depth = longest_path([(source, target) for source, target, _ in self.edges])
        if depth is not None and depth > self.budget.max_depth:
            self.refuse(Code.CATALOG_BUDGET, f"deeper than max_depth {self.budget.max_depth}")
        if not self.bases and not self.reasons:
            self.refuse(Code.SQL_NO_RELATION, "the query leads to no base table")
        return ReadClosure(
            tuple(sorted(self.bases)),
            tuple(sorted(self.edges)),
            digest_of({"schema": "dpone.normalised-definitions.v1", "modules": definitions}),
            tuple(sorted(self.reasons.values(), key=lambda reason: reason.sort_key)),
        )
