"""From the text of a batch to its tree: control flow, statement by statement, checked whole before any effect.

A statement needs no semicolon: the grammar knows where it ends. What the grammar doesn't know is refused here with
102 or 156 (bad syntax), 195 (unknown function), 137 (undeclared variable), or 40517 (a construct SQL Server has and
the lab hasn't, named in the message).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import (
    Number,
    SqlServerError,
    nested_too_deeply,
    syntax_near,
    unsupported,
)
from dpone_lab.sqlserver.language.expressions import (
    Binary,
    Expression,
    Literal,
    Query,
    Select,
    SelectItem,
    SetOperation,
    Unary,
    Variable,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_changes import compound_operator
from dpone_lab.sqlserver.language.parse_definition_statements import DefinitionStatementParser
from dpone_lab.sqlserver.language.session_options import parse_option_setting
from dpone_lab.sqlserver.language.syntax import (
    Batch,
    Begin,
    Block,
    Break,
    Commit,
    Continue,
    Declaration,
    Declare,
    Execute,
    If,
    Located,
    Print,
    Return,
    Rollback,
    Save,
    SetOption,
    SetVariable,
    Statement,
    Throw,
    TryCatch,
    Use,
    WaitForDelay,
    While,
)
from dpone_lab.sqlserver.language.tree_walk import walk
from dpone_lab.sqlserver.language.types import DEFAULT_LENGTH_IN_DDL, SqlType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_REFUSED_STARTS = frozenset(
    """MERGE RAISERROR GOTO OPEN CLOSE FETCH DEALLOCATE KILL BACKUP RESTORE DBCC BULK CHECKPOINT
    RECONFIGURE REVERT READTEXT WRITETEXT UPDATETEXT SHUTDOWN""".split()  # noqa: SIM905 - a table of words
)


def parse_batch(text: str, variables: Mapping[str, SqlType] | None = None) -> Batch:
    """Parse a batch; ``variables`` are the parameters it may use (of sp_executesql or RPC), lower-case with ``@``."""
    given = dict(variables or {})
    statements, declared = _parsed(text, tuple(given))
    return Batch(text, statements, {**given, **declared})


@lru_cache(maxsize=128)
def _parsed(text: str, given: tuple[str, ...]) -> tuple[tuple[Statement, ...], dict[str, SqlType]]:
    """Parse a batch once, whatever the types of its parameters: drivers send the same text again and again."""
    try:
        statements = BatchParser(text).batch()
        return statements, _declared(statements, given)
    except RecursionError:
        raise nested_too_deeply() from None


def _declared(statements: tuple[Statement, ...], given: tuple[str, ...]) -> dict[str, SqlType]:
    """Return the variables that DECLARE makes; every use must come after a declaration or be given."""
    declared: dict[str, SqlType] = {}
    known = set(given)
    for node in walk(statements):
        match node:
            case Declaration(name, data_type, _):
                if name in known:
                    raise SqlServerError(
                        Number.DUPLICATE_VARIABLE,
                        f"The variable name '{name}' has already been declared. Variable names must be unique "
                        "within a query batch or stored procedure.",
                    )
                known.add(name)
                declared[name] = data_type
            case Variable(name) if name.startswith("@") and not name.startswith("@@"):
                _require_declared(name, known)
            case SetVariable(name, _) | SelectItem(_, _, str(name)) | Execute(_, _, str(name)):
                _require_declared(name, known)
            case _:
                pass
    return declared


def _require_declared(name: str, known: set[str]) -> None:
    if name not in known:
        raise SqlServerError(Number.UNDECLARED_VARIABLE, f'Must declare the scalar variable "{name}".')


class BatchParser(DefinitionStatementParser):
    """Parses statements and control flow."""

    def batch(self) -> tuple[Statement, ...]:
        """Parse to the end of the text."""
        statements: list[Statement] = []
        self._semicolons()
        if self.at_name() and not self._starts_like_statement():
            statements.append(self._located(self._execute_procedure))
            self._semicolons()
        while not self.at_end():
            statements.append(self.statement())
            self._semicolons()
        return tuple(statements)

    def statement(self) -> Statement:
        """Parse one statement, wrapped with its line and text."""
        token = self.current
        if token.kind is not TokenKind.WORD and token.upper != "(":
            raise self.unexpected()
        return self._located(self._statement)

    def _located(self, parse: Callable[[], Statement]) -> Located:
        start = self.position
        line = self.current.line
        node = parse()
        return Located(node, line, self.source(start, self.position))

    def _statement(self) -> Statement:
        word = self.current.upper
        match word:
            case "SELECT" | "WITH" | "(" | "INSERT" | "UPDATE" | "DELETE":
                if word == "UPDATE" and self.peek().upper == "STATISTICS":
                    raise unsupported("UPDATE STATISTICS")
                return self._data_statement()
            case "DECLARE":
                return self._declare()
            case "SET":
                return self._set()
            case "IF":
                return self._if()
            case "WHILE":
                self.take()
                return While(self.condition(), self.statement())
            case "BEGIN":
                return self._begin()
            case "COMMIT" | "ROLLBACK" | "SAVE":
                return self._end_transaction(word)
            case "EXEC" | "EXECUTE":
                self.take()
                return self._execute()
            case (
                "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "GRANT" | "DENY" | "REVOKE" | "ENABLE" | "DISABLE"
            ):
                return self._definition(word)
            case _:
                return self._small_statement(word)

    def _small_statement(self, word: str) -> Statement:
        match word:
            case "THROW":
                return self._throw()
            case "PRINT":
                self.take()
                return Print(self.expression())
            case "RETURN":
                self.take()
                return Return(self.expression() if self._at_expression() else None)
            case "BREAK":
                self.take()
                return Break()
            case "CONTINUE":
                self.take()
                return Continue()
            case "USE":
                self.take()
                return Use(self.name())
            case "WAITFOR":
                self.take()
                if not self.accept("DELAY"):
                    raise unsupported(f"WAITFOR {self.current.upper}")
                return WaitForDelay(self._constant_or_variable())
            case _ if word in _REFUSED_STARTS:
                raise unsupported(word)
            case _:
                raise self.unexpected()

    # --- data -----------------------------------------------------------------------------------------------------

    def _data_statement(self) -> Statement:
        common = self.common_tables() if self.at("WITH") else ()
        match self.current.upper:
            case "INSERT":
                return self.insert(common)
            case "UPDATE":
                return self.update(common)
            case "DELETE":
                return self.delete(common)
            case "MERGE":
                raise unsupported("MERGE")
            case _:
                query = replace(self.query(), common_tables=common)
                _check_assignments(query)
                self.option_clause()
                return query

    # --- variables and options ------------------------------------------------------------------------------------

    def _declare(self) -> Declare:
        self.take()
        declarations: list[Declaration] = []
        while True:
            if self.at_name() and self.peek().upper == "CURSOR":
                raise unsupported("CURSOR")
            name = self._variable_name()
            self.accept("AS")
            if self.accept("XML", "=", "EVENTDATA", "(", ")"):
                self.event_variables.add(name)
                if not self.accept(","):
                    return Declare(tuple(declarations))
                continue
            if self.at_any("TABLE", "CURSOR"):
                raise unsupported("table variable" if self.at("TABLE") else "CURSOR")
            data_type = self.type_name(DEFAULT_LENGTH_IN_DDL)
            initial = self.expression() if self.accept("=") else None
            declarations.append(Declaration(name, data_type.with_null(nullable=True), initial))
            if not self.accept(","):
                return Declare(tuple(declarations))

    def _set(self) -> Statement:
        self.take()
        if self.current.kind is TokenKind.VARIABLE:
            name = self._variable_name()
            symbol = self.take()
            if symbol.upper == "=":
                return SetVariable(name, self.expression())
            if len(symbol.upper) == 2 and symbol.upper.endswith("=") and symbol.upper[0] in "+-*/%&|^":
                return SetVariable(
                    name, Binary(compound_operator(symbol.upper), Variable(name), self.expression())
                )
            raise syntax_near(symbol.text)
        settings = tuple(SetOption(option, value) for option, value in parse_option_setting(self))
        return settings[0] if len(settings) == 1 else Block(settings)

    # --- control flow ---------------------------------------------------------------------------------------------

    def _if(self) -> If:
        self.take()
        condition = self.condition()
        then = self.statement()
        position = self.position
        self._semicolons()
        if self.accept("ELSE"):
            return If(condition, then, self.statement())
        self.position = position
        return If(condition, then)

    def _begin(self) -> Statement:
        self.take()
        if self.at_any("TRAN", "TRANSACTION"):
            self.take()
            name = self._transaction_name()
            if self.at("WITH", "MARK"):
                raise unsupported("BEGIN TRANSACTION … WITH MARK")
            return Begin(name)
        if self.at("DISTRIBUTED") or self.at("ATOMIC") or self.at("CONVERSATION"):
            raise unsupported(f"BEGIN {self.current.upper}")
        if self.accept("TRY"):
            body = self._statements_until_end()
            self.expect("TRY")
            self._semicolons()
            self.expect("BEGIN", "CATCH")
            handler = self._statements_until_end()
            self.expect("CATCH")
            return TryCatch(body, handler)
        self._semicolons()
        statements = self._statements_until_end()
        if not statements:
            self.position -= 1
            raise self.unexpected()
        return Block(statements)

    def _statements_until_end(self) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        self._semicolons()
        while not self.accept("END"):
            if self.at_end():
                raise self.unexpected()
            statements.append(self.statement())
            self._semicolons()
        return tuple(statements)

    def _end_transaction(self, word: str) -> Statement:
        self.take()
        explicit = self.accept("TRAN") or self.accept("TRANSACTION")
        if not explicit and word != "SAVE":
            self.accept("WORK")
        name = self._transaction_name() if explicit else None
        match word:
            case "COMMIT":
                if self.at("WITH"):
                    raise unsupported("COMMIT … WITH (DELAYED_DURABILITY)")
                return Commit(name)
            case "ROLLBACK":
                return Rollback(name)
            case _:
                if name is None:
                    raise self.unexpected()
                return Save(name)

    def _transaction_name(self) -> str | None:
        if self.current.kind is TokenKind.VARIABLE:
            raise unsupported("transaction name in a variable")
        if self.at_name() and not self._starts_like_statement():
            return self.name()
        return None

    def _throw(self) -> Throw:
        self.take()
        if not self._at_expression():
            return Throw()
        number = self._constant_or_variable()
        self.expect(",")
        message = self._constant_or_variable()
        self.expect(",")
        return Throw(number, message, self._constant_or_variable())

    def _at_expression(self) -> bool:
        return self.current.kind in (
            TokenKind.INTEGER,
            TokenKind.VARIABLE,
            TokenKind.STRING,
            TokenKind.NATIONAL_STRING,
        ) or self.at_any("-", "(")

    def _constant_or_variable(self) -> Expression:
        start = self.position
        value = self.expression()
        inner = value.operand if isinstance(value, Unary) else value
        if not isinstance(inner, Literal | Variable):
            self.position = start
            raise self.unexpected()
        return value


def _check_assignments(query: Query) -> None:
    """Hold SELECT @x = … against its rules: all items assign or none (141), and no set operation."""

    def selects(body: Select | SetOperation) -> list[Select]:
        if isinstance(body, Select):
            return [body]
        return selects(body.left) + selects(body.right)

    found = selects(query.body)
    for select in found:
        assigning = [item for item in select.items if item.variable is not None]
        if assigning and (len(assigning) != len(select.items) or select.into is not None or len(found) > 1):
            raise SqlServerError(
                Number.ASSIGN_AND_RETRIEVE,
                "A SELECT statement that assigns a value to a variable must not be combined with "
                "data-retrieval operations.",
            )
