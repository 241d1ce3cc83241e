"""Grammar that a tolerant parser lets pass: what stands where no T-SQL statement can have it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from dpone_dbt_proof.reasons import Code, Reason
from dpone_dbt_proof.tsql_hints import closing
from dpone_dbt_proof.tsql_lexer import Kind
from dpone_dbt_proof.tsql_policy import RESERVED, words

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

_MOST_PARENTHESES: Final = 256
_MOST_JOINS: Final = 1000
_BEFORE_RELATION: Final = ("FROM", "JOIN", "APPLY")
_LITERAL_TYPES: Final = words("DATE TIME TIMESTAMP DATETIME INTERVAL")
"""Words that other dialects put before a text to give its type; to T-SQL the text would be an alias."""
_SET_OPERATORS: Final = ("UNION", "EXCEPT", "INTERSECT")
_BINARY: Final = words("+ - * / % = < > <= >= <> != !< !> & | ^")
_BEFORE_ITEM: Final = ("SELECT", "DISTINCT", "BY", "WHERE", "HAVING", "ON", "WHEN", "THEN", "ELSE")


def misplaced(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Yield a reason for each token that can't stand where it stands."""
    arguments = argument_words(tokens)
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if token.mark == "," and _ends_list(following):
            yield _at(token, "nothing follows the comma")
        if token.word == "IN" and (following is None or following.mark != "("):
            yield _at(following or token, "IN needs a list in parentheses")
        if token.word == "IN" and [other.value for other in tokens[index + 1 : index + 3]] == ["(", ")"]:
            yield _at(tokens[index + 2], "the list is empty")
        compares = token.word == "DISTINCT" and tokens[index - 1].word in ("IS", "NOT")
        if token.word in _BEFORE_ITEM and _ends_list(following) and not compares:
            yield _at(following or token, f"nothing follows {token.word}")
        if following is not None and _clash(token, following):
            yield _at(following, f"{following.value} can't follow {token.value}")
        if token.word == "BY" and following is not None and following.word == "ALL":
            yield _at(following, "BY ALL is not T-SQL")
        if token.word in _SET_OPERATORS:
            yield from _set_operand(tokens, index)
        if token.word in ("ANY", "SOME") and not _opens_query(tokens, index + 1):
            yield _at(following or token, f"{token.word} needs a query")
        if token.word == "WITH" and _recursive(tokens[index + 1 : index + 3]):
            yield _at(tokens[index + 1], "RECURSIVE is not T-SQL")
        if token.word == "NULLS" and following is not None and following.word in ("FIRST", "LAST"):
            yield _at(token, "NULLS FIRST and LAST are not T-SQL")
        if token.word in _BEFORE_RELATION and index not in arguments:
            if following is None or following.word in RESERVED or following.mark == ".":
                yield _at(following or token, f"a relation must follow {token.word}")
            yield from _derived_table(tokens, index)
    yield from _misplaced_from(tokens, arguments)
    yield from _misplaced_pairs(tokens)
    yield from _cases(tokens)
    yield from _joins(tokens)
    yield from _parentheses(tokens)


def _misplaced_pairs(tokens: Sequence[Token]) -> Iterator[Reason]:
    for token, following in pairwise(tokens):
        if token.mark == "," and following.mark == ".":
            yield _at(following, "a name can't begin with a dot")
        if token.word in _LITERAL_TYPES and following.kind is Kind.STRING:
            yield _at(following, f"{token.word} before a text is not T-SQL")


def too_deep(tokens: Sequence[Token]) -> Reason | None:
    """Tell where a text is nested deeper than any that people write: a parser's stack ends somewhere behind that."""
    depth = joins = 0
    for token in tokens:
        depth += (token.mark == "(") - (token.mark == ")")
        joins += token.word == "JOIN"
        if depth > _MOST_PARENTHESES or joins > _MOST_JOINS:
            return _at(token, "the text is nested too deeply to be read")
    return None


