"""Scalar expressions and conditions: each T-SQL node becomes typed PostgreSQL text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, assert_never

from dpone_lab.sqlserver.language.collations import accepted_collation
from dpone_lab.sqlserver.language.comparison import comparable, like_test
from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Collate,
    ColumnRef,
    Comparison,
    Condition,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Like,
    Literal,
    Logical,
    Not,
    Query,
    ScalarQuery,
    Unary,
    Variable,
)
from dpone_lab.sqlserver.language.inference import (
    MAX_PRECISION,
    arithmetic,
    bitwise,
    collated,
    common_type,
    concatenation,
    literal_type,
    longest,
)
from dpone_lab.sqlserver.language.known_functions import AGGREGATES, RANKINGS
from dpone_lab.sqlserver.language.translate_aggregates import translate_aggregate
from dpone_lab.sqlserver.language.translate_functions import translate_function
from dpone_lab.sqlserver.language.types import INT, MAX, SMALLINT, CollationLabel, SqlType
from dpone_lab.sqlserver.language.values import Value, cast, text_literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpone_lab.sqlserver.language.name_scopes import NameScope
    from dpone_lab.sqlserver.language.statement_context import StatementContext
    from dpone_lab.sqlserver.language.translation import ResultColumn


class SubqueryTranslator(Protocol):
    """Translates a query nested in an expression."""

    def subquery(self, query: Query, outer: NameScope) -> tuple[str, tuple[ResultColumn, ...]]:
        """Return the query's text and its columns; their names may be anything."""
        ...


