"""EXEC of a procedure inside a batch: arguments, output variables, return status; sp_executesql among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver import parameters
from dpone_lab.sqlserver.language.expressions import Literal, Variable
from dpone_lab.sqlserver.parameters import Given

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.sqlserver.frames import Frame
    from dpone_lab.sqlserver.language.syntax import Argument, Execute
    from dpone_lab.sqlserver.language.types import SqlType
    from dpone_lab.sqlserver.statements import Statements

    ExecuteText = Callable[[str, dict[str, SqlType], dict[str, Any]], int]


def execute(node: Execute, frame: Frame, statements: Statements, execute_text: ExecuteText) -> None:
    """Call a procedure; output variables and the result variable of the frame get their values."""
    name = node.procedure.name.lower()
    given = [_given(argument, frame, statements) for argument in node.arguments]
    if name == "sp_executesql":
        status = _execute_sql(given, node, frame, statements, execute_text)
    else:
        arguments = [parameters.to_argument(each) for each in given]
        outcome = statements.procedure(node.procedure.schema, name, arguments)
        status = outcome.status
        for argument in node.arguments:
            found = outcome.outputs.get((argument.name or "").lower())
            if found is not None:
                _put(argument, found[1], found[0], frame, statements)
        statements.executed()
    if node.result is not None:
        frame.values[node.result] = status


def _given(argument: Argument, frame: Frame, statements: Statements) -> Given:
    value = argument.value
    if isinstance(value, Literal) and value.kind == "default":
        return Given(argument.name, None, None, argument.is_output)
    if isinstance(value, Variable) and value.name in frame.types:
        return Given(argument.name, frame.types[value.name], frame.values[value.name], argument.is_output)
    sql_type, result = statements.evaluate_typed(value, frame.types)
    return Given(argument.name, sql_type, result, argument.is_output)


def _execute_sql(
    given: list[Given], node: Execute, frame: Frame, statements: Statements, execute_text: ExecuteText
) -> int:
    bound = parameters.bind(given, statements.convert)
    status = execute_text(bound.text, bound.types, bound.values)
    for name, position in bound.sources.items():
        _put(node.arguments[position], bound.values[name], bound.types[name], frame, statements)
    return status


def _put(argument: Argument, value: Any, source: SqlType, frame: Frame, statements: Statements) -> None:
    """Give an OUTPUT argument's variable its value."""
    if argument.is_output and isinstance(argument.value, Variable):
        target = argument.value.name
        frame.values[target] = statements.convert(value, source, frame.types[target])
