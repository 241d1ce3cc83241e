"""Recursive descent over function calls, their windows, and data types."""

from __future__ import annotations

import re

from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Call,
    Case,
    Cast,
    Condition,
    Expression,
    Literal,
    OrderItem,
    Variable,
    Window,
)
from dpone_lab.sqlserver.language.known_functions import (
    AGGREGATES,
    DATE_PART_FUNCTIONS,
    DATE_PARTS,
    EVENT_FIELDS,
    RANKINGS,
    SESSION_FUNCTIONS,
    arity,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.stream import TokenStream
from dpone_lab.sqlserver.language.types import DEFAULT_LENGTH_IN_CAST, LEGACY_TYPES, SqlType, make_type

_EVENT_PATH = re.compile(r"^\(/EVENT_INSTANCE/(\w+)\)\[1\]$")


class CallParser(TokenStream):
    """Parses what follows a function's name; expressions come from the deriving parser."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.event_variables: set[str] = set()
        """Variables declared as ``xml = EVENTDATA()``; only their ``.value()`` is understood."""
        self.takes_legacy_types = False
        """Whether drivers speak: their ``ntext`` parameters are nvarchar(max)."""

    def expression(self) -> Expression:
        """Parse a scalar expression."""
        raise NotImplementedError

    def condition(self) -> Condition:
        """Parse a search condition."""
        raise NotImplementedError

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
    parser = CallParser(text)
    parsed = parser.type_name(DEFAULT_LENGTH_IN_CAST)
    if not parser.at_end():
        raise parser.unexpected()
    return parsed
