"""Result types by T-SQL's documented rules: literals, arithmetic, precedence, set operations, aggregates.

The nullability of a computed value follows what SQL Server records in a SELECT INTO: columns keep theirs, constants
are NOT NULL, ISNULL is NOT NULL when its replacement is, and every other computation is nullable because it may
overflow or be fed by NULL. An expression without a rule here is refused by the caller, never guessed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.types import (
    BIGINT,
    DATABASE_COLLATION,
    FLOAT,
    INT,
    MAX,
    NULL,
    PRECEDENCE,
    CollationLabel,
    SqlType,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone_lab.sqlserver.language.expressions import Literal

MAX_PRECISION = 38
_LEAST_SCALE = 6
_INTEGER_PRECISION = {"bit": 1, "tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_INT_RANGE = range(-(2**31), 2**31)
_LONGEST = {"varchar": 8000, "char": 8000, "nvarchar": 4000, "nchar": 4000, "varbinary": 8000, "binary": 8000}


def literal_type(literal: Literal) -> SqlType:
    """Return the type of a constant: integers beyond int are decimal, ``1.50`` is numeric(3,2), '' has length 1."""
    match literal.kind:
        case "null" | "default":
            return NULL
        case "int":
            digits = literal.text.lstrip("0") or "0"
            if int(digits) in _INT_RANGE:
                return INT.with_null(nullable=False)
            return _numeric(len(digits), 0)
        case "decimal":
            whole, _, fraction = literal.text.partition(".")
            whole = whole.lstrip("0")
            return _numeric(max(len(whole) + len(fraction), 1), len(fraction))
        case "float":
            return FLOAT.with_null(nullable=False)
        case "string":
            return _text("varchar", len(literal.text.encode()))
        case "nstring":
            return _text("nvarchar", len(literal.text.encode("utf-16-le")) // 2)
        case "binary":
            length = max(len(literal.text) // 2, 1)
            return SqlType("varbinary", length=MAX if length > 8000 else length, nullable=False)


def _numeric(precision: int, scale: int) -> SqlType:
    if precision > MAX_PRECISION:
        raise SqlServerError(
            1007,
            "The number is out of the range for numeric representation (maximum precision 38).",
            severity=15,
        )
    return SqlType("numeric", precision=precision, scale=scale, nullable=False)


def _text(name: str, length: int) -> SqlType:
    return SqlType(name, length=MAX if length > _LONGEST[name] else max(length, 1), nullable=False)


def as_decimal(sql_type: SqlType, literal: Literal | None = None) -> SqlType:
    """Return the decimal type that an exact number takes part with; an int constant has just its own digits."""
    if sql_type.is_decimal:
        return sql_type
    precision = _INTEGER_PRECISION[sql_type.name]
    if literal is not None and literal.kind == "int":
        precision = max(len(literal.text.lstrip("0")), 1)
    return SqlType("numeric", precision=precision, scale=0, nullable=sql_type.nullable)


def higher(left: SqlType, right: SqlType) -> str:
    """Return the name of the type with the higher precedence."""
    return min(left.name, right.name, key=PRECEDENCE.index)


def decimal_result(operator: str, left: SqlType, right: SqlType) -> SqlType:
    """Return precision and scale of decimal arithmetic, capped at 38 as documented.

    "Precision, scale, and length (Transact-SQL)": in multiplication and division the scale yields to the integral
    part but keeps at least 6 digits; in addition and subtraction it yields as far as needed.
    """
    p1, s1, p2, s2 = _parts(left) + _parts(right)
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            precision = max(p1 - s1, p2 - s2) + scale + 1
        case "*":
            scale = s1 + s2
            precision = p1 + p2 + 1
        case "/":
            scale = max(_LEAST_SCALE, s1 + p2 + 1)
            precision = p1 - s1 + s2 + scale
        case _:
            scale = max(s1, s2)
            precision = min(p1 - s1, p2 - s2) + scale
    if precision > MAX_PRECISION:
        if operator in ("*", "/"):
            integral = precision - scale
            # Scale is reduced to MAX - integral, but not below 6 when it was above 6.
            scale = max(MAX_PRECISION - integral, min(scale, _LEAST_SCALE))
        else:
            scale = min(scale, MAX_PRECISION - max(p1 - s1, p2 - s2))
        precision = MAX_PRECISION
    return SqlType(_decimal_name(left, right), precision=precision, scale=scale)


def _decimal_name(left: SqlType, right: SqlType) -> str:
    """``decimal`` and ``numeric`` are synonyms; a result keeps ``numeric`` only when no operand is decimal."""
    return "numeric" if "decimal" not in (left.name, right.name) else "decimal"


def _parts(sql_type: SqlType) -> tuple[int, int]:
    assert sql_type.precision is not None
    assert sql_type.scale is not None
    return sql_type.precision, sql_type.scale


def arithmetic(
    operator: str, left: SqlType, right: SqlType, literals: tuple[Literal | None, Literal | None]
) -> SqlType:
    """Return the type of ``+ - * / %`` over numbers; 8117 or 402 for operands that can't be calculated with."""
    if left.name == "null" and right.name == "null":
        return INT
    if left.name == "null":
        left = right
    elif right.name == "null":
        right = left
    name = higher(left, right)
    if name == "bit" or not (_calculates(left) and _calculates(right)):
        raise SqlServerError(
            Number.OPERATORS_INCOMPATIBLE,
            f"The data types {left.name} and {right.name} are incompatible in the {_operator_name(operator)} operator.",
        )
    if name in ("float", "real"):
        if operator == "%":
            raise SqlServerError(
                Number.OPERATORS_INCOMPATIBLE,
                f"The data types {left.name} and {right.name} are incompatible in the modulo operator.",
            )
        return SqlType(name)
    if name in ("decimal", "numeric"):
        return decimal_result(operator, as_decimal(left, literals[0]), as_decimal(right, literals[1]))
    return SqlType(name)


