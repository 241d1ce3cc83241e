"""Arguments of system procedures: by position, by name, defaults, and SQL Server's errors."""

from __future__ import annotations

import pytest

from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.types import INT
from dpone_lab.sqlserver.procedure_call import ProcedureArgument
from dpone_lab.sqlserver.procedures.binding import REQUIRED, bind

PARAMETERS = {"resource": REQUIRED, "mode": REQUIRED, "timeout": 7}


def argument(value: object, name: str | None = None, *, default: bool = False) -> ProcedureArgument:
    return ProcedureArgument(name, INT, value, default=default)


def test_positions_come_first_and_names_ignore_case() -> None:
    bound = bind("p", [argument("a"), argument("b", "@MODE")], PARAMETERS)
    assert (bound.text("resource"), bound.text("mode"), bound.number("timeout")) == ("a", "b", 7)


def test_default_and_null_are_not_the_same() -> None:
    given = [argument("a"), argument("b")]
    assert bind("p", [*given, argument(None, default=True)], PARAMETERS).number("timeout") == 7
    assert bind("p", [*given, argument(None)], PARAMETERS).number("timeout") is None


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ([argument("a")], 201),
        ([argument("a"), argument(None, default=True)], 201),
        ([argument("a"), argument("b"), argument(1), argument(2)], 8144),
        ([argument("a", "@nonsense")], 8145),
    ],
    ids=["missing", "default of none", "too many", "unknown"],
)
def test_what_does_not_fit_has_the_documented_number(arguments: list[ProcedureArgument], number: int) -> None:
    with pytest.raises(SqlServerError) as caught:
        bind("p", arguments, PARAMETERS)
    assert caught.value.number == number
