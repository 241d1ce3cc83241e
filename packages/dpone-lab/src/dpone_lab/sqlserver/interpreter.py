"""Executes a parsed batch in a session: control flow, variables, errors and their consequences, results to the client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from dpone_lab.sqlserver import consequences, parameters
from dpone_lab.sqlserver.consequences import ScopeEnd
from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.definitions import (
    AlterRole,
    AlterTable,
    CreateIndex,
    CreatePrincipal,
    CreateSchema,
    CreateTable,
    CreateTrigger,
    CreateView,
    DropIndex,
    DropObjects,
    Permission,
    SwitchTriggers,
    TruncateTable,
)
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, syntax_near, unsupported
from dpone_lab.sqlserver.language.expressions import Delete, Insert, Literal, Query, Update, Variable
from dpone_lab.sqlserver.language.syntax import (
    Argument,
    Batch,
    Begin,
    Block,
    Break,
    Commit,
    Continue,
    Declare,
    Execute,
    ExecuteString,
    If,
    InsertExecute,
    Located,
    Print,
    Return,
    Rollback,
    Save,
    SetOption,
    SetVariable,
    Throw,
    TryCatch,
    Use,
    WaitForDelay,
    While,
)
from dpone_lab.sqlserver.language.types import INT, SqlType
from dpone_lab.sqlserver.statements import Statements
from dpone_lab.sqlserver.transactions import AttentionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpone_lab.sqlserver.catalog import DatabaseTrigger
    from dpone_lab.sqlserver.language.definitions import Definition
    from dpone_lab.sqlserver.language.expressions import Expression
    from dpone_lab.sqlserver.language.syntax import Statement
    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureOutcome
    from dpone_lab.sqlserver.session import Session
    from dpone_lab.sqlserver.wire.response import Response

_BEGIN_COMMAND, _COMMIT_COMMAND, _ROLLBACK_COMMAND = 0xD4, 0xD5, 0xD2
_EXECUTE_COMMAND = 0xE0
_DEEPEST_NESTING = 32
_IGNORED_OPTIONS = frozenset(
    {
        "ANSI_DEFAULTS",
        "ANSI_NULLS",
        "ANSI_NULL_DFLT_ON",
        "ANSI_PADDING",
        "ANSI_WARNINGS",
        "ARITHABORT",
        "CONCAT_NULL_YIELDS_NULL",
        "QUOTED_IDENTIFIER",
    }
)


@dataclass(slots=True)
class Frame:
    """One scope of variables: a batch, or the text of EXEC, sp_executesql or a prepared statement."""

    depth: int
    types: dict[str, SqlType] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    tries: int = 0
    temporary_tables: list[str] = field(default_factory=list)

    def declare(self, variables: Mapping[str, SqlType]) -> None:
        """Make the variables of a batch known: DECLARE counts wherever it stands, executed or not."""
        for name, sql_type in variables.items():
            self.types[name] = sql_type
            self.values.setdefault(name, None)


@dataclass(frozen=True, slots=True)
class _Caught:
    """What ERROR_NUMBER() and its sisters tell inside CATCH."""

    error: SqlServerError
    line: int


class _RaisedError(Exception):
    """An error on its way to the CATCH that takes it; `depth` is the scope that can't catch a compile error."""

    def __init__(self, caught: _Caught, *, uncatchable_at: int | None) -> None:
        super().__init__(caught.error.message)
        self.caught = caught
        self.uncatchable_at = uncatchable_at


class _BreakLoop(Exception):  # noqa: N818 - control flow
    pass


class _ContinueLoop(Exception):  # noqa: N818 - control flow
    pass


class _ReturnFromScope(Exception):  # noqa: N818 - control flow
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


class _EndScope(Exception):  # noqa: N818 - control flow
    """The rest of this scope isn't executed; the caller of the scope goes on."""


class _EndBatch(Exception):  # noqa: N818 - control flow
    """Nothing more of the whole batch is executed."""


