"""The HTTP face cuts an INSERT from its rows only where the statement ends."""

from __future__ import annotations

import pytest

from dpone_lab.clickhouse import statements


def test_rows_begin_after_the_format_and_one_line_end() -> None:
    found = statements.insert_with_data(
        b"INSERT INTO `a`.`FORMAT` (x) SETTINGS y = 'FORMAT Z' FORMAT Native\n\n\x00;"
    )
    assert found == statements.InsertData(
        b"INSERT INTO `a`.`FORMAT` (x) SETTINGS y = 'FORMAT Z' ", "Native", b"\n\x00;"
    )


@pytest.mark.parametrize(
    "statement",
    [
        b"INSERT INTO t VALUES (1)",
        b"INSERT INTO t SELECT 1 FORMAT TSV",
        b"SELECT 1 FORMAT Native",
        b"-- INSERT\nSELECT 1",
    ],
)
def test_other_statements_carry_no_rows(statement: bytes) -> None:
    assert statements.insert_with_data(statement) is None


def test_the_format_clause_is_read_outside_quotes_and_comments() -> None:
    assert (
        statements.output_format(b"SELECT ' FORMAT A' /* FORMAT B */ FORMAT JSON SETTINGS x=1", "TSV")
        == "JSON"
    )
    assert statements.output_format(b"SELECT 'FORMAT A'", "TSV") == "TSV"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [(b"-- x\n select 1", True), (b"(SELECT 1)", True), (b"EXCHANGE TABLES a AND b", False)],
)
def test_only_queries_return_rows(statement: bytes, *, expected: bool) -> None:
    assert statements.returns_rows(statement) is expected
