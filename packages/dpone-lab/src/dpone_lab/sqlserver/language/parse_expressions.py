"""Recursive descent over scalar expressions and conditions."""

from __future__ import annotations

from typing import Literal as OneOf
from typing import cast, get_args

from dpone_lab.sqlserver.language.errors import Number, SqlServerError, syntax_near, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Between,
    Binary,
    Call,
    Case,
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
from dpone_lab.sqlserver.language.known_functions import (
    NILADIC_WORDS,
    RESERVED_FUNCTION_WORDS,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_calls import CallParser
from dpone_lab.sqlserver.language.translation import SESSION_VALUES

_CONDITIONS = (Between, Comparison, Exists, InList, InQuery, IsNull, Like, Logical, Not)
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ComparisonOperator = OneOf["=", "<>", "<", "<=", ">", ">="]
_BinaryOperator = OneOf["+", "-", "*", "/", "%", "&", "|", "^"]
_MULTIPLICATIVE = frozenset({"*", "/", "%"})
_ADDITIVE = frozenset({"+", "-", "&", "|", "^"})
assert frozenset(get_args(_ComparisonOperator)) == _COMPARISONS


class ExpressionParser(CallParser):
    """Parses expressions and conditions; queries come from the deriving parser."""

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
