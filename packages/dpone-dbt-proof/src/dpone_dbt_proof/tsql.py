"""Reads a model's compiled SQL: one read-only query, every relation as a three-part name, or the reasons why not."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot.errors import ParseError, SqlglotError

from dpone_contracts.relations import SqlRelation
from dpone_dbt_proof.reasons import Code, Reason
from dpone_dbt_proof.relation_names import NameRules, distinct
from dpone_dbt_proof.tsql_conversions import setting_dependent
from dpone_dbt_proof.tsql_grammar import misplaced, too_deep
from dpone_dbt_proof.tsql_hints import hint_spans, option_spans
from dpone_dbt_proof.tsql_lexer import Kind, LexicalError, Token, place, tokenize, without_comments
from dpone_dbt_proof.tsql_policy import TsqlPolicy
from dpone_dbt_proof.tsql_text import at, refused_text, unprotected_calls, written_relations
from dpone_dbt_proof.tsql_tree import (
    NameRead,
    TreeFinding,
    TreeReading,
    column_list_aliases,
    is_system_name,
    read_tree,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp


logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # It would print the author's text to stderr.

_PARSER_ERRORS: Final = (
    SqlglotError,
    RecursionError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
)
"""The parser stumbles over some texts instead of refusing them; either way they were not read."""


@dataclass(frozen=True, slots=True)
class QueryReading:
    """The relations that a query reads and the table functions that it calls, or why it can't be said.

    Lines and columns of the reasons are those of the text that was read.
    """

    reads: tuple[SqlRelation, ...]
    functions: tuple[SqlRelation, ...]
    reasons: tuple[Reason, ...]
    calls: tuple[Reason, ...] = ()
    """One reason a table function: what it is, only a catalog can tell."""


def read_query(
    sql: str,
    database: str,
    *,
    rules: NameRules | None = None,
    policy: TsqlPolicy | None = None,
    target: SqlRelation | None = None,
    protected: frozenset[str] = frozenset(),
) -> QueryReading:
    """Read one query of a model that lives in `database` and fills `target`.

    `protected` are the columns, in upper case, that no nondeterministic function may reach even where the
    platform's policy admits it.
    """
    rules = rules or NameRules()
    policy = policy or TsqlPolicy()
    try:
        tokens = tokenize(sql)
    except LexicalError as error:
        return _unread([Reason(Code.SQL_LEXICAL, str(error), line=error.line, column=error.column)])
    if not tokens:
        return _unread([Reason(Code.SQL_NOT_A_QUERY, "the text holds no statement")])
    deep = too_deep(tokens)
    if deep is not None:
        return _unread([*_refused_anyway(tokens, policy), deep])
    try:
        parsed = sqlglot.parse(_for_parser(sql, tokens), dialect="tsql")
        trees = [tree for tree in parsed if tree is not None]
    except _PARSER_ERRORS as error:
        return _unread([*_refused_anyway(tokens, policy), _syntax(error, sql, tokens)])
    if len(trees) != 1:
        return _unread(list(refused_text(tokens, frozenset(), policy)))
    faults = list(misplaced(tokens))
    reading = read_tree(trees[0], rules, whole=not faults)
    text = list(refused_text(tokens, column_list_aliases(trees[0]), policy))
    reasons = [
        *text,
        *(_place(finding, tokens) for finding in reading.findings if not _said(finding, text)),
        *_read_differently(tokens, reading),
        *faults,
        *setting_dependent(tokens),
    ]
    if policy.admitted_functions:
        reasons += unprotected_calls(tokens, policy, protected)
    reads, functions, named = _resolve(reading.reads, database, rules, target, tokens)
    reasons += named
    if not reads and not functions and not reasons:
        reasons.append(Reason(Code.SQL_NO_RELATION, "the query reads no relation"))
    calls = [
        _place(
            TreeFinding(
                Code.SQL_TABLE_FUNCTION, f"{'.'.join(read.parts)} may be of several statements", read.near
            ),
            tokens,
        )
        for read in reading.reads
        if read.function
    ]
    return QueryReading(distinct(reads, rules), distinct(functions, rules), _unique(reasons), _unique(calls))


def _for_parser(sql: str, tokens: list[Token]) -> str:
    """Return the text that the parser gets, every token at its offset.

    Comments are blank, because one inside GROUP BY, a single word to the parser, would break it. Table hints and OPTION
    are blank, because the tokens judge them and the parser knows few forms. `!<` and `!>` stand as `>=` and `<=`.
    """
    hinted = {
        index
        for first, last in (*hint_spans(tokens), *option_spans(tokens))
        for index in range(first, last + 1)
    }
    kept = [token for index, token in enumerate(tokens) if index not in hinted]
    text = without_comments(sql, kept)
    for token in kept:
        other = {"!<": ">=", "!>": "<="}.get(token.value) if token.kind is Kind.OPERATOR else None
        if other is not None:
            text = text[: token.start] + other + text[token.end :]
    return text


def _said(finding: TreeFinding, text: Sequence[Reason]) -> bool:
    """The tokens tell the place better; where they gave the same reason, the tree need not repeat it."""
    several = (Code.SQL_CONSTRUCT, Code.SQL_NONDETERMINISTIC, Code.SQL_ORDER_BY)
    said = {reason.code for reason in text}
    if finding.code is Code.SQL_FUNCTION and said & {Code.SQL_REMOTE, Code.SQL_METHOD, Code.SQL_TEMPORAL}:
        return True
    return finding.code in said and finding.code not in several


def _unread(reasons: Sequence[Reason]) -> QueryReading:
    return QueryReading((), (), _unique(reasons))


def _unique(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Drop what several rules found at one place under one code."""
    kept: dict[tuple[Code, int | None, int | None], Reason] = {}
    for reason in sorted(reasons, key=lambda reason: reason.sort_key):
        kept.setdefault((reason.code, reason.line, reason.column), reason)
    return tuple(kept.values())


