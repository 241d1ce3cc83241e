"""Scalar functions: T-SQL's argument conversions and result types over PostgreSQL's and schema sys' functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.call_arguments import Handler, argument_of
from dpone_lab.sqlserver.language.comparison import comparable
from dpone_lab.sqlserver.language.conversions import convert, utf8, utf16
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import Call, Expression, Literal
from dpone_lab.sqlserver.language.inference import collated, common_type, longest
from dpone_lab.sqlserver.language.metadata_functions import METADATA_FUNCTIONS, translate_metadata
from dpone_lab.sqlserver.language.translate_dates import DATE_HANDLERS
from dpone_lab.sqlserver.language.types import (
    BIGINT,
    FLOAT,
    INT,
    MAX,
    UNIQUEIDENTIFIER,
    SqlType,
)
from dpone_lab.sqlserver.language.values import Value, cast, text_literal

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator

_CONCAT_LENGTHS = {"bit": 1, "tinyint": 4, "smallint": 6, "int": 12, "bigint": 24, "date": 10, "time": 16, "datetime2": 27, "uniqueidentifier": 36}  # fmt: skip
_ALGORITHMS = frozenset({"MD5", "SHA2_256", "SHA2_512"})


def translate_function(translator: ExpressionTranslator, call: Call) -> Value:
    """Translate a call of a scalar function."""
    if call.name in METADATA_FUNCTIONS:
        return translate_metadata(translator, call)
    return _HANDLERS[call.name](translator, call)


def _values(translator: ExpressionTranslator, call: Call) -> list[Value]:
    return [translator.value(argument_of(call, index)) for index in range(len(call.arguments))]


def _text(translator: ExpressionTranslator, call: Call, index: int) -> Value:
    """Return an argument as text; numbers and dates are converted as T-SQL converts them."""
    value = translator.value(argument_of(call, index))
    if value.type.is_character:
        return value
    if value.type.is_binary:
        raise SqlServerError(
            Number.INVALID_ARGUMENT,
            f"Argument data type {value.type.name} is invalid for argument {index + 1} of {call.name} function.",
        )
    return convert(value, SqlType("varchar", length=8000))


def _varying(sql_type: SqlType, length: int | None = None) -> SqlType:
    name = "nvarchar" if sql_type.is_unicode else "varchar"
    chosen = sql_type.length if length is None else length
    return collated(SqlType(name, length=MAX if sql_type.length == MAX else chosen), sql_type)


def _full(*types: SqlType) -> SqlType:
    """Return varchar(8000), nvarchar(4000) or their (max) forms, as REPLACE and its like return."""
    name = "nvarchar" if any(sql_type.is_unicode for sql_type in types) else "varchar"
    return collated(SqlType(name, length=MAX if types[0].length == MAX else longest(name)), *types)


def _known_length(node: Expression) -> int | None:
    return int(node.text) if isinstance(node, Literal) and node.kind == "int" else None


# --- text ---------------------------------------------------------------------------------------------------------


def _same_text(function: str) -> Handler:
    def handler(translator: ExpressionTranslator, call: Call) -> Value:
        value = _text(translator, call, 0)
        return Value(f"{function}({value.sql})", _varying(value.type))

    return handler


def _trim_side(function: str) -> Handler:
    def handler(translator: ExpressionTranslator, call: Call) -> Value:
        value = _text(translator, call, len(call.arguments) - 1)
        characters = _text(translator, call, 0).sql if len(call.arguments) == 2 else "' '"
        return Value(f"{function}({value.sql}, {characters})", _varying(value.type))

    return handler


def _side(function: str) -> Handler:
    def handler(translator: ExpressionTranslator, call: Call) -> Value:
        value = _text(translator, call, 0)
        number = _known_length(argument_of(call, 1))
        limit = value.type.length if value.type.length is not None else 8000
        length = None if number is None or limit == MAX else max(min(number, limit), 1)
        sql = f"sys.{function}({value.sql}, {translator.as_type(argument_of(call, 1), INT)})"
        return Value(sql, _varying(value.type, length))

    return handler


def _substring(translator: ExpressionTranslator, call: Call) -> Value:
    value = translator.value(argument_of(call, 0))
    if not value.type.is_binary:
        value = _text(translator, call, 0)
    start, number = (translator.as_type(argument_of(call, index), INT) for index in (1, 2))
    known = _known_length(argument_of(call, 2))
    limit = value.type.length or 8000
    length = limit if known is None or limit == MAX else max(min(known, limit), 1)
    result = SqlType("varbinary", length=length) if value.type.is_binary else _varying(value.type, length)
    return Value(f"sys.substring({value.sql}, {start}, {number})", result)


def _replace(translator: ExpressionTranslator, call: Call) -> Value:
    texts = [_text(translator, call, index) for index in range(3)]
    sql = ", ".join(text.sql for text in texts)
    return Value(f"replace({sql})", _full(*(text.type for text in texts)))


def _replicate(translator: ExpressionTranslator, call: Call) -> Value:
    value = _text(translator, call, 0)
    result = _full(value.type)
    number = translator.as_type(argument_of(call, 1), INT)
    sql = f"(CASE WHEN {number} >= 0 THEN repeat({value.sql}, {number}) END)"
    if result.length != MAX:
        unit = "'unit'" if result.is_unicode else "'byte'"
        sql = f"sys.cut({sql}, {result.length}, {unit})"
    return Value(sql, result)


def _stuff(translator: ExpressionTranslator, call: Call) -> Value:
    value, replacement = _text(translator, call, 0), _text(translator, call, 3)
    start, number = (translator.as_type(argument_of(call, index), INT) for index in (1, 2))
    return Value(
        f"sys.stuff({value.sql}, {start}, {number}, {replacement.sql})", _full(value.type, replacement.type)
    )


def _charindex(translator: ExpressionTranslator, call: Call) -> Value:
    sought, value = _text(translator, call, 0), _text(translator, call, 1)
    start = translator.as_type(argument_of(call, 2), INT) if len(call.arguments) == 3 else "1"
    sql = f"sys.charindex({sought.sql}, {value.sql}, {start})"
    return Value(cast(sql, BIGINT), BIGINT) if value.type.length == MAX else Value(sql, INT)


def _length(translator: ExpressionTranslator, call: Call) -> Value:
    value = translator.value(argument_of(call, 0))
    if value.type.is_binary:
        sql = f"octet_length({value.sql})"
    else:
        value = _text(translator, call, 0)
        sql = f"length(rtrim({value.sql}, ' '))"
    return Value(cast(sql, BIGINT), BIGINT) if value.type.length == MAX else Value(sql, INT)


def _data_length(translator: ExpressionTranslator, call: Call) -> Value:
    value = translator.value(argument_of(call, 0))
    if value.type.is_unicode:
        sql = f"(2 * sys.units({value.sql}))"
    elif value.type.is_character or value.type.is_binary:
        sql = f"octet_length({value.sql})"
    elif value.is_null:
        sql = "CAST(NULL AS int4)"
    else:
        sql = f"(CASE WHEN {value.sql} IS NOT NULL THEN {value.type.max_length} END)"
    return Value(cast(sql, BIGINT), BIGINT) if value.type.length == MAX else Value(sql, INT)


def _concat(translator: ExpressionTranslator, call: Call) -> Value:
    values = _values(translator, call)
    separated = call.name == "concat_ws"
    texts = [
        value if value.type.is_character else convert(value, SqlType("varchar", length=8000))
        for value in values
    ]
    lengths = [_concat_length(value) for value in values]
    name = "nvarchar" if any(value.type.is_unicode for value in values) else "varchar"
    if MAX in lengths:
        length = MAX
    else:
        total = lengths[0] * max(len(lengths) - 2, 0) + sum(lengths[1:]) if separated else sum(lengths)
        length = max(min(total, longest(name)), 1)
    sql = f"{call.name}({', '.join(text.sql for text in texts)})"
    result = SqlType(name, length=length, nullable=False)
    return Value(sql, collated(result, *(value.type for value in values)))


def _concat_length(value: Value) -> int:
    """Return what an argument adds to the length of CONCAT's result."""
    if value.is_null:
        return 1
    if value.type.length is not None:
        return value.type.length
    if value.type.is_decimal:
        return 41
    if value.type.name not in _CONCAT_LENGTHS:
        raise unsupported(f"CONCAT of {value.type.name}")
    return _CONCAT_LENGTHS[value.type.name]


