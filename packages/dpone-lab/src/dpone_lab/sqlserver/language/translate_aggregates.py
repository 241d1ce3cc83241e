"""Aggregates, rankings and window functions with T-SQL's result types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.call_arguments import argument_of
from dpone_lab.sqlserver.language.comparison import sortable, trimmed
from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.inference import (
    average_type,
    extreme_type,
    string_aggregate_type,
    sum_type,
)
from dpone_lab.sqlserver.language.types import BIGINT, INT, MAX, SqlType
from dpone_lab.sqlserver.language.values import Value, cast

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.expressions import Call
    from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator


def translate_aggregate(translator: ExpressionTranslator, call: Call) -> Value:
    """Translate an aggregate or ranking function with its OVER clause."""
    over = "" if call.over is None else f" OVER ({_window(translator, call)})"
    # The arguments of a plain aggregate see single rows; those of a window function see groups.
    inside = translator if call.over is not None else translator.ungrouped()
    if call.distinct and call.over is not None:
        raise SqlServerError(10759, "Use of DISTINCT is not allowed with the OVER clause.", severity=15)
    match call.name:
        case "count" | "count_big":
            return _count(inside, call, over)
        case "sum" | "avg":
            return _sum(inside, call, over)
        case "min" | "max":
            return _extreme(inside, call, over)
        case "string_agg":
            return _string_aggregate(inside, call)
        case "row_number" | "rank" | "dense_rank":
            _require_order(call)
            return Value(f"{call.name}(){over}", BIGINT)
        case "ntile":
            _require_order(call)
            return Value(f"CAST(ntile({inside.as_type(argument_of(call), INT)}){over} AS int8)", BIGINT)
        case _:
            return _neighbour(inside, call, over)


def _require_order(call: Call) -> None:
    if call.over is None or not call.over.order_by:
        raise SqlServerError(
            4112, f"The function '{call.name}' must have an OVER clause with ORDER BY.", severity=15
        )


def _window(translator: ExpressionTranslator, call: Call) -> str:
    assert call.over is not None
    parts: list[str] = []
    if call.over.partition_by:
        keys = ", ".join(trimmed(translator.value(key)) for key in call.over.partition_by)
        parts.append(f"PARTITION BY {keys}")
    if call.over.order_by:
        items = ", ".join(
            sortable(translator.value(item.expression), descending=item.descending)
            for item in call.over.order_by
        )
        parts.append(f"ORDER BY {items}")
    if call.over.frame is not None:
        parts.append(call.over.frame)
    return " ".join(parts)


def _count(translator: ExpressionTranslator, call: Call, over: str) -> Value:
    if call.star:
        counted = "*"
    else:
        value = translator.value(argument_of(call))
        counted = f"DISTINCT {trimmed(value)}" if call.distinct else value.sql
        if value.is_null:
            raise SqlServerError(8117, "Operand data type NULL is invalid for count operator.")
    if call.name == "count_big":
        return Value(f"count({counted}){over}", BIGINT)
    return Value(f"CAST(count({counted}){over} AS int4)", INT)


def _sum(translator: ExpressionTranslator, call: Call, over: str) -> Value:
    value = translator.value(argument_of(call))
    distinct = "DISTINCT " if call.distinct else ""
    total = f"sum({distinct}{value.sql}){over}"
    if call.name == "sum":
        result = sum_type(value.type)
        return Value(cast(total, result), result)
    result = average_type(value.type)
    number = f"count({distinct}{value.sql}){over}"
    if result.is_integer:
        return Value(cast(f"div({total}::numeric, nullif({number}, 0)::numeric)", result), result)
    if result.is_decimal:
        return Value(
            cast(f"sys.divide({total}, nullif({number}, 0)::numeric, {result.scale})", result), result
        )
    return Value(f"avg({distinct}{value.sql}){over}", result)


def _extreme(translator: ExpressionTranslator, call: Call, over: str) -> Value:
    value = translator.value(argument_of(call))
    result = extreme_type(value.type, call.name)
    if value.type.name == "uniqueidentifier":
        raise unsupported(f"{call.name} of uniqueidentifier")
    return Value(f"{call.name}({value.sql}){over}", result)


def _string_aggregate(translator: ExpressionTranslator, call: Call) -> Value:
    if call.distinct or call.over is not None:
        raise unsupported("STRING_AGG with DISTINCT or OVER")
    value = translator.value(argument_of(call))
    separator = argument_of(call, 1)
    result = string_aggregate_type(value.type)
    separator_value = translator.value(separator)
    if not separator_value.type.is_character:
        raise SqlServerError(
            Number.INVALID_ARGUMENT,
            f"Argument data type {separator_value.type.name} is invalid for argument 2 of string_agg function.",
        )
    text = value if value.type.is_character else convert(value, SqlType("nvarchar", length=4000))
    order = ", ".join(
        sortable(translator.value(item.expression), descending=item.descending) for item in call.within_group
    )
    sql = f"string_agg({text.sql}, {separator_value.sql}{f' ORDER BY {order}' if order else ''})"
    if result.length != MAX:
        sql = f"sys.fit_aggregate({sql}, {str(result.is_unicode).lower()})"
    return Value(sql, result)


def _neighbour(translator: ExpressionTranslator, call: Call, over: str) -> Value:
    _require_order(call)
    value = translator.value(argument_of(call))
    arguments = [value.sql]
    if len(call.arguments) > 1:
        arguments.append(translator.as_type(argument_of(call, 1), INT))
    if len(call.arguments) > 2:
        arguments.append(translator.as_type(argument_of(call, 2), value.type))
    return Value(f"{call.name}({', '.join(arguments)}){over}", value.type.with_null(nullable=True))
