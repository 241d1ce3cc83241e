"""Executes a parsed batch in a session: control flow, variables, errors and their consequences, results to the client."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

from dpone_lab.sqlserver import consequences, directives, local_calls
from dpone_lab.sqlserver.consequences import ScopeEnd
from dpone_lab.sqlserver.frames import (
    BreakLoop,
    Caught,
    ContinueLoop,
    EndBatch,
    EndScope,
    Frame,
    RaisedError,
    ReturnFromScope,
)
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
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import Delete, Insert, Query, Update
from dpone_lab.sqlserver.language.syntax import (
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
from dpone_lab.sqlserver.language.types import INT, MAX, SqlType
from dpone_lab.sqlserver.procedures import DEFINING
from dpone_lab.sqlserver.statements import Statements
from dpone_lab.sqlserver.transactions import AttentionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpone_lab.sqlserver.catalog import DatabaseTrigger
    from dpone_lab.sqlserver.language.expressions import Expression
    from dpone_lab.sqlserver.language.syntax import Statement
    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureOutcome
    from dpone_lab.sqlserver.session import Session
    from dpone_lab.sqlserver.wire.response import Response

_BEGIN_COMMAND, _COMMIT_COMMAND, _ROLLBACK_COMMAND = 0xD4, 0xD5, 0xD2
T = TypeVar("T")
_DEEPEST_NESTING = 32
_MESSAGE = SqlType("nvarchar", length=4000)
_LONG_TEXT = SqlType("nvarchar", length=MAX)


class Interpreter:
    """Runs the requests of one session, one at a time, and writes what they give to its response."""

    def __init__(self, session: Session, response: Response) -> None:
        self.session = session
        self.response = response
        self._frames: list[Frame] = []
        self._caught: list[Caught] = []
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
        except (EndBatch, EndScope, ReturnFromScope):
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
        except (EndBatch, EndScope):
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
        except ReturnFromScope as end:
            status = end.status
        except EndScope:
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
            self.session.row_count = 0

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
            except BreakLoop:
                return
            except ContinueLoop:
                continue

    def _run_try(self, statement: TryCatch) -> None:
        frame = self._frame
        frame.tries += 1
        try:
            self._run_all(statement.body)
        except RaisedError as raised:
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
                self._with_triggers(partial(self._statements.administer, statement))
            case DropObjects() if statement.kind in ("USER", "ROLE", "LOGIN"):
                self._with_triggers(partial(self._statements.administer, statement))
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
                run = partial(self._statements.run, statement, frame.types, frame.values)
                self._with_triggers(partial(run, self._temporary_names()))
            case Declare():
                for variable in statement.variables:
                    frame.types[variable.name] = variable.type
                    initial = variable.initial
                    if initial is not None:
                        frame.values[variable.name] = self._evaluate(initial, variable.type)
                        self.session.row_count = 1
            case SetVariable():
                frame.values[statement.name] = self._evaluate(statement.value, frame.types[statement.name])
                self.session.row_count = 1
            case SetOption():
                directives.set_option(self.session, statement.option, statement.value)
                self._done()
            case Print():
                text = self._evaluate(statement.value, _MESSAGE)
                self.response.information(0, " " if text is None else text)
                self.session.row_count = 0
            case Throw(None):
                raise directives.rethrown(self._caught[-1] if self._caught else None)
            case Throw():
                raise directives.thrown(
                    self._optional(statement.number, INT),
                    self._optional(statement.message, _MESSAGE),
                    self._optional(statement.state, INT),
                )
            case Return():
                raise ReturnFromScope(self._optional(statement.value, INT) or 0)
            case Break():
                raise BreakLoop
            case Continue():
                raise ContinueLoop
            case Begin():
                transaction.begin_implicitly()
                transaction.begin(statement.name)
                self._done(_BEGIN_COMMAND)
            case Commit():
                transaction.commit()
                self._done(_COMMIT_COMMAND)
            case Rollback():
                transaction.rollback(statement.name)
                self._done(_ROLLBACK_COMMAND)
            case Save():
                transaction.save(statement.name)
            case Use():
                directives.use(self.session, self.response, statement.database)
                self._done()
            case WaitForDelay():
                if self.session.attention.wait(
                    directives.delay_seconds(self._evaluate(statement.delay, _MESSAGE))
                ):
                    raise AttentionError
            case ExecuteString():
                self.execute_text(self._evaluate(statement.text, _LONG_TEXT) or "", {}, {})
            case Execute():
                call = partial(local_calls.execute, statement, frame, self._statements, self.execute_text)
                if statement.procedure.name.lower() in DEFINING:
                    self._with_triggers(call)
                else:
                    call()
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

    def _optional(self, expression: Expression | None, target: SqlType) -> Any:
        return None if expression is None else self._evaluate(expression, target)

    def _done(self, command: int = 0) -> None:
        """End a statement that leaves no rows behind and @@ROWCOUNT at 0."""
        self.session.row_count = 0
        self.response.statement_done(command, None)

    def value(self, name: str) -> Any:
        """Return the value of a variable, an ERROR_ function, or a value of the session."""
        if name.startswith("@") and not name.startswith("@@"):
            return self._frame.values[name]
        if name == "@@nestlevel":
            return len(self._frames) - 1
        if name.startswith("error_"):
            return self._caught[-1].value(name) if self._caught else None
        return self.session.value(name)

    def _with_triggers(self, define: Callable[[], T]) -> T:
        """Run a definition and the database triggers that it fires, as one statement."""
        transaction = self.session.transaction
        alone = transaction.count == 0 and not transaction.settings.implicit_transactions
        if alone and self._statements.any_database_trigger():
            transaction.begin(announced=False)
        try:
            result = define()
            for trigger in self._statements.fired_triggers():
                self._fire(trigger)
        except BaseException:
            if alone and transaction.count:
                transaction.abandon()
            raise
        if alone and transaction.count:
            transaction.commit()
        return result

    def _fire(self, trigger: DatabaseTrigger) -> None:
        settings = self.session.settings_snapshot()
        self._frames.append(Frame(len(self._frames)))
        self.session.transaction.settings.xact_abort = True
        try:
            with self.response.procedure(), self.session.acting_as(trigger.run_as):
                self._run_all(trigger.body)
        except ReturnFromScope:
            pass
        finally:
            self.session.transaction.settings = settings
            self._frames.pop()

    def convert(self, value: Any, source: SqlType, target: SqlType) -> Any:
        """Convert a value as an assignment does."""
        return self._statements.convert(value, source, target)

    def procedure(
        self, schema: str | None, name: str, arguments: Sequence[ProcedureArgument]
    ) -> ProcedureOutcome:
        """Run a system procedure and send its result sets."""
        call = partial(self._statements.procedure, schema, name, arguments)
        return self._with_triggers(call) if name in DEFINING else call()

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
            raise RaisedError(
                Caught(error, line), uncatchable_at=self._frame.depth if compile_error else None
            ) from error
        self._report(error, line)
        match end:
            case ScopeEnd.STATEMENT:
                return
            case ScopeEnd.SCOPE:
                raise EndScope from error
            case ScopeEnd.BATCH:
                raise EndBatch from error
            case ScopeEnd.BATCH_AND_TRANSACTION:
                if transaction.count:
                    transaction.abandon()
                raise EndBatch from error
            case _:
                assert_never(end)

    def _report(self, error: SqlServerError, line: int) -> None:
        self.session.shared.note(
            "error", session=self.session.session_id, number=error.number, text=error.message
        )
        self.session.last_error = error.number
        self.response.error(error, line)
        self.response.statement_done(0, None, failed=True)