class ExpressionTranslator:
    """Translates expressions of one query level.

    ``grouped`` maps the text of each GROUP BY key that is compared without its trailing blanks to what stands for it
    outside aggregates.
    """

    def __init__(
        self,
        context: StatementContext,
        scope: NameScope,
        queries: SubqueryTranslator,
        grouped: Mapping[str, str] | None = None,
    ) -> None:
        self.context = context
        self.scope = scope
        self.queries = queries
        self.grouped = grouped or {}

    def ungrouped(self) -> ExpressionTranslator:
        """Return the translator of what stands inside an aggregate."""
        return ExpressionTranslator(self.context, self.scope, self.queries)

    # --- scalars --------------------------------------------------------------------------------------------------

    def value(self, node: Expression) -> Value:
        """Translate a scalar expression."""
        translated = self._value(node)
        replacement = self.grouped.get(translated.sql)
        if replacement is not None:
            return Value(replacement, translated.type, is_identity=translated.is_identity)
        return translated

    def _value(self, node: Expression) -> Value:
        match node:
            case Literal():
                return _constant(node)
            case Variable(name):
                return self.context.variable(name)
            case ColumnRef():
                return self.scope.resolve(node)
            case Unary():
                return self._unary(node)
            case Binary():
                return self._binary(node)
            case Case():
                return self._case(node)
            case Cast():
                return self._cast(node)
            case Collate(operand, collation):
                chosen = accepted_collation(collation)
                value = self.value(operand)
                if not (value.type.is_character or value.is_null):
                    raise SqlServerError(
                        447, f"Expression type {value.type.name} is invalid for COLLATE clause.", severity=16
                    )
                label = replace(value.type, collation=chosen, label=CollationLabel.EXPLICIT)
                return Value(value.sql, value.type if value.is_null else label, value.literal)
            case Call():
                return self._call(node)
            case ScalarQuery(query):
                return self._scalar_query(query)
            case _:
                assert_never(node)

    def constant_integer(self, node: Expression, what: str) -> int:
        """Return an integer constant, signed or not; anything else there is outside the lab."""
        if isinstance(node, Unary) and node.operator == "-":
            return -self.constant_integer(node.operand, what)
        if isinstance(node, Literal) and node.kind == "int":
            return int(node.text)
        raise unsupported(f"{what} that is not an integer constant")

    def as_type(self, node: Expression, target: SqlType) -> str:
        """Translate an expression and convert it as an argument."""
        return convert(self.value(node), target).sql

    def _call(self, node: Call) -> Value:
        if node.name in AGGREGATES or node.name in RANKINGS:
            return translate_aggregate(self, node)
        return translate_function(self, node)

    def _unary(self, node: Unary) -> Value:
        value = self.value(node.operand)
        if node.operator == "+":
            return value
        if node.operator == "~":
            if not value.type.is_integer:
                raise SqlServerError(
                    Number.OPERAND_INVALID,
                    f"Operand data type {value.type.name} is invalid for '~' operator.",
                )
            return Value(f"(~{value.sql})", value.type)
        if not value.type.is_number and not value.is_null:
            raise SqlServerError(
                Number.OPERAND_INVALID, f"Operand data type {value.type.name} is invalid for minus operator."
            )
        if value.literal is not None and not value.is_null:
            literal = Literal(value.literal.kind, value.literal.text)
            return Value(f"(-{value.sql})", value.type, literal)
        negative = SMALLINT if value.type.name == "tinyint" else INT if value.is_null else value.type
        return Value(f"(-{value.sql})", negative.with_null(nullable=True))

    def _binary(self, node: Binary) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if node.operator in ("&", "|", "^"):
            return self._bitwise(node.operator, left, right)
        texts = [value for value in (left, right) if value.type.is_character or value.type.is_binary]
        others = [value for value in (left, right) if value not in texts]
        if node.operator == "+" and texts and all(value.is_null for value in others):
            return _concatenate(left, right)
        if texts:
            # A number beside text: the text is converted to the number's type.
            target = common_type([left.type, right.type], [left.literal, right.literal])
            left, right = (
                convert(value, target) if value.type.is_character else value for value in (left, right)
            )
        if left.type.is_temporal or right.type.is_temporal:
            raise unsupported("arithmetic with dates")
        return _calculate(node.operator, left, right)

    def _bitwise(self, operator: str, left: Value, right: Value) -> Value:
        result = bitwise(operator, left.type, right.type)
        symbol = "#" if operator == "^" else operator
        if result.name == "bit":
            logical = {"&": "AND", "|": "OR", "^": "<>"}[operator]
            return Value(f"({left.sql} {logical} {right.sql})", result)
        operands = [convert(value, result).sql for value in (left, right)]
        return Value(f"({operands[0]} {symbol} {operands[1]})", result)

    def _case(self, node: Case) -> Value:
        results = [self.value(then) for _, then in node.branches]
        default = _constant(Literal("null")) if node.default is None else self.value(node.default)
        results.append(default)
        if all(result.is_null for result in results):
            raise SqlServerError(
                8133,
                "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.",
            )
        target = common_type([result.type for result in results], [result.literal for result in results])
        operand = None if node.operand is None else self.value(node.operand)
        parts: list[str] = []
        for (when, _), result in zip(node.branches, results, strict=False):
            if operand is None:
                condition = self.condition(when)  # type: ignore[arg-type]
            else:
                condition = self.compare("=", operand, self.value(when))  # type: ignore[arg-type]
            parts.append(f"WHEN {condition} THEN {convert(result, target).sql}")
        sql = f"(CASE {' '.join(parts)} ELSE {convert(default, target).sql} END)"
        return Value(sql, target.with_null(any(result.type.nullable for result in results)))

    def _cast(self, node: Cast) -> Value:
        style = None if node.style is None else self.constant_integer(node.style, "style")
        operand = self.value(node.operand)
        target = collated(node.target, operand.type)
        return convert(operand, target, style=style, is_try=node.is_try, explicit=True)

    def _scalar_query(self, query: Query) -> Value:
        sql, columns = self.queries.subquery(query, self.scope)
        _require_one_column(columns)
        return Value(f"({sql})", columns[0].type.with_null(nullable=True))

    # --- conditions -----------------------------------------------------------------------------------------------

    def condition(self, node: Condition) -> str:
        """Translate a search condition to a PostgreSQL boolean, in parentheses where it needs them."""
        match node:
            case Comparison(operator, left, right):
                return self.compare(operator, self.value(left), self.value(right))
            case Logical(operator, left_condition, right_condition):
                return f"({self.condition(left_condition)} {operator} {self.condition(right_condition)})"
            case Not(operand_condition):
                return f"(NOT {self.condition(operand_condition)})"
            case IsNull(operand, negated):
                return f"({self.value(operand).sql} IS {'NOT ' if negated else ''}NULL)"
            case InList(operand, items, negated):
                value = self.value(operand)
                tests = " OR ".join(self.compare("=", value, self.value(item)) for item in items)
                return f"(NOT ({tests}))" if negated else f"({tests})"
            case InQuery():
                return self._in_query(node)
            case Between(operand, low, high, negated):
                value = self.value(operand)
                test = f"({self.compare('>=', value, self.value(low))} AND {self.compare('<=', value, self.value(high))})"
                return f"(NOT {test})" if negated else test
            case Like():
                return self._like(node)
            case Exists(query):
                sql, _ = self.queries.subquery(query, self.scope)
                return f"(EXISTS ({sql}))"
            case _:
                assert_never(node)

    def compare(self, operator: str, left: Value, right: Value) -> str:
        """Compare by the higher type; trailing blanks of text don't count."""
        left_sql, right_sql = comparable([left, right])
        return f"({left_sql} {operator} {right_sql})"

    def _in_query(self, node: InQuery) -> str:
        value = self.value(node.operand)
        sql, columns = self.queries.subquery(node.query, self.scope)
        _require_one_column(columns)
        name = self.context.fresh_name()
        item = Value(f'"{name}"."c"', columns[0].type)
        left, right = comparable([value, item])
        test = f'{left} IN (SELECT {right} FROM ({sql}) AS "{name}"("c"))'
        return f"(NOT ({test}))" if node.negated else f"({test})"

    def _like(self, node: Like) -> str:
        operand, pattern = self.value(node.operand), self.value(node.pattern)
        if not operand.type.is_character:
            operand = convert(operand, SqlType("varchar", length=8000))
        if not pattern.type.is_character:
            raise SqlServerError(Number.INVALID_ARGUMENT, "Argument data type is invalid for LIKE.")
        escape = None
        if node.escape is not None:
            if not isinstance(node.escape, Literal) or len(node.escape.text) != 1:
                raise SqlServerError(506, "The invalid escape character was specified in a LIKE predicate.")
            escape = node.escape.text
        test = like_test(operand, pattern, escape)
        return f"(NOT {test})" if node.negated else test


