"""Choices among rows that no order decides, and orders that a view can't have."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from dpone_dbt_proof.reasons import Code

if TYPE_CHECKING:
    from collections.abc import Iterator

_Refusal: TypeAlias = tuple[Code, str, exp.Expression]


def chosen_rows(node: exp.Expression) -> Iterator[_Refusal]:
    """Yield a refusal for each choice that this node makes without an order, and each order that it may not have."""
    match node:
        case exp.Select():
            yield from _order(node)
            yield from _rows(node)
        case exp.SetOperation():
            yield from _order(node)
        case exp.Window():
            order = node.args.get("order")
            if order and not all(_tells_rows_apart(term, node) for term in order.expressions):
                yield Code.SQL_NONDETERMINISTIC, "a window is ordered by a constant", node
        case exp.WithinGroup():
            if not any(_tells_rows_apart(term, node) for term in node.find_all(exp.Ordered)):
                yield Code.SQL_NONDETERMINISTIC, "WITHIN GROUP orders by a constant", node
        case exp.GroupConcat():
            if not isinstance(node.this, exp.Order) and not isinstance(node.parent, exp.WithinGroup):
                yield Code.SQL_NONDETERMINISTIC, "STRING_AGG without WITHIN GROUP has any order", node
            elif isinstance(node.this, exp.Order) and not _has_order(node.this, node):
                yield Code.SQL_NONDETERMINISTIC, "STRING_AGG orders by a constant", node
        case _:
            return


def _tells_rows_apart(term: exp.Expression, query: exp.Expression) -> bool:
    """Tell whether a term of an order can differ from row to row: a column outside of any subquery decides.

    A subquery in an order is as good as a constant here: what it refers to can't be told from its text alone. The name
    or number of an item of the SELECT list is that item.
    """
    if isinstance(term, exp.Ordered):
        return _tells_rows_apart(term.this, query)
    if isinstance(query, exp.Select):
        item = _item(term, query)
        if item is not None:
            return _has_column(item)
    return _has_column(term)


def _item(term: exp.Expression, query: exp.Select) -> exp.Expression | None:
    if isinstance(term, exp.Literal) and term.is_int:
        number = int(term.name)
        item = query.selects[number - 1] if 0 < number <= len(query.selects) else None
        return None if item is None or item.find(exp.Star) else item.unalias()
    if isinstance(term, exp.Column) and not term.table:
        named = (item for item in query.selects if isinstance(item, exp.Alias) and item.alias == term.name)
        aliased = next(named, None)
        return aliased.this if aliased is not None else None
    return None


def _has_column(expression: exp.Expression) -> bool:
    found = expression.walk(prune=lambda node: isinstance(node, exp.Query))
    return any(isinstance(node, (exp.Column, exp.Dot, exp.Star, exp.AggFunc, exp.Window)) for node in found)


def _has_order(order: exp.Order, query: exp.Expression) -> bool:
    return any(_tells_rows_apart(term, query) for term in order.expressions)


def _order(query: exp.Expression) -> Iterator[_Refusal]:
    """ORDER BY of a query, derived table or CTE needs TOP or OFFSET; in FOR XML it orders the text."""
    limited = query.args.get("limit") or query.args.get("offset") or query.args.get("for_")
    order = query.args.get("order")
    if order and not limited:
        yield Code.SQL_ORDER_BY, "ORDER BY without TOP or OFFSET", order
    if order and limited and isinstance(query, exp.Select) and not _has_order(order, query):
        yield Code.SQL_NONDETERMINISTIC, "ORDER BY a constant chooses any rows", order


def _rows(query: exp.Select) -> Iterator[_Refusal]:
    limit = query.args.get("limit")
    unordered = not query.args.get("order")
    if query.args.get("offset") and unordered:
        yield Code.SQL_SYNTAX, "OFFSET needs ORDER BY", query.args["offset"]
    if limit and unordered and not _takes_all(limit) and not _only_exists(query):
        yield Code.SQL_NONDETERMINISTIC, "TOP without ORDER BY chooses any rows", query
    if unordered and query.args.get("from_") and isinstance(query.args.get("for_"), exp.ForClause):
        yield Code.SQL_NONDETERMINISTIC, "FOR XML or JSON without ORDER BY has any order", query


def _takes_all(limit: exp.Expression) -> bool:
    options = limit.args.get("limit_options")
    percent = bool(options and options.args.get("percent"))
    value = limit.args.get("expression") or limit.args.get("count")
    number = value.this if isinstance(value, exp.Paren) else value
    return percent and isinstance(number, exp.Literal) and number.name == "100"


def _only_exists(query: exp.Select) -> bool:
    return isinstance(query.parent, exp.Exists) or isinstance(
        getattr(query.parent, "parent", None), exp.Exists
    )
