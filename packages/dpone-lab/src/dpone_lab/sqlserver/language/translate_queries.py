"""Queries: SELECT with its sources, grouping, set operations, ORDER BY and TOP; views are inlined by their T-SQL body."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.comparison import sortable, trimmed
from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, keyword_near, unsupported
from dpone_lab.sqlserver.language.expressions import (
    ColumnRef,
    CommonTable,
    Expression,
    Literal,
    OrderItem,
    Query,
    QueryBody,
    Select,
    SelectItem,
    SetOperation,
    Star,
)
from dpone_lab.sqlserver.language.inference import common_type
from dpone_lab.sqlserver.language.name_scopes import NameScope, rename_columns
from dpone_lab.sqlserver.language.parse_queries import QueryParser
from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator
from dpone_lab.sqlserver.language.translate_sources import SourceTranslator
from dpone_lab.sqlserver.language.translation import ResultColumn
from dpone_lab.sqlserver.language.types import BIGINT, INT, SqlType, base_type
from dpone_lab.sqlserver.language.values import Value, cast, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpone_lab.sqlserver.language.statement_context import StatementContext

_DEEPEST_VIEW = 32


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """A query's text with its columns; ``identities`` tells which columns are an identity column itself."""

    sql: str
    columns: tuple[ResultColumn, ...]
    identities: tuple[bool, ...]


@lru_cache(maxsize=512)
def parse_view_body(body: str) -> Query:
    """Parse the stored T-SQL of a view."""
    parser = QueryParser(body)
    query = parser.query()
    if not parser.at_end():
        raise parser.unexpected()
    return query


