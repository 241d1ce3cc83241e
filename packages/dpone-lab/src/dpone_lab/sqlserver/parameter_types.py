"""Types that SQL Server would suggest for undeclared parameters: those of the columns that they meet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.expressions import (
    Between,
    Cast,
    ColumnRef,
    Comparison,
    Delete,
    InList,
    Insert,
    Like,
    Query,
    Select,
    TableSource,
    Update,
    Variable,
)
from dpone_lab.sqlserver.language.parameter_definitions import parse_parameter_definitions
from dpone_lab.sqlserver.language.syntax import Declaration
from dpone_lab.sqlserver.language.tree_walk import walk
from dpone_lab.sqlserver.language.types import SqlType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_lab.sqlserver.language.expressions import ObjectName
    from dpone_lab.sqlserver.language.translation import Catalog, Relation

_NAME = re.compile(r"(?<![\w@])@\w+")
_UNKNOWN = SqlType("nvarchar", length=4000)


def suggest_types(text: str, declarations: str, catalog: Catalog) -> list[tuple[str, SqlType]]:
    """Return the undeclared parameters of a batch in order of appearance, each with its type.

    Raises 11503-like 11502 when a parameter meets nothing that has a type, as SQL Server does.
    """
    declared = (
        {name for name, _, _ in parse_parameter_definitions(declarations)} if declarations.strip() else set()
    )
    spelled = {name.lower(): name for name in reversed(_NAME.findall(text))}
    names = set(spelled)
    batch = parse_batch(text, dict.fromkeys(names, _UNKNOWN))
    local = {node.name for node in walk(batch.statements) if isinstance(node, Declaration)}
    found: dict[str, SqlType] = {}
    for statement in batch.statements:
        for name, sql_type in _meetings(statement, catalog):
            found.setdefault(name, sql_type)
    answer: dict[str, SqlType] = {}
    for node in walk(batch.statements):
        if isinstance(node, Variable) and node.name in names - declared - local and node.name not in answer:
            if node.name not in found:
                raise SqlServerError(
                    11502, f"The type for parameter '{node.name}' cannot be deduced in this context."
                )
            answer[node.name] = found[node.name]
    return [(spelled[name], sql_type) for name, sql_type in answer.items()]


def _meetings(statement: object, catalog: Catalog) -> Iterator[tuple[str, SqlType]]:
    """Yield each parameter with the type of what it is compared with, assigned to or cast to."""
    relations = list(_relations(statement, catalog))
    for node in walk(statement):
        match node:
            case Insert():
                yield from _inserted(node, catalog)
            case Update():
                target = _relation(node.target.name, catalog) or (relations[0] if relations else None)
                for assignment in node.assignments:
                    yield from _pair(
                        assignment.value, _column_type(assignment.column, [target] if target else [])
                    )
            case Comparison(_, left, right):
                yield from _pair(left, _type_of(right, relations))
                yield from _pair(right, _type_of(left, relations))
            case Between(operand, low, high, _):
                yield from _pair(low, _type_of(operand, relations))
                yield from _pair(high, _type_of(operand, relations))
            case InList(operand, items, _):
                for item in items:
                    yield from _pair(item, _type_of(operand, relations))
            case Like(operand, pattern, _, _):
                yield from _pair(pattern, _type_of(operand, relations))
            case Cast():
                yield from _pair(node.operand, node.target)
            case _:
                pass


def _inserted(node: Insert, catalog: Catalog) -> Iterator[tuple[str, SqlType]]:
    relation = _relation(node.target.name, catalog)
    if relation is None:
        return
    columns = node.columns or tuple(column.name for column in relation.columns)
    rows: list[tuple[object, ...]] = list(node.rows)
    if isinstance(node.query, Query) and isinstance(node.query.body, Select):
        rows.append(tuple(item.expression for item in node.query.body.items))
    for row in rows:
        for name, value in zip(columns, row, strict=False):
            yield from _pair(value, _column_type(name, [relation]))


def _pair(value: object, sql_type: SqlType | None) -> Iterator[tuple[str, SqlType]]:
    if isinstance(value, Variable) and sql_type is not None:
        yield value.name, sql_type


def _type_of(expression: object, relations: list[Relation]) -> SqlType | None:
    if isinstance(expression, Cast):
        return expression.target
    return _column_type(expression.name, relations) if isinstance(expression, ColumnRef) else None


def _column_type(name: str, relations: list[Relation]) -> SqlType | None:
    for relation in relations:
        for column in relation.columns:
            if column.name.lower() == name.lower():
                return column.type
    return None


def _relations(statement: object, catalog: Catalog) -> Iterator[Relation]:
    for node in walk(statement):
        if isinstance(node, TableSource):
            relation = _relation(node.name, catalog)
        elif isinstance(node, Delete):
            relation = _relation(node.target.name, catalog)
        else:
            relation = None
        if relation is not None:
            yield relation


def _relation(name: ObjectName, catalog: Catalog) -> Relation | None:
    if name.is_temporary:
        return catalog.relation(None, name.name)
    return catalog.relation(name.schema or catalog.default_schema, name.name)
