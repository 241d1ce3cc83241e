"""Counts the mistakes over the corpus of T-SQL models at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_PROVEN = "test_what_only_reads_is_proven_with_its_relations["
_NOT_PROVEN = (
    "test_what_is_not_admitted_is_refused_with_its_code[",
    "test_what_cant_be_read_is_left_open_at_its_place[",
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    failed = [report.nodeid for report in terminalreporter.stats.get("failed", [])]
    passed = [report.nodeid for report in terminalreporter.stats.get("passed", [])]
    judged = [name for name in (*failed, *passed) if "test_tsql_corpus.py" in name]
    if not judged:
        return
    refusals = sorted(name.partition(_PROVEN)[2][:-1] for name in failed if _PROVEN in name)
    acceptances = sum(any(kind in name for kind in _NOT_PROVEN) for name in failed)
    terminalreporter.write_line(
        f"corpus: false acceptances or wrong codes {acceptances}, false refusals {len(refusals)}"
    )
    for name in refusals:
        terminalreporter.write_line(f"  refused though it only reads: {name}")
