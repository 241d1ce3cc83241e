"""The live catalog: the read-dependency closure of a model as one snapshot, and the DDL epochs over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpone_contracts.catalog import CatalogColumn, CatalogEdge, CatalogObject, CatalogSnapshot, ObjectKind
from dpone_contracts.effects import Reason
from dpone_contracts.relations import SqlRelation
from dpone_mssql.batches import Statements
from dpone_mssql.connection import (
    Refused,
    SqlServerError,
    before_commit,
    commit_serializable,
    read_committed,
    read_consistently,
)
from dpone_mssql.heads import require_one
from dpone_mssql.literals import local_name

if TYPE_CHECKING:
    from dpone_contracts.catalog import ClosureBudget
    from dpone_contracts.effects import EffectResult
    from dpone_mssql.connection import Session, SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames

_KINDS = {
    "U": ObjectKind.BASE_TABLE,
    "V": ObjectKind.VIEW,
    "IF": ObjectKind.INLINE_FUNCTION,
    "TF": ObjectKind.MULTI_STATEMENT_FUNCTION,
    "FN": ObjectKind.SCALAR_FUNCTION,
    "FS": ObjectKind.CLR_FUNCTION,
    "FT": ObjectKind.CLR_FUNCTION,
    "AF": ObjectKind.CLR_FUNCTION,
    "P": ObjectKind.PROCEDURE,
    "PC": ObjectKind.PROCEDURE,
    "X": ObjectKind.PROCEDURE,
    "SN": ObjectKind.SYNONYM,
    "ET": ObjectKind.EXTERNAL_TABLE,
}
_MODULES = frozenset(
    {
        ObjectKind.VIEW,
        ObjectKind.INLINE_FUNCTION,
        ObjectKind.MULTI_STATEMENT_FUNCTION,
        ObjectKind.SCALAR_FUNCTION,
        ObjectKind.PROCEDURE,
    }
)


def spelled_type(name: str, max_length: int, precision: int, scale: int) -> str:
    """Spell a catalog type as plans do: `decimal(18,4)`, `nvarchar(max)`, `datetime2(6)`, `int`."""
    match name:
        case "decimal" | "numeric":
            return f"{name}({precision},{scale})"
        case "datetime2" | "time" | "datetimeoffset":
            return f"{name}({scale})"
        case "nvarchar" | "nchar":
            return f"{name}({'max' if max_length < 0 else max_length // 2})"
        case "varchar" | "char" | "varbinary" | "binary":
            return f"{name}({'max' if max_length < 0 else max_length})"
        case _:
            return name


@dataclass
class _Walk:
    """A breadth-first walk from the roots that stops at the first exceeded budget."""

    budget: ClosureBudget
    objects: dict[int, CatalogObject] = field(default_factory=dict)
    edges: set[CatalogEdge] = field(default_factory=set)
    exceeded: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    definition_bytes: int = 0
    depth: int = 0

    def within(self) -> bool:
        limits = (
            ("max_nodes", len(self.objects), self.budget.max_nodes),
            ("max_edges", len(self.edges), self.budget.max_edges),
            ("max_depth", self.depth, self.budget.max_depth),
            ("max_definition_bytes", self.definition_bytes, self.budget.max_definition_bytes),
        )
        self.exceeded = [f"{name}: {found} of {limit}" for name, found, limit in limits if found > limit]
        return not self.exceeded


class MssqlCatalog:
    """`CatalogReader` of one database."""

    def __init__(self, config: SqlServerConfig) -> None:
        self._config = config
        self._sql = Statements("catalog/closure.sql")

    def snapshot(self, roots: tuple[SqlRelation, ...], budget: ClosureBudget) -> CatalogSnapshot:
        """Walk what the named relations depend on; what a lock or a permission hides is said in `unreadable`."""
        walk = _Walk(budget)
        database, collation = "", ""
        found: list[tuple[SqlRelation, int | None]] = [(root, None) for root in sorted(set(roots))]
        try:
            database, collation, found = read_committed(
                self._config, lambda session: self._walk(session, roots, walk)
            )
        except SqlServerError as error:
            walk.unreadable.append(
                f"{before_commit(error).observed}: nothing of the catalog counts as absent"
            )
        return CatalogSnapshot(
            database=database,
            collation=collation,
            roots=tuple(found),
            objects=tuple(sorted(walk.objects.values(), key=lambda seen: seen.object_id)),
            edges=tuple(sorted(walk.edges, key=_edge_order)),
            depth=walk.depth,
            exceeded=tuple(walk.exceeded),
            unreadable=tuple(walk.unreadable),
        )

    def _walk(
        self, session: Session, roots: tuple[SqlRelation, ...], walk: _Walk
    ) -> tuple[str, str, list[tuple[SqlRelation, int | None]]]:
        database, collation = (str(value) for value in session.rows(self._sql["database"])[0])
        found: list[tuple[SqlRelation, int | None]] = []
        for root in sorted(set(roots)):
            named = (
                session.rows(self._sql["object_by_name"], local_name(root))[0][0]
                if root.database == database
                else None
            )
            found.append((root, None if named is None else int(named)))
        level = sorted({object_id for _, object_id in found if object_id is not None})
        while level and walk.within():
            following: set[int] = set()
            for object_id in level:
                seen = self._object(session, database, object_id, walk)
                if seen is not None and seen.kind in _MODULES:
                    following |= self._edges(session, object_id, walk)
            level = sorted(following - set(walk.objects))
            walk.depth += 1 if level else 0
        walk.within()
        return database, collation, found

    def _object(self, session: Session, database: str, object_id: int, walk: _Walk) -> CatalogObject | None:
        rows = session.rows(self._sql["object"], object_id)
        if len(rows) != 1:
            walk.unreadable.append(f"object {object_id} is not visible")
            return None
        _, schema, name, kind, _, encrypted, bound, definition, external, predicates = rows[0]
        relation = SqlRelation(database, str(schema), str(name))
        seen = CatalogObject(
            object_id=object_id,
            relation=relation,
            kind=ObjectKind.EXTERNAL_TABLE if external else _KINDS.get(str(kind).strip(), ObjectKind.OTHER),
            definition=None if definition is None else str(definition),
            encrypted=encrypted == 1,
            schema_bound=bound == 1,
            columns=self._columns(session, object_id),
            row_security=bool(predicates),
            indexes=tuple(sorted(str(row[0]) for row in session.rows(self._sql["indexes"], object_id))),
        )
        if session.rows(self._sql["may_view_definition"], relation.schema, relation.name)[0][0] != 1:
            walk.unreadable.append(f"no VIEW DEFINITION on {relation}")
        if seen.definition is not None:
            walk.definition_bytes += len(seen.definition.encode("utf-16-le"))
        walk.objects[object_id] = seen
        return seen

    def _columns(self, session: Session, object_id: int) -> tuple[CatalogColumn, ...]:
        return tuple(_column(row) for row in session.rows(self._sql["columns"], object_id))

    def _edges(self, session: Session, object_id: int, walk: _Walk) -> set[int]:
        targets: set[int] = set()
        for referenced, server, database, schema, name, bound, caller, ambiguous in session.rows(
            self._sql["edges"], object_id
        ):
            walk.edges.add(
                CatalogEdge(
                    from_object_id=object_id,
                    to_object_id=None if referenced is None else int(referenced),
                    to_server=None if server is None else str(server),
                    to_database=None if database is None else str(database),
                    to_schema=None if schema is None else str(schema),
                    to_name=str(name),
                    schema_bound=bool(bound),
                    caller_dependent=bool(caller),
                    ambiguous=bool(ambiguous),
                )
            )
            if referenced is not None and database is None and server is None:
                targets.add(int(referenced))
        return targets


def _column(row: tuple[Any, ...]) -> CatalogColumn:
    (
        column_id,
        name,
        kind,
        length,
        precision,
        scale,
        nullable,
        collation,
        computed,
        expression,
        user_defined,
        masked,
        encryption,
        generated,
    ) = row
    return CatalogColumn(
        column_id=int(column_id),
        name=str(name),
        type_name=spelled_type(str(kind), int(length), int(precision), int(scale)),
        nullable=bool(nullable),
        collation=None if collation is None else str(collation),
        computed=bool(computed),
        expression=None if expression is None else str(expression),
        user_type=str(kind) if user_defined else None,
        masked=bool(masked),
        encrypted=bool(encryption),
        generated_always=bool(generated),
    )


def _edge_order(edge: CatalogEdge) -> tuple[int, int, str, str, str, str]:
    return (
        edge.from_object_id,
        edge.to_object_id or 0,
        edge.to_server or "",
        edge.to_database or "",
        edge.to_schema or "",
        edge.to_name,
    )


class MssqlDdlFreeze:
    """`DdlFreeze` on the control schema."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._sql = Statements("state/ddl_epoch.sql", control=names.schema)

    def cover(self, target: SqlRelation, closure_object_ids: tuple[int, ...]) -> EffectResult[int]:
        """Cover the target and the closure; new objects under an old epoch move it."""

        def cover(tx: Transaction) -> int:
            found = tx.rows(self._sql["object_id"], local_name(target))[0][0]
            if found is None:
                raise Refused(Reason("DPONE_TARGET_ABSENT", f"{target} is no table here", {}))
            own = int(found)
            epoch = self._epoch(tx, own)
            wanted = {own, *closure_object_ids}
            missing = sorted(wanted - {int(row[0]) for row in tx.rows(self._sql["covered"], own)})
            if epoch is None:
                require_one(tx.write(self._sql["insert_epoch"], own), "DDL epoch")
            elif missing:
                require_one(tx.write(self._sql["move_epoch"], own, epoch), "DDL epoch")
            for object_id in missing:
                require_one(tx.write(self._sql["insert_coverage"], own, object_id), "DDL coverage")
            return self._epoch(tx, own) or 0

        return commit_serializable(self._config, cover, unknown_code="DPONE_DDL_FREEZE_COMMIT_UNKNOWN")

    def epoch(self, target: SqlRelation) -> int | None:
        """Read the epoch of a covered target."""

        def read(tx: Transaction) -> int | None:
            found = tx.rows(self._sql["object_id"], local_name(target))[0][0]
            return None if found is None else self._epoch(tx, int(found))

        return read_consistently(self._config, read)

    def _epoch(self, tx: Transaction, target_object_id: int) -> int | None:
        found = tx.one(self._sql["epoch"], target_object_id)
        return None if found is None else int(found[0])