def argument_words(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the indexes of each FROM that is no clause: of TRIM, and of IS [NOT] DISTINCT FROM."""
    return frozenset(
        index
        for index, selects, called in _froms(tokens)
        if (not selects and called == "TRIM") or tokens[index - 1].word == "DISTINCT"
    )


def _froms(tokens: Sequence[Token]) -> Iterator[tuple[int, bool, str]]:
    """Yield each FROM, whether a SELECT stands before it in its parentheses, and the word before these."""
    groups: list[tuple[bool, str]] = [(False, "")]
    for index, token in enumerate(tokens):
        if token.mark == "(":
            groups.append((False, tokens[index - 1].word if index else ""))
        elif token.mark == ")" and len(groups) > 1:
            groups.pop()
        elif token.word == "SELECT":
            groups[-1] = (True, groups[-1][1])
        elif token.word == "FROM":
            yield index, *groups[-1]


def _ends_list(following: Token | None) -> bool:
    if following is None:
        return True
    return following.mark in (",", ")") or following.word in _CLAUSES


def _clash(token: Token, following: Token) -> bool:
    """Tell whether two operators stand side by side that no expression has so; `+`, `-` and shifts may."""
    pair = (token.value, following.value)
    operators = all(each.kind is Kind.OPERATOR and each.value in _BINARY for each in (token, following))
    together = token.end == following.start
    if pair == ("-", ">"):
        return True
    return (
        operators
        and following.value not in ("+", "-")
        and not (together and pair in (("<", "<"), (">", ">")))
    )


def _set_operand(tokens: Sequence[Token], index: int) -> Iterator[Reason]:
    """UNION [ALL], EXCEPT and INTERSECT stand before a query."""
    at_index = index + 1
    if tokens[index].word == "UNION" and at_index < len(tokens) and tokens[at_index].word == "ALL":
        at_index += 1
    while at_index < len(tokens) and tokens[at_index].mark == "(":
        at_index += 1
    if at_index >= len(tokens) or tokens[at_index].word != "SELECT":
        yield _at(tokens[min(at_index, len(tokens) - 1)], f"a query must follow {tokens[index].word}")


def _opens_query(tokens: Sequence[Token], index: int) -> bool:
    start = index
    while index < len(tokens) and tokens[index].mark == "(":
        index += 1
    return index > start and index < len(tokens) and tokens[index].word == "SELECT"


def _recursive(following: Sequence[Token]) -> bool:
    """Tell `WITH RECURSIVE name` from a common table expression of that name."""
    return (
        len(following) == len(("RECURSIVE", "name"))
        and following[0].word == "RECURSIVE"
        and following[1].kind in (Kind.WORD, Kind.QUOTED)
        and following[1].word != "AS"
    )


def _misplaced_from(tokens: Sequence[Token], arguments: frozenset[int]) -> Iterator[Reason]:
    """A FROM follows its SELECT."""
    if sum((token.mark == "(") - (token.mark == ")") for token in tokens):
        return  # What stands inside which parentheses is not known.
    for index, selects, _ in _froms(tokens):
        if not selects and index not in arguments:
            yield _at(tokens[index], "FROM has no SELECT before it")


def _derived_table(tokens: Sequence[Token], index: int) -> Iterator[Reason]:
    """Yield a reason where `FROM (SELECT … )` has no alias."""
    if [other.value.upper() for other in tokens[index + 1 : index + 3]] not in (
        ["(", "SELECT"],
        ["(", "WITH"],
    ):
        return
    end = closing(tokens, index + 1)
    following = tokens[end + 1] if end + 1 < len(tokens) else None
    named = following is not None and (
        following.kind is Kind.QUOTED or (following.word != "" and following.word not in RESERVED - {"AS"})
    )
    if not named:
        yield _at(following or tokens[end], "a derived table needs an alias")


def _cases(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Every WHEN has its THEN."""
    whens = [token for token in tokens if token.word == "WHEN"]
    thens = [token for token in tokens if token.word == "THEN"]
    if len(whens) != len(thens):
        yield _at((whens or thens)[-1], f"{len(whens)} WHEN have {len(thens)} THEN")


def _joins(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Every JOIN but a CROSS JOIN has its ON."""
    joins = [
        token
        for index, token in enumerate(tokens)
        if token.word == "JOIN" and (index == 0 or tokens[index - 1].word != "CROSS")
    ]
    conditions = [
        token for index, token in enumerate(tokens) if token.word == "ON" and not _of_json(tokens, index)
    ]
    if len(joins) != len(conditions):
        yield _at((joins or conditions)[-1], f"{len(joins)} joins have {len(conditions)} conditions")


def _of_json(tokens: Sequence[Token], index: int) -> bool:
    """Tell `NULL ON NULL` and `ABSENT ON NULL` of a JSON constructor from a join's condition."""
    around = [token.word for token in tokens[index - 1 : index + 2]]
    return around in (["NULL", "ON", "NULL"], ["ABSENT", "ON", "NULL"])


def _parentheses(tokens: Sequence[Token]) -> Iterator[Reason]:
    """Each parenthesis has its partner."""
    open_: list[Token] = []
    for token in tokens:
        if token.mark == "(":
            open_.append(token)
        elif token.mark == ")":
            if not open_:
                yield _at(token, "the parenthesis closes nothing")
                return
            open_.pop()
    if open_:
        yield _at(open_[-1], "the parenthesis is not closed")


def _at(token: Token, message: str) -> Reason:
    return Reason(Code.SQL_SYNTAX, message, line=token.line, column=token.column)