def _calculates(sql_type: SqlType) -> bool:
    return sql_type.is_number or sql_type.name == "bit"


def _operator_name(operator: str) -> str:
    names = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "modulo"}
    return names.get(operator, f"'{operator}'")


def bitwise(operator: str, left: SqlType, right: SqlType) -> SqlType:
    """Return the type of ``& | ^``: the higher of two integer types."""
    name = higher(left, right)
    if not all(operand.is_integer or operand.name in ("bit", "null") for operand in (left, right)):
        raise SqlServerError(
            Number.OPERATORS_INCOMPATIBLE,
            f"The data types {left.name} and {right.name} are incompatible in the '{operator}' operator.",
        )
    return INT if name == "null" else SqlType(name)


def concatenation(left: SqlType, right: SqlType) -> SqlType:
    """Return the type of string or binary ``+``: lengths add up to 8000 bytes, (max) wins."""
    if left.name == "null":
        return right.with_null(nullable=True)
    if right.name == "null":
        return left.with_null(nullable=True)
    unicode = left.is_unicode or right.is_unicode
    if left.is_binary and right.is_binary:
        family = "binary" if left.is_fixed and right.is_fixed else "varbinary"
    else:
        family = "char" if left.is_fixed and right.is_fixed else "varchar"
        family = f"n{family}" if unicode else family
    return collated(SqlType(family, length=_added(family, left, right)), left, right)


def _added(family: str, left: SqlType, right: SqlType) -> int:
    assert left.length is not None
    assert right.length is not None
    if MAX in (left.length, right.length):
        return MAX
    return min(left.length + right.length, _LONGEST[family])


def column_label(sql_type: SqlType) -> SqlType:
    """Return a type as a column of that type has it: its collation is implicit."""
    return replace(sql_type, label=CollationLabel.IMPLICIT) if sql_type.is_character else sql_type


def collated(result: SqlType, *sources: SqlType) -> SqlType:
    """Return a text type with the collation of the texts that it is made of; 468 where two are on a par.

    COLLATE prevails over the collation of columns, which prevails over the database's for constants and variables.
    """
    texts = [source for source in sources if source.is_character]
    if not result.is_character or not texts:
        return result
    chosen = texts[0]
    for other in texts[1:]:
        same = (chosen.collation or "").lower() == (other.collation or "").lower()
        if other.label == chosen.label != CollationLabel.COERCIBLE and not same:
            names = '" and "'.join(one.collation or DATABASE_COLLATION for one in (chosen, other))
            raise SqlServerError(
                Number.COLLATION_CONFLICT, f'Cannot resolve the collation conflict between "{names}".'
            )
        chosen = max(chosen, other, key=lambda one: one.label)
    return replace(result, collation=chosen.collation, label=chosen.label)


def common_type(types: Iterable[SqlType], literals: Iterable[Literal | None] = ()) -> SqlType:
    """Return the type of CASE, COALESCE, UNION and comparisons: the highest precedence, lengths combined.

    Decimals keep the greatest integral part and the greatest scale. Untyped NULLs don't count; only NULLs give int.
    Raises 206 for types that have no common one.
    """
    result: SqlType | None = None
    constants = list(literals)
    for index, sql_type in enumerate(types):
        literal = constants[index] if index < len(constants) else None
        if sql_type.name == "null":
            result = None if result is None else result.with_null(nullable=True)
            continue
        result = sql_type if result is None else _combined(result, sql_type, literal)
    return INT if result is None else result


def _combined(left: SqlType, right: SqlType, literal: Literal | None) -> SqlType:
    nullable = left.nullable or right.nullable
    name = higher(left, right)
    if left.is_character and right.is_character:
        return collated(_wider_text(name, left, right).with_null(nullable), left, right)
    if left.is_binary and right.is_binary:
        return replace(_wider_text(name, left, right), nullable=nullable)
    if (
        name in ("decimal", "numeric")
        and (right.is_number or right.name == "bit")
        and (left.is_number or left.name == "bit")
    ):
        return replace(_wider_decimal(as_decimal(left), as_decimal(right, literal)), nullable=nullable)
    if left.name == right.name and left.scale is not None:
        return replace(left, scale=max(left.scale, right.scale or 0), nullable=nullable)
    require_convertible(left if left.name != name else right, SqlType(name))
    chosen = left if left.name == name else right
    return replace(chosen, nullable=nullable)


