"""Recursive descent over scalar expressions and conditions."""

from __future__ import annotations

import re
from typing import Literal as OneOf
from typing import cast, get_args

from dpone_lab.sqlserver.language.errors import Number, SqlServerError, syntax_near, unsupported
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
    OrderItem,
    Query,
    ScalarQuery,
    Unary,
    Variable,
    Window,
)
from dpone_lab.sqlserver.language.known_functions import (
    AGGREGATES,
    DATE_PART_FUNCTIONS,
    DATE_PARTS,
    EVENT_FIELDS,
    NILADIC_WORDS,
    RANKINGS,
    RESERVED_FUNCTION_WORDS,
    SESSION_FUNCTIONS,
    arity,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.stream import TokenStream
from dpone_lab.sqlserver.language.translation import SESSION_VALUES
from dpone_lab.sqlserver.language.types import DEFAULT_LENGTH_IN_CAST, LEGACY_TYPES, SqlType, make_type

_CONDITIONS = (Between, Comparison, Exists, InList, InQuery, IsNull, Like, Logical, Not)
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ComparisonOperator = OneOf["=", "<>", "<", "<=", ">", ">="]
_BinaryOperator = OneOf["+", "-", "*", "/", "%", "&", "|", "^"]
_MULTIPLICATIVE = frozenset({"*", "/", "%"})
_ADDITIVE = frozenset({"+", "-", "&", "|", "^"})
_EVENT_PATH = re.compile(r"^\(/EVENT_INSTANCE/(\w+)\)\[1\]$")
assert frozenset(get_args(_ComparisonOperator)) == _COMPARISONS


class ExpressionParser(TokenStream):
    """Parses expressions and conditions; queries come from the deriving parser."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.event_variables: set[str] = set()
        """Variables declared as ``xml = EVENTDATA()``; only their ``.value()`` is understood."""
        self.takes_legacy_types = False
        """Whether drivers speak: their ``ntext`` parameters are nvarchar(max)."""

    def query(self) -> Query:
        """Parse a query expression."""
        raise NotImplementedError

    # --- entry points ---------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        """Parse a scalar expression; a condition there is a syntax error, as T-SQL has no boolean values."""
        return self._scalar(self._additive())

    def condition(self) -> Condition:
        """Parse a search condition; a scalar there is error 4145."""
        return self._boolean(self._disjunction())

    def type_name(self, default_length: int) -> SqlType:
        """Parse a data type with its arguments."""
        if self.current.kind is TokenKind.WORD and self.at_any("NATIONAL", "DOUBLE"):
            words = [self.take().value]
        else:
            words = [self.name()]
        if self.accept("."):
            if words[0].lower() != "sys":
                raise unsupported(f"user-defined type {words[0]}.{self.current.value}")
            words = [self.name()]
        while self.at_any("VARYING", "PRECISION", "CHARACTER", "CHAR"):
            words.append(self.take().value)
        arguments: list[str] = []
        if self.accept("("):
            arguments.append(self.take().value)
            while self.accept(","):
                arguments.append(self.take().value)
            self.expect(")")
        legacy = LEGACY_TYPES.get(words[0].lower()) if self.takes_legacy_types else None
        if legacy is not None:
            return legacy
        return make_type(" ".join(words), tuple(arguments), default_length=default_length)

    # --- conditions -----------------------------------------------------------------------------------------------

    def _scalar(self, parsed: Expression | Condition) -> Expression:
        if isinstance(parsed, _CONDITIONS):
            raise self.unexpected()
        return parsed

    def _boolean(self, parsed: Expression | Condition) -> Condition:
        if isinstance(parsed, _CONDITIONS):
            return parsed
        raise SqlServerError(
            Number.NON_BOOLEAN,
            "An expression of non-boolean type specified in a context where a condition is expected, "
            f"near '{self.current.text}'.",
            severity=15,
        )

    def _disjunction(self) -> Expression | Condition:
        left = self._conjunction()
        while self.accept("OR"):
            left = Logical("OR", self._boolean(left), self._boolean(self._conjunction()))
        return left

    def _conjunction(self) -> Expression | Condition:
        left = self._negation()
        while self.accept("AND"):
            left = Logical("AND", self._boolean(left), self._boolean(self._negation()))
        return left

    def _negation(self) -> Expression | Condition:
        if self.accept("NOT"):
            return Not(self._boolean(self._negation()))
        return self._predicate()

    def _predicate(self) -> Expression | Condition:
        if self.at("EXISTS"):
            self.take()
            return Exists(self._parenthesised_query())
        left = self._additive()
        if self.current.upper in _COMPARISONS:
            operator = cast("_ComparisonOperator", self.take().upper)
            if self.at_any("ALL", "ANY", "SOME"):
                raise unsupported(f"comparison with {self.current.upper}")
            return Comparison(operator, self._scalar(left), self._scalar(self._additive()))
        if self.accept("IS"):
            negated = self.accept("NOT")
            if self.at("DISTINCT"):
                raise unsupported("IS DISTINCT FROM")
            self.expect("NULL")
            return IsNull(self._scalar(left), negated)
        negated = self.at("NOT") and self.peek().upper in ("IN", "LIKE", "BETWEEN")
        if negated:
            self.take()
        if self.accept("IN"):
            return self._membership(self._scalar(left), negated=negated)
        if self.accept("BETWEEN"):
            low = self.expression()
            self.expect("AND")
            return Between(self._scalar(left), low, self.expression(), negated)
        if self.accept("LIKE"):
            pattern = self.expression()
            escape = self.expression() if self.accept("ESCAPE") else None
            return Like(self._scalar(left), pattern, escape, negated)
        return left

    def _membership(self, operand: Expression, *, negated: bool) -> Condition:
        if self._at_query_in_parentheses():
            return InQuery(operand, self._parenthesised_query(), negated)
        return InList(operand, self._expressions_in_parentheses(), negated)

    # --- scalars --------------------------------------------------------------------------------------------------

    def _additive(self) -> Expression | Condition:
        left = self._multiplicative()
        while self.current.upper in _ADDITIVE:
            operator = cast("_BinaryOperator", self.take().upper)
            left = Binary(operator, self._scalar(left), self._scalar(self._multiplicative()))
        return left

    def _multiplicative(self) -> Expression | Condition:
        left = self._unary()
        while self.current.upper in _MULTIPLICATIVE:
            operator = cast("_BinaryOperator", self.take().upper)
            left = Binary(operator, self._scalar(left), self._scalar(self._unary()))
        return left

    def _unary(self) -> Expression | Condition:
        if self.at_any("-", "+", "~"):
            operator = cast("OneOf['-', '+', '~']", self.take().upper)
            return Unary(operator, self._scalar(self._unary()))
        operand = self._primary()
        while self.accept("COLLATE"):
            operand = Collate(self._scalar(operand), self.take().value)
        if self.at("AT", "TIME"):
            raise unsupported("AT TIME ZONE")
        return operand

    def _primary(self) -> Expression | Condition:
        token = self.current
        match token.kind:
            case TokenKind.STRING:
                return Literal("string", self.take().value)
            case TokenKind.NATIONAL_STRING:
                return Literal("nstring", self.take().value)
            case TokenKind.INTEGER:
                return Literal("int", self.take().value)
            case TokenKind.DECIMAL:
                return Literal("decimal", self.take().value)
            case TokenKind.FLOAT:
                return Literal("float", self.take().value)
            case TokenKind.BINARY:
                return Literal("binary", self.take().value.lower())
            case TokenKind.VARIABLE:
                return self._variable()
            case TokenKind.SYMBOL if token.upper == "(":
                return self._parenthesised()
            case TokenKind.SYMBOL if token.upper == "{":
                raise unsupported("ODBC escape sequence")
            case TokenKind.WORD | TokenKind.QUOTED_NAME:
                return self._word()
            case _:
                raise self.unexpected()

    def _variable(self) -> Expression:
        name = self.take().value.lower()
        if name.startswith("@@") and name not in SESSION_VALUES:
            raise unsupported(name)
        if name in self.event_variables:
            return self._event_field()
        if self.at("."):
            raise unsupported("method call on a variable")
        return Variable(name)

    def _at_query_in_parentheses(self) -> bool:
        distance = 0
        while self.peek(distance).upper == "(":
            distance += 1
        return distance > 0 and self.peek(distance).upper in ("SELECT", "WITH")

    def _parenthesised_query(self) -> Query:
        self.expect("(")
        query = self.query()
        self.expect(")")
        return query

    def _parenthesised(self) -> Expression | Condition:
        if self.peek().upper in ("SELECT", "WITH"):
            return ScalarQuery(self._parenthesised_query())
        self.expect("(")
        inner = self._disjunction()
        self.expect(")")
        return inner

    def _expressions_in_parentheses(self) -> tuple[Expression, ...]:
        self.expect("(")
        items = [self.expression()]
        while self.accept(","):
            items.append(self.expression())
        self.expect(")")
        return tuple(items)

    def _word(self) -> Expression:
        word = self.current.upper
        if word == "NULL":
            self.take()
            return Literal("null")
        if word == "CASE":
            return self._case()
        if word in NILADIC_WORDS:
            self.take()
            if word == "CURRENT_TIMESTAMP":
                return Call("getdate", ())
            return Variable("current_user" if word == "USER" else word.lower())
        if word == "NEXT" and self.peek().upper == "VALUE":
            raise unsupported("NEXT VALUE FOR")
        calls = self.peek().upper == "(" and self.current.kind is TokenKind.WORD
        if calls and (word in RESERVED_FUNCTION_WORDS or self.at_name()):
            return self._call(self.take().value.lower())
        return self._column()

    def _column(self) -> Expression:
        parts = [self.name()]
        while self.at("."):
            if self.peek().upper == "*":
                raise syntax_near("*")
            self.take()
            parts.append("" if self.at(".") else self.name())
        if self.at("("):
            raise unsupported(f"function {'.'.join(parts)}")
        if len(parts) > 4:
            raise SqlServerError(4104, f'The multi-part identifier "{".".join(parts)}" could not be bound.')
        return ColumnRef(parts[-1], tuple(parts[:-1]))

    def _case(self) -> Case:
        self.expect("CASE")
        operand = None if self.at("WHEN") else self.expression()
        branches: list[tuple[Expression | Condition, Expression]] = []
        while self.accept("WHEN"):
            when = self.condition() if operand is None else self.expression()
            self.expect("THEN")
            branches.append((when, self.expression()))
        default = self.expression() if self.accept("ELSE") else None
        if not branches:
            raise self.unexpected()
        self.expect("END")
        return Case(operand, tuple(branches), default)

    # --- calls ----------------------------------------------------------------------------------------------------

    def _call(self, name: str) -> Expression:
        match name:
            case "cast" | "try_cast":
                return self._cast(is_try=name == "try_cast")
            case "convert" | "try_convert":
                return self._convert(is_try=name == "try_convert")
            case "iif":
                self.expect("(")
                condition = self.condition()
                self.expect(",")
                then = self.expression()
                self.expect(",")
                otherwise = self.expression()
                self.expect(")")
                return Case(None, ((condition, then),), otherwise)
            case "trim":
                return self._trim()
            case "eventdata":
                self.expect("(", ")")
                return self._event_field()
            case _:
                return self._ordinary_call(name)

    def _cast(self, *, is_try: bool) -> Cast:
        self.expect("(")
        operand = self.expression()
        self.expect("AS")
        target = self.type_name(DEFAULT_LENGTH_IN_CAST)
        self.expect(")")
        return Cast(operand, target, is_try=is_try)

    def _convert(self, *, is_try: bool) -> Cast:
        self.expect("(")
        target = self.type_name(DEFAULT_LENGTH_IN_CAST)
        self.expect(",")
        operand = self.expression()
        style = self.expression() if self.accept(",") else None
        self.expect(")")
        return Cast(operand, target, style, is_try)

    def _trim(self) -> Call:
        self.expect("(")
        if self.at_any("LEADING", "TRAILING", "BOTH"):
            raise unsupported(f"TRIM ({self.current.upper} …)")
        arguments = [self.expression()]
        if self.accept("FROM"):
            arguments.append(self.expression())
        self.expect(")")
        return Call("trim", tuple(arguments))

    def _event_field(self) -> Expression:
        """Parse ``.value('(/EVENT_INSTANCE/X)[1]', 'type')`` of EVENTDATA(), the only XML the lab reads."""
        if not self.accept("."):
            raise unsupported("EVENTDATA() without .value()")
        self.expect("VALUE", "(")
        path = _EVENT_PATH.match(self.take().value)
        self.expect(",")
        type_text = self.take().value
        self.expect(")")
        field = path.group(1).lower() if path else ""
        if field not in EVENT_FIELDS:
            raise unsupported("EVENTDATA() path")
        return Cast(Variable(f"eventdata:{field}"), _parse_cast_type(type_text))

    def _ordinary_call(self, name: str) -> Expression:
        allowed = arity(name)
        if allowed is None and name not in SESSION_FUNCTIONS:
            raise SqlServerError(
                Number.NOT_A_FUNCTION, f"'{name}' is not a recognized built-in function name.", severity=15
            )
        self.expect("(")
        if name in SESSION_FUNCTIONS and self.at(")"):
            self.take()
            return Variable(f"{name}()")
        star = name in ("count", "count_big") and self.accept("*")
        distinct = name in AGGREGATES and self.accept("DISTINCT")
        if name in AGGREGATES:
            self.accept("ALL")
        arguments: list[Expression] = []
        if name in DATE_PART_FUNCTIONS:
            arguments.append(self._date_part(name))
            self.expect(",")
        if not star and not self.at(")"):
            arguments.append(self.expression())
            while self.accept(","):
                arguments.append(self.expression())
        self.expect(")")
        low, high = allowed or (1, 0)
        if not low <= len(arguments) + star <= high:
            raise SqlServerError(
                Number.WRONG_ARGUMENT_COUNT, f"The {name} function requires {low} to {high} argument(s)."
            )
        return self._call_suffix(Call(name, tuple(arguments), star=star, distinct=distinct))

    def _date_part(self, name: str) -> Literal:
        part = self.take()
        known = DATE_PARTS.get(part.value.lower())
        if part.kind is not TokenKind.WORD or known is None:
            raise SqlServerError(155, f"'{part.text}' is not a recognized {name} option.", severity=15)
        return Literal("string", known)

    def _call_suffix(self, call: Call) -> Call:
        within_group: tuple[OrderItem, ...] = ()
        if self.at("WITHIN", "GROUP"):
            if call.name != "string_agg":
                raise self.unexpected()
            self.expect("WITHIN", "GROUP", "(")
            within_group = self.order_by()
            self.expect(")")
        over = None
        if self.at("OVER"):
            if call.name not in AGGREGATES and call.name not in RANKINGS:
                raise SqlServerError(
                    4113, f"The function '{call.name}' is not a valid windowing function.", severity=15
                )
            over = self._window()
        elif call.name in RANKINGS:
            raise SqlServerError(10753, f"The function '{call.name}' must have an OVER clause.", severity=15)
        if self.at_any("FILTER") or self.at("IGNORE", "NULLS"):
            raise unsupported(f"{self.current.upper} after a function")
        return Call(call.name, call.arguments, call.star, call.distinct, within_group, over)

    def _window(self) -> Window:
        self.expect("OVER", "(")
        partition: list[Expression] = []
        if self.accept("PARTITION"):
            self.expect("BY")
            partition.append(self.expression())
            while self.accept(","):
                partition.append(self.expression())
        order = self.order_by() if self.at("ORDER") else ()
        frame = self._frame() if self.at_any("ROWS", "RANGE") else None
        self.expect(")")
        return Window(tuple(partition), order, frame)

    def _frame(self) -> str:
        unit = self.take().upper
        if not self.accept("BETWEEN"):
            return f"{unit} {self._frame_edge()}"
        start = self._frame_edge()
        self.expect("AND")
        return f"{unit} BETWEEN {start} AND {self._frame_edge()}"

    def _frame_edge(self) -> str:
        if self.accept("CURRENT"):
            self.expect("ROW")
            return "CURRENT ROW"
        amount = "UNBOUNDED" if self.accept("UNBOUNDED") else str(self.integer())
        if not self.at_any("PRECEDING", "FOLLOWING"):
            raise self.unexpected()
        return f"{amount} {self.take().upper}"

    def order_by(self) -> tuple[OrderItem, ...]:
        """Parse ORDER BY items."""
        self.expect("ORDER", "BY")
        items = [self._order_item()]
        while self.accept(","):
            items.append(self._order_item())
        return tuple(items)

    def _order_item(self) -> OrderItem:
        expression = self.expression()
        descending = self.accept("DESC")
        if not descending:
            self.accept("ASC")
        return OrderItem(expression, descending)


def _parse_cast_type(text: str) -> SqlType:
    parser = ExpressionParser(text)
    parsed = parser.type_name(DEFAULT_LENGTH_IN_CAST)
    if not parser.at_end():
        raise parser.unexpected()
    return parsed