def _refused_anyway(tokens: Sequence[Token], policy: TsqlPolicy) -> list[Reason]:
    """Where the parser gives up, only what is refused wherever it stands is said, and no call is judged."""
    words = {Code.SQL_FUNCTION, Code.SQL_USER_FUNCTION}
    return [reason for reason in refused_text(tokens, frozenset(), policy) if reason.code not in words]


def _syntax(error: Exception, sql: str, tokens: Sequence[Token]) -> Reason:
    details = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    line, end = details.get("line"), details.get("col")
    column: int | None = None
    for token in tokens:
        if token.line == line and end is not None and token.column <= end:
            column = token.column
    if line is None:
        faults = list(misplaced(tokens))
        if faults:
            return faults[0]
        line, column = place(sql, len(sql.rstrip()))
    what = str(details.get("description") or "").rstrip(".")
    if not what or "<" in what:
        what = "the text can't be read here"
    return Reason(Code.SQL_SYNTAX, what, line=line, column=column)


def _place(finding: TreeFinding, tokens: Sequence[Token]) -> Reason:
    """Find the text of a node: by the offset that the parser kept, or by its first name."""
    token = _token_of(finding.near, tokens)
    return Reason(
        finding.code,
        finding.message,
        line=token.line if token else None,
        column=token.column if token else None,
    )


def _token_of(node: exp.Expression | None, tokens: Sequence[Token]) -> Token | None:
    if node is None:
        return None
    starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    if not starts:
        return None
    first = min(starts)
    return next((token for token in tokens if token.start <= first < token.end), None)


def _read_differently(tokens: Sequence[Token], reading: TreeReading) -> list[Reason]:
    """Every qualified name behind FROM, JOIN or APPLY must be a relation of the tree: two readers, one answer."""
    known = {tuple(part.upper() for part in read.parts if part) for read in reading.reads}
    return [
        at(token, Code.SQL_TEMP_TABLE, f"{parts[-1]} is a temporary table")
        if parts[-1].startswith("#")
        else at(token, Code.SQL_SYNTAX, f"{'.'.join(parts)} was not read as a relation")
        for token, parts in written_relations(tokens)
        if parts not in known
    ]


def _resolve(
    reads: Sequence[NameRead],
    database: str,
    rules: NameRules,
    target: SqlRelation | None,
    tokens: Sequence[Token],
) -> tuple[list[SqlRelation], list[SqlRelation], list[Reason]]:
    relations: list[SqlRelation] = []
    functions: list[SqlRelation] = []
    reasons: list[Reason] = []
    for read in reads:
        relation, refusal = _relation(read, database, rules)
        if target is not None:
            refusal = _target_read(read, database, target, rules) or refusal
        if refusal is not None:
            reasons.append(_place(TreeFinding(*refusal, read.near), tokens))
        if relation is not None:
            (functions if read.function else relations).append(relation)
    return relations, functions, reasons


def _relation(
    read: NameRead, database: str, rules: NameRules
) -> tuple[SqlRelation | None, tuple[Code, str] | None]:
    written = ".".join(read.parts)
    if len(read.parts) > 3:
        return None, (Code.SQL_REMOTE, f"{written} names a linked server")
    if not all(read.parts):
        return None, (Code.SQL_OMITTED_SCHEMA, f"{written} leaves out the schema")
    if is_system_name(read.parts[-2], read.parts[-1]):
        return None, (Code.SQL_SYSTEM_CATALOG, f"{written} is part of the server's catalog")
    relation = SqlRelation(*((database, *read.parts)[-3:]))
    if rules.surely_equal(relation.database, database):
        return SqlRelation(database, relation.schema, relation.name), None
    if rules.possibly_equal(relation.database, database):
        return None, (Code.SQL_NAME_CASE, f"{relation.database} may or may not be database {database}")
    return None, (Code.SQL_CROSS_DATABASE, f"{written} lies in another database")


def _target_read(
    read: NameRead, database: str, target: SqlRelation, rules: NameRules
) -> tuple[Code, str] | None:
    """Refuse the target and dbt's own names beside it, also where the database's spelling is not certain."""
    if len(read.parts) not in (2, 3) or not all(read.parts):
        return None
    relation = SqlRelation(*((database, *read.parts)[-3:]))
    for suffix in ("", "__dbt_tmp", "__dbt_backup", "__dbt_tmp__dbt_tmp_vw"):
        own = SqlRelation(target.database, target.schema, target.name + suffix)
        if rules.possibly_same(relation, own):
            return Code.SQL_TARGET_READ, f"{relation} is the target, or may be"
    return None
