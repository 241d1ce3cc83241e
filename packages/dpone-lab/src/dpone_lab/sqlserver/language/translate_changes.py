"""INSERT, UPDATE, DELETE and SELECT INTO: the target by its real name, joined rows found by their address, OUTPUT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.conversions import store
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Assignment,
    Binary,
    ColumnRef,
    Delete,
    Expression,
    Insert,
    Join,
    Literal,
    ObjectName,
    Output,
    Source,
    Star,
    TableSource,
    Update,
)
from dpone_lab.sqlserver.language.name_scopes import NameScope, make_source
from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator
from dpone_lab.sqlserver.language.translate_queries import QueryTranslator
from dpone_lab.sqlserver.language.translate_sources import SourceTranslator
from dpone_lab.sqlserver.language.translation import Column, Relation, ResultColumn
from dpone_lab.sqlserver.language.types import BIGINT
from dpone_lab.sqlserver.language.values import Value, cast, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.language.statement_context import StatementContext

_ADDRESS = "#address"
_CHANGED = "#changed"


class ChangeTranslator:
    """Translates one data change."""

    def __init__(self, context: StatementContext) -> None:
        self.context = context
        self.queries = QueryTranslator(context)

    # --- INSERT ---------------------------------------------------------------------------------------------------

    def insert(self, node: Insert) -> tuple[str, tuple[ResultColumn, ...]]:
        """Return the statement and the columns of its OUTPUT."""
        target = self._changeable(node.target.name)
        self.context.lock_for_change(target)
        with self.queries.common_tables(node.common_tables) as prefix:
            columns = _insert_columns(node, target)
            names = ", ".join(quote_name(column.name) for column in columns)
            sql = f"INSERT INTO {target.postgres}"
            if node.query is None and not node.rows:
                sql += " DEFAULT VALUES"
            elif node.rows:
                sql += f" ({names}) VALUES {self._rows(node.rows, columns, explicit=bool(node.columns))}"
            else:
                sql += f" ({names}) {self._selected(node, columns)}"
            return self._with_output(prefix, sql, node.output, target, ("inserted",))

    def _rows(
        self, rows: Sequence[Sequence[Expression]], columns: Sequence[Column], *, explicit: bool
    ) -> str:
        translator = ExpressionTranslator(self.context, NameScope(), self.queries)
        texts: list[str] = []
        for row in rows:
            if len(row) != len(columns):
                raise _wrong_number(len(row), len(columns), explicit=explicit, selected=False)
            items = [
                "DEFAULT"
                if isinstance(item, Literal) and item.kind == "default"
                else store(translator.value(item), column.type, column.name).sql
                for item, column in zip(row, columns, strict=True)
            ]
            texts.append(f"({', '.join(items)})")
        return ", ".join(texts)

    def _selected(self, node: Insert, columns: Sequence[Column]) -> str:
        assert node.query is not None
        translated = self.queries.query(node.query)
        if len(translated.columns) != len(columns):
            raise _wrong_number(
                len(translated.columns), len(columns), explicit=bool(node.columns), selected=True
            )
        return self._stored(translated.sql, translated.columns, columns)

    def _stored(self, sql: str, given: Sequence[ResultColumn], columns: Sequence[Column]) -> str:
        """Return a SELECT that converts a query's columns to those of a table."""
        alias = self.context.fresh_name()
        names = [f"c{index}" for index in range(len(given))]
        items = ", ".join(
            store(Value(f'"{alias}".{name}', source.type), column.type, column.name).sql
            for name, source, column in zip(names, given, columns, strict=True)
        )
        return f'SELECT {items} FROM ({sql}) AS "{alias}"({", ".join(names)})'

    # --- UPDATE and DELETE ----------------------------------------------------------------------------------------

    def update(self, node: Update) -> tuple[str, tuple[ResultColumn, ...]]:
        """Return the statement and the columns of its OUTPUT."""
        with self.queries.common_tables(node.common_tables) as prefix:
            target, sources, reference = self._target(node.target, node.sources)
            columns = [_column(target, assignment.column) for assignment in node.assignments]
            _require_distinct(columns)
            if not node.sources and node.top is None:
                scope, alias = self._own_scope(target)
                values = self._assigned(node.assignments, columns, scope, reference)
                settings = ", ".join(
                    f"{quote_name(column.name)} = {sql}" for column, sql in zip(columns, values, strict=True)
                )
                where = self._where(node, scope)
                sql = f"UPDATE {target.postgres} AS {quote_name(alias)} SET {settings}{where}"
                return self._with_output(prefix, sql, node.output, target, ("inserted", "deleted"))
            found = self._found_rows(node, sources, reference, (node.assignments, columns))
            settings = ", ".join(
                f'{quote_name(column.name)} = "{found[1]}"."v{index}"' for index, column in enumerate(columns)
            )
            sql = (
                f'UPDATE {target.postgres} AS "{_CHANGED}" SET {settings} FROM {found[0]}'
                f' WHERE "{_CHANGED}".ctid = "{found[1]}"."{_ADDRESS}"'
            )
            return self._with_output(prefix, sql, node.output, target, ("inserted", "deleted"))

    def delete(self, node: Delete) -> tuple[str, tuple[ResultColumn, ...]]:
        """Return the statement and the columns of its OUTPUT."""
        with self.queries.common_tables(node.common_tables) as prefix:
            target, sources, reference = self._target(node.target, node.sources)
            if not node.sources and node.top is None:
                scope, alias = self._own_scope(target)
                sql = f"DELETE FROM {target.postgres} AS {quote_name(alias)}{self._where(node, scope)}"
            else:
                found = self._found_rows(node, sources, reference, None)
                sql = (
                    f'DELETE FROM {target.postgres} AS "{_CHANGED}" USING {found[0]}'
                    f' WHERE "{_CHANGED}".ctid = "{found[1]}"."{_ADDRESS}"'
                )
            return self._with_output(prefix, sql, node.output, target, ("deleted",))

    def _target(
        self, target: TableSource, sources: Sequence[Source]
    ) -> tuple[Relation, tuple[Source, ...], TableSource]:
        """Find what is changed: an alias of FROM, a table that FROM names once, or a table of its own."""
        tables = [table for source in sources for table in _tables(source)]
        reference: TableSource | None = None
        if target.name.schema is None:
            wanted = target.name.name.lower()
            reference = next(
                (table for table in tables if (table.alias or table.name.name).lower() == wanted), None
            )
        if reference is None:
            relation = self._changeable(target.name)
            same = [table for table in tables if self._names(table, relation)]
            if len(same) > 1:
                raise SqlServerError(8154, f"The table '{target.name}' is ambiguous.")
            reference = same[0] if same else target
            if not same:
                sources = (target, *sources)
        relation = self._changeable(reference.name)
        self.context.lock_for_change(relation)
        return relation, tuple(sources), reference

    def _names(self, table: TableSource, relation: Relation) -> bool:
        if self.queries.common_table(table.name.name) is not None and table.name.schema is None:
            return False
        found = self.context.find(table.name)
        return found is not None and found.postgres == relation.postgres

    def _changeable(self, name: ObjectName) -> Relation:
        if name.schema is None and self.queries.common_table(name.name) is not None:
            raise unsupported("change through a common table expression")
        relation = self.context.require(name)
        if relation.kind == "VIEW":
            raise unsupported("change through a view")
        if relation.kind == "SYSTEM":
            raise SqlServerError(259, "Ad hoc updates to system catalogs are not allowed.")
        return relation

    def _own_scope(self, target: Relation) -> tuple[NameScope, str]:
        alias = self.context.unique_alias(target.name)
        scope = NameScope()
        path = (self.context.catalog.database.lower(), target.schema.lower(), target.name.lower())
        scope.add(
            make_source(
                target.name,
                alias,
                ((column.name, column.type, column.is_identity) for column in target.columns),
                path,
            )
        )
        return scope, alias

    def _assigned(
        self,
        assignments: Sequence[Assignment],
        columns: Sequence[Column],
        scope: NameScope,
        reference: TableSource,
    ) -> list[str]:
        translator = ExpressionTranslator(self.context, scope, self.queries)
        exposed = reference.alias or reference.name.name
        result: list[str] = []
        for assignment, column in zip(assignments, columns, strict=True):
            if column.is_identity:
                raise SqlServerError(8102, f"Cannot update identity column '{column.name}'.")
            value = assignment.value
            if isinstance(value, Literal) and value.kind == "default":
                raise unsupported("UPDATE … SET column = DEFAULT")
            if assignment.operator is not None:
                value = Binary(assignment.operator, ColumnRef(column.name, (exposed,)), value)
            result.append(store(translator.value(value), column.type, column.name).sql)
        return result

    def _where(self, node: Update | Delete, scope: NameScope) -> str:
        if node.where is None:
            return ""
        return f" WHERE {ExpressionTranslator(self.context, scope, self.queries).condition(node.where)}"

    def _found_rows(
        self,
        node: Update | Delete,
        sources: Sequence[Source],
        reference: TableSource,
        assigned: tuple[Sequence[Assignment], Sequence[Column]] | None,
    ) -> tuple[str, str]:
        """Return a derived table of the rows to change, by address, with the values they get; and its alias."""
        scope = NameScope()
        translator = SourceTranslator(self.context, self.queries)
        translator.target = reference
        from_sql = translator.sources(sources, scope)
        values = [] if assigned is None else self._assigned(*assigned, scope, reference)
        items = [f'{quote_name(translator.target_alias)}.ctid AS "{_ADDRESS}"']
        items += [f'{sql} AS "v{index}"' for index, sql in enumerate(values)]
        limit = ""
        if node.top is not None:
            constants = ExpressionTranslator(self.context, NameScope(), self.queries)
            limit = f" LIMIT {constants.as_type(node.top, BIGINT)}"
        alias = self.context.fresh_name()
        sql = f"SELECT {', '.join(items)}{from_sql}{self._where(node, scope)}{limit}"
        return f'({sql}) AS "{alias}"', alias

    # --- OUTPUT ---------------------------------------------------------------------------------------------------

    def _with_output(
        self, prefix: str, sql: str, output: Output | None, target: Relation, tables: tuple[str, ...]
    ) -> tuple[str, tuple[ResultColumn, ...]]:
        if output is None:
            return prefix + sql, ()
        scope = NameScope()
        for table in tables:
            scope.add(
                make_source(
                    table,
                    {"inserted": "new", "deleted": "old"}[table],
                    ((column.name, column.type, False) for column in target.columns),
                )
            )
        translator = ExpressionTranslator(self.context, scope, self.queries)
        flat: list[tuple[str, Value]] = []
        for item in output.items:
            if isinstance(item.expression, Star):
                flat += [(column.name, column.value) for column in scope.expand(item.expression)]
            else:
                flat.append((item.alias or "", translator.value(item.expression)))
        columns = tuple(ResultColumn(name, value.type) for name, value in flat)
        texts = [f'{cast(value.sql, value.type)} AS "o{index}"' for index, (_, value) in enumerate(flat)]
        returning = f"{sql} RETURNING {', '.join(texts)}"
        if output.into is None:
            return prefix + returning, columns
        into = self._changeable(output.into)
        self.context.lock_for_change(into)
        wanted = _insert_columns(Insert(TableSource(output.into), output.into_columns), into)
        if len(wanted) != len(columns):
            raise _wrong_number(len(columns), len(wanted), explicit=bool(output.into_columns), selected=True)
        alias = self.context.fresh_name()
        names = ", ".join(quote_name(column.name) for column in wanted)
        changes = f'"{alias}" AS ({returning})'
        whole = f"{prefix.rstrip()}, {changes}" if prefix else f"WITH {changes}"
        selected = self._stored(f'SELECT * FROM "{alias}"', columns, wanted)
        return f"{whole} INSERT INTO {into.postgres} ({names}) {selected}", ()


