"""Table sources: names become PostgreSQL relations with locks, views their bodies, APPLY becomes LATERAL."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.expressions import (
    DerivedTable,
    FunctionTable,
    Join,
    Source,
    TableSource,
    ValuesTable,
)
from dpone_lab.sqlserver.language.inference import common_type
from dpone_lab.sqlserver.language.name_scopes import BoundSource, NameScope, make_source, rename_columns
from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator
from dpone_lab.sqlserver.language.translation import Relation, ResultColumn
from dpone_lab.sqlserver.language.values import Value, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.language.statement_context import StatementContext
    from dpone_lab.sqlserver.language.translate_queries import QueryTranslator
    from dpone_lab.sqlserver.language.types import SqlType


class SourceTranslator:
    """Translates the FROM clause of one query level.

    ``target`` is the relation that an UPDATE or DELETE changes: where it stands in FROM it takes no lock of its own
    and offers its row address under the alias ``target_alias``.
    """

    def __init__(self, context: StatementContext, queries: QueryTranslator) -> None:
        self.context = context
        self.queries = queries
        self.target: TableSource | None = None
        self.target_alias = ""

    def sources(self, sources: Sequence[Source], scope: NameScope) -> str:
        """Return the FROM clause with its leading blank, '' without sources; fills the scope."""
        if not sources:
            return ""
        texts: list[str] = []
        for source in sources:
            sql, bound = self._source(source, scope)
            texts.append(sql)
            for each in bound:
                scope.add(each)
        return f" FROM {', '.join(texts)}"

    def _source(self, source: Source, scope: NameScope) -> tuple[str, list[BoundSource]]:
        match source:
            case TableSource():
                return self._table(source)
            case DerivedTable():
                return self._derived(source, None)
            case ValuesTable():
                return self._values(source)
            case FunctionTable():
                return self._function(source, scope)
            case Join():
                return self._join(source, scope)
            case _:
                assert_never(source)

    # --- names ----------------------------------------------------------------------------------------------------

    def _table(self, source: TableSource) -> tuple[str, list[BoundSource]]:
        name = source.name
        if name.schema is None and name.database is None and not name.is_temporary:
            common = self.queries.common_table(name.name)
            if common is not None:
                read_by, columns = common
                return self._aliased(quote_name(read_by), source.alias or name.name, columns)
        relation = self.context.require(name)
        is_target = self.target is source
        if relation.kind == "VIEW":
            return self._view(relation, source)
        if not is_target:
            self.context.lock_for_reading(relation, source.hints)
        alias = self.context.unique_alias(source.alias or relation.name)
        if is_target:
            self.target_alias = alias
        path = () if source.alias else self._path(relation)
        bound = make_source(
            source.alias or relation.name,
            alias,
            ((column.name, column.type, column.is_identity) for column in relation.columns),
            path,
        )
        return f"{relation.postgres} AS {quote_name(alias)}", [bound]

    def _path(self, relation: Relation) -> tuple[str, ...]:
        return (self.context.catalog.database.lower(), relation.schema.lower(), relation.name.lower())

    def _view(self, relation: Relation, source: TableSource) -> tuple[str, list[BoundSource]]:
        assert relation.body is not None
        translated = self.queries.view(relation.body, relation.schema)
        names = relation.view_columns
        if len(names) != len(translated.columns):
            raise SqlServerError(
                4502,
                f"View or function '{relation.schema}.{relation.name}' has more column names specified than columns defined.",
            )
        columns = [
            ResultColumn(name, column.type) for name, column in zip(names, translated.columns, strict=True)
        ]
        alias = self.context.unique_alias(source.alias or relation.name)
        bound = make_source(
            source.alias or relation.name,
            alias,
            (
                (column.name, column.type, is_identity)
                for column, is_identity in zip(columns, translated.identities, strict=True)
            ),
            () if source.alias else self._path(relation),
        )
        listed = ", ".join(quote_name(column.name) for column in columns)
        return f"({translated.sql}) AS {quote_name(alias)}({listed})", [bound]

    # --- derived tables -------------------------------------------------------------------------------------------

    def _aliased(self, sql: str, name: str, columns: Sequence[ResultColumn]) -> tuple[str, list[BoundSource]]:
        alias = self.context.unique_alias(name)
        bound = make_source(name, alias, ((column.name, column.type, False) for column in columns))
        listed = ", ".join(quote_name(column.name) for column in columns)
        return f"{sql} AS {quote_name(alias)}({listed})", [bound]

    def _derived(self, source: DerivedTable, outer: NameScope | None) -> tuple[str, list[BoundSource]]:
        translated = self.queries.query(source.query, outer, nested=True)
        columns = rename_columns(translated.columns, source.columns, source.alias)
        return self._aliased(f"({translated.sql})", source.alias, columns)

    def _values(self, source: ValuesTable) -> tuple[str, list[BoundSource]]:
        translator = ExpressionTranslator(self.context, NameScope(), self.queries)
        rows = [[translator.value(item) for item in row] for row in source.rows]
        if len(source.columns) != len(rows[0]):
            raise SqlServerError(
                8158, f"'{source.alias}' has more columns than were specified in the column list."
            )
        types = [common_type([value.type for value in column]) for column in zip(*rows, strict=True)]
        texts = ", ".join(
            f"({', '.join(_converted(value, wanted) for value, wanted in zip(row, types, strict=True))})"
            for row in rows
        )
        columns = [ResultColumn(name, wanted) for name, wanted in zip(source.columns, types, strict=True)]
        return self._aliased(f"(VALUES {texts})", source.alias, columns)

    def _function(self, source: FunctionTable, scope: NameScope) -> tuple[str, list[BoundSource]]:
        relation = self.context.catalog.relation("sys", source.name.name)
        if relation is None:
            raise SqlServerError(208, f"Invalid object name '{source.name}'.")
        translator = ExpressionTranslator(self.context, scope, self.queries)
        arguments = ", ".join(translator.value(argument).sql for argument in source.arguments)
        columns = [ResultColumn(column.name, column.type) for column in relation.columns]
        return self._aliased(
            f"LATERAL {relation.postgres}({arguments})", source.alias or source.name.name, columns
        )

    # --- joins ----------------------------------------------------------------------------------------------------

    def _join(self, join: Join, scope: NameScope) -> tuple[str, list[BoundSource]]:
        left_sql, left = self._source(join.left, scope)
        if join.kind in ("CROSS APPLY", "OUTER APPLY"):
            return self._apply(join, left_sql, left, scope)
        right_sql, right = self._source(join.right, scope)
        if isinstance(join.right, Join):
            right_sql = f"({right_sql})"
        if join.kind == "CROSS":
            return f"{left_sql} CROSS JOIN {right_sql}", left + right
        assert join.on is not None
        inner = NameScope(outer=scope.outer)
        for source in (*left, *right):
            inner.add(source)
        on = ExpressionTranslator(self.context, inner, self.queries).condition(join.on)
        if join.kind in ("RIGHT", "FULL"):
            left = [source.nullable() for source in left]
        if join.kind in ("LEFT", "FULL"):
            right = [source.nullable() for source in right]
        return f"{left_sql} {join.kind} JOIN {right_sql} ON {on}", left + right

    def _apply(
        self, join: Join, left_sql: str, left: list[BoundSource], scope: NameScope
    ) -> tuple[str, list[BoundSource]]:
        inner = NameScope(outer=scope.outer)
        for source in (*scope.sources, *left):
            inner.add(source)
        if isinstance(join.right, DerivedTable):
            right_sql, right = self._derived(join.right, inner)
            right_sql = f"LATERAL {right_sql}"
        else:
            right_sql, right = self._source(join.right, inner)
        if join.kind == "CROSS APPLY":
            return f"{left_sql} CROSS JOIN {right_sql}", left + right
        return f"{left_sql} LEFT JOIN {right_sql} ON true", left + [source.nullable() for source in right]


def _converted(value: Value, wanted: SqlType) -> str:
    return convert(value, wanted).sql
