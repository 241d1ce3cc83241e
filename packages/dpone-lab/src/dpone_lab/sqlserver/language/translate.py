"""Translation of one parsed statement or expression to a plan over PostgreSQL; pure but for the catalog it asks.

See ``language.translation`` for the plan and how it is carried out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.errors import (
    Number,
    SqlServerError,
    already_exists,
    nested_too_deeply,
    unsupported,
)
from dpone_lab.sqlserver.language.expressions import (
    Condition,
    Delete,
    Expression,
    Insert,
    ObjectName,
    Query,
    QueryBody,
    Select,
    Update,
)
from dpone_lab.sqlserver.language.name_scopes import NameScope
from dpone_lab.sqlserver.language.statement_context import StatementContext
from dpone_lab.sqlserver.language.translate_changes import ChangeTranslator
from dpone_lab.sqlserver.language.translate_definitions import DefinitionTranslator, TranslatedDefinition
from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator
from dpone_lab.sqlserver.language.translate_queries import QueryTranslator, TranslatedQuery
from dpone_lab.sqlserver.language.translation import (
    DefinitionEvent,
    Kind,
    ResultColumn,
    Scope,
    Translation,
)
from dpone_lab.sqlserver.language.types import BIT, INT, SqlType
from dpone_lab.sqlserver.language.values import Value, cast, quote_name

Translatable: TypeAlias = Query | Insert | Update | Delete | TranslatedDefinition


def translate(node: Translatable, scope: Scope) -> Translation:
    """Return the plan of a query, data change or definition; raises SqlServerError before anything ran."""
    context = StatementContext(scope)
    try:
        return _translated(node, context)
    except RecursionError:
        raise nested_too_deeply() from None


def _translated(node: Translatable, context: StatementContext) -> Translation:
    match node:
        case Query():
            return _translate_query(node, context)
        case Insert():
            return _changed(Kind.INSERT, context, *ChangeTranslator(context).insert(node))
        case Update():
            return _changed(Kind.UPDATE, context, *ChangeTranslator(context).update(node))
        case Delete():
            return _changed(Kind.DELETE, context, *ChangeTranslator(context).delete(node))
        case _:
            return DefinitionTranslator(context).translate(node)


def translate_condition(condition: Condition, scope: Scope) -> Translation:
    """Return a plan that gives one row with one bool: whether the condition is true (unknown is false)."""
    context = StatementContext(scope)
    try:
        sql = ExpressionTranslator(context, NameScope(), QueryTranslator(context)).condition(condition)
    except RecursionError:
        raise nested_too_deeply() from None
    return _single(f"SELECT ({sql}) IS TRUE", BIT, context)


def translate_expression(expression: Expression, scope: Scope, target: SqlType | None = None) -> Translation:
    """Return a plan that gives one row with one value, converted to ``target`` as an assignment converts it."""
    context = StatementContext(scope)
    try:
        value = ExpressionTranslator(context, NameScope(), QueryTranslator(context)).value(expression)
    except RecursionError:
        raise nested_too_deeply() from None
    if target is not None:
        value = convert(value, target)
    sql_type = INT if value.is_null else value.type
    return _single(f"SELECT {cast(value.sql, sql_type)}", sql_type, context)


def _single(sql: str, sql_type: SqlType, context: StatementContext) -> Translation:
    return Translation(
        Kind.EXPRESSION,
        sql,
        parameters=context.parameters,
        columns=(ResultColumn("", sql_type),),
        locks=context.locks,
        counted=False,
        reads_view=context.reads_view,
    )


def _changed(
    kind: Kind, context: StatementContext, sql: str, columns: tuple[ResultColumn, ...]
) -> Translation:
    return Translation(
        kind,
        sql,
        parameters=context.parameters,
        columns=columns,
        locks=context.locks,
        domains=context.domains,
        reads_view=context.reads_view,
    )


def _translate_query(node: Query, context: StatementContext) -> Translation:
    select = node.body if isinstance(node.body, Select) else None
    queries = QueryTranslator(context)
    into = _into(node)
    if into is not None:
        plain = replace(node, body=_without_into(node.body))
        return _select_into(queries.query(plain), into, context)
    translated = queries.query(node)
    assigns = tuple(item.variable for item in select.items if item.variable) if select is not None else ()
    if assigns:
        sql = _assigned(translated, assigns, context)
        return Translation(
            Kind.ASSIGN,
            sql,
            parameters=context.parameters,
            columns=(),
            assigns=assigns,
            locks=context.locks,
            reads_view=context.reads_view,
        )
    return Translation(
        Kind.SELECT,
        translated.sql,
        parameters=context.parameters,
        columns=translated.columns,
        locks=context.locks,
        reads_view=context.reads_view,
    )


def _into(node: Query) -> ObjectName | None:
    """Return the INTO of a query's first SELECT; any other is a syntax error found further down."""
    body = node.body
    while not isinstance(body, Select):
        body = body.left
    return body.into


