"""Maps a place in compiled SQL, or in the text that dbt keeps, to the author's own file."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dpone_dbt_proof.manifest import Node
    from dpone_dbt_proof.reasons import Reason


def from_compiled(node: Node, reasons: Iterable[Reason]) -> list[Reason]:
    """Give reasons about compiled SQL the model's path and the line of its raw text, where that is the same line.

    Where the text was produced by Jinja there is no such line: the nearest raw line before it stands, without a
    column.
    """
    raw = node.raw_code.splitlines()
    compiled = (node.compiled_code or "").splitlines()
    lines = _same_lines(raw, compiled)
    return [_mapped(node, reason, lines, raw, compiled) for reason in reasons]


def in_file(project: Path | None, node: Node, reasons: Iterable[Reason]) -> list[Reason]:
    """Shift places in the model's raw text by what dbt cut off before it; other paths are left alone."""
    skipped_lines, skipped_columns = _cut_off(project, node)
    return [
        replace(
            reason,
            line=reason.line + skipped_lines,
            column=reason.column + skipped_columns if reason.line == 1 and reason.column else reason.column,
        )
        if reason.path == node.path and reason.line is not None
        else reason
        for reason in reasons
    ]


def is_stale(project: Path | None, node: Node) -> bool:
    """Tell whether the author's file is no longer the one that the manifest was made from."""
    text = _file_text(project, node)
    return text is not None and sha256(text.strip().encode()).hexdigest() != node.checksum


def _file_text(project: Path | None, node: Node) -> str | None:
    """Read a model's file as dbt does; None where there is none to read."""
    if project is None:
        return None
    try:
        return (project / node.path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _same_lines(raw: list[str], compiled: list[str]) -> dict[int, int]:
    """Pair compiled lines with equal raw lines, both from 1, in order."""
    if len(raw) == len(compiled):
        return {number: number for number in range(1, len(raw) + 1)}
    matcher = SequenceMatcher(None, compiled, raw, autojunk=False)
    return {
        block.a + offset + 1: block.b + offset + 1
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    }


def _mapped(node: Node, reason: Reason, lines: dict[int, int], raw: list[str], compiled: list[str]) -> Reason:
    if reason.line is None:
        return replace(reason, path=node.path)
    line = lines.get(reason.line)
    if line is None:
        before = [lines[number] for number in lines if number < reason.line]
        return replace(reason, path=node.path, line=max(before, default=1), column=None)
    column = reason.column
    if column is not None and raw[line - 1][: column - 1] != compiled[reason.line - 1][: column - 1]:
        column = _shifted(raw[line - 1], compiled[reason.line - 1], column)
    return replace(reason, path=node.path, line=line, column=column)


def _shifted(raw: str, compiled: str, column: int) -> int | None:
    """Find the column of the text behind a place, when the rest of both lines is the same."""
    rest = compiled[column - 1 :]
    return len(raw) - len(rest) + 1 if rest and raw.endswith(rest) and "{{" not in rest else None


def _cut_off(project: Path | None, node: Node) -> tuple[int, int]:
    """Return how many lines, and columns of the first line, dbt stripped from the file's start."""
    text = _file_text(project, node)
    if text is None or text.strip() != node.raw_code.strip():
        return 0, 0
    head = text[: len(text) - len(text.lstrip())]
    return head.count("\n"), len(head) - (head.rfind("\n") + 1)
