"""From the text of a batch to its tree: control flow, statement by statement, checked whole before any effect.

A statement needs no semicolon: the grammar knows where it ends. What the grammar doesn't know is refused here with
102 or 156 (bad syntax), 195 (unknown function), 137 (undeclared variable), or 40517 (a construct SQL Server has and
the lab hasn't, named in the message).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from dpone_lab.sqlserver.language.definitions import CreateTrigger, Definition
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, syntax_near, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Binary,
    Expression,
    Literal,
    ObjectName,
    Query,
    Select,
    SelectItem,
    SetOperation,
    Unary,
    Variable,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_changes import compound_operator
from dpone_lab.sqlserver.language.parse_principals import PrincipalParser
from dpone_lab.sqlserver.language.session_options import parse_option_setting
from dpone_lab.sqlserver.language.syntax import (
    Argument,
    Batch,
    Begin,
    Block,
    Break,
    Commit,
    Continue,
    Declaration,
    Declare,
    Execute,
    ExecuteString,
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

DATABASE_EVENTS = frozenset({"DDL_DATABASE_LEVEL_EVENTS", "CREATE_TABLE", "ALTER_TABLE", "DROP_TABLE", "CREATE_VIEW", "ALTER_VIEW", "DROP_VIEW", "CREATE_INDEX", "DROP_INDEX", "CREATE_TRIGGER", "DROP_TRIGGER", "DDL_TABLE_EVENTS", "DDL_VIEW_EVENTS", "DDL_INDEX_EVENTS", "DDL_TABLE_VIEW_EVENTS", "DDL_TRIGGER_EVENTS", "CREATE_SCHEMA", "DROP_SCHEMA", "RENAME"})  # fmt: skip
_REFUSED_STARTS = frozenset(
    """MERGE RAISERROR GOTO OPEN CLOSE FETCH DEALLOCATE KILL BACKUP RESTORE DBCC BULK CHECKPOINT
    RECONFIGURE REVERT READTEXT WRITETEXT UPDATETEXT SHUTDOWN""".split()  # noqa: SIM905 - a table of words
)


def parse_batch(text: str, variables: Mapping[str, SqlType] | None = None) -> Batch:
    """Parse a batch; ``variables`` are the parameters it may use (of sp_executesql or RPC), lower-case with ``@``."""
    known = dict(variables or {})
    try:
        statements = BatchParser(text).batch()
        declared = _check_variables(statements, known)
    except RecursionError:
        raise SqlServerError(
            191,
            "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
        ) from None
    return Batch(text, statements, declared)


def parse_parameter_definitions(text: str) -> tuple[tuple[str, SqlType, bool], ...]:
    """Parse sp_executesql's ``@a int, @b nvarchar(50) OUTPUT`` into (name, type, is_output)."""
    parser = BatchParser(text)
    parser.takes_legacy_types = True
    parameters: list[tuple[str, SqlType, bool]] = []
    while not parser.at_end():
        if parser.current.kind is not TokenKind.VARIABLE:
            raise parser.unexpected()
        name = parser.take().value.lower()
        parser.accept("AS")
        data_type = parser.type_name(DEFAULT_LENGTH_IN_DDL)
        if parser.at("="):
            raise unsupported("default of a parameter")
        is_output = parser.accept("OUTPUT") or parser.accept("OUT")
        parameters.append((name, data_type, is_output))
        if not parser.accept(","):
            break
    if not parser.at_end():
        raise parser.unexpected()
    return tuple(parameters)


def _check_variables(statements: tuple[Statement, ...], known: dict[str, SqlType]) -> dict[str, SqlType]:
    """Hold every use of a variable against the declarations before it in the text."""
    for node in walk(statements):
        match node:
            case Declaration(name, data_type, _):
                if name in known:
                    raise SqlServerError(
                        Number.DUPLICATE_VARIABLE,
                        f"The variable name '{name}' has already been declared. Variable names must be unique "
                        "within a query batch or stored procedure.",
                    )
                known[name] = data_type
            case Variable(name) if name.startswith("@") and not name.startswith("@@"):
                _require_declared(name, known)
            case SetVariable(name, _):
                _require_declared(name, known)
            case SelectItem(_, _, str(name)):
                _require_declared(name, known)
            case Execute(_, _, str(name)):
                _require_declared(name, known)
            case _:
                pass
    return known