def _quotename(translator: ExpressionTranslator, call: Call) -> Value:
    value = _text(translator, call, 0)
    mark = _text(translator, call, 1).sql if len(call.arguments) == 2 else "'['"
    return Value(f"sys.quotename({value.sql}, {mark})", collated(SqlType("nvarchar", length=258), value.type))


def _parsename(translator: ExpressionTranslator, call: Call) -> Value:
    value = _text(translator, call, 0)
    part = translator.as_type(argument_of(call, 1), INT)
    return Value(f"sys.parsename({value.sql}, {part})", collated(SqlType("nvarchar", length=128), value.type))


def _character(translator: ExpressionTranslator, call: Call) -> Value:
    code = translator.as_type(argument_of(call, 0), INT)
    if call.name == "nchar":
        return Value(
            f"(CASE WHEN {code} BETWEEN 1 AND 65535 THEN chr({code}) END)", SqlType("nchar", length=1)
        )
    return Value(f"(CASE WHEN {code} BETWEEN 1 AND 127 THEN chr({code}) END)", SqlType("char", length=1))


def _code(translator: ExpressionTranslator, call: Call) -> Value:
    value = _text(translator, call, 0)
    return Value(f"(CASE WHEN {value.sql} <> '' THEN ascii({value.sql}) END)", INT)


