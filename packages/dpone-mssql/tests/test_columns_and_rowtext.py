from __future__ import annotations

import re

import pytest

from dpone_contracts.journal import EDGES
from dpone_mssql.batches import template
from dpone_mssql.columns import Column, out_of_domain, same_bytes
from dpone_mssql.literals import binary, digest_bytes, digest_text, quote_name, text
from dpone_mssql.rowtext import field_text, row_order, row_text


@pytest.mark.parametrize(
    ("source_type", "shown"),
    [
        ("bit", ("bit", 1, 1, 0)),
        ("tinyint", ("tinyint", 1, 3, 0)),
        ("bigint", ("bigint", 8, 19, 0)),
        ("decimal(9,2)", ("decimal", 5, 9, 2)),
        ("decimal(10,2)", ("decimal", 9, 10, 2)),
        ("decimal(20,0)", ("decimal", 13, 20, 0)),
        ("decimal(38,38)", ("decimal", 17, 38, 38)),
        ("date", ("date", 3, 10, 0)),
        ("datetime2(0)", ("datetime2", 6, 19, 0)),
        ("datetime2(3)", ("datetime2", 7, 23, 3)),
        ("datetime2(6)", ("datetime2", 8, 26, 6)),
        ("uniqueidentifier", ("uniqueidentifier", 16, 0, 0)),
        ("nvarchar(20)", ("nvarchar", 40, 0, 0)),
        ("varchar(20)", ("varchar", 20, 0, 0)),
        ("nvarchar(max)", ("nvarchar", -1, 0, 0)),
        ("varbinary(10)", ("varbinary", 10, 0, 0)),
    ],
)
def test_types_are_what_sys_columns_shows(source_type: str, shown: tuple[str, int, int, int]) -> None:
    assert Column("c", source_type, nullable=False).catalog_type == shown


def test_row_text_follows_the_reference() -> None:
    columns = [Column("a", "datetime2(0)", nullable=False), Column("b", "nvarchar(5)", nullable=True)]
    utf8 = "CONVERT(varchar(max), r.[b] COLLATE Latin1_General_100_BIN2_UTF8)"
    assert row_text(columns, "r") == (
        "CONVERT(varchar(max), '' COLLATE Latin1_General_100_BIN2_UTF8)"
        " + ISNULL(CONVERT(varchar(26), CONVERT(datetime2(6), r.[a]), 121), 'N')"
        f" + '|' + ISNULL(CONVERT(varchar(20), DATALENGTH({utf8})) + ':' + {utf8}, 'N')"
        " + '|' + CHAR(10)"
    )


def test_uniqueidentifier_orders_by_its_lower_case_text() -> None:
    key = [Column("d", "date", nullable=False), Column("u", "uniqueidentifier", nullable=False)]
    assert row_order(key, "r") == "r.[d], LOWER(CONVERT(varchar(36), r.[u])) COLLATE Latin1_General_100_BIN2"
    assert field_text(key[1], "u") == "LOWER(CONVERT(varchar(36), u))"


def test_dates_outside_clickhouse_are_out_of_domain() -> None:
    assert out_of_domain([Column("d", "date", nullable=True)], "r") == (
        "r.[d] < CAST('1970-01-01' AS date) OR r.[d] > CAST('2149-06-06' AS date)"
    )
    assert out_of_domain([Column("i", "int", nullable=True)], "r") == "1 = 0"


def test_text_is_compared_by_bytes_and_length() -> None:
    assert same_bytes([Column("t", "nvarchar(3)", nullable=False)]) == (
        "(CONVERT(varbinary(max), t.[t]) = CONVERT(varbinary(max), s.[t])"
        " AND DATALENGTH(t.[t]) = DATALENGTH(s.[t]))"
    )


def test_names_and_values_are_quoted() -> None:
    assert quote_name("a]b") == "[a]]b]"
    assert text("o'clock") == "N'o''clock'"
    with pytest.raises(ValueError, match="identifier"):
        quote_name("")


def test_digests_go_to_bytes_and_back() -> None:
    digest = "sha256:" + "0f" * 32
    assert digest_text(digest_bytes(digest)) == digest
    assert binary(digest) == "0x" + "0F" * 32
    for other in ("sha256:" + "0F" * 32, "md5:" + "0f" * 32, "sha256:0f"):
        with pytest.raises(ValueError, match="digest"):
            digest_bytes(other)


def test_the_journal_constraint_has_the_edges_of_the_state_graph() -> None:
    edges = {(edge.source.value, edge.target.value) for edge in EDGES if edge.source is not None}
    written = {
        (source, target)
        for source, targets in re.findall(
            r"\[predecessor\] = N'(\w+)' AND \[state\] (?:IN|=) ([^)\n]+)", template("control/60_journal.sql")
        )
        for target in re.findall(r"N'(\w+)'", targets)
    }
    assert written == edges
