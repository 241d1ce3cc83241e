"""Recursive descent over queries: SELECT, set operations, table sources, hints."""

from __future__ import annotations

from typing import Literal as OneOf
from typing import cast

from dpone_lab.sqlserver.language.errors import SqlServerError, require_identifier, unsupported
from dpone_lab.sqlserver.language.expressions import (
    ColumnRef,
    CommonTable,
    DerivedTable,
    Expression,
    FunctionTable,
    Join,
    JoinKind,
    Literal,
    ObjectName,
    OrderItem,
    Query,
    QueryBody,
    Select,
    SelectItem,
    SetOperation,
    Source,
    Star,
    TableSource,
    ValuesTable,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_expressions import ExpressionParser

LOCK_HINTS = frozenset(
    """NOLOCK READUNCOMMITTED READCOMMITTED READCOMMITTEDLOCK REPEATABLEREAD SERIALIZABLE HOLDLOCK UPDLOCK
    XLOCK ROWLOCK PAGLOCK TABLOCK TABLOCKX""".split()  # noqa: SIM905 - a table of words
)
"""Table hints that become a lock plan; every other hint is refused."""


class QueryParser(ExpressionParser):
    """Parses whole queries and their parts."""

    def query(self) -> Query:
        """Parse ``[WITH …] body [ORDER BY … [OFFSET …]]``; an OPTION clause is left to the statement."""
        common = self.common_tables() if self.at("WITH") else ()
        body = self._union()
        order: tuple[OrderItem, ...] = ()
        offset = fetch = None
        if self.at("ORDER"):
            order = self.order_by()
            if self.accept("OFFSET"):
                offset, fetch = self._offset()
        self._refuse_for()
        return Query(body, common, order, offset, fetch)

    def common_tables(self) -> tuple[CommonTable, ...]:
        """Parse ``WITH name [(columns)] AS (query), …``."""
        self.expect("WITH")
        if self.at("XMLNAMESPACES"):
            raise unsupported("WITH XMLNAMESPACES")
        tables: list[CommonTable] = []
        while True:
            name = self.name()
            columns = self.names_in_parentheses() if self.at("(") else ()
            self.expect("AS", "(")
            query = self.query()
            self.expect(")")
            if name.lower() in {table.name.lower() for table in tables}:
                raise SqlServerError(462, f"Duplicate common table expression name '{name}'.")
            tables.append(CommonTable(name, columns, query))
            if not self.accept(","):
                return tuple(tables)

    def option_clause(self) -> None:
        """Parse OPTION (…); only options that change no result are let through."""
        if not self.accept("OPTION"):
            return
        self.expect("(")
        while True:
            if self.accept("LABEL"):
                self.expect("=")
                if self.take().kind not in (TokenKind.STRING, TokenKind.NATIONAL_STRING):
                    raise self.unexpected()
            elif self.accept("MAXDOP"):
                self.integer()
            elif not self.accept("RECOMPILE"):
                raise unsupported(f"OPTION ({self.current.text})")
            if not self.accept(","):
                break
        self.expect(")")

    def _offset(self) -> tuple[Expression, Expression | None]:
        offset = self.expression()
        if not (self.accept("ROWS") or self.accept("ROW")):
            raise self.unexpected()
        if not self.accept("FETCH"):
            return offset, None
        if not (self.accept("NEXT") or self.accept("FIRST")):
            raise self.unexpected()
        fetch = self.expression()
        if not (self.accept("ROWS") or self.accept("ROW")):
            raise self.unexpected()
        self.expect("ONLY")
        return offset, fetch

    def _refuse_for(self) -> None:
        if self.at("FOR"):
            raise unsupported(f"FOR {self.peek().upper}")

    # --- bodies ---------------------------------------------------------------------------------------------------

    def _union(self) -> QueryBody:
        left = self._intersect()
        while self.at_any("UNION", "EXCEPT"):
            word = self.take().upper
            if word == "UNION" and self.accept("ALL"):
                word = "UNION ALL"
            left = SetOperation(cast("OneOf['UNION', 'UNION ALL', 'EXCEPT']", word), left, self._intersect())
        return left

    def _intersect(self) -> QueryBody:
        left = self._query_primary()
        while self.accept("INTERSECT"):
            left = SetOperation("INTERSECT", left, self._query_primary())
        return left

    def _query_primary(self) -> QueryBody:
        if self.accept("("):
            body = self._union()
            if self.at("ORDER"):
                raise self.unexpected()
            self.expect(")")
            return body
        return self._select()

    def _select(self) -> Select:
        self.expect("SELECT")
        distinct = self.accept("DISTINCT")
        if not distinct:
            self.accept("ALL")
        top = self.top() if self.at("TOP") else None
        items = self.select_items()
        into = self.object_name() if self.accept("INTO") else None
        sources = self.sources() if self.accept("FROM") else ()
        where = self.condition() if self.accept("WHERE") else None
        group_by: list[Expression] = []
        if self.accept("GROUP"):
            self.expect("BY")
            if self.at_any("ROLLUP", "CUBE", "GROUPING", "ALL"):
                raise unsupported(f"GROUP BY {self.current.upper}")
            group_by.append(self.expression())
            while self.accept(","):
                group_by.append(self.expression())
            if self.at("WITH"):
                raise unsupported(f"GROUP BY … WITH {self.peek().upper}")
        having = self.condition() if self.accept("HAVING") else None
        if self.at("WINDOW"):
            raise unsupported("WINDOW clause")
        return Select(items, distinct, top, into, sources, where, tuple(group_by), having)

    def top(self) -> Expression:
        """Parse TOP n or TOP (expression)."""
        self.expect("TOP")
        if self.accept("("):
            top = self.expression()
            self.expect(")")
        else:
            top = Literal("int", str(self.integer()))
        if self.at("PERCENT") or self.at("WITH", "TIES"):
            raise unsupported(f"TOP … {self.current.upper}")
        return top

    def select_items(self) -> tuple[SelectItem, ...]:
        """Parse a select list, also that of OUTPUT."""
        items = [self._select_item()]
        while self.accept(","):
            items.append(self._select_item())
        return tuple(items)

    def _select_item(self) -> SelectItem:
        if self.accept("*"):
            return SelectItem(Star())
        if (star := self._qualified_star()) is not None:
            return SelectItem(star)
        if self.current.kind is TokenKind.VARIABLE and self.peek().upper == "=":
            variable = self.take().value.lower()
            self.take()
            return SelectItem(self.expression(), variable=variable)
        if self.current.kind is TokenKind.VARIABLE and self.peek().upper in ("+=", "-=", "*=", "/="):
            raise unsupported("compound assignment in SELECT")
        if self.at_name() and self.peek().upper == "=":
            alias = self.name()
            self.take()
            return SelectItem(self.expression(), alias)
        expression = self.expression()
        return SelectItem(expression, self._column_alias(expression))

    def _qualified_star(self) -> Star | None:
        distance = 0
        while self.peek(distance + 1).upper == ".":
            distance += 2
        if distance == 0 or self.peek(distance).upper != "*":
            return None
        parts: list[str] = []
        while not self.accept("*"):
            parts.append(self.name())
            self.expect(".")
        return Star(tuple(parts))

    def _column_alias(self, expression: Expression) -> str | None:
        if self.accept("AS"):
            if self.current.kind in (TokenKind.STRING, TokenKind.NATIONAL_STRING):
                return require_identifier(self.take().value)
            return self.name()
        if self.current.kind is TokenKind.STRING:
            return require_identifier(self.take().value)
        if self.at_name() and not self._starts_statement():
            return self.name()
        return expression.name if isinstance(expression, ColumnRef) else None

    def _starts_statement(self) -> bool:
        """Tell whether an unreserved word begins a statement of the lab rather than being an alias.

        ``THROW`` after an expression without ``;`` is an alias in T-SQL, hence not here.
        """
        upper = self.current.upper
        return upper in ("ENABLE", "DISABLE") and self.peek().upper == "TRIGGER"

    # --- table sources --------------------------------------------------------------------------------------------

    def sources(self) -> tuple[Source, ...]:
        """Parse what follows FROM."""
        sources = [self._joined_source()]
        while self.accept(","):
            sources.append(self._joined_source())
        return tuple(sources)

    def _joined_source(self) -> Source:
        left = self._source_primary()
        while True:
            kind = self._join_kind()
            if kind is None:
                return left
            if kind in ("CROSS", "CROSS APPLY", "OUTER APPLY"):
                left = Join(kind, left, self._source_primary())
                continue
            right = self._source_primary()
            self.expect("ON")
            left = Join(kind, left, right, self.condition())

    def _join_kind(self) -> JoinKind | None:
        if self.accept("CROSS", "JOIN"):
            return "CROSS"
        if self.accept("CROSS", "APPLY"):
            return "CROSS APPLY"
        if self.accept("OUTER", "APPLY"):
            return "OUTER APPLY"
        for words, kind in (
            (("JOIN",), "INNER"),
            (("INNER", "JOIN"), "INNER"),
            (("LEFT", "JOIN"), "LEFT"),
            (("LEFT", "OUTER", "JOIN"), "LEFT"),
            (("RIGHT", "JOIN"), "RIGHT"),
            (("RIGHT", "OUTER", "JOIN"), "RIGHT"),
            (("FULL", "JOIN"), "FULL"),
            (("FULL", "OUTER", "JOIN"), "FULL"),
        ):
            if self.accept(*words):
                return cast("JoinKind", kind)
        if self.at_any("INNER", "LEFT", "RIGHT", "FULL") and self.peek().upper in (
            "HASH",
            "LOOP",
            "MERGE",
            "REMOTE",
        ):
            raise unsupported(f"{self.peek().upper} join hint")
        return None

    def _source_primary(self) -> Source:
        source = self._source_item()
        if self.at_any("PIVOT", "UNPIVOT", "TABLESAMPLE"):
            raise unsupported(self.current.upper)
        return source

    def _source_item(self) -> Source:
        if self.at("(", "VALUES"):
            self.expect("(")
            rows = self.values_rows()
            self.expect(")")
            alias = self._required_alias()
            return ValuesTable(rows, alias, self.names_in_parentheses())
        if self._at_query_in_parentheses():
            self.expect("(")
            query = self.query()
            self.expect(")")
            derived = self._required_alias()
            return DerivedTable(query, derived, self.names_in_parentheses() if self.at("(") else ())
        if self.accept("("):
            source = self._joined_source()
            self.expect(")")
            return source
        if self.current.kind is TokenKind.VARIABLE:
            raise unsupported("table variable")
        name = self.object_name()
        if self.at("("):
            return self._function_table(name)
        if self.at("FOR", "SYSTEM_TIME"):
            raise unsupported("FOR SYSTEM_TIME")
        shown_as = self._optional_alias()
        return TableSource(name, shown_as, self.table_hints())

    def _function_table(self, name: ObjectName) -> FunctionTable:
        if (name.schema or "").lower() != "sys":
            raise unsupported(f"table-valued function {name}")
        self.expect("(")
        arguments = [self.expression()] if not self.at(")") else []
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")")
        return FunctionTable(name, tuple(arguments), self._optional_alias())

    def _required_alias(self) -> str:
        self.accept("AS")
        return self.name()

    def _optional_alias(self) -> str | None:
        if self.accept("AS"):
            return self.name()
        if self.at_name() and not self._starts_statement() and not self._at_clause_word():
            return self.name()
        return None

    def _at_clause_word(self) -> bool:
        # Words that T-SQL doesn't reserve and that still begin a clause after a table source.
        return self.at_any("OFFSET", "OUTPUT", "WINDOW", "APPLY") or self.at("USING")

    def table_hints(self) -> frozenset[str]:
        """Parse ``WITH (hint, …)``; the form without WITH is refused but for NOLOCK's old spelling."""
        if not self.at("WITH", "("):
            if self.at("(") and self.peek().upper in LOCK_HINTS:
                raise unsupported("table hint without WITH")
            return frozenset()
        self.expect("WITH", "(")
        hints: set[str] = set()
        while not self.accept(")"):
            hint = self.take().upper
            if hint not in LOCK_HINTS:
                raise unsupported(f"table hint {hint or self.tokens[self.position - 1].text}")
            hints.add(hint)
            self.accept(",")
        if hints & {"NOLOCK", "READUNCOMMITTED"} and hints & {"UPDLOCK", "XLOCK", "TABLOCKX", "HOLDLOCK"}:
            raise SqlServerError(1047, "Conflicting locking hints specified.", severity=15)
        return frozenset(hints)

    def values_rows(self) -> tuple[tuple[Expression, ...], ...]:
        """Parse ``VALUES (…), (…)``; DEFAULT is a Literal of that kind. At most 1,000 rows (10738)."""
        self.expect("VALUES")
        rows = [self._values_row()]
        while self.accept(","):
            rows.append(self._values_row())
        if len(rows) > 1000:
            raise SqlServerError(
                10738,
                "The number of row value expressions in the INSERT statement exceeds the maximum allowed number "
                "of 1000 row values.",
                severity=15,
            )
        if len({len(row) for row in rows}) > 1:
            raise SqlServerError(
                10709,
                "The number of columns for each row in a table value constructor must be the same.",
                severity=15,
            )
        return tuple(rows)

    def _values_row(self) -> tuple[Expression, ...]:
        self.expect("(")
        row = [self._value()]
        while self.accept(","):
            row.append(self._value())
        self.expect(")")
        return tuple(row)

    def _value(self) -> Expression:
        return Literal("default") if self.accept("DEFAULT") else self.expression()