def _wider_text(name: str, left: SqlType, right: SqlType) -> SqlType:
    assert left.length is not None
    assert right.length is not None
    length = MAX if MAX in (left.length, right.length) else max(left.length, right.length)
    length = min(length, _LONGEST[name])
    return SqlType(name if length != MAX else _varying(name), length=length)


def _varying(name: str) -> str:
    return {"nchar": "nvarchar", "char": "varchar", "binary": "varbinary"}.get(name, name)


def _wider_decimal(left: SqlType, right: SqlType) -> SqlType:
    p1, s1, p2, s2 = _parts(left) + _parts(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), 0)
        precision = MAX_PRECISION
    return SqlType(_decimal_name(left, right), precision=precision, scale=scale)


_GROUPS = {
    **dict.fromkeys(
        ("bit", "tinyint", "smallint", "int", "bigint", "decimal", "numeric", "float", "real"), "number"
    ),
    **dict.fromkeys(("char", "varchar", "nchar", "nvarchar"), "text"),
    **dict.fromkeys(("binary", "varbinary"), "binary"),
    **dict.fromkeys(("date", "datetime", "datetime2", "time"), "temporal"),
    "uniqueidentifier": "guid",
    "null": "null",
}
_IMPLICIT = frozenset(
    {
        ("number", "number"),
        ("number", "text"),
        ("text", "number"),
        ("text", "text"),
        ("text", "temporal"),
        ("temporal", "text"),
        ("temporal", "temporal"),
        ("binary", "binary"),
        ("guid", "guid"),
        ("guid", "text"),
        ("text", "guid"),
    }
)
_EXPLICIT = frozenset(
    {("text", "binary"), ("binary", "text"), ("number", "binary"), ("binary", "number"), ("guid", "binary")}
)


def require_convertible(source: SqlType, target: SqlType, *, explicit: bool = False) -> None:
    """Hold a conversion against SQL Server's conversion chart; 206 or 257 when it isn't there."""
    groups = (_GROUPS[source.name], _GROUPS[target.name])
    if "null" in groups or groups in _IMPLICIT or (explicit and groups in _EXPLICIT):
        clash = {source.name, target.name}
        if not (clash >= {"date", "time"}):
            return
    if groups == ("number", "temporal") and target.name == "datetime":
        return
    if groups in _EXPLICIT:
        raise SqlServerError(
            Number.IMPLICIT_CONVERSION_REFUSED,
            f"Implicit conversion from data type {source.name} to {target.name} is not allowed. "
            "Use the CONVERT function to run this query.",
        )
    if explicit:
        raise SqlServerError(
            Number.EXPLICIT_CONVERSION_REFUSED,
            f"Explicit conversion from data type {source.name} to {target.name} is not allowed.",
        )
    raise SqlServerError(
        Number.OPERAND_TYPE_CLASH, f"Operand type clash: {source.name} is incompatible with {target.name}"
    )


def sum_type(sql_type: SqlType) -> SqlType:
    """Return SUM's type: int for smaller integers, bigint, decimal(38, s), float."""
    _require_number(sql_type, "sum")
    if sql_type.is_integer:
        return BIGINT if sql_type.name == "bigint" else INT
    if sql_type.is_decimal:
        return SqlType(sql_type.name, precision=MAX_PRECISION, scale=sql_type.scale)
    return FLOAT


def average_type(sql_type: SqlType) -> SqlType:
    """Return AVG's type: int or bigint for integers, decimal(38, max(s, 6)), float."""
    _require_number(sql_type, "avg")
    if sql_type.is_decimal:
        return SqlType(sql_type.name, precision=MAX_PRECISION, scale=max(sql_type.scale or 0, _LEAST_SCALE))
    return sum_type(sql_type)


def _require_number(sql_type: SqlType, function: str) -> None:
    if not sql_type.is_number:
        raise SqlServerError(
            Number.OPERAND_INVALID, f"Operand data type {sql_type.name} is invalid for {function} operator."
        )


def extreme_type(sql_type: SqlType, function: str) -> SqlType:
    """Return MIN's and MAX's type: the operand's, nullable; 8117 for bit and untyped NULL."""
    if sql_type.name in ("bit", "null"):
        raise SqlServerError(
            Number.OPERAND_INVALID, f"Operand data type {sql_type.name} is invalid for {function} operator."
        )
    return sql_type.with_null(nullable=True)


def string_aggregate_type(sql_type: SqlType) -> SqlType:
    """Return STRING_AGG's type by its documented table."""
    if sql_type.is_character:
        name = "nvarchar" if sql_type.is_unicode else "varchar"
        return collated(SqlType(name, length=MAX if sql_type.length == MAX else _LONGEST[name]), sql_type)
    return SqlType("nvarchar", length=4000)


def longest(name: str) -> int:
    """Return the greatest declared length of a character or binary type."""
    return _LONGEST[name]