def _require_one_column(columns: Sequence[ResultColumn]) -> None:
    if len(columns) != 1:
        raise SqlServerError(
            Number.SUBQUERY_COLUMN_COUNT,
            "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.",
        )


def _constant(node: Literal) -> Value:
    sql_type = literal_type(node)
    match node.kind:
        case "null":
            return Value("NULL", sql_type, node)
        case "default":
            raise SqlServerError(Number.SYNTAX_KEYWORD, "Incorrect syntax near the keyword 'DEFAULT'.")
        case "string" | "nstring":
            return Value(text_literal(node.text), sql_type, node)
        case "binary":
            return Value(f"'\\x{node.text}'::bytea", sql_type, node)
        case "float":
            return Value(f"'{node.text}'::float8", sql_type, node)
        case "int":
            digits = node.text.lstrip("0") or "0"
            return Value(digits if sql_type.name == "int" else f"{digits}::numeric", sql_type, node)
        case "decimal":
            return Value(cast(node.text, sql_type), sql_type, node)
        case _:
            assert_never(node.kind)


def _concatenate(left: Value, right: Value) -> Value:
    result = concatenation(left.type, right.type)
    if left.is_null or right.is_null:
        base = "bytea" if result.is_binary else "text"
        return Value(f"CAST(NULL AS {base})", result.with_null(nullable=True))
    if left.type.is_binary != right.type.is_binary:
        raise SqlServerError(
            Number.OPERATORS_INCOMPATIBLE,
            f"The data types {left.type.name} and {right.type.name} are incompatible in the add operator.",
        )
    sql = f"({left.sql} || {right.sql})"
    total = (left.type.length or 0) + (right.type.length or 0)
    if result.length != MAX and total > longest(result.name):
        unit = "" if result.is_binary else ", 'unit'" if result.is_unicode else ", 'byte'"
        sql = f"sys.cut({sql}, {result.length}{unit})"
    return Value(sql, result)


def _calculate(operator: str, left: Value, right: Value) -> Value:
    result = arithmetic(operator, left.type, right.type, (left.literal, right.literal))
    left_sql, right_sql = (
        cast(value.sql, result)
        if value.is_null
        else cast(value.sql, INT)
        if value.type.name == "bit"
        else value.sql
        for value in (left, right)
    )
    if result.is_decimal:
        return Value(_decimal_sql(operator, result, left_sql, right_sql), result)
    if result.name == "tinyint":
        return Value(f"sys.tinyint_of(({left_sql}::int4 {operator} {right_sql}::int4))", result)
    if result.name in ("float", "real"):
        return Value(f"({cast(left_sql, result)} {operator} {cast(right_sql, result)})", result)
    # A smaller operand doesn't narrow PostgreSQL's result: both sides take the type of the result.
    left_sql, right_sql = (
        sql if value.type.name == result.name or value.is_null else cast(sql, result)
        for sql, value in ((left_sql, left), (right_sql, right))
    )
    return Value(f"({left_sql} {operator} {right_sql})", result)


def _decimal_sql(operator: str, result: SqlType, left: str, right: str) -> str:
    if operator == "/":
        return cast(f"sys.divide({left}::numeric, {right}::numeric, {result.scale})", result)
    sql = f"({left}::numeric {operator} {right}::numeric)"
    # Below 38 digits PostgreSQL's exact result has the scale of the rule already.
    return sql if (result.precision or 0) < MAX_PRECISION else cast(sql, result)
