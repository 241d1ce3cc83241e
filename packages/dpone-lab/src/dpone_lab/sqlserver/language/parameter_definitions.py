"""Declarations of the parameters of a text, as sp_executesql and prepared statements give them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import unsupported
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_expressions import ExpressionParser
from dpone_lab.sqlserver.language.types import DEFAULT_LENGTH_IN_DDL, LEGACY_TYPES, make_type

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.types import SqlType

_ONE = re.compile(
    r"\s*(@[\w#$@]+)\s+([A-Za-z][A-Za-z0-9]*)\s*(?:\(\s*(\w+)\s*(?:,\s*(\d+)\s*)?\))?\s*(output|out)?\s*(?:,|$)",
    re.IGNORECASE,
)


def parse_parameter_definitions(text: str) -> tuple[tuple[str, SqlType, bool], ...]:
    """Parse ``@a int, @b nvarchar(50) OUTPUT`` into (name, type, is_output); names are lower-case."""
    parameters: list[tuple[str, SqlType, bool]] = []
    position = 0
    # Drivers declare up to 2,100 parameters in one plain form; anything else goes the long way.
    while position < len(text):
        match = _ONE.match(text, position)
        if match is None:
            return _parse(text)
        name, type_name, first, second, output = match.groups()
        parameters.append((name.lower(), _spelled(type_name.lower(), first, second), output is not None))
        position = match.end()
    if text.rstrip().endswith(","):
        return _parse(text)
    return tuple(parameters)


@lru_cache(maxsize=1024)
def _spelled(name: str, first: str | None, second: str | None) -> SqlType:
    legacy = LEGACY_TYPES.get(name)
    if legacy is not None:
        return legacy
    arguments = tuple(argument for argument in (first, second) if argument is not None)
    return make_type(name, arguments, default_length=DEFAULT_LENGTH_IN_DDL)


def _parse(text: str) -> tuple[tuple[str, SqlType, bool], ...]:
    parser = ExpressionParser(text)
    parser.takes_legacy_types = True
    parameters: list[tuple[str, SqlType, bool]] = []
    while True:
        if parser.current.kind is not TokenKind.VARIABLE:
            raise parser.unexpected()
        name = parser.take().value.lower()
        parser.accept("AS")
        data_type = parser.type_name(DEFAULT_LENGTH_IN_DDL)
        if parser.at("="):
            raise unsupported("default of a parameter")
        is_output = parser.accept("OUTPUT") or parser.accept("OUT")
        parameters.append((name, data_type, is_output))
        if not parser.accept(","):
            break
    if not parser.at_end():
        raise parser.unexpected()
    return tuple(parameters)
