"""RPC: the procedures that drivers call by number or name; prepared statements live here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver import parameters
from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.types import INT, SqlType
from dpone_lab.sqlserver.parameters import Given
from dpone_lab.sqlserver.wire import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.interpreter import Interpreter
    from dpone_lab.sqlserver.session import Session
    from dpone_lab.sqlserver.wire.response import Response
    from dpone_lab.sqlserver.wire.rpc import RpcCall, RpcParameter


class RemoteCalls:
    """Answers the calls of one RPC message in order, each with its own DONEPROC."""

    def __init__(self, session: Session, response: Response, interpreter: Interpreter) -> None:
        self._session = session
        self._response = response
        self._interpreter = interpreter
        self._outputs: list[tuple[int, str, SqlType, object]] = []

    def run(self, call: RpcCall) -> None:
        """Run one call: result sets, return status, output values, DONEPROC."""
        self._outputs = []
        errors_before = self._response.errors
        with self._response.procedure():
            status = self._interpreter.request(lambda: self._dispatch(call))
        self._interpreter.end_of_batch()
        failed = self._response.errors > errors_before
        if status is not None:
            self._response.write(tokens.return_status(status))
        for ordinal, name, sql_type, value in self._outputs:
            self._response.return_value(ordinal, name, sql_type, value)
        self._response.procedure_done(failed=failed)

    def _dispatch(self, call: RpcCall) -> int:
        given = call.parameters
        match call.procedure:
            case "sp_executesql":
                return self._execute_sql(given)
            case "sp_prepare":
                self._output(given, 0, INT, self._prepare(_text(given, 2), _text(given, 1)))
                return 0
            case "sp_prepexec":
                handle = self._prepare(_text(given, 2), _text(given, 1))
                self._output(given, 0, INT, handle)
                return self._run_text(_text(given, 2), _text(given, 1), given[3:], first=3)
            case "sp_execute":
                text, declarations = self._prepared(given)
                return self._run_text(text, declarations, given[1:], first=1)
            case "sp_unprepare":
                self._session.prepared.pop(_handle(given), None)
                return 0
            case "sp_reset_connection":
                self._session.reset(keep_transaction=False)
                return 0
            case name:
                return self._procedure(name, given)

    def _prepare(self, text: str, declarations: str) -> int:
        handle = max(self._session.prepared, default=0) + 1
        self._session.prepared[handle] = (text, declarations)
        return handle

    def _prepared(self, given: Sequence[RpcParameter]) -> tuple[str, str]:
        handle = _handle(given)
        if handle not in self._session.prepared:
            raise SqlServerError(8179, f"Could not find prepared statement with handle {handle}.")
        return self._session.prepared[handle]

    def _execute_sql(self, given: Sequence[RpcParameter]) -> int:
        declarations = _text(given, 1) if len(given) > 1 else ""
        return self._run_text(_text(given, 0), declarations, given[2:], first=2)

    def _run_text(self, text: str, declarations: str, values: Sequence[RpcParameter], *, first: int) -> int:
        convert = self._interpreter.convert
        bound = parameters.bind_values(
            text, declarations, [_given(each) for each in values], convert, first=first
        )
        try:
            return self._interpreter.execute_text(bound.text, bound.types, bound.values)
        finally:
            for name in bound.outputs:
                position = bound.sources[name]
                if values[position - first].output:
                    self._outputs.append((position, name, bound.types[name], bound.values[name]))

    def _procedure(self, name: str, given: Sequence[RpcParameter]) -> int:
        arguments = [parameters.to_argument(_given(each)) for each in given]
        outcome = self._interpreter.procedure(None, name, arguments)
        for position, each in enumerate(given):
            value = outcome.outputs.get(each.name.lower())
            if each.output and value is not None:
                self._outputs.append((position, each.name, *value))
        return outcome.status

    def _output(self, given: Sequence[RpcParameter], position: int, sql_type: SqlType, value: object) -> None:
        self._outputs.append((position, given[position].name, sql_type, value))


def _given(each: RpcParameter) -> Given:
    return Given(each.name or None, None if each.default else each.type, each.value, each.output)


def _text(given: Sequence[RpcParameter], position: int) -> str:
    if position >= len(given):
        raise SqlServerError(
            Number.PARAMETER_MISSING, "Procedure or function expects a parameter which was not supplied."
        )
    value = given[position].value
    if value is None or isinstance(value, str):
        return value or ""
    raise SqlServerError(214, "Procedure expects parameter of type 'ntext/nchar/nvarchar'.")


def _handle(given: Sequence[RpcParameter]) -> int:
    value = given[0].value if given else None
    return value if isinstance(value, int) else 0