def _require_declared(name: str, known: Mapping[str, SqlType]) -> None:
    if name not in known:
        raise SqlServerError(Number.UNDECLARED_VARIABLE, f'Must declare the scalar variable "{name}".')


class BatchParser(PrincipalParser):
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

    def _semicolons(self) -> None:
        while self.accept(";"):
            pass

    def _starts_like_statement(self) -> bool:
        return self.current.kind is TokenKind.WORD and (
            self.at("THROW") or (self.at_any("DISABLE", "ENABLE") and self.peek().upper == "TRIGGER")
        )

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

    def _variable_name(self) -> str:
        token = self.current
        if token.kind is not TokenKind.VARIABLE or token.value.startswith("@@"):
            raise self.unexpected()
        return self.take().value.lower()

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

    # --- EXEC -----------------------------------------------------------------------------------------------------

    def _execute(self) -> Statement:
        if self.at("AS"):
            raise unsupported("EXECUTE AS")
        if self.accept("("):
            text = self.expression()
            self.expect(")")
            if self.at_any("AT", "AS"):
                raise unsupported(f"EXECUTE (…) {self.current.upper}")
            return ExecuteString(text)
        return self._execute_procedure()

    def _execute_procedure(self) -> Execute:
        result = None
        if self.current.kind is TokenKind.VARIABLE:
            if self.peek().upper != "=":
                raise unsupported("EXECUTE of a name in a variable")
            result = self._variable_name()
            self.take()
        procedure = self.object_name()
        arguments: list[Argument] = []
        if self._at_argument():
            arguments.append(self._argument())
            while self.accept(","):
                arguments.append(self._argument())
        if self.at("WITH", "RESULT") or self.at("WITH", "RECOMPILE"):
            raise unsupported(f"EXECUTE … WITH {self.peek().upper}")
        return Execute(procedure, tuple(arguments), result)

    def _at_argument(self) -> bool:
        return (
            self.current.kind
            in (
                TokenKind.VARIABLE,
                TokenKind.STRING,
                TokenKind.NATIONAL_STRING,
                TokenKind.INTEGER,
                TokenKind.DECIMAL,
                TokenKind.FLOAT,
                TokenKind.BINARY,
                TokenKind.QUOTED_NAME,
            )
            or self.at_any("-", "NULL", "DEFAULT")
            or (self.at_name() and not self._starts_like_statement())
        )

    def _argument(self) -> Argument:
        name = None
        if self.current.kind is TokenKind.VARIABLE and self.peek().upper == "=":
            name = self._variable_name()
            self.take()
        value = self._argument_value()
        is_output = self.accept("OUTPUT") or self.accept("OUT")
        if is_output and not isinstance(value, Variable):
            raise SqlServerError(
                179, "Cannot use the OUTPUT option when passing a constant to a stored procedure."
            )
        return Argument(value, name, is_output)

    def _argument_value(self) -> Expression:
        token = self.current
        match token.kind:
            case TokenKind.VARIABLE:
                return self._variable()
            case TokenKind.STRING:
                return Literal("string", self.take().value)
            case TokenKind.NATIONAL_STRING:
                return Literal("nstring", self.take().value)
            case TokenKind.INTEGER | TokenKind.DECIMAL | TokenKind.FLOAT:
                return self._unary_literal()
            case TokenKind.BINARY:
                return Literal("binary", self.take().value.lower())
            case TokenKind.QUOTED_NAME:
                return Literal("nstring", self.take().value)
            case _:
                pass
        if self.accept("DEFAULT"):
            return Literal("default")
        if self.accept("NULL"):
            return Literal("null")
        if self.accept("-"):
            return Unary("-", self._unary_literal())
        return Literal("nstring", self.name())

    def _unary_literal(self) -> Expression:
        value = self._primary()
        if not isinstance(value, Literal):
            raise self.unexpected()
        return value

    # --- definitions ----------------------------------------------------------------------------------------------

    def _definition(self, word: str) -> Definition:
        match word:
            case "TRUNCATE":
                return self.truncate()
            case "GRANT" | "DENY" | "REVOKE":
                return self.permission()
            case "ENABLE" | "DISABLE":
                return self.switch_triggers()
            case "DROP":
                self.take()
                return self.drop()
            case "ALTER":
                return self._alter()
            case _:
                return self._create()

    def _create(self) -> Definition:
        start = self.position
        self.expect("CREATE")
        mode: OneOf["CREATE", "CREATE OR ALTER"] = "CREATE"
        if self.accept("OR"):
            self.expect("ALTER")
            mode = "CREATE OR ALTER"
        match self.current.upper:
            case "VIEW":
                self.take()
                self._require_alone(start, "CREATE VIEW")
                return self.create_view(start, mode)
            case "TRIGGER":
                self.take()
                self._require_alone(start, "CREATE TRIGGER")
                return self._create_trigger(start, mode)
            case _ if mode == "CREATE OR ALTER":
                raise unsupported(f"CREATE OR ALTER {self.current.upper}")
            case "TABLE":
                self.take()
                return self.create_table()
            case "UNIQUE" | "CLUSTERED" | "NONCLUSTERED" | "INDEX":
                return self.create_index()
            case "SCHEMA":
                self.take()
                self._require_alone(start, "CREATE SCHEMA")
                return self.create_schema()
            case "LOGIN" | "USER" | "ROLE":
                return self.create_principal()
            case _ if self.current.kind is TokenKind.WORD:
                raise unsupported(f"CREATE {self.current.upper}")
            case _:
                raise self.unexpected()

    def _alter(self) -> Definition:
        start = self.position
        self.expect("ALTER")
        match self.current.upper:
            case "TABLE":
                self.take()
                return self.alter_table()
            case "VIEW":
                self.take()
                self._require_alone(start, "ALTER VIEW")
                return self.create_view(start, "ALTER")
            case "TRIGGER":
                self.take()
                self._require_alone(start, "ALTER TRIGGER")
                return self._create_trigger(start, "ALTER")
            case "ROLE":
                self.take()
                return self.alter_role()
            case _ if self.current.kind is TokenKind.WORD:
                raise unsupported(f"ALTER {self.current.upper}")
            case _:
                raise self.unexpected()

    def _require_alone(self, start: int, statement: str) -> None:
        if any(token.upper != ";" for token in self.tokens[:start]):
            raise SqlServerError(
                Number.BATCH_MUST_BE_ALONE, f"'{statement}' must be the first statement in a query batch."
            )

    def _create_trigger(self, start: int, mode: OneOf["CREATE", "CREATE OR ALTER", "ALTER"]) -> CreateTrigger:
        name = self.object_name()
        self.expect("ON")
        table: ObjectName | None = None
        if self.at("ALL", "SERVER"):
            raise unsupported("server trigger")
        if not self.accept("DATABASE"):
            table = self.object_name()
        execute_as = self._execute_as() if self.accept("WITH") else None
        timing: OneOf["AFTER", "INSTEAD OF"] = "AFTER"
        if self.accept("INSTEAD"):
            self.expect("OF")
            timing = "INSTEAD OF"
        elif not (self.accept("AFTER") or self.accept("FOR")):
            raise self.unexpected()
        events = [self._trigger_event(table)]
        while self.accept(","):
            events.append(self._trigger_event(table))
        self.expect("AS")
        body: list[Statement] = []
        self._semicolons()
        while not self.at_end():
            body.append(self.statement())
            self._semicolons()
        if not body:
            raise self.unexpected()
        text = self.source(start, self.position)
        return CreateTrigger(name, table, timing, tuple(events), tuple(body), text, mode, execute_as)

    def _execute_as(self) -> str:
        if not (self.accept("EXECUTE") or self.accept("EXEC")):
            raise unsupported(f"trigger option {self.current.upper}")
        self.expect("AS")
        return self.take().value

    def _trigger_event(self, table: ObjectName | None) -> str:
        event = self.take().upper
        allowed = DATABASE_EVENTS if table is None else frozenset({"INSERT", "UPDATE", "DELETE"})
        if event not in allowed:
            raise unsupported(f"trigger event {event}")
        return event


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
