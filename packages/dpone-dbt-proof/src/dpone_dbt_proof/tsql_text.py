"""Rules on the tokens of a query: what its text must not contain, whatever a parser makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpone_dbt_proof.reasons import Code, Reason
from dpone_dbt_proof.tsql_grammar import argument_words
from dpone_dbt_proof.tsql_hints import hint_spans, refused_hints
from dpone_dbt_proof.tsql_lexer import Kind
from dpone_dbt_proof.tsql_policy import (
    FUNCTIONS,
    LOCK_HINTS,
    NONDETERMINISTIC,
    PLAN_HINTS,
    REFUSED_CALLS,
    REFUSED_WORDS,
    TABLE_FUNCTIONS,
    TYPES,
    WITHOUT_PARENTHESES,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpone_dbt_proof.tsql_lexer import Token
    from dpone_dbt_proof.tsql_policy import TsqlPolicy

_BEFORE_PARENTHESIS: Final = words(
    """
    ALL AND ANY APPLY AS AUTO BETWEEN BY CASE CUBE DISTINCT ELSE EXCEPT EXISTS EXPLICIT FETCH FOR FROM GROUP HAVING IN
    INDEX INTERSECT JOIN LIKE NEXT NOT OFFSET ON OPTION OR OVER PATH PIVOT RAW ROLLUP ROOT SELECT SETS SOME THEN TOP UNION
    UNPIVOT VALUES WHEN WHERE WITH
    """
)
"""Words that stand before a parenthesis without being called."""

_RELATION_WORDS: Final = ("FROM", "JOIN", "APPLY")
_PSEUDO_COLUMNS: Final = (
    "$ACTION",
    "$IDENTITY",
    "$ROWGUID",
    "$PARTITION",
    "$NODE_ID",
    "$EDGE_ID",
    "$FROM_ID",
    "$TO_ID",
)


def refused_text(tokens: Sequence[Token], aliases: frozenset[str], policy: TsqlPolicy) -> Iterator[Reason]:
    """Yield a reason for every token that no admitted query holds.

    `aliases` are the names that carry column lists (`v (a, b)`), in upper case: they are not calls.
    """
    yield from _statement_end(tokens)
    hinted = {index for first, last in hint_spans(tokens) for index in range(first + 1, last + 1)}
    for index, token in enumerate(tokens):
        if index in hinted and token.word not in REFUSED_WORDS:
            continue
        match token.kind:
            case Kind.VARIABLE:
                yield at(token, Code.SQL_VARIABLE, f"{token.value} is a variable")
            case Kind.TEMPORARY:
                yield at(token, Code.SQL_TEMP_TABLE, f"{token.value} is a temporary object")
            case Kind.OPERATOR:
                yield from _operator(token)
            case Kind.WORD | Kind.QUOTED:
                yield from _name(tokens, index, aliases, policy)
            case Kind.STRING | Kind.NUMBER:
                pass
    yield from refused_hints(tokens)
    yield from _sequences_and_clauses(tokens)


def at(token: Token, code: Code, message: str) -> Reason:
    """Return a reason at the token's place."""
    return Reason(code, message, line=token.line, column=token.column)


def unprotected_calls(
    tokens: Sequence[Token], policy: TsqlPolicy, protected: frozenset[str]
) -> Iterator[Reason]:
    """Refuse an admitted nondeterministic function where it may reach a key or event-time column.

    It may stand in an item of the outermost SELECT list alone whose last name is not protected: anywhere else
    (a subquery, a set expression, a condition) what it reaches can't be told from the text.
    """
    items = _outermost_items(tokens)
    for token in tokens:
        if token.word not in policy.admitted_functions or token.word not in NONDETERMINISTIC:
            continue
        item = next((names for first, last, names in items if first <= token.start < last), None)
        if item is None or item & protected:
            yield at(token, Code.SQL_KEY_NONDETERMINISTIC, f"{token.word} may reach key or event time")


def _outermost_items(tokens: Sequence[Token]) -> list[tuple[int, int, set[str]]]:
    """Return start, end and the names at either end of each item of a single SELECT's list; none otherwise.

    TOP decides about rows, so an item behind it is none.
    """
    if (
        not tokens
        or tokens[0].word != "SELECT"
        or any(t.word in ("UNION", "EXCEPT", "INTERSECT") for t in tokens)
    ):
        return []
    items: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[1:]:
        depth += (token.mark == "(") - (token.mark == ")")
        if depth == 0 and token.word == "FROM":
            break
        if depth == 0 and token.mark == ",":
            items.append([])
        else:
            items[-1].append(token)
    return [
        (item[0].start, item[-1].end, {each.value.upper().rstrip(" ") for each in (item[0], item[-1])})
        for item in items
        if item and all(token.word != "TOP" for token in item[:2])
    ]


def written_relations(tokens: Sequence[Token]) -> Iterator[tuple[Token, tuple[str, ...]]]:
    """Yield the names that follow FROM, JOIN and APPLY: where they begin, and their parts in upper case."""
    arguments = argument_words(tokens)
    for index, token in enumerate(tokens):
        if token.word not in _RELATION_WORDS or index in arguments:
            continue
        parts: list[str] = []
        at_index = index + 1
        while at_index < len(tokens) and tokens[at_index].kind in (Kind.WORD, Kind.QUOTED):
            parts.append(tokens[at_index].value.upper())
            if at_index + 1 >= len(tokens) or tokens[at_index + 1].mark != ".":
                break
            at_index += 2
        omits = at_index < len(tokens) and tokens[at_index].mark == "."
        if len(parts) > 1 and not omits:
            yield tokens[index + 1], tuple(parts)


