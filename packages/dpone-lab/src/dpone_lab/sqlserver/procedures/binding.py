"""Binds a procedure's arguments to its parameters, with SQL Server's errors for what doesn't fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.language.errors import Number, SqlServerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument


@dataclass(frozen=True, slots=True)
class Bound:
    """The values of a call by lower-case parameter name without ``@``; parameters left out have their default."""

    values: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        """Return a character parameter."""
        value = self.values[name]
        return None if value is None else str(value)

    def number(self, name: str) -> int | None:
        """Return an integer parameter."""
        value = self.values[name]
        return None if value is None else int(value)


REQUIRED = object()
"""Stands for the default of a parameter that has none."""


def bind(procedure: str, arguments: Sequence[ProcedureArgument], parameters: Mapping[str, Any]) -> Bound:
    """Bind arguments to ``parameters`` (name to default, in order).

    Raises 8144 for too many, 8145 for an unknown name, 201 for a missing one.
    """
    names = list(parameters)
    given: dict[str, Any] = {}
    for position, argument in enumerate(arguments):
        if argument.name is None:
            if position >= len(names):
                raise SqlServerError(
                    8144, f"Procedure or function {procedure} has too many arguments specified."
                )
            name = names[position]
        else:
            name = argument.name.lstrip("@").lower()
            if name not in parameters:
                raise SqlServerError(8145, f"{argument.name} is not a parameter for procedure {procedure}.")
        if not argument.default:
            given[name] = argument.value
    for name, default in parameters.items():
        if name not in given and default is REQUIRED:
            raise SqlServerError(
                Number.PARAMETER_MISSING,
                f"Procedure or function '{procedure}' expects parameter '@{name}', which was not supplied.",
            )
    return Bound(
        {**{name: default for name, default in parameters.items() if default is not REQUIRED}, **given}
    )
