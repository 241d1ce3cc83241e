"""Lexer of T-SQL: text to positioned tokens; comments and blanks vanish, nothing else does."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from dpone_lab.sqlserver.language.errors import (
    Number,
    SqlServerError,
    require_identifier,
    require_identifier_length,
    syntax_near,
)

MONEY_SIGNS = "$€£¥"


class TokenKind(Enum):
    """What a token is; only WORD tokens can be keywords."""

    WORD = auto()
    QUOTED_NAME = auto()
    VARIABLE = auto()
    STRING = auto()
    NATIONAL_STRING = auto()
    INTEGER = auto()
    DECIMAL = auto()
    FLOAT = auto()
    BINARY = auto()
    SYMBOL = auto()
    END = auto()


class Token(NamedTuple):
    """One token: ``text`` as written, ``value`` without quotes, ``start``/``end`` offsets, 1-based ``line``.

    ``upper`` is the upper-case spelling of a word or symbol and '' for everything else, so that a quoted name or a
    string never equals a keyword.
    """

    kind: TokenKind
    text: str
    value: str
    start: int
    end: int
    line: int
    upper: str = ""


_TOKEN = re.compile(
    r"""
      (?P<blank>[\s\ufeff]+)
    | (?P<line_comment>--[^\n]*)
    | (?P<block_comment>/\*)
    | (?P<national>[Nn]'(?:[^']|'')*')
    | (?P<string>'(?:[^']|'')*')
    | (?P<bracketed>\[(?:[^\]]|\]\])*\])
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<binary>0[xX][0-9a-fA-F]*)
    | (?P<float>(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d+)
    | (?P<decimal>\d+\.\d*|\.\d+)
    | (?P<integer>\d+)
    | (?P<variable>@@?[\w#$@]+)
    | (?P<word>(?:\#\#?)?[^\W\d][\w#$@]*|\#\#?[\w#$@]+)
    | (?P<symbol><>|<=|>=|!=|!<|!>|\+=|-=|\*=|/=|%=|&=|\|=|\^=|::|[-+*/%=<>(),.;&|^~:{}])
    """,
    re.VERBOSE,
)
_SPANNING = frozenset({"blank", "line_comment", "block_comment", "national", "string", "bracketed", "quoted"})
"""What may hold line ends."""
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_SAME_SYMBOL = {"!=": "<>", "!<": ">=", "!>": "<="}
_KINDS = {
    "integer": TokenKind.INTEGER,
    "decimal": TokenKind.DECIMAL,
    "float": TokenKind.FLOAT,
}


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of a batch, an END token last.

    Raises 105 for an open quotation, 113 for an open comment, 102 for a character that begins no token, 103 or 40517
    for a name that is too long.
    """
    tokens: list[Token] = []
    position = 0
    line = 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(text, position)
        group = match.lastgroup or ""
        end = _comment_end(text, match.end()) if group == "block_comment" else match.end()
        if group not in ("blank", "line_comment", "block_comment"):
            tokens.append(_token(group, match.group(), position, end, line))
        if group in _SPANNING:
            line += text.count("\n", position, end)
        position = end
    tokens.append(Token(TokenKind.END, "", "", len(text), len(text), line))
    return tuple(tokens)


def _token(group: str, text: str, start: int, end: int, line: int) -> Token:
    match group:
        case "word":
            return Token(TokenKind.WORD, text, require_identifier(text), start, end, line, text.upper())
        case "variable":
            require_identifier_length(text)
            return Token(TokenKind.VARIABLE, text, text, start, end, line)
        case "symbol":
            symbol = _SAME_SYMBOL.get(text, text)
            return Token(TokenKind.SYMBOL, text, symbol, start, end, line, symbol)
        case "national":
            return Token(TokenKind.NATIONAL_STRING, text, text[2:-1].replace("''", "'"), start, end, line)
        case "string":
            return Token(TokenKind.STRING, text, text[1:-1].replace("''", "'"), start, end, line)
        case "bracketed":
            return _quoted_name(text, "]", start, end, line)
        case "quoted":
            return _quoted_name(text, '"', start, end, line)
        case "binary":
            digits = text[2:]
            return Token(
                TokenKind.BINARY, text, digits if len(digits) % 2 == 0 else f"0{digits}", start, end, line
            )
        case _:
            return Token(_KINDS[group], text, text, start, end, line)


def _quoted_name(text: str, quote: str, start: int, end: int, line: int) -> Token:
    name = require_identifier(text[1:-1].replace(2 * quote, quote))
    return Token(TokenKind.QUOTED_NAME, text, name, start, end, line)


def _comment_end(text: str, position: int) -> int:
    depth = 1
    while depth:
        edge = _COMMENT_EDGE.search(text, position)
        if edge is None:
            raise SqlServerError(Number.MISSING_END_COMMENT, "Missing end comment mark '*/'.")
        depth += 1 if edge.group() == "/*" else -1
        position = edge.end()
    return position


def _unreadable(text: str, position: int) -> SqlServerError:
    if text[position] in "'\"[" or text[position : position + 2].lower() == "n'":
        return SqlServerError(
            Number.SYNTAX_UNCLOSED_QUOTE, "Unclosed quotation mark after the character string."
        )
    return syntax_near(text[position])
