"""Runs what has a translation: queries, data changes, definitions and expressions, under locks and behind a savepoint."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver import activity
from dpone_lab.sqlserver.catalog import check_permission, database_triggers, define, defined, run_procedure
from dpone_lab.sqlserver.language.definitions import CreateTable
from dpone_lab.sqlserver.language.expressions import Delete, Insert, Query, Select, Update, Variable
from dpone_lab.sqlserver.language.translate import (
    Translatable,
    translate_condition,
    translate_expression,
)
from dpone_lab.sqlserver.language.translation import Kind, Scope
from dpone_lab.sqlserver.language.values import quote_name
from dpone_lab.sqlserver.parameters import fits
from dpone_lab.sqlserver.wire.values import WireColumn, column_metadata, rows_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dpone_lab.sqlserver.catalog import DatabaseTrigger
    from dpone_lab.sqlserver.language.definitions import Definition
    from dpone_lab.sqlserver.language.expressions import Condition, Expression
    from dpone_lab.sqlserver.language.syntax import Statement
    from dpone_lab.sqlserver.language.translation import DefinitionEvent, LockRequest, Translation
    from dpone_lab.sqlserver.language.types import SqlType
    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureOutcome
    from dpone_lab.sqlserver.session import Session
    from dpone_lab.sqlserver.wire.response import Response

_COMMANDS = {
    Kind.SELECT: 0xC1,
    Kind.ASSIGN: 0xC1,
    Kind.SELECT_INTO: 0xC1,
    Kind.INSERT: 0xC3,
    Kind.UPDATE: 0xC5,
    Kind.DELETE: 0xC4,
    Kind.DEFINITION: 0xC6,
    Kind.EXPRESSION: 0xC1,
}
_READING = frozenset({Kind.SELECT, Kind.ASSIGN, Kind.EXPRESSION})
_ADMINISTRATION_COMMAND = 0xC6
_EXECUTE_COMMAND = 0xE0
# What reads the tables that `activity.py` fills.
_ACTIVITY_WORDS = ("dm_", "applock_mode")


@dataclass(frozen=True, slots=True)
class _Planned:
    """A translation as transactions see it."""

    translation: Translation

    @property
    def locks(self) -> Sequence[LockRequest]:
        return self.translation.locks

    @property
    def writes(self) -> bool:
        return self.translation.kind not in _READING

    @property
    def compound(self) -> bool:
        return bool(self.translation.prelude) or self.translation.kind in (Kind.DEFINITION, Kind.SELECT_INTO)


@dataclass(frozen=True, slots=True)
class _Free:
    """Work that takes its locks itself, if any."""

    writes: bool
    locks: tuple[LockRequest, ...] = ()
    compound: bool = True


class Statements:
    """Translates and runs the statements of one session; `value_of` reads variables and session values."""

    def __init__(self, session: Session, response: Response, value_of: Callable[[str], Any]) -> None:
        self._session = session
        self._response = response
        self._value_of = value_of
        self._events: list[DefinitionEvent] = []

    def run(
        self,
        node: Translatable,
        types: Mapping[str, SqlType],
        values: dict[str, Any],
        temporary: list[str] | None,
    ) -> None:
        """Run a statement and send its result; `values` gets what it assigns, `temporary` the #tables it makes."""
        session = self._session
        scope = Scope(session.catalog, types)

        def prepare() -> _Planned:
            check_permission(session.connection, session.principal, node, session.catalog)
            return _Planned(session.plans.translate(node, scope))

        if session.transaction.settings.implicit_transactions:
            # What touches no table opens no implicit transaction.
            plan = session.plans.translate(node, scope)
            if plan.locks or plan.kind not in _READING:
                session.transaction.begin_implicitly()
        session.transaction.statement(prepare, lambda plan: self._carry_out(node, plan.translation, values))
        made = _made_temporary(node)
        if made is not None and temporary is not None:
            temporary.append(made)

    def _carry_out(self, node: Translatable, plan: Translation, values: dict[str, Any]) -> None:
        session = self._session
        self._set_up(plan)
        arguments = [self._value_of(name) for name in plan.parameters]
        if plan.columns:
            count = self._send_rows(plan, arguments)
        elif plan.assigns:
            rows = session.backend.run(plan.sql, arguments).fetchall()
            count = len(rows)
            if rows:
                values.update(zip(plan.assigns, rows[-1], strict=True))
        else:
            count = max(session.backend.run(plan.sql, arguments).rowcount, 0)
        if plan.kind in (Kind.DEFINITION, Kind.SELECT_INTO):
            self._defined(node, plan)
        session.row_count = count if plan.counted else 0
        counts = plan.counted and not session.transaction.settings.nocount
        self._response.statement_done(_COMMANDS[plan.kind], count if counts else None)

    def _set_up(self, plan: Translation) -> None:
        self._session.shared.ensure_domains(plan.domains)
        if any(word in plan.sql for word in _ACTIVITY_WORDS):
            activity.publish(self._session.shared)
        for sql in plan.prelude:
            self._session.backend.script(sql)

    def _defined(self, node: Translatable, plan: Translation) -> None:
        session = self._session
        if not isinstance(node, Query | Insert | Update | Delete):
            defined(session.connection, session.principal, node, plan)
            if plan.event is not None:
                self._events.append(plan.event)
        session.defined = session.transaction.count > 0
        session.catalog.forget()
        session.shared.generation.advance()

    def _send_rows(self, plan: Translation, arguments: Sequence[Any]) -> int:
        session, response = self._session, self._response
        encode = rows_encoder([column.type for column in plan.columns])
        metadata = column_metadata([WireColumn(column.name, column.type) for column in plan.columns])
        response.write(metadata)
        count = 0
        if plan.kind is not Kind.SELECT:
            rows = session.backend.run(plan.sql, arguments).fetchall()
            response.write(encode(rows))
            return len(rows)
        # Closed at once when an attention ends it, so that the backend is free for what comes next.
        with closing(session.backend.stream(plan.sql, arguments)) as chunks:
            for rows in chunks:
                session.check_attention()
                count += len(rows)
                response.write(encode(rows))
        return count

    def any_database_trigger(self) -> bool:
        """Tell whether any definition could fire a trigger now."""
        row = self._session.backend.run(
            "SELECT EXISTS (SELECT FROM _lab.triggers WHERE parent_class = 0 AND NOT is_disabled)"
        ).fetchone()
        return bool(row and row[0])

    def fired_triggers(self) -> Iterator[DatabaseTrigger]:
        """Yield the database triggers that the last definitions fire, each with its event data in place."""
        session, events = self._session, self._events
        self._events = []
        for event in events:
            for trigger in database_triggers(session.connection, event.event_type, event.name):
                session.event_data = {
                    "eventdata:eventtype": event.event_type,
                    "eventdata:objecttype": event.object_type,
                    "eventdata:schemaname": event.schema,
                    "eventdata:objectname": event.name,
                    "eventdata:targetobjectname": event.target,
                    "eventdata:loginname": session.principal.login,
                }
                yield trigger

    def administer(self, node: Definition) -> None:
        """Carry out a statement about principals or permissions."""
        session = self._session
        session.transaction.begin_implicitly()
        self._events += session.transaction.statement(
            lambda: _Free(writes=True), lambda _plan: define(session.connection, session.principal, node)
        )
        session.shared.generation.advance()
        self._response.statement_done(_ADMINISTRATION_COMMAND, None)

    # --- expressions ----------------------------------------------------------------------------------------------

    def holds(self, condition: Condition, types: Mapping[str, SqlType]) -> bool:
        """Decide a condition; unknown doesn't hold."""
        session = self._session
        scope = Scope(session.catalog, types)

        def translated() -> Translation:
            check_permission(session.connection, session.principal, condition, session.catalog)
            return translate_condition(condition, scope)

        return bool(self._single(translated))

    def evaluate(self, expression: Expression, types: Mapping[str, SqlType], target: SqlType | None) -> Any:
        """Evaluate an expression and convert it to `target` as an assignment does."""
        if isinstance(expression, Variable) and target is not None and expression.name in types:
            value = self._value_of(expression.name)
            if fits(value, types[expression.name], target):
                return value
        return self._single(self._translated(expression, types, target))

    def _translated(
        self, expression: Expression, types: Mapping[str, SqlType], target: SqlType | None
    ) -> Callable[[], Translation]:
        session = self._session
        scope = Scope(session.catalog, types)

        def translated() -> Translation:
            check_permission(session.connection, session.principal, expression, session.catalog)
            return translate_expression(expression, scope, target)

        return translated

    def evaluate_typed(self, expression: Expression, types: Mapping[str, SqlType]) -> tuple[SqlType, Any]:
        """Evaluate an expression and return its type too."""
        translated = self._translated(expression, types, None)
        return translated().columns[0].type, self._single(translated)

    def convert(self, value: Any, source: SqlType, target: SqlType) -> Any:
        """Convert a value of one type to another as an assignment does."""
        if fits(value, source, target):
            return value
        scope = Scope(self._session.catalog, {"@value": source})
        plan = translate_expression(Variable("@value"), scope, target)
        found: Any = self._session.transaction.statement(
            lambda: _Planned(plan), lambda plan: self._first(plan.translation, [value])
        )
        return found

    def _single(self, translated: Callable[[], Translation]) -> Any:
        return self._session.transaction.statement(
            lambda: _Planned(translated()),
            lambda plan: self._first(
                plan.translation, [self._value_of(name) for name in plan.translation.parameters]
            ),
        )

    def _first(self, plan: Translation, arguments: Sequence[Any]) -> Any:
        self._set_up(plan)
        row = self._session.backend.run(plan.sql, arguments).fetchone()
        return None if row is None else row[0]

    # --- procedures -----------------------------------------------------------------------------------------------

    def procedure(
        self, schema: str | None, name: str, arguments: Sequence[ProcedureArgument]
    ) -> ProcedureOutcome:
        """Run a system procedure and send its result sets."""
        session = self._session
        outcome = session.transaction.statement(
            lambda: _Free(writes=False, compound=False),
            lambda _plan: run_procedure(session, schema, name, arguments),
        )
        if outcome.event is not None:
            self._events.append(outcome.event)
            session.defined = session.in_transaction
            session.catalog.forget()
            session.shared.generation.advance()
        for result in outcome.results:
            columns = [WireColumn(column.name, column.type) for column in result.columns]
            self._response.write(column_metadata(columns))
            self._response.write(rows_encoder([column.type for column in columns])(result.rows))
            with self._response.procedure():
                self._response.statement_done(_COMMANDS[Kind.SELECT], len(result.rows))
        return outcome

    def executed(self) -> None:
        """End the call of a system procedure."""
        self._response.statement_done(_EXECUTE_COMMAND, None)

    def drop_temporary(self, names: Iterable[str]) -> None:
        """Drop the temporary tables that an inner scope made."""
        dropped = False
        for name in names:
            self._session.backend.script(f"DROP TABLE IF EXISTS pg_temp.{quote_name(name)}")
            dropped = True
        if dropped:
            self._session.catalog.forget()


def _made_temporary(node: Statement) -> str | None:
    if isinstance(node, CreateTable) and node.name.is_temporary:
        return node.name.name
    if isinstance(node, Query) and isinstance(node.body, Select) and node.body.into is not None:
        return node.body.into.name if node.body.into.is_temporary else None
    return None
