"""Table and join hints, judged on the tokens: what changes the plan may stay, what changes reads or locks may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_dbt_proof.reasons import Code, Reason
from dpone_dbt_proof.tsql_lexer import Kind
from dpone_dbt_proof.tsql_policy import LOCK_HINTS, PLAN_HINTS, REFUSED_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpone_dbt_proof.tsql_lexer import Token


def hint_spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Return first and last index of each `WITH ( … )`, or old `(INDEX …)`, behind a relation's name or alias.

    `OPENJSON (…) WITH (…)` has a parenthesis before it, a common table expression no parenthesis behind WITH.
    """
    spans = []
    for index, token in enumerate(tokens[1:-1], start=1):
        if token.word != "WITH" and token.mark != "(":
            continue
        before, following = tokens[index - 1], tokens[index + 1]
        if not _is_name(before):
            continue
        if token.word == "WITH" and following.mark == "(":
            spans.append((index, closing(tokens, index + 1)))
        if token.mark == "(" and following.word == "INDEX" and before.word != "WITH":
            spans.append((index, closing(tokens, index)))
    return spans


def option_spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Return first and last index of each `OPTION ( … )`: no view has one, whatever stands inside."""
    return [
        (index, closing(tokens, index + 1))
        for index, token in enumerate(tokens[:-1])
        if token.word == "OPTION" and tokens[index + 1].mark == "("
    ]


def refused_hints(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Yield a reason for each hint that is not on the list; dirty reads are refused words wherever they stand."""
    for first, last in hint_spans(tokens):
        yield from _in_parentheses(tokens, first, last)
    for index, token in enumerate(tokens):
        if token.word == "REMOTE" and index + 1 < len(tokens) and tokens[index + 1].word == "JOIN":
            yield _refused(token, Code.SQL_HINT)
        if token.word in LOCK_HINTS and _is_legacy(tokens, index):
            yield _refused(token, Code.SQL_LOCK_HINT)


def _in_parentheses(tokens: Sequence[Token], first: int, last: int) -> Iterator[Reason]:
    depth = 0
    for index in range(first, last):
        token = tokens[index]
        depth += (token.mark == "(") - (token.mark == ")")
        known = not token.word or token.word in REFUSED_WORDS or token.word in PLAN_HINTS
        # INDEX = name has its name at this depth.
        if depth == 1 and not known and tokens[index - 1].mark != "=":
            yield _refused(token, Code.SQL_LOCK_HINT if token.word in LOCK_HINTS else Code.SQL_HINT)


def _is_legacy(tokens: Sequence[Token], index: int) -> bool:
    """Tell whether the word alone stands in parentheses behind a name: `sales.orders (ROWLOCK)`."""
    around = tokens[max(index - 2, 0) : index + 2]
    return (
        len(around) == 4
        and _is_name(around[0])
        and around[0].word != "WITH"
        and around[1].mark == "("
        and around[3].mark == ")"
    )


def closing(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the parenthesis that closes the one at `index`, or the last index."""
    depth = 0
    for position in range(index, len(tokens)):
        depth += (tokens[position].mark == "(") - (tokens[position].mark == ")")
        if depth == 0:
            return position
    return len(tokens) - 1


def _is_name(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED)


def _refused(token: Token, code: Code) -> Reason:
    return Reason(code, f"hint {token.word} is not admitted", line=token.line, column=token.column)