class QueryTranslator:
    """Translates queries of one statement; ``tables`` are the common table expressions in sight."""

    def __init__(self, context: StatementContext) -> None:
        self.context = context
        self.tables: dict[str, tuple[str, tuple[ResultColumn, ...]]] = {}
        self._view_depth = 0
        self._unfinished: set[str] = set()

    # --- whole queries --------------------------------------------------------------------------------------------

    def subquery(self, query: Query, outer: NameScope) -> tuple[str, tuple[ResultColumn, ...]]:
        """Translate a query nested in an expression."""
        translated = self.query(query, outer, nested=True)
        return translated.sql, translated.columns

    def query(self, query: Query, outer: NameScope | None = None, *, nested: bool = False) -> TranslatedQuery:
        """Translate a query; ``nested`` forbids INTO, and ORDER BY without TOP or OFFSET (1033)."""
        if nested:
            _require_nestable(query)
        with self.common_tables(query.common_tables) as prefix:
            body = self._body(query.body, outer, query)
            return TranslatedQuery(prefix + body.sql, body.columns, body.identities)

    @contextmanager
    def common_tables(self, tables: Sequence[CommonTable]) -> Iterator[str]:
        """Bring common table expressions into sight; yields the WITH clause."""
        saved = dict(self.tables)
        texts: list[str] = []
        for table in tables:
            key = table.name.lower()
            self._unfinished.add(key)
            self.tables.pop(key, None)
            translated = self.query(table.query, nested=True)
            self._unfinished.discard(key)
            columns = rename_columns(translated.columns, table.columns, table.name)
            alias = self.context.unique_alias(table.name)
            names = ", ".join(quote_name(column.name) for column in columns)
            texts.append(f"{quote_name(alias)}({names}) AS ({translated.sql})")
            self.tables[key] = (alias, columns)
        try:
            yield f"WITH {', '.join(texts)} " if texts else ""
        finally:
            self.tables = saved

    def common_table(self, name: str) -> tuple[str, tuple[ResultColumn, ...]] | None:
        """Return the PostgreSQL name and columns of a common table expression in sight."""
        if name.lower() in self._unfinished and name.lower() not in self.tables:
            raise unsupported("recursive common table expression")
        return self.tables.get(name.lower())

    def view(self, body: str, schema: str) -> TranslatedQuery:
        """Translate a view's body where no outer name is in sight."""
        if self._view_depth >= _DEEPEST_VIEW:
            raise SqlServerError(
                217, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32)."
            )
        saved_tables, saved_unfinished = self.tables, self._unfinished
        saved_schema = self.context.view_schema
        self.tables, self._unfinished = {}, set()
        self.context.view_schema = schema
        self.context.reads_view = True
        self._view_depth += 1
        try:
            return self.query(parse_view_body(body), nested=True)
        finally:
            self.tables, self._unfinished = saved_tables, saved_unfinished
            self.context.view_schema = saved_schema
            self._view_depth -= 1

    # --- bodies ---------------------------------------------------------------------------------------------------

    def _body(
        self, body: QueryBody, outer: NameScope | None, query: Query | None, *, is_side: bool = False
    ) -> TranslatedQuery:
        if isinstance(body, Select):
            return self._select(body, outer, query, is_side=is_side)
        return self._set_operation(body, outer, query)

    def _set_operation(
        self, body: SetOperation, outer: NameScope | None, query: Query | None
    ) -> TranslatedQuery:
        left = self._body(body.left, outer, None, is_side=True)
        right = self._body(body.right, outer, None, is_side=True)
        if len(left.columns) != len(right.columns):
            raise SqlServerError(
                Number.UNION_COLUMN_COUNT,
                "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of "
                "expressions in their target lists.",
            )
        columns = tuple(
            ResultColumn(mine.name, _set_type(body.operator, mine, other))
            for mine, other in zip(left.columns, right.columns, strict=True)
        )
        sides = [self._converted(side, columns) for side in (left, right)]
        sql = f"({sides[0]}) {body.operator} ({sides[1]})"
        sql += self._order_of_set(columns, query) + self._limits(None, query)
        return TranslatedQuery(sql, columns, (False,) * len(columns))

    def _converted(self, side: TranslatedQuery, columns: Sequence[ResultColumn]) -> str:
        """Convert a side of a set operation to the types of the whole."""
        pairs = list(zip(side.columns, columns, strict=True))
        if all(
            base_type(own.type) == base_type(whole.type)
            and (own.type.same_type(whole.type) or not whole.type.is_fixed)
            for own, whole in pairs
        ):
            return side.sql
        alias = self.context.fresh_name()
        names = [f"c{index}" for index in range(len(pairs))]
        items = ", ".join(
            convert(Value(f'"{alias}".{name}', own.type), whole.type).sql
            for name, (own, whole) in zip(names, pairs, strict=True)
        )
        return f'SELECT {items} FROM ({side.sql}) AS "{alias}"({", ".join(names)})'

    def _order_of_set(self, columns: Sequence[ResultColumn], query: Query | None) -> str:
        if query is None or not query.order_by:
            return ""
        names = [column.name.lower() for column in columns]
        items: list[str] = []
        for item in query.order_by:
            position = _ordinal(item.expression, names)
            if position is None:
                raise SqlServerError(
                    104,
                    "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator.",
                )
            items.append(_by_position(position, descending=item.descending))
        return f" ORDER BY {', '.join(items)}"

    def _select(
        self, select: Select, outer: NameScope | None, query: Query | None, *, is_side: bool
    ) -> TranslatedQuery:
        """Translate one SELECT; as a side of a set operation its bare NULLs take the other side's type."""
        scope = NameScope(outer=outer)
        source_sql = SourceTranslator(self.context, self).sources(select.sources, scope)
        plain = ExpressionTranslator(self.context, scope, self)
        where = f" WHERE {plain.condition(select.where)}" if select.where is not None else ""
        group_sql, grouped = _group_by(plain, select.group_by)
        translator = ExpressionTranslator(self.context, scope, self, grouped)
        items = self._items(select.items, scope, translator)
        having = f" HAVING {translator.condition(select.having)}" if select.having is not None else ""
        columns = tuple(
            ResultColumn(name, INT if value.is_null and not is_side else value.type)
            for name, value, _ in items
        )
        texts = [cast(value.sql, column.type) for (_, value, _), column in zip(items, columns, strict=True)]
        names = [
            f"{text} AS {quote_name(column.name)}" if column.name else text
            for text, column in zip(texts, columns, strict=True)
        ]
        order = self._order_of_select(items, translator, query)
        distinct = "DISTINCT " if select.distinct else ""
        sql = f"SELECT {distinct}{', '.join(names)}{source_sql}{where}{group_sql}{having}{order}"
        sql += self._limits(select, query)
        return TranslatedQuery(sql, columns, tuple(value.is_identity for _, value, _ in items))

    def _items(
        self, items: Sequence[SelectItem], scope: NameScope, translator: ExpressionTranslator
    ) -> list[tuple[str, Value, Expression | None]]:
        result: list[tuple[str, Value, Expression | None]] = []
        for item in items:
            if isinstance(item.expression, Star):
                columns = scope.expand(item.expression)
                if not columns:
                    raise SqlServerError(263, "Must specify table to select from.")
                for column in columns:
                    value = column.value
                    replacement = translator.grouped.get(value.sql)
                    if replacement is not None:
                        value = Value(replacement, value.type, is_identity=value.is_identity)
                    result.append((column.name, value, ColumnRef(column.name)))
                continue
            value = translator.value(item.expression)
            result.append((item.alias or "", value, item.expression))
        return result

    def _order_of_select(
        self,
        items: Sequence[tuple[str, Value, Expression | None]],
        translator: ExpressionTranslator,
        query: Query | None,
    ) -> str:
        if query is None or not query.order_by:
            return ""
        names = [name.lower() for name, _, _ in items]
        expressions = [expression for _, _, expression in items]
        parts: list[str] = []
        for item in query.order_by:
            position = _ordinal(item.expression, names)
            if position is None and item.expression in expressions:
                position = expressions.index(item.expression)
            if position is not None:
                parts.append(_by_position(position, descending=item.descending))
            else:
                parts.append(_order_item(translator, item))
        return f" ORDER BY {', '.join(parts)}"

    def _limits(self, select: Select | None, query: Query | None) -> str:
        top = None if select is None else select.top
        constants = ExpressionTranslator(self.context, NameScope(), self)
        if query is not None and query.offset is not None:
            if top is not None:
                raise SqlServerError(
                    10741, "A TOP can not be used in the same query or sub-query as a OFFSET.", severity=15
                )
            sql = f" OFFSET {constants.as_type(query.offset, BIGINT)}"
            if query.fetch is not None:
                sql = f" LIMIT {constants.as_type(query.fetch, BIGINT)}{sql}"
            return sql
        if top is None:
            return ""
        return f" LIMIT {constants.as_type(top, BIGINT)}"


