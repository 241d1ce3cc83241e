"""A lexer of T-SQL that keeps positions and drops nothing but blanks and comments.

It is the second opinion beside the parser: rules about what the text must not contain are stated on its tokens,
because a parser that accepts several dialects silently skips what it does not know.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum, auto
from typing import Final, NamedTuple

_NUMBER: Final = re.compile(r"0[xX][0-9A-Fa-f]*|\$?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_@#$][A-Za-z0-9_@#$]*+(?![^\x00-\x7f])")
_BLANKS: Final = re.compile(r"\s+")
_OTHER_LINE_ENDS: Final = re.compile("\r(?!\n)|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_OPERATORS: Final = ("<>", "<=", ">=", "!=", "!<", "!>", "+=", "-=", "*=", "/=", "%=", "::", "||")


class LexicalError(Exception):
    """A string, quoted name or comment has no end, or a character belongs to no token."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class Kind(Enum):
    """What a token is; `WORD` is an unquoted name or keyword."""

    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    VARIABLE = auto()
    TEMPORARY = auto()
    OPERATOR = auto()


class Token(NamedTuple):
    """One token: its value without quotes, and where it begins and ends (line and column from 1).

    `word` is the upper-case keyword or unquoted name, `mark` the operator or punctuation; empty for every other kind.
    """

    kind: Kind
    value: str
    start: int
    end: int
    line: int
    column: int
    word: str
    mark: str


_NAME_KINDS: Final = {"@": Kind.VARIABLE, "#": Kind.TEMPORARY}
_QUOTES: Final = {"'": (Kind.STRING, "'"), '"': (Kind.QUOTED, '"'), "[": (Kind.QUOTED, "]")}


def tokenize(sql: str) -> list[Token]:
    """Split the text into tokens; raises `LexicalError` at the place where that ends."""
    tokens: list[Token] = []
    line, line_start, position = 1, 0, 0
    while position < len(sql):
        end = _skip(sql, position)
        if end == position:
            kind, value, end = _token(sql, position)
            word = value.upper() if kind is Kind.WORD else ""
            mark = value if kind is Kind.OPERATOR else ""
            column = position - line_start + 1
            tokens.append(Token(kind, value, position, end, line, column, word, mark))
        newlines = sql.count("\n", position, end)
        if newlines:
            line, line_start = line + newlines, sql.rfind("\n", position, end) + 1
        position = end
    return tokens


def without_comments(sql: str, tokens: list[Token]) -> str:
    """Return the text with blanks in place of comments: every token keeps its offset."""
    kept = ["\n" if character == "\n" else " " for character in sql]
    for token in tokens:
        kept[token.start : token.end] = sql[token.start : token.end]
    return "".join(kept)


def place(sql: str, position: int) -> tuple[int, int]:
    """Return line and column, from 1, of an offset."""
    return sql.count("\n", 0, position) + 1, position - (sql.rfind("\n", 0, position) + 1) + 1


def _skip(sql: str, position: int) -> int:
    """Return the offset behind blanks or one comment, or `position` where there is none."""
    blanks = _BLANKS.match(sql, position)
    if blanks is not None:
        return blanks.end()
    if sql.startswith("--", position):
        end = sql.find("\n", position)
        return _line_comment_end(sql, position, len(sql) if end < 0 else end)
    if sql.startswith("/*", position):
        return _comment_end(sql, position)
    return position


def _line_comment_end(sql: str, position: int, end: int) -> int:
    """Refuse a comment in which another line end stands: two readers may see its end at two places."""
    other = _OTHER_LINE_ENDS.search(sql, position, end + 1)
    if other is not None:
        message = f"character U+{ord(other.group()):04X} may end the comment"
        raise LexicalError(message, *place(sql, other.start()))
    return end


def _comment_end(sql: str, position: int) -> int:
    depth, at = 0, position
    while at < len(sql):
        if sql.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif sql.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if depth == 0:
                return at
        else:
            at += 1
    raise LexicalError("a comment has no end", *place(sql, position))


def _token(sql: str, position: int) -> tuple[Kind, str, int]:
    first = sql[position]
    if first in "nN" and sql.startswith("'", position + 1):
        value, end = _quoted(sql, position + 1, "'")
        return Kind.STRING, value, end
    if first in _QUOTES:
        kind, close = _QUOTES[first]
        return kind, *_quoted(sql, position, close)
    number = _NUMBER.match(sql, position)
    if number:
        return Kind.NUMBER, number.group(), number.end()
    plain = _PLAIN_NAME.match(sql, position)
    if plain is not None or _starts_name(first):
        end = plain.end() if plain is not None else _name_end(sql, position)
        return _NAME_KINDS.get(first, Kind.WORD), sql[position:end], end
    for operator in _OPERATORS:
        if sql.startswith(operator, position):
            return Kind.OPERATOR, operator, position + len(operator)
    if unicodedata.category(first) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
        raise LexicalError(f"character U+{ord(first):04X} is not part of T-SQL", *place(sql, position))
    return Kind.OPERATOR, first, position + 1


def _quoted(sql: str, position: int, close: str) -> tuple[str, int]:
    """Read up to the closing character; doubled, it stands for itself."""
    parts: list[str] = []
    at = position + 1
    while True:
        end = sql.find(close, at)
        if end < 0:
            raise LexicalError(f"{sql[position]} has no closing {close}", *place(sql, position))
        parts.append(sql[at:end])
        if not sql.startswith(close, end + 1):
            return "".join(parts), end + 1
        parts.append(close)
        at = end + 2


def _starts_name(character: str) -> bool:
    return character.isalpha() or character in "_@#$"


def _name_end(sql: str, position: int) -> int:
    end = position + 1
    while end < len(sql) and _continues_name(sql[end]):
        end += 1
    return end


def _continues_name(character: str) -> bool:
    return character.isalnum() or character in "_@#$" or unicodedata.category(character) in ("Mn", "Mc")
