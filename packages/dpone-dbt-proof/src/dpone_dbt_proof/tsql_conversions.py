"""Texts and dates whose reading follows the login's language, DATEFORMAT or DATEFIRST: nothing proven pins those.

The text of a query has no types. What certainly depends on a setting is refused; where it depends on a type that the
text does not tell, and a style would decide it, the answer is left open.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dpone_dbt_proof.reasons import Code, Reason
from dpone_dbt_proof.tsql_lexer import Kind
from dpone_dbt_proof.tsql_policy import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpone_dbt_proof.tsql_lexer import Token

_WEEK_PARTS: Final = words("W WW WK WEEK DW WEEKDAY")
"""Parts that count from DATEFIRST; `iso_week` does not."""

_DATES: Final = words("DATE DATETIME DATETIME2 DATETIMEOFFSET SMALLDATETIME TIME")
_STRICT_DATES: Final = words("DATETIME SMALLDATETIME")
"""Types that read `2020-02-01` by DATEFORMAT; the others read it as ISO 8601."""

_TEXTS: Final = words("CHAR NCHAR VARCHAR NVARCHAR CHARACTER TEXT NTEXT SYSNAME")
_NAMED_MONTHS: Final = words("6 7 9 13 100 106 107 109 113 130")
"""Styles with the name of a month, which the login's language gives."""

_ISO: Final = re.compile(r"\s*|\d{8}(\s.*)?|\d{4}-\d\d-\d\dT.+|\d{1,2}:\d\d.*")
_DASHED: Final = re.compile(r"\d{4}-\d\d-\d\d(\s.*)?")
_AMBIGUOUS: Final = re.compile(
    r"\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)(\s.*)?|\d{4}[/.]\d{1,2}[/.]\d{1,2}(\s.*)?"
)
_DATE_CALLS: Final = words(
    "DATEADD DATEDIFF DATEDIFF_BIG DATEPART DATETRUNC DATE_BUCKET DAY EOMONTH MONTH YEAR"
)


def setting_dependent(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Yield a reason for each conversion or part of a date that the login's settings decide, or may."""
    judged: set[int] = set()
    for index, token in enumerate(tokens[:-1]):
        if tokens[index + 1].mark != "(" or not token.word:
            continue
        if token.word in ("CONVERT", "TRY_CONVERT"):
            arguments = _arguments(tokens, index + 1)
            judged.update(position for argument in arguments for position in argument)
            yield from _converted(tokens, token, arguments)
        elif token.word in ("CAST", "TRY_CAST"):
            yield from _cast(tokens, index)
        elif token.word in _DATE_CALLS:
            yield from _date_call(tokens, index)
    for index, token in enumerate(tokens):
        if token.kind is Kind.STRING and index not in judged and _AMBIGUOUS.fullmatch(token.value):
            yield _at(
                token, Code.SQL_CONVERSION, "day and month of the text stand in the order of DATEFORMAT"
            )


def _converted(tokens: Sequence[Token], call: Token, arguments: Sequence[range]) -> Iterator[Reason]:
    """CONVERT of a date or a text needs a style that says the same under every login."""
    if len(arguments) < 2 or not arguments[0] or not arguments[1]:
        return
    kind = tokens[arguments[0].start].value.upper()
    value = tokens[arguments[1].start]
    if kind not in _DATES | _TEXTS:
        return
    style = [tokens[index] for index in arguments[2]] if len(arguments) > 2 else []
    if len(style) == 1 and style[0].kind is Kind.NUMBER and style[0].value != "0":
        if style[0].value in _NAMED_MONTHS:
            yield _at(
                style[0], Code.SQL_SESSION, f"style {style[0].value} names months in the login's language"
            )
        return
    literal = len(arguments[1]) == 1 and value.kind in (Kind.STRING, Kind.NUMBER)
    if literal and not style:
        yield from _literal(value, kind) if kind in _DATES else ()
        return
    yield _at(call, Code.SQL_CONVERSION, f"{call.word} to {kind} has no style")


def _cast(tokens: Sequence[Token], index: int) -> Iterator[Reason]:
    """A text in CAST is read as its type reads it; for any other value the text tells no type."""
    value, middle, kind = (*tokens[index + 2 : index + 5], None, None, None)[:3]
    if value is not None and middle is not None and kind is not None and middle.word == "AS":
        yield from _literal(value, kind.word) if kind.word in _DATES else ()


def _date_call(tokens: Sequence[Token], index: int) -> Iterator[Reason]:
    call = tokens[index]
    arguments = _arguments(tokens, index + 1)
    part = tokens[arguments[0].start] if arguments and arguments[0] else None
    if call.word in ("DATEPART", "DATETRUNC") and part is not None and part.value.upper() in _WEEK_PARTS:
        yield _at(
            part, Code.SQL_SESSION, f"{call.word} of {part.value} counts from DATEFIRST: iso_week does not"
        )
    for argument in arguments:
        if len(argument) == 1:
            # DATEADD reads a text as datetime, the others as datetime2.
            yield from _literal(tokens[argument.start], "DATETIME" if call.word == "DATEADD" else "DATETIME2")


def _literal(value: Token, kind: str) -> Iterator[Reason]:
    if value.kind is not Kind.STRING or _ISO.fullmatch(value.value):
        return
    if kind in _STRICT_DATES or not _DASHED.fullmatch(value.value):
        yield _at(
            value, Code.SQL_SESSION, f"the text is read as {kind} by the login's DATEFORMAT or language"
        )


def _arguments(tokens: Sequence[Token], opening: int) -> list[range]:
    """Return the indexes of each argument between the parenthesis at `opening` and its partner."""
    found: list[range] = []
    depth, start = 0, opening + 1
    for index in range(opening, len(tokens)):
        mark = tokens[index].mark
        depth += (mark == "(") - (mark == ")")
        if depth == 0 or (depth == 1 and mark == ","):
            found.append(range(start, index))
            start = index + 1
        if depth == 0:
            break
    return found


def _at(token: Token, code: Code, message: str) -> Reason:
    return Reason(code, message, line=token.line, column=token.column)