def _set_type(operator: str, left: ResultColumn, right: ResultColumn) -> SqlType:
    result = common_type([left.type, right.type])
    if operator == "EXCEPT":
        return result.with_null(left.type.nullable)
    if operator == "INTERSECT":
        return result.with_null(left.type.nullable and right.type.nullable)
    return result.with_null(left.type.nullable or right.type.nullable)


def _require_nestable(query: Query) -> None:
    bodies = [query.body]
    while bodies:
        body = bodies.pop()
        if isinstance(body, SetOperation):
            bodies += [body.left, body.right]
        elif body.into is not None:
            raise keyword_near("INTO")
        elif any(item.variable is not None for item in body.items):
            raise SqlServerError(Number.SYNTAX, "Incorrect syntax near '='.")
    has_top = isinstance(query.body, Select) and query.body.top is not None
    if query.order_by and query.offset is None and not has_top:
        raise SqlServerError(
            1033,
            "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table "
            "expressions, unless TOP, OFFSET or FOR XML is also specified.",
            severity=15,
        )


def _group_by(translator: ExpressionTranslator, keys: Sequence[Expression]) -> tuple[str, dict[str, str]]:
    """Return the GROUP BY clause and what stands for text keys outside aggregates."""
    grouped: dict[str, str] = {}
    texts: list[str] = []
    for key in keys:
        if isinstance(key, Literal):
            raise SqlServerError(
                164,
                "Each GROUP BY expression must contain at least one column that is not an outer reference.",
                severity=15,
            )
        value = translator.value(key)
        if value.type.is_character:
            # Groups ignore trailing blanks; which of the equal texts is shown is anybody's choice.
            grouped[value.sql] = f"any_value({value.sql})"
        texts.append(trimmed(value))
    return (f" GROUP BY {', '.join(texts)}" if texts else ""), grouped


def _ordinal(expression: Expression, names: Sequence[str]) -> int | None:
    """Return the position of the select item that an ORDER BY item names, by number or by name."""
    if isinstance(expression, Literal) and expression.kind == "int":
        position = int(expression.text) - 1
        if not 0 <= position < len(names):
            raise SqlServerError(
                Number.COLUMN_COUNT_ORDER_BY,
                f"The ORDER BY position number {position + 1} is out of range of the number of items in the select list.",
            )
        return position
    if isinstance(expression, ColumnRef) and not expression.qualifier and expression.name.lower() in names:
        return names.index(expression.name.lower())
    return None


def _by_position(position: int, *, descending: bool) -> str:
    return f"{position + 1}{' DESC NULLS LAST' if descending else ' NULLS FIRST'}"


def _order_item(translator: ExpressionTranslator, item: OrderItem) -> str:
    if isinstance(item.expression, Literal):
        raise SqlServerError(408, "A constant expression was encountered in the ORDER BY list.")
    return sortable(translator.value(item.expression), descending=item.descending)
