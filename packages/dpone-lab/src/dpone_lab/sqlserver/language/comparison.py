"""How T-SQL compares, sorts and matches values: by the higher type, blanks at the end ignored, NULLs lowest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.inference import collated, common_type
from dpone_lab.sqlserver.language.values import Value, text_literal

if TYPE_CHECKING:
    from collections.abc import Sequence


def comparable(values: Sequence[Value]) -> list[str]:
    """Return texts that PostgreSQL compares as T-SQL compares the values."""
    types = [value.type for value in values if not value.is_null]
    if types and all(sql_type.is_number for sql_type in types):
        return [value.sql for value in values]
    if types and all(sql_type.is_character for sql_type in types):
        collated(types[0], *types)
        return [trimmed(value) for value in values]
    target = common_type([value.type for value in values], [value.literal for value in values])
    converted = [
        value
        if value.type.name == target.name or (value.type.is_number and target.is_number)
        else convert(value, target)
        for value in values
    ]
    return [trimmed(value) if value.type.is_character else value.sql for value in converted]


def trimmed(value: Value) -> str:
    """Return text without its trailing blanks, which T-SQL's comparisons and groups ignore."""
    if value.is_null:
        return "CAST(NULL AS text)"
    if value.literal is not None and value.literal.kind in ("string", "nstring"):
        return text_literal(value.literal.text.rstrip(" "))
    return f"rtrim({value.sql}, ' ')" if value.type.is_character else value.sql


def sortable(value: Value, *, descending: bool) -> str:
    """Return an ORDER BY item: NULLs sort lowest in T-SQL."""
    return f"{trimmed(value)} DESC NULLS LAST" if descending else f"{trimmed(value)} NULLS FIRST"


def like_test(operand: Value, pattern: Value, escape: str | None) -> str:
    """Return a LIKE test; sets and escapes become a regular expression."""
    literal = pattern.literal
    collated(operand.type, operand.type, pattern.type)
    if literal is None:
        # A pattern that isn't a constant must not hold sets; the function refuses them.
        quoted = text_literal(escape or "")
        sql = f"sys.like_pattern({pattern.sql}, {quoted})"
        test = f"{operand.sql} LIKE {sql} ESCAPE ''"
    elif "[" in literal.text or escape is not None:
        test = f"{operand.sql} ~ {text_literal(_like_regex(literal.text, escape))}"
    else:
        test = f"{operand.sql} LIKE {text_literal(literal.text)} ESCAPE ''"
    if operand.type.is_unicode or operand.literal is not None:
        return f"({test})"
    # Trailing blanks of varchar text don't count in LIKE.
    return f"({test} OR {test.replace(operand.sql, trimmed(operand), 1)})"


_LIKE_PIECE = re.compile(r"\[(\^?)([^\]]*)\]|(.)", re.DOTALL)


def _like_regex(pattern: str, escape: str | None) -> str:
    """Return the regular expression of a LIKE pattern with sets or an escape character."""
    result: list[str] = []
    position = 0
    while position < len(pattern):
        if escape is not None and pattern[position] == escape and position + 1 < len(pattern):
            result.append(re.escape(pattern[position + 1]))
            position += 2
            continue
        piece = _LIKE_PIECE.match(pattern, position)
        assert piece is not None
        position = piece.end()
        if piece.group(3) is None:
            members = re.sub(r"([\\\[\]])", r"\\\1", piece.group(2))
            result.append(f"[{piece.group(1)}{members}]" if members else "(?!)")
        elif piece.group(3) == "%":
            result.append(".*")
        elif piece.group(3) == "_":
            result.append(".")
        else:
            result.append(re.escape(piece.group(3)))
    return f"^{''.join(result)}$"
