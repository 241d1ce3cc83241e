"""Date and time functions: boundaries counted, months clamped, the moment taken in UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.call_arguments import Handler, argument_of
from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.errors import SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import Call, Literal
from dpone_lab.sqlserver.language.types import (
    BIGINT,
    DATE,
    DATETIME,
    INT,
    SqlType,
)
from dpone_lab.sqlserver.language.values import Value, cast

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator

_DATETIME2_7 = SqlType("datetime2", scale=7)
_DAY_PARTS = frozenset({"year", "quarter", "month", "dayofyear", "day", "week"})
_UTC_NOW = "(clock_timestamp() AT TIME ZONE 'UTC')"


def _now(sql: str, result: SqlType) -> Handler:
    def handler(_translator: ExpressionTranslator, _call: Call) -> Value:
        return Value(sql, result.with_null(nullable=False))

    return handler


def _moment(translator: ExpressionTranslator, call: Call, index: int) -> Value:
    """Return an argument as a date or time; text and numbers become datetime2 and datetime."""
    value = translator.value(argument_of(call, index))
    if value.type.is_temporal:
        return value
    if value.type.is_character:
        return convert(value, _DATETIME2_7)
    return convert(value, DATETIME)


def _timestamp(value: Value) -> str:
    if value.type.name == "time":
        return f"(timestamp '1900-01-01' + {value.sql})"
    return f"CAST({value.sql} AS timestamp)" if value.type.name == "date" else value.sql


def _part(call: Call) -> str:
    part = argument_of(call, 0)
    assert isinstance(part, Literal)
    return part.text


def _dateadd(translator: ExpressionTranslator, call: Call) -> Value:
    part = _part(call)
    value = translator.value(argument_of(call, 2))
    if not value.type.is_temporal:
        value = convert(value, DATETIME)
    if part == "nanosecond":
        raise unsupported("DATEADD(nanosecond, …)")
    is_date, is_time = value.type.name == "date", value.type.name == "time"
    if (is_date and part not in _DAY_PARTS) or (is_time and part in _DAY_PARTS):
        raise SqlServerError(
            9810,
            f"The datepart {part} is not supported by date function dateadd for data type {value.type.name}.",
        )
    number = cast(f"trunc({translator.value(argument_of(call, 1)).sql}::numeric)", BIGINT)
    moved = f"sys.dateadd('{part}', {number}, {_timestamp(value)})"
    if value.type.name == "datetime":
        moved = f"sys.datetime_of({moved})"
    return Value(cast(moved, value.type), value.type.with_null(nullable=True))


def _datediff(translator: ExpressionTranslator, call: Call) -> Value:
    start, finish = _moment(translator, call, 1), _moment(translator, call, 2)
    sql = f"sys.datediff('{_part(call)}', {_timestamp(start)}, {_timestamp(finish)})"
    return Value(sql, BIGINT) if call.name == "datediff_big" else Value(cast(sql, INT), INT)


def _datepart(translator: ExpressionTranslator, call: Call) -> Value:
    value = _moment(translator, call, 1)
    return Value(f"sys.datepart('{_part(call)}', {_timestamp(value)})", INT)


def _named_part(translator: ExpressionTranslator, call: Call) -> Value:
    value = _moment(translator, call, 0)
    return Value(f"sys.datepart('{call.name}', {_timestamp(value)})", INT)


def _datename(translator: ExpressionTranslator, call: Call) -> Value:
    part = _part(call)
    value = _moment(translator, call, 1)
    sql = (
        f"trim(to_char({_timestamp(value)}, 'Month'))"
        if part == "month"
        else f"CAST(sys.datepart('{part}', {_timestamp(value)}) AS text)"
    )
    return Value(sql, SqlType("nvarchar", length=30))


def _date_from_parts(translator: ExpressionTranslator, call: Call) -> Value:
    parts = ", ".join(translator.as_type(argument_of(call, index), INT) for index in range(3))
    return Value(f"sys.date_from_parts({parts})", DATE)


def _datetime2_from_parts(translator: ExpressionTranslator, call: Call) -> Value:
    scale = translator.constant_integer(argument_of(call, 7), "precision of DATETIME2FROMPARTS")
    if not 0 <= scale <= 7:
        raise SqlServerError(10760, f"Scale argument {scale} is not valid.")
    parts = ", ".join(translator.as_type(argument_of(call, index), INT) for index in range(7))
    result = SqlType("datetime2", scale=scale)
    return Value(cast(f"sys.datetime2_from_parts({parts}, {scale})", result), result)


def _end_of_month(translator: ExpressionTranslator, call: Call) -> Value:
    value = _moment(translator, call, 0)
    months = translator.as_type(argument_of(call, 1), INT) if len(call.arguments) == 2 else "0"
    sql = f"(date_trunc('month', {_timestamp(value)}) + make_interval(months => {months} + 1) - interval '1 day')"
    return Value(f"CAST({sql} AS date)", DATE)


DATE_HANDLERS: dict[str, Handler] = {
    "dateadd": _dateadd,
    "datediff": _datediff,
    "datediff_big": _datediff,
    "datefromparts": _date_from_parts,
    "datename": _datename,
    "datepart": _datepart,
    "datetime2fromparts": _datetime2_from_parts,
    "day": _named_part,
    "eomonth": _end_of_month,
    "getdate": _now(f"sys.datetime_of({_UTC_NOW})", DATETIME),
    "getutcdate": _now(f"sys.datetime_of({_UTC_NOW})", DATETIME),
    "month": _named_part,
    "sysdatetime": _now(_UTC_NOW, _DATETIME2_7),
    "sysutcdatetime": _now(_UTC_NOW, _DATETIME2_7),
    "year": _named_part,
}
"""What translates each date function."""