class Interpreter:
    """Runs the requests of one session, one at a time, and writes what they give to its response."""

    def __init__(self, session: Session, response: Response) -> None:
        self.session = session
        self.response = response
        self._frames: list[Frame] = []
        self._caught: list[_Caught] = []
        self._statements = Statements(session, response, self.value)

    @property
    def _frame(self) -> Frame:
        return self._frames[-1]

    # --- scopes ---------------------------------------------------------------------------------------------------

    def batch(self, text: str) -> None:
        """Run a SQL batch of the client."""
        self.session.shared.note("statement", session=self.session.session_id, text=text)
        try:
            batch = parse_batch(text)
        except SqlServerError as error:
            self._report(error, 1)
            return
        frame = Frame(0)
        frame.declare(batch.variables)
        self._frames.append(frame)
        try:
            self._run_all(batch.statements)
        except (_EndBatch, _EndScope, _ReturnFromScope):
            pass
        finally:
            self._frames.pop()
        self.end_of_batch()

    def end_of_batch(self) -> None:
        """Roll back what can't be committed: error 3998."""
        if self.session.transaction.doomed:
            self._report(
                SqlServerError(
                    Number.DOOMED_AT_END,
                    "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.",
                ),
                1,
            )
            self.session.transaction.abandon()

    def request(self, work: Callable[[], int]) -> int | None:
        """Run a procedure that the client called by RPC; return its status, None when the batch ended early.

        The call is a statement of a batch of its own: errors have the same consequences.
        """
        status: int | None = None
        self._frames.append(Frame(0))

        def call() -> None:
            nonlocal status
            status = work()

        try:
            self._attempt(call, 1)
        except (_EndBatch, _EndScope):
            pass
        finally:
            self._frames.pop()
        return status

    def execute_text(self, text: str, types: dict[str, SqlType], values: dict[str, Any]) -> int:
        """Run a text as a scope of its own and return its status; `values` then hold the final values."""
        if len(self._frames) > _DEEPEST_NESTING:
            raise SqlServerError(
                217,
                "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).",
            )
        transaction = self.session.transaction
        self.session.shared.note("statement", session=self.session.session_id, text=text)
        count_before, settings = transaction.count, self.session.settings_snapshot()
        frame = Frame(len(self._frames), types, values)
        self._frames.append(frame)
        status = 0
        try:
            batch = self._parse_nested(text, types)
            if batch is not None:
                frame.declare(batch.variables)
                with self.response.procedure():
                    self._run_all(batch.statements)
        except _ReturnFromScope as end:
            status = end.value
        except _EndScope:
            status = 1
        finally:
            self._frames.pop()
            transaction.settings = settings
            self._statements.drop_temporary(frame.temporary_tables)
        if transaction.count != count_before:
            self._report(
                SqlServerError(
                    266,
                    "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. "
                    f"Previous count = {count_before}, current count = {transaction.count}.",
                    state=2,
                ),
                1,
            )
        return status

    def _parse_nested(self, text: str, types: dict[str, SqlType]) -> Batch | None:
        """Parse the text of an inner scope; its syntax errors can be caught by outer scopes only."""
        batch: Batch | None = None

        def parse() -> None:
            nonlocal batch
            batch = parse_batch(text, types)

        self._attempt(parse, 1)
        return batch

    # --- statements -----------------------------------------------------------------------------------------------

    def _run_all(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            self._run(statement, 1)

    def _run(self, statement: Statement, line: int) -> None:
        """Run one statement; compound ones leave each inner statement to answer for its own errors."""
        self.session.check_attention()
        match statement:
            case Located():
                self._run(statement.statement, statement.line)
            case Block():
                self._run_all(statement.statements)
            case If():
                self._run_if(statement, line)
            case While():
                self._run_while(statement, line)
            case TryCatch():
                self._run_try(statement)
            case _:
                self._attempt(lambda: self._run_simple(statement), line)

    def _run_if(self, statement: If, line: int) -> None:
        holds: bool | None = None

        def decide() -> None:
            nonlocal holds
            holds = self._statements.holds(statement.condition, self._frame.types)

        self._attempt(decide, line)
        if holds:
            self._run(statement.then, line)
        elif holds is False and statement.otherwise is not None:
            self._run(statement.otherwise, line)

    def _run_while(self, statement: While, line: int) -> None:
        holds = True

        def decide() -> None:
            nonlocal holds
            holds = False
            holds = self._statements.holds(statement.condition, self._frame.types)

        while True:
            self.session.check_attention()
            self._attempt(decide, line)
            if not holds:
                return
            try:
                self._run(statement.body, line)
            except _BreakLoop:
                return
            except _ContinueLoop:
                continue

    def _run_try(self, statement: TryCatch) -> None:
        frame = self._frame
        frame.tries += 1
        try:
            self._run_all(statement.body)
        except _RaisedError as raised:
            if raised.uncatchable_at == frame.depth:
                raise
            caught = raised.caught
        else:
            return
        finally:
            frame.tries -= 1
        self._caught.append(caught)
        try:
            self._run_all(statement.handler)
        finally:
            self._caught.pop()

    def _run_simple(self, statement: Statement) -> None:  # noqa: C901, PLR0912, PLR0915 - one case a statement
        frame, transaction = self._frame, self.session.transaction
        match statement:
            case Query() | Insert() | Update() | Delete():
                self._statements.run(statement, frame.types, frame.values, self._temporary_names())
            case Permission() | CreatePrincipal() | AlterRole():
                self._statements.administer(statement)
            case DropObjects() if statement.kind in ("USER", "ROLE", "LOGIN"):
                self._statements.administer(statement)
            case (
                CreateTable()
                | CreateIndex()
                | DropObjects()
                | DropIndex()
                | AlterTable()
                | SwitchTriggers()
                | CreateView()
                | CreateTrigger()
                | TruncateTable()
                | CreateSchema()
            ):
                self._define(statement)
            case Declare():
                for variable in statement.variables:
                    frame.types[variable.name] = variable.type
                    initial = variable.initial
                    if initial is not None:
                        frame.values[variable.name] = self._evaluate(initial, variable.type)
            case SetVariable():
                frame.values[statement.name] = self._evaluate(statement.value, frame.types[statement.name])
            case SetOption():
                self._set_option(statement.option, statement.value)
            case Print():
                text = self._evaluate(statement.value, SqlType("nvarchar", length=4000))
                self.response.information(0, " " if text is None else text)
            case Throw():
                self._throw(statement)
            case Return():
                value = 0 if statement.value is None else self._evaluate(statement.value, INT)
                raise _ReturnFromScope(value or 0)
            case Break():
                raise _BreakLoop
            case Continue():
                raise _ContinueLoop
            case Begin():
                transaction.begin_implicitly()
                transaction.begin(statement.name)
                self.response.statement_done(_BEGIN_COMMAND, None)
            case Commit():
                transaction.commit()
                self.response.statement_done(_COMMIT_COMMAND, None)
            case Rollback():
                transaction.rollback(statement.name)
                self.response.statement_done(_ROLLBACK_COMMAND, None)
            case Save():
                transaction.save(statement.name)
            case Use():
                self._use(statement.database)
            case WaitForDelay():
                self._wait(statement.delay)
            case ExecuteString():
                text = self._evaluate(statement.text, SqlType("nvarchar", length=-1))
                self.execute_text(text or "", {}, {})
            case Execute():
                self._execute(statement)
            case InsertExecute():
                raise unsupported("INSERT EXEC")
            case Located() | Block() | If() | While() | TryCatch():
                self._run(statement, 1)
            case _:
                assert_never(statement)

    def _temporary_names(self) -> list[str] | None:
        """Where the names of new temporary tables go: those of an inner scope end with it."""
        return self._frame.temporary_tables if self._frame.depth else None

    def _evaluate(self, expression: Expression, target: SqlType | None) -> Any:
        return self._statements.evaluate(expression, self._frame.types, target)

    def value(self, name: str) -> Any:
        """Return the value of a variable, an ERROR_ function, or a value of the session."""
        if name.startswith("@") and not name.startswith("@@"):
            return self._frame.values[name]
        if name == "@@nestlevel":
            return len(self._frames) - 1
        if name.startswith("error_"):
            return self._error_value(name)
        return self.session.value(name)

    def _error_value(self, name: str) -> Any:
        if not self._caught:
            return None
        caught = self._caught[-1]
        return {
            "error_number()": caught.error.number,
            "error_message()": caught.error.message,
            "error_severity()": caught.error.severity,
            "error_state()": caught.error.state,
            "error_line()": caught.line,
        }.get(name)

    def _define(self, node: Definition) -> None:
        """Run a definition and the database triggers that it fires, as one statement."""
        frame, transaction = self._frame, self.session.transaction
        alone = transaction.count == 0 and not transaction.settings.implicit_transactions
        if alone and self._statements.any_database_trigger():
            transaction.begin(announced=False)
        try:
            self._statements.run(node, frame.types, frame.values, self._temporary_names())
            for trigger in self._statements.fired_triggers():
                self._fire(trigger)
        except BaseException:
            if alone and transaction.count:
                transaction.abandon()
            raise
        if alone and transaction.count:
            transaction.commit()

    def _fire(self, trigger: DatabaseTrigger) -> None:
        settings = self.session.settings_snapshot()
        self._frames.append(Frame(len(self._frames)))
        self.session.transaction.settings.xact_abort = True
        try:
            with self.response.procedure(), self.session.acting_as(trigger.run_as):
                self._run_all(trigger.body)
        except _ReturnFromScope:
            pass
        finally:
            self.session.transaction.settings = settings
            self._frames.pop()

    def _set_option(self, option: str, value: str) -> None:
        settings = self.session.transaction.settings
        match option:
            case "XACT_ABORT":
                settings.xact_abort = value == "ON"
            case "NOCOUNT":
                settings.nocount = value == "ON"
            case "IMPLICIT_TRANSACTIONS":
                settings.implicit_transactions = value == "ON"
            case "LOCK_TIMEOUT":
                settings.lock_timeout_ms = None if int(value) < 0 else int(value)
            case "TRANSACTION ISOLATION LEVEL":
                self.session.transaction.set_isolation(value)
            case "CONTEXT_INFO":
                raw = bytes.fromhex(value.removeprefix("0x"))
                self.session.facts.context_info = raw[:128].ljust(128, b"\0")
            case _ if option in _IGNORED_OPTIONS and value == "ON":
                pass
            case _ if not consequences.option_is_default(option, value):
                raise unsupported(f"SET {option} {value}")
            case _:
                pass
        self.response.statement_done(0, None)

    def _throw(self, statement: Throw) -> None:
        if statement.number is None:
            if not self._caught:
                raise SqlServerError(
                    Number.THROW_OUTSIDE_CATCH,
                    "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW "
                    "statement inside a CATCH block, or add error parameters to the THROW statement.",
                )
            again = self._caught[-1].error
            raise consequences.ThrownError(
                again.number, again.message, severity=again.severity, state=again.state
            )
        if statement.message is None or statement.state is None:
            raise syntax_near("THROW")
        number = self._evaluate(statement.number, INT)
        message = self._evaluate(statement.message, SqlType("nvarchar", length=2048))
        state = self._evaluate(statement.state, INT)
        if number is None or number < Number.USER_DEFINED_MINIMUM:
            raise SqlServerError(
                35100, f"Error number {number} in the THROW statement is outside the valid range."
            )
        raise consequences.ThrownError(number, message or "", severity=16, state=(state or 0) & 0xFF)

    def _use(self, database: str) -> None:
        if database.lower() != self.session.shared.database.lower():
            raise SqlServerError(
                Number.DATABASE_MISSING,
                f"Database '{database}' does not exist. Make sure that the name is entered correctly.",
            )
        self.response.database(self.session.shared.database)
        self.response.statement_done(0, None)

    def _wait(self, delay: Expression) -> None:
        seconds = consequences.delay_seconds(self._evaluate(delay, SqlType("nvarchar", length=100)))
        if self.session.attention.wait(seconds):
            raise AttentionError

    def convert(self, value: Any, source: SqlType, target: SqlType) -> Any:
        """Convert a value as an assignment does."""
        return self._statements.convert(value, source, target)

    def procedure(
        self, schema: str | None, name: str, arguments: Sequence[ProcedureArgument]
    ) -> ProcedureOutcome:
        """Run a system procedure and send its result sets."""
        return self._statements.procedure(schema, name, arguments)

    # --- procedures -----------------------------------------------------------------------------------------------

    def _execute(self, statement: Execute) -> None:
        name = statement.procedure.name.lower()
        arguments = [self._argument(argument) for argument in statement.arguments]
        if name == "sp_executesql":
            status = self._execute_sql(arguments, statement.arguments)
        else:
            outcome = self._statements.procedure(
                statement.procedure.schema, name, [parameters.to_argument(each) for each in arguments]
            )
            status = outcome.status
            self._take_outputs(statement.arguments, outcome)
            self.response.statement_done(_EXECUTE_COMMAND, None)
        if statement.result is not None:
            self._frame.values[statement.result] = status

    def _argument(self, argument: Argument) -> parameters.Given:
        value = argument.value
        if isinstance(value, Literal) and value.kind == "default":
            return parameters.Given(argument.name, None, None, argument.is_output)
        if isinstance(value, Variable) and value.name in self._frame.types:
            return parameters.Given(
                argument.name, self._frame.types[value.name], self.value(value.name), argument.is_output
            )
        sql_type, result = self._statements.evaluate_typed(value, self._frame.types)
        return parameters.Given(argument.name, sql_type, result, argument.is_output)

    def _execute_sql(self, given: list[parameters.Given], arguments: tuple[Argument, ...]) -> int:
        bound = parameters.bind(given, self._statements.convert)
        status = self.execute_text(bound.text, bound.types, bound.values)
        for name, position in bound.sources.items():
            argument = arguments[position]
            if argument.is_output and isinstance(argument.value, Variable):
                target = argument.value.name
                self._frame.values[target] = self._statements.convert(
                    bound.values[name], bound.types[name], self._frame.types[target]
                )
        return status

    def _take_outputs(self, arguments: tuple[Argument, ...], outcome: ProcedureOutcome) -> None:
        for argument in arguments:
            given = outcome.outputs.get((argument.name or "").lower())
            if argument.is_output and isinstance(argument.value, Variable) and given is not None:
                target = argument.value.name
                self._frame.values[target] = self._statements.convert(
                    given[1], given[0], self._frame.types[target]
                )

    # --- errors ---------------------------------------------------------------------------------------------------

    def _attempt(self, work: Callable[[], None], line: int) -> None:
        """Run one statement's work and let its error have SQL Server's consequences."""
        try:
            work()
        except SqlServerError as error:
            self._failed(error, line)
        else:
            self.session.last_error = 0

    def _failed(self, error: SqlServerError, line: int) -> None:
        transaction = self.session.transaction
        self.session.last_error = error.number
        end = consequences.of_error(error, xact_abort=transaction.settings.xact_abort)
        if transaction.must_end:
            end = ScopeEnd.BATCH_AND_TRANSACTION
        compile_error = consequences.is_compile_error(error)
        if any(frame.tries and not (compile_error and frame is self._frame) for frame in self._frames):
            if end is ScopeEnd.BATCH_AND_TRANSACTION and transaction.count:
                transaction.doom()
            raise _RaisedError(
                _Caught(error, line), uncatchable_at=self._frame.depth if compile_error else None
            ) from error
        self._report(error, line)
        match end:
            case ScopeEnd.STATEMENT:
                return
            case ScopeEnd.SCOPE:
                raise _EndScope from error
            case ScopeEnd.BATCH:
                raise _EndBatch from error
            case ScopeEnd.BATCH_AND_TRANSACTION:
                if transaction.count:
                    transaction.abandon()
                raise _EndBatch from error
            case _:
                assert_never(end)

    def _report(self, error: SqlServerError, line: int) -> None:
        self.session.shared.note(
            "error", session=self.session.session_id, number=error.number, text=error.message
        )
        self.session.last_error = error.number
        self.response.error(error, line)
        self.response.statement_done(0, None, failed=True)
