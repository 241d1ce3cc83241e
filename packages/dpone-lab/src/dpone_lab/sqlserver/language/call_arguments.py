"""Access to the arguments of a call, and the shape of what translates one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.sqlserver.language.expressions import Call, Expression
    from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator
    from dpone_lab.sqlserver.language.values import Value

Handler: TypeAlias = "Callable[[ExpressionTranslator, Call], Value]"


def argument_of(call: Call, index: int = 0) -> Expression:
    """Return an argument that the grammar made an expression; only IIF, which is a CASE, takes a condition."""
    return call.arguments[index]