def _tables(source: Source) -> list[TableSource]:
    if isinstance(source, TableSource):
        return [source]
    if isinstance(source, Join):
        return _tables(source.left) + _tables(source.right)
    return []


def _column(target: Relation, name: str) -> Column:
    for column in target.columns:
        if column.name.lower() == name.lower():
            return column
    raise SqlServerError(Number.INVALID_COLUMN, f"Invalid column name '{name}'.")


def _require_distinct(columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise SqlServerError(
                264, f"The column name '{name}' is specified more than once in the SET clause or column list."
            )


def _insert_columns(node: Insert, target: Relation) -> list[Column]:
    if not node.columns:
        return [column for column in target.columns if not column.is_identity]
    columns = [_column(target, name) for name in node.columns]
    _require_distinct(columns)
    for column in columns:
        if column.is_identity:
            raise SqlServerError(
                544,
                f"Cannot insert explicit value for identity column in table '{target.name}' when IDENTITY_INSERT is set to OFF.",
            )
    return columns


def _wrong_number(given: int, wanted: int, *, explicit: bool, selected: bool) -> SqlServerError:
    if not explicit:
        return SqlServerError(
            Number.INSERT_COUNT_MISMATCH,
            "Column name or number of supplied values does not match table definition.",
        )
    if selected:
        number = Number.INSERT_SELECT_FEWER if given < wanted else Number.INSERT_SELECT_MORE
        source = "select list"
    else:
        number = Number.INSERT_MORE_VALUES if given > wanted else Number.INSERT_FEWER_VALUES
        source = "VALUES clause"
    compared = "fewer" if given < wanted else "more"
    return SqlServerError(
        number, f"The {source} for the INSERT statement contains {compared} items than the insert list."
    )
