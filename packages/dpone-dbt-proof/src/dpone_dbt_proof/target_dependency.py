"""Whether a relation that a model names is itself derived from the model's target, by any path of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.relations import SqlRelation
from dpone_dbt_proof.tsql import read_query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone_dbt_proof.manifest import Manifest, Node
    from dpone_dbt_proof.relation_names import NameRules


class TargetDependencies:
    """Follows declared and written dependencies of the project's models; written ones are read once a model."""

    def __init__(self, manifest: Manifest, rules: NameRules) -> None:
        self._manifest = manifest
        self._rules = rules
        self._by_name: dict[tuple[str, str], list[Node]] = {}
        self._written: dict[str, tuple[SqlRelation, ...]] = {}
        for node in manifest.of_type("model", "seed", "snapshot"):
            key = (rules.folded(str(node.schema)), rules.folded(str(node.identifier)))
            self._by_name.setdefault(key, []).append(node)

    def through(self, relation: SqlRelation, model: Node) -> str | None:
        """Return the name of the model that makes `relation` out of `model`'s target, None where none does."""
        waiting = [node for node in self._named(relation) if node.unique_id != model.unique_id]
        first = waiting[0].name if waiting else None
        seen: set[str] = set()
        while waiting:
            node = waiting.pop()
            if node.unique_id == model.unique_id:
                return first
            if node.unique_id in seen:
                continue
            seen.add(node.unique_id)
            waiting += [parent for key in node.depends_on if (parent := self._manifest.nodes.get(key))]
            waiting += [named for written in self._reads(node) for named in self._named(written)]
        return None

    def upstream(self, model: Node, reads: Iterable[SqlRelation]) -> set[str]:
        """Return every node that the model is made from: as dbt knows it, and as its and their SQL names them."""
        waiting = [*model.depends_on, *(node.unique_id for named in reads for node in self._named(named))]
        seen: set[str] = set()
        while waiting:
            key = waiting.pop()
            node = self._manifest.nodes.get(key)
            if node is None or key in seen:
                continue
            seen.add(key)
            waiting += node.depends_on
            waiting += [named.unique_id for written in self._reads(node) for named in self._named(written)]
        return seen

    def _named(self, relation: SqlRelation) -> list[Node]:
        key = (self._rules.folded(relation.schema), self._rules.folded(relation.name))
        candidates = self._by_name.get(key, [])
        return [
            node
            for node in candidates
            if self._rules.possibly_same(
                relation, SqlRelation(str(node.database), str(node.schema), str(node.identifier))
            )
        ]

    def _reads(self, node: Node) -> tuple[SqlRelation, ...]:
        if node.unique_id not in self._written:
            text = node.compiled_code if node.resource_type == "model" else None
            self._written[node.unique_id] = read_query(text, node.database or "").reads if text else ()
        return self._written[node.unique_id]