def _space(translator: ExpressionTranslator, call: Call) -> Value:
    return Value(
        f"repeat(' '::text, {translator.as_type(argument_of(call, 0), INT)})", SqlType("varchar", length=8000)
    )


def _hashbytes(translator: ExpressionTranslator, call: Call) -> Value:
    algorithm = argument_of(call, 0)
    if not isinstance(algorithm, Literal) or algorithm.text.upper() not in _ALGORITHMS:
        raise unsupported("HASHBYTES algorithm other than MD5, SHA2_256, SHA2_512")
    value = translator.value(argument_of(call, 1))
    if value.is_null or not (value.type.is_character or value.type.is_binary):
        raise SqlServerError(
            Number.INVALID_ARGUMENT,
            f"Argument data type {value.type.name} is invalid for argument 2 of hashbytes function.",
        )
    data = (
        value.sql if value.type.is_binary else utf16(value.sql) if value.type.is_unicode else utf8(value.sql)
    )
    return Value(
        f"sys.hashbytes({text_literal(algorithm.text.upper())}, {data})", SqlType("varbinary", length=8000)
    )


# --- NULLs --------------------------------------------------------------------------------------------------------


def _isnull(translator: ExpressionTranslator, call: Call) -> Value:
    checked, replacement = _values(translator, call)
    if checked.is_null:
        # ISNULL(NULL, x) has the type of x.
        return Value(replacement.sql, replacement.type, is_identity=False)
    converted = convert(replacement, checked.type)
    nullable = checked.type.nullable and replacement.type.nullable
    result = collated(checked.type.with_null(nullable), checked.type, replacement.type)
    return Value(f"coalesce({checked.sql}, {converted.sql})", result)


def _coalesce(translator: ExpressionTranslator, call: Call) -> Value:
    values = _values(translator, call)
    if all(value.is_null for value in values):
        raise SqlServerError(
            4127,
            "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.",
        )
    target = common_type([value.type for value in values], [value.literal for value in values])
    sql = ", ".join(convert(value, target).sql for value in values)
    return Value(f"coalesce({sql})", target.with_null(any(value.type.nullable for value in values)))


