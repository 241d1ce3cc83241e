"""Recursive descent over CREATE, ALTER and their like as statements of a batch, triggers with their bodies included."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal as OneOf

from dpone_lab.sqlserver.language.definitions import CreateTrigger, Definition
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_execution import ExecutionParser

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.expressions import (
        ObjectName,
    )
    from dpone_lab.sqlserver.language.syntax import (
        Statement,
    )

DATABASE_EVENTS = frozenset(
    """DDL_DATABASE_LEVEL_EVENTS DDL_EVENTS DDL_SCHEMA_EVENTS DDL_ROLE_EVENTS DDL_USER_EVENTS
    DDL_GDR_DATABASE_EVENTS GRANT_DATABASE DENY_DATABASE REVOKE_DATABASE CREATE_TABLE ALTER_TABLE DROP_TABLE CREATE_VIEW ALTER_VIEW DROP_VIEW
    CREATE_INDEX DROP_INDEX CREATE_TRIGGER DROP_TRIGGER DDL_TABLE_EVENTS DDL_VIEW_EVENTS
    DDL_INDEX_EVENTS DDL_TABLE_VIEW_EVENTS DDL_TRIGGER_EVENTS CREATE_SCHEMA DROP_SCHEMA RENAME""".split()  # noqa: SIM905 - a table of words
)
"""Events and event groups a database trigger may name."""


class DefinitionStatementParser(ExecutionParser):
    """Parses definitions as statements; what a trigger does is parsed by the deriving parser."""

    def statement(self) -> Statement:
        """Parse one statement."""
        raise NotImplementedError

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
