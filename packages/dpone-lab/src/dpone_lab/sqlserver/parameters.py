"""Parameters of sp_executesql and of prepared statements: declarations, binding, and types suggested for undeclared ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.parameter_definitions import parse_parameter_definitions
from dpone_lab.sqlserver.language.types import MAX, NULL, SqlType
from dpone_lab.sqlserver.procedure_call import ProcedureArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Convert = Callable[[Any, SqlType, SqlType], Any]

_INTEGER_RANGES = {
    "tinyint": (0, 2**8 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a caller passes; `type` None stands for DEFAULT."""

    name: str | None
    type: SqlType | None
    value: Any
    output: bool = False


def to_argument(given: Given) -> ProcedureArgument:
    """Return the value as an argument of a system procedure."""
    return ProcedureArgument(
        None if given.name is None else given.name.lower(),
        given.type or NULL,
        given.value,
        given.output,
        default=given.type is None,
    )


@dataclass(slots=True)
class Bound:
    """A text with its parameters; `sources` tells from which given value, by position, a parameter came."""

    text: str
    types: dict[str, SqlType] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)


def fits(value: Any, source: SqlType, target: SqlType) -> bool:
    """Tell whether a value of `source` is a value of `target` as it stands, so that no conversion is needed."""
    if value is None or source.same_type(target):
        return True
    if target.name in _INTEGER_RANGES and isinstance(value, int) and not isinstance(value, bool):
        low, high = _INTEGER_RANGES[target.name]
        return low <= value <= high
    if source.is_character and target.is_character and not target.is_fixed and not source.is_fixed:
        if target.length is None:
            return False
        if target.is_unicode:
            return (
                target.length == MAX or len(value.encode("utf-16-le", "surrogatepass")) // 2 <= target.length
            )
        return target.length == MAX or len(value.encode("utf-8", "surrogatepass")) <= target.length
    if source.is_binary and target.name == "varbinary" and target.length is not None:
        return target.length == MAX or len(value) <= target.length
    if source.name == target.name == "datetime2":
        return (source.scale or 0) <= (target.scale or 0)
    return False


def bind(given: Sequence[Given], convert: Convert) -> Bound:
    """Bind the arguments of sp_executesql: the text, the declarations if any, then values by name or position."""
    if not given:
        raise SqlServerError(
            Number.PARAMETER_MISSING,
            "Procedure or function 'sp_executesql' expects parameter '@statement', which was not supplied.",
        )
    text = given[0].value
    declarations = given[1].value if len(given) > 1 else None
    return bind_values(text or "", declarations or "", given[2:], convert, first=2)


def bind_values(
    text: str, declarations: str, given: Sequence[Given], convert: Convert, *, first: int
) -> Bound:
    """Bind values to the declared parameters of a text; `first` is the position of the first value in its call."""
    bound = Bound(text)
    declared = parse_parameter_definitions(declarations) if declarations.strip() else ()
    names = {name for name, _, _ in declared}
    by_name: dict[str, int] = {}
    positional: list[int] = []
    for index, value in enumerate(given):
        if value.name:
            by_name[value.name.lower()] = index
        else:
            positional.append(index)
    unknown = next((name for name in by_name if name not in names), None)
    if unknown is not None or len(positional) > len(declared):
        raise SqlServerError(8144, "Procedure or function has too many arguments specified.")
    for position, (name, sql_type, is_output) in enumerate(declared):
        index = by_name.get(name, positional[position] if position < len(positional) else -1)
        if index < 0:
            raise SqlServerError(
                8178,
                f"The parameterized query expects the parameter '{name}', which was not supplied.",
            )
        value = given[index]
        bound.types[name] = sql_type
        bound.values[name] = None if value.type is None else convert(value.value, value.type, sql_type)
        bound.sources[name] = first + index
        if is_output:
            bound.outputs.append(name)
    return bound