def _without_into(body: QueryBody) -> QueryBody:
    if isinstance(body, Select):
        return replace(body, into=None)
    return replace(body, left=_without_into(body.left))


def _assigned(translated: TranslatedQuery, assigns: tuple[str, ...], context: StatementContext) -> str:
    """Convert each value to its variable's type."""
    alias = context.fresh_name()
    names = [f"c{index}" for index in range(len(assigns))]
    items: list[str] = []
    for name, variable, column in zip(names, assigns, translated.columns, strict=True):
        target = context.scope.variables.get(variable)
        if target is None:
            raise SqlServerError(
                Number.UNDECLARED_VARIABLE, f'Must declare the scalar variable "{variable}".'
            )
        value = convert(Value(f'"{alias}".{name}', column.type), target)
        items.append(cast(value.sql, target))
    return f'SELECT {", ".join(items)} FROM ({translated.sql}) AS "{alias}"({", ".join(names)})'


def _select_into(translated: TranslatedQuery, into: ObjectName, context: StatementContext) -> Translation:
    _require_into_columns(translated.columns, into.name)
    if any(translated.identities):
        raise unsupported("SELECT INTO of an identity column")
    if into.is_temporary:
        if context.catalog.relation(None, into.name) is not None:
            raise already_exists(into.name)
        place, schema, temporary = quote_name(into.name), "", "TEMPORARY "
    else:
        schema = context.schema_for_creation(into)
        context.lock_for_definition(schema, into.name)
        if context.catalog.relation(schema, into.name) is not None:
            raise already_exists(into.name)
        place, temporary = f"{quote_name(schema)}.{quote_name(into.name)}", ""
    definitions = ", ".join(
        f"{quote_name(column.name)} {context.column_type(column.type)}{'' if column.type.nullable else ' NOT NULL'}"
        for column in translated.columns
    )
    alias = context.fresh_name()
    event = DefinitionEvent("CREATE_TABLE", "TABLE", schema, into.name) if schema else None
    return Translation(
        Kind.SELECT_INTO,
        f'INSERT INTO {place} SELECT * FROM ({translated.sql}) AS "{alias}"',
        parameters=context.parameters,
        prelude=(f"CREATE {temporary}TABLE {place} ({definitions})",),
        locks=context.locks,
        domains=context.domains,
        reads_view=context.reads_view,
        event=event,
    )


def _require_into_columns(columns: tuple[ResultColumn, ...], table: str) -> None:
    """Hold the columns of a new table against 1038 (no name) and 2705 (a name twice)."""
    seen: set[str] = set()
    for column in columns:
        if not column.name:
            raise SqlServerError(
                Number.NO_COLUMN_NAME,
                "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name.",
            )
        if column.name.lower() in seen:
            raise SqlServerError(
                Number.DUPLICATE_COLUMN,
                f"Column names in each table must be unique. Column name '{column.name}' in table '{table}' is specified more than once.",
            )
        seen.add(column.name.lower())
