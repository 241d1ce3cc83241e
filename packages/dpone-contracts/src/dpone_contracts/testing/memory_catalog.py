"""Catalog reader, DDL epochs and relation observers in memory."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpone_contracts.canonical import digest_of
from dpone_contracts.catalog import CatalogEdge, CatalogObject, CatalogSnapshot, ClosureBudget
from dpone_contracts.effects import Applied, EffectResult
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.relation_observer import RelationObservation
from dpone_contracts.row_encoding import field_type, image_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.payload_types import WritableColumn
    from dpone_contracts.relations import SqlRelation
    from dpone_contracts.testing.memory_rows import Row


@dataclass(slots=True)
class MemoryCatalogReader:
    """`CatalogReader` over objects and edges that a test puts there."""

    database: str
    collation: str
    objects: list[CatalogObject] = field(default_factory=list)
    edges: list[CatalogEdge] = field(default_factory=list)
    unreadable: tuple[str, ...] = ()

    def snapshot(self, roots: tuple[SqlRelation, ...], budget: ClosureBudget) -> CatalogSnapshot:
        """The closure of the roots, walked breadth first within the budget."""
        ids = {each.relation: each.object_id for each in self.objects}
        level = {ids[root] for root in roots if root in ids}
        seen: set[int] = set()
        edges: list[CatalogEdge] = []
        depth = 0
        while level:
            seen |= level
            out = [edge for edge in self.edges if edge.from_object_id in level]
            edges += out
            level = {edge.to_object_id for edge in out if edge.to_object_id is not None} - seen
            depth += bool(level)
        objects = tuple(sorted((o for o in self.objects if o.object_id in seen), key=lambda o: o.object_id))
        spent = {
            "max_depth": (depth, budget.max_depth),
            "max_nodes": (len(objects), budget.max_nodes),
            "max_edges": (len(edges), budget.max_edges),
            "max_definition_bytes": (
                sum(len((o.definition or "").encode()) for o in objects),
                budget.max_definition_bytes,
            ),
        }
        return CatalogSnapshot(
            database=self.database,
            collation=self.collation,
            roots=tuple((root, ids.get(root)) for root in roots),
            objects=objects,
            edges=tuple(sorted(edges, key=lambda e: (e.from_object_id, e.to_object_id or 0, e.to_name))),
            depth=depth,
            exceeded=tuple(name for name, (used, most) in spent.items() if used > most),
            unreadable=self.unreadable,
        )


@dataclass(slots=True)
class MemoryDdlFreeze:
    """`DdlFreeze` over epochs by target; a test changes an object by `changed`."""

    covered: dict[SqlRelation, tuple[int, frozenset[int]]] = field(default_factory=dict)

    def cover(self, target: SqlRelation, closure_object_ids: tuple[int, ...]) -> EffectResult[int]:
        """Cover the target and the closure."""
        epoch, there = self.covered.get(target, (0, frozenset()))
        wanted = there | frozenset(closure_object_ids)
        if epoch == 0 or wanted != there:
            self.covered[target] = (epoch + 1, wanted)
        return Applied(self.covered[target][0])

    def epoch(self, target: SqlRelation) -> int | None:
        """The epoch of a covered target."""
        return self.covered[target][0] if target in self.covered else None

    def changed(self, object_id: int) -> None:
        """Somebody's DDL: every target that covers the object moves on."""
        for target, (epoch, ids) in list(self.covered.items()):
            if object_id in ids:
                self.covered[target] = (epoch + 1, ids)


@dataclass(slots=True)
class MemoryRelationObserver:
    """`RelationObserver` of one engine: rows by relation id, and the UUID of each where the engine has some."""

    tables: dict[str, list[Row]] = field(default_factory=dict)
    uuids: dict[str, str] = field(default_factory=dict)

    def observe(
        self, relation_id: str, columns: Sequence[WritableColumn], key: Sequence[str], event_time: str
    ) -> RelationObservation:
        """Observe a relation whole."""
        rows = self.tables.get(relation_id)
        if rows is None:
            raise DponeError("DPONE_TARGET_ABSENT", f"{relation_id} is not there", {})
        names = [column.name for column in columns]
        fields = [field_type(column.source_type) for column in columns]
        positions = [names.index(name) for name in key]
        keys = Counter(tuple(row[at] for at in positions) for row in rows)
        events = sorted(_instant(row[names.index(event_time)]) for row in rows)
        design = digest_of([[column.name, column.source_type, column.nullable] for column in columns])
        return RelationObservation(
            relation_id=relation_id,
            schema_sha256=design,
            physical_sha256=design,
            content_sha256=image_digest(fields, positions, rows),
            row_count=len(rows),
            duplicate_keys=sum(count > 1 for count in keys.values()),
            first_event=events[0] if events else None,
            last_event=events[-1] if events else None,
            uuid=self.uuids.get(relation_id),
        )


def _instant(value: object) -> str:
    assert isinstance(value, dt.date)
    at = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001
    return at.isoformat(timespec="microseconds") + "Z"