def _statement_end(tokens: Sequence[Token]) -> Iterator[Reason]:
    for index, token in enumerate(tokens):
        beside = [
            other.line for other in (*tokens[max(index - 1, 0) : index], *tokens[index + 1 : index + 2])
        ]
        if token.word == "GO" and token.line not in beside:
            yield at(token, Code.SQL_SEVERAL_STATEMENTS, "GO separates batches")
    for index, token in enumerate(tokens):
        if token.mark != ";":
            continue
        rest = [later for later in tokens[index + 1 :] if later.mark != ";"]
        if rest and index and not all(earlier.mark == ";" for earlier in tokens[:index]):
            yield at(rest[0], Code.SQL_SEVERAL_STATEMENTS, "a second statement follows the semicolon")
        else:
            yield at(token, Code.SQL_SEMICOLON, "a view and a derived table end without a semicolon")


def _operator(token: Token) -> Iterator[Reason]:
    match token.value:
        case "::":
            yield at(token, Code.SQL_METHOD, "a static method of a CLR type is called")
        case "{" | "}":
            yield at(token, Code.SQL_NOT_TSQL, "ODBC escapes are not T-SQL")
        case "||" | "`" | "?" | "!":
            yield at(token, Code.SQL_NOT_TSQL, f"{token.value} is not an operator of T-SQL")
        case _:
            return


def _name(
    tokens: Sequence[Token], index: int, aliases: frozenset[str], policy: TsqlPolicy
) -> Iterator[Reason]:
    token = tokens[index]
    word = token.word
    qualified = index > 0 and tokens[index - 1].mark == "."
    called = index + 1 < len(tokens) and tokens[index + 1].mark == "("
    if word in REFUSED_WORDS:
        yield at(token, REFUSED_WORDS[word], f"{word} is not admitted")
    elif word in WITHOUT_PARENTHESES and not qualified and word not in policy.admitted_functions:
        yield at(token, NONDETERMINISTIC[word], f"{word} is not admitted")
    elif word in _PSEUDO_COLUMNS:
        yield at(token, Code.SQL_CONSTRUCT, f"{word} is not admitted")
    elif called and qualified:
        yield from _qualified_call(tokens, index)
    elif called and word not in _BEFORE_PARENTHESIS and token.value.upper() not in aliases:
        yield from _call(tokens, index, policy)


def _qualified_call(tokens: Sequence[Token], index: int) -> Iterator[Reason]:
    """Refuse methods and scalar functions; a name after FROM or APPLY is a relation and judged as one."""
    token = tokens[index]
    start = index
    while start >= 2 and tokens[start - 1].mark == ".":
        start -= 2
    before = tokens[start - 1] if start else None
    if token.word == "VALUE" and tokens[index - 2].mark == ")":
        return  # Perhaps of a FOR XML subquery, which the tree shows.
    if token.value.upper() in ("NODES", "VALUE", "QUERY", "EXIST", "MODIFY") or (
        before is not None and before.mark == ")" and tokens[start].mark == "."
    ):
        yield at(token, Code.SQL_METHOD, f"method {token.value} is called")
    elif before is None or (before.word not in _RELATION_WORDS and before.mark != ","):
        yield at(token, Code.SQL_USER_FUNCTION, f"function {token.value} of a schema is called")


def _call(tokens: Sequence[Token], index: int, policy: TsqlPolicy) -> Iterator[Reason]:
    token = tokens[index]
    name = token.value.upper()
    admitted = name in FUNCTIONS or name in TABLE_FUNCTIONS or name in policy.admitted_functions
    if token.kind is Kind.WORD and (admitted or name in TYPES):
        return
    if token.kind is Kind.WORD and name in PLAN_HINTS | LOCK_HINTS | REFUSED_WORDS.keys():
        return
    if name in NONDETERMINISTIC:
        yield at(token, NONDETERMINISTIC[name], f"{name} depends on more than its arguments")
    else:
        yield at(token, REFUSED_CALLS.get(name, Code.SQL_FUNCTION), f"{name} is not on the list of functions")


def _sequences_and_clauses(tokens: Sequence[Token]) -> Iterator[Reason]:
    words = [token.word for token in tokens]
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.mark == "(") - (token.mark == ")")
        following = tuple(words[index + 1 : index + 3])
        match token.word:
            case "LIMIT" if index + 1 < len(tokens) and tokens[index + 1].kind is Kind.NUMBER:
                yield at(token, Code.SQL_NOT_TSQL, "LIMIT is not T-SQL: use TOP or OFFSET")
            case "VALUES" if index == 0 or tokens[index - 1].mark != "(":
                yield at(token, Code.SQL_NOT_TSQL, "VALUES stands in parentheses in FROM only")
            case "NEXT" if following == ("VALUE", "FOR"):
                yield at(token, Code.SQL_SEQUENCE, "a sequence is advanced")
            case "OPTION" if following[:1] == ("",):
                yield at(token, Code.SQL_OPTION, "a view has no OPTION")
            case "FOR" if following[:1] in (("SYSTEM_TIME",), ("BROWSE",)):
                yield at(token, Code.SQL_TEMPORAL, f"FOR {following[0]} is not admitted")
            case "FOR" if depth == 0 and following[:1] in (("XML",), ("JSON",)):
                yield at(token, Code.SQL_CONSTRUCT, f"FOR {following[0]} gives one text, not rows")
            case _:
                continue
