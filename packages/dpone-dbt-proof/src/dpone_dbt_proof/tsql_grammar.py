"""Grammar that a tolerant parser lets pass: what stands where no T-SQL statement can have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpone_dbt_proof.reasons import Code, Reason
from dpone_dbt_proof.tsql_policy import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpone_dbt_proof.tsql_lexer import Token

_CLAUSES: Final = frozenset(
    [
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "ON",
        "THEN",
        "ELSE",
        "END",
        "WHEN",
        "JOIN",
        "APPLY",
        "AS",
        "AND",
        "OR",
    ]
)
"""Words that no list item can begin with."""

_BEFORE_RELATION: Final = ("FROM", "JOIN", "APPLY")


def misplaced(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Yield a reason for each token that can't stand where it stands."""
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if token.is_operator(",") and _ends_list(following):
            yield _at(token, "nothing follows the comma")
        if token.word == "IN" and (following is None or not following.is_operator("(")):
            yield _at(following or token, "IN needs a list in parentheses")
        if token.word in _BEFORE_RELATION and (following is None or following.word in RESERVED):
            yield _at(following or token, f"a relation must follow {token.word}")
    yield from _joins(tokens)
    yield from _parentheses(tokens)


def _ends_list(following: Token | None) -> bool:
    if following is None:
        return True
    return following.is_operator(",") or following.is_operator(")") or following.word in _CLAUSES


def _joins(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Every JOIN but a CROSS JOIN has its ON."""
    joins = [
        token
        for index, token in enumerate(tokens)
        if token.word == "JOIN" and (index == 0 or tokens[index - 1].word != "CROSS")
    ]
    conditions = [token for token in tokens if token.word == "ON"]
    if len(joins) != len(conditions):
        yield _at((joins or conditions)[-1], f"{len(joins)} joins have {len(conditions)} conditions")


def _parentheses(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Each parenthesis has its partner."""
    open_: list[Token] = []
    for token in tokens:
        if token.is_operator("("):
            open_.append(token)
        elif token.is_operator(")"):
            if not open_:
                yield _at(token, "the parenthesis closes nothing")
                return
            open_.pop()
    if open_:
        yield _at(open_[-1], "the parenthesis is not closed")


def _at(token: Token, message: str) -> Reason:
    return Reason(Code.SQL_SYNTAX, message, line=token.line, column=token.column)
