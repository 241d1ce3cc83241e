"""What SQL Server's catalog shows of the objects that a model reads: a plain value that proofs are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpone_contracts.relations import SqlRelation


class ObjectKind(StrEnum):
    """Kinds of catalog objects, as far as the read-dependency policy tells them apart (specification, read dependency)."""

    BASE_TABLE = "BASE_TABLE"
    EXTERNAL_TABLE = "EXTERNAL_TABLE"
    VIEW = "VIEW"
    INLINE_FUNCTION = "INLINE_FUNCTION"
    MULTI_STATEMENT_FUNCTION = "MULTI_STATEMENT_FUNCTION"
    SCALAR_FUNCTION = "SCALAR_FUNCTION"
    CLR_FUNCTION = "CLR_FUNCTION"
    PROCEDURE = "PROCEDURE"
    SYNONYM = "SYNONYM"
    OTHER = "OTHER"


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """One column as the catalog has it.

    `type_name` is the full spelling that plans use (`decimal(18,4)`, `nvarchar(max)`, `datetime2(6)`);
    `user_type` is set where the column has an alias or CLR type; `expression` is the definition of a computed column.
    """

    column_id: int
    name: str
    type_name: str
    nullable: bool
    collation: str | None = None
    computed: bool = False
    expression: str | None = None
    user_type: str | None = None
    masked: bool = False
    encrypted: bool = False
    generated_always: bool = False


@dataclass(frozen=True, slots=True)
class CatalogObject:
    """One object of the closure.

    `definition` is the module's text; None with `encrypted` false means that the definition isn't visible.
    `schema_bound` is meant for modules only; `row_security` that an enabled security policy filters the table.
    `indexes` are the names of its indexes, sorted: dbt would drop one of a target that looks like its own.
    """

    object_id: int
    relation: SqlRelation
    kind: ObjectKind
    definition: str | None
    encrypted: bool
    schema_bound: bool
    columns: tuple[CatalogColumn, ...]
    row_security: bool = False
    indexes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogEdge:
    """One row of `sys.sql_expression_dependencies`, seen from the module that reads.

    `to_object_id` is None where the engine can't bind the name; the spelled parts tell what was written.
    """

    from_object_id: int
    to_object_id: int | None
    to_server: str | None
    to_database: str | None
    to_schema: str | None
    to_name: str
    schema_bound: bool
    caller_dependent: bool
    ambiguous: bool


@dataclass(frozen=True, slots=True)
class ClosureBudget:
    """Bounds of one closure walk; platform policy supplies every one of them, nothing is defaulted."""

    max_depth: int
    max_nodes: int
    max_edges: int
    max_definition_bytes: int


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """The closure of the named relations, read in one pass; `collation` is the database's.

    `roots` are the names that were asked for with the object id that each has (None: absent or invisible).
    `objects` are sorted by id and `edges` by (from, to, names). `depth` is the longest path from a root.
    `exceeded` names the budgets that stopped the walk; a snapshot with one proves nothing.
    `unreadable` says what permission or lock kept from being read, in words; empty when everything was seen.
    """

    database: str
    collation: str
    roots: tuple[tuple[SqlRelation, int | None], ...]
    objects: tuple[CatalogObject, ...]
    edges: tuple[CatalogEdge, ...]
    depth: int
    exceeded: tuple[str, ...]
    unreadable: tuple[str, ...]

    def object(self, object_id: int) -> CatalogObject | None:
        """The object of an id, if the walk has it."""
        return next((found for found in self.objects if found.object_id == object_id), None)
