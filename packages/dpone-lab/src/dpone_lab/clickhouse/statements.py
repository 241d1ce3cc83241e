"""Find what the HTTP face must know of a statement: its verb, an INSERT's inline data, its output format."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    rb"""
      (?P<space>\s+|--[^\n]*|\#[^\n]*|/\*.*?\*/)
    | (?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`\\]|\\.|``)*`)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_RESULT_VERBS = frozenset(
    {"SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN", "CHECK", "KILL", "VALUES", "FROM", ""}
)


@dataclass(frozen=True, slots=True)
class InsertData:
    """An INSERT whose rows follow the statement: `head` names the table, `data` holds rows of `format_name`."""

    head: bytes
    format_name: str
    data: bytes


def verb(statement: bytes) -> str:
    """Return the statement's first keyword in upper case, '' when it opens with a bracket."""
    for token in _TOKEN.finditer(statement):
        if token.lastgroup != "space":
            return token.group().decode().upper() if token.lastgroup == "word" else ""
    return ""


def returns_rows(statement: bytes) -> bool:
    """Tell whether the statement's answer is a result set."""
    return verb(statement) in _RESULT_VERBS


def insert_with_data(statement: bytes) -> InsertData | None:
    """Split ``INSERT … FORMAT x <data>``; None for every other statement, INSERT … VALUES and SELECT included."""
    words = 0
    expects_format = False
    format_start = 0
    for token in _TOKEN.finditer(statement):
        if token.lastgroup == "space":
            continue
        word = token.group().decode().upper() if token.lastgroup == "word" else None
        words += 1
        if words == 1 and word != "INSERT":
            return None
        if expects_format:
            if word is None:
                return None
            data = statement[token.end() :]
            return InsertData(statement[:format_start], token.group().decode(), _after_line_end(data))
        if word in {"SELECT", "WITH", "VALUES"}:
            return None
        if word == "FORMAT":
            expects_format, format_start = True, token.start()
    return None


def output_format(statement: bytes, default: str) -> str:
    """Return the format named by the statement's FORMAT clause, else `default`."""
    found = default
    after_format = False
    for token in _TOKEN.finditer(statement):
        if token.lastgroup == "space":
            continue
        if after_format and token.lastgroup == "word":
            found = token.group().decode()
        after_format = token.lastgroup == "word" and token.group().upper() == b"FORMAT"
    return found


def _after_line_end(data: bytes) -> bytes:
    """Drop the blanks and the one line end that separate a FORMAT clause from its rows."""
    separator = re.match(rb"[ \t]*;?[ \t]*(?:\r?\n)?", data)
    return data[separator.end() :] if separator else data