def _nullif(translator: ExpressionTranslator, call: Call) -> Value:
    first, second = _values(translator, call)
    if first.is_null:
        raise SqlServerError(4151, "The type of the first argument to NULLIF cannot be the NULL constant.")
    left, right = comparable([first, second])
    return Value(
        f"(CASE WHEN {left} = {right} THEN NULL ELSE {first.sql} END)", first.type.with_null(nullable=True)
    )


# --- numbers ------------------------------------------------------------------------------------------------------


def _number(translator: ExpressionTranslator, call: Call, index: int = 0) -> Value:
    value = translator.value(argument_of(call, index))
    if value.type.is_character or value.is_null or value.type.name == "bit":
        return convert(value, FLOAT)
    if not value.type.is_number:
        raise SqlServerError(
            Number.INVALID_ARGUMENT,
            f"Argument data type {value.type.name} is invalid for argument {index + 1} of {call.name} function.",
        )
    return value


def _same_number(function: str) -> Handler:
    def handler(translator: ExpressionTranslator, call: Call) -> Value:
        value = _number(translator, call)
        if function in ("floor", "ceil") and value.type.is_integer:
            return Value(value.sql, value.type)
        result = value.type.with_null(nullable=True)
        if function in ("floor", "ceil") and value.type.is_decimal:
            result = SqlType(result.name, precision=result.precision, scale=0)
        return Value(cast(f"{function}({value.sql})", result), result)

    return handler


def _round(translator: ExpressionTranslator, call: Call) -> Value:
    value = _number(translator, call)
    digits = translator.as_type(argument_of(call, 1), INT)
    function = "round"
    if len(call.arguments) == 3:
        function = (
            "trunc" if translator.constant_integer(argument_of(call, 2), "ROUND's function") else "round"
        )
    result = value.type.with_null(nullable=True)
    return Value(cast(f"{function}({value.sql}::numeric, {digits})", result), result)


def _power(translator: ExpressionTranslator, call: Call) -> Value:
    value, exponent = _number(translator, call), _number(translator, call, 1)
    result = value.type.with_null(nullable=True)
    if result.is_number and not (result.is_decimal or result.is_integer):
        return Value(cast(f"power({value.sql}::float8, {exponent.sql}::float8)", result), result)
    raised = f"power({value.sql}::numeric, {exponent.sql}::numeric)"
    return Value(cast(f"trunc({raised})" if result.is_integer else raised, result), result)


def _square_root(translator: ExpressionTranslator, call: Call) -> Value:
    return Value(f"sqrt({translator.as_type(argument_of(call, 0), FLOAT)})", FLOAT)


def _new_id(_translator: ExpressionTranslator, _call: Call) -> Value:
    return Value("gen_random_uuid()", UNIQUEIDENTIFIER.with_null(nullable=False))


_HANDLERS: dict[str, Handler] = {
    **DATE_HANDLERS,
    "abs": _same_number("abs"),
    "ascii": _code,
    "ceiling": _same_number("ceil"),
    "char": _character,
    "charindex": _charindex,
    "coalesce": _coalesce,
    "concat": _concat,
    "concat_ws": _concat,
    "datalength": _data_length,
    "floor": _same_number("floor"),
    "hashbytes": _hashbytes,
    "isnull": _isnull,
    "left": _side("leftmost"),
    "len": _length,
    "lower": _same_text("lower"),
    "ltrim": _trim_side("ltrim"),
    "nchar": _character,
    "newid": _new_id,
    "nullif": _nullif,
    "parsename": _parsename,
    "power": _power,
    "quotename": _quotename,
    "replace": _replace,
    "replicate": _replicate,
    "reverse": _same_text("reverse"),
    "right": _side("rightmost"),
    "round": _round,
    "rtrim": _trim_side("rtrim"),
    "sign": _same_number("sign"),
    "space": _space,
    "sqrt": _square_root,
    "stuff": _stuff,
    "substring": _substring,
    "trim": _trim_side("btrim"),
    "unicode": _code,
    "upper": _same_text("upper"),
}
HANDLED = frozenset(_HANDLERS)
"""Scalar functions translated here; with the metadata functions they are the whole of the known ones."""
