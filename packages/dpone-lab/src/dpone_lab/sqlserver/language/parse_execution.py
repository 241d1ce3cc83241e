"""Recursive descent over EXEC: procedures with their arguments, and strings."""

from __future__ import annotations

from dpone_lab.sqlserver.language.errors import SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Expression,
    Literal,
    Unary,
    Variable,
)
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_principals import PrincipalParser
from dpone_lab.sqlserver.language.syntax import (
    Argument,
    Execute,
    ExecuteString,
    Statement,
)


class ExecutionParser(PrincipalParser):
    """Parses EXEC and the call of a procedure without it."""

    def _semicolons(self) -> None:
        while self.accept(";"):
            pass

    def _starts_like_statement(self) -> bool:
        return self.current.kind is TokenKind.WORD and (
            self.at("THROW") or (self.at_any("DISABLE", "ENABLE") and self.peek().upper == "TRIGGER")
        )

    def _variable_name(self) -> str:
        token = self.current
        if token.kind is not TokenKind.VARIABLE or token.value.startswith("@@"):
            raise self.unexpected()
        return self.take().value.lower()

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
