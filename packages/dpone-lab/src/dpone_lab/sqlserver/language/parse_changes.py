"""Recursive descent over INSERT, UPDATE and DELETE."""

from __future__ import annotations

from typing import Literal as OneOf
from typing import cast

from dpone_lab.sqlserver.language.errors import syntax_near, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Assignment,
    CommonTable,
    Condition,
    Delete,
    Expression,
    Insert,
    Output,
    Query,
    Source,
    Star,
    TableSource,
    Update,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_queries import QueryParser

_COMPOUND = frozenset({"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="})


def compound_operator(symbol: str) -> OneOf["+", "-", "*", "/", "%", "&", "|", "^"]:
    """Return the operator inside a compound assignment."""
    return cast("OneOf['+', '-', '*', '/', '%', '&', '|', '^']", symbol[0])


class ChangeParser(QueryParser):
    """Parses statements that change rows."""

    def insert(self, common: tuple[CommonTable, ...]) -> Insert:
        """Parse INSERT up to its source; INSERT … EXEC is refused."""
        self.expect("INSERT")
        if self.at("TOP"):
            raise unsupported("INSERT TOP")
        self.accept("INTO")
        target = self._target()
        columns: tuple[str, ...] = ()
        if self.at("(") and not self._at_query_in_parentheses():
            columns = self.names_in_parentheses()
        output = self._output()
        rows: tuple[tuple[Expression, ...], ...] = ()
        query: Query | None = None
        if self.accept("DEFAULT", "VALUES"):
            pass
        elif self.at("VALUES"):
            rows = self.values_rows()
        elif self.at_any("EXEC", "EXECUTE"):
            raise unsupported("INSERT … EXEC")
        else:
            query = self.query()
        self.option_clause()
        return Insert(target, columns, rows, query, output, common)

    def update(self, common: tuple[CommonTable, ...]) -> Update:
        """Parse UPDATE … SET … [OUTPUT] [FROM] [WHERE]."""
        self.expect("UPDATE")
        top = self.top() if self.at("TOP") else None
        target = self._target()
        self.expect("SET")
        assignments = [self._assignment()]
        while self.accept(","):
            assignments.append(self._assignment())
        output = self._output()
        sources, where = self._from_where()
        return Update(target, tuple(assignments), sources, where, output, common, top)

    def delete(self, common: tuple[CommonTable, ...]) -> Delete:
        """Parse DELETE [FROM] target [OUTPUT] [FROM] [WHERE]."""
        self.expect("DELETE")
        top = self.top() if self.at("TOP") else None
        self.accept("FROM")
        target = self._target()
        output = self._output()
        sources, where = self._from_where()
        return Delete(target, sources, where, output, common, top)

    def _from_where(self) -> tuple[tuple[Source, ...], Condition | None]:
        sources = self.sources() if self.accept("FROM") else ()
        where = None
        if self.accept("WHERE"):
            if self.at("CURRENT", "OF"):
                raise unsupported("WHERE CURRENT OF")
            where = self.condition()
        self.option_clause()
        return sources, where

    def _target(self) -> TableSource:
        if self.current.kind is TokenKind.VARIABLE:
            raise unsupported("table variable")
        if self.at_any("OPENQUERY", "OPENROWSET"):
            raise unsupported(self.current.upper)
        return TableSource(self.object_name(), None, self.table_hints())

    def _assignment(self) -> Assignment:
        if self.current.kind is TokenKind.VARIABLE:
            raise unsupported("variable assignment in UPDATE")
        column = self.name()
        while self.accept("."):
            column = self.name()
        symbol = self.take()
        operator = compound_operator(symbol.upper) if symbol.upper in _COMPOUND else None
        if operator is None and symbol.upper != "=":
            raise syntax_near(symbol.text)
        value = self._value()
        if self.at("="):
            raise unsupported("column = column = value")
        return Assignment(column, value, operator)

    def _output(self) -> Output | None:
        if not self.accept("OUTPUT"):
            return None
        items = self.select_items()
        for item in items:
            if isinstance(item.expression, Star) and not item.expression.qualifier:
                raise syntax_near("*")
        if not self.accept("INTO"):
            return Output(items)
        if self.current.kind is TokenKind.VARIABLE:
            raise unsupported("table variable")
        into = self.object_name()
        columns = self.names_in_parentheses() if self.at("(") and not self._at_query_in_parentheses() else ()
        if self.at("OUTPUT"):
            raise unsupported("second OUTPUT clause")
        return Output(items, into, columns)
