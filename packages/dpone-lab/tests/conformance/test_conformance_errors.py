"""Error numbers that the documentation gives, and what of a batch has run when they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine


def table(sql: SqlClient, schema: str) -> str:
    sql.run(
        f"CREATE TABLE {schema}.t (id int NOT NULL CONSTRAINT pk_{schema} PRIMARY KEY, name nvarchar(3) NULL,"
        f" tiny tinyint NULL, amount decimal(5, 2) NULL CONSTRAINT ck_{schema} CHECK (amount < 500))"
    )
    return f"{schema}.t"


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("SELECT * FROM {s}.missing", 208),
        ("SELECT missing FROM {s}.t", 207),
        ("SELECT x.id FROM {s}.t", 4104),
        ("SELECT id FROM {s}.t AS a CROSS JOIN {s}.t AS b", 209),
        ("SELECT (1", 102),
        ("SELECT FROM {s}.t", 156),
        ("SELECT 'open", 105),
        ("SELECT @nowhere", 137),
        (f"SELECT 1 AS {'n' * 129}", 103),
        (f"SELECT 1 AS '{'n' * 129}'", 103),
        (f"SELECT 1 FROM {{s}}.[{'n' * 129}]", 103),
        (f"CREATE TABLE {{s}}.{'n' * 129} (a int)", 103),
        (f"DECLARE @{'n' * 128} int", 103),
        ("DECLARE @a int; DECLARE @a int", 134),
        ("CREATE TABLE {s}.t (a int)", 2714),
        ("CREATE TABLE {s}.u (a int, A int)", 2705),
        ("DROP TABLE {s}.missing", 3701),
        ("DROP VIEW {s}.missing", 3701),
        ("TRUNCATE TABLE {s}.missing", 4701),
        ("ALTER TABLE {s}.missing ADD a int", 4902),
        ("EXEC {s}.missing", 2812),
        ("USE nowhere_at_all", 911),
        ("INSERT {s}.t (id) VALUES (1, 2)", 110),
        ("INSERT {s}.t (id, name) VALUES (1)", 109),
        ("INSERT {s}.t (id) SELECT 1, 2", 121),
        ("INSERT {s}.t (id, name) SELECT 1", 120),
        ("INSERT {s}.t VALUES (1)", 213),
        ("INSERT {s}.t (id) VALUES (NULL)", 515),
        ("INSERT {s}.t (id, amount) VALUES (1, 600)", 547),
        ("INSERT {s}.t (id, name) VALUES (1, N'long')", 2628),
        ("INSERT {s}.t (id, tiny) VALUES (1, 256)", 220),
        ("INSERT {s}.t (id, amount) VALUES (1, 100000)", 8115),
        ("SELECT 1 / 0", 8134),
        ("SELECT CAST('x' AS int)", 245),
        ("SELECT CAST('2021-02-30' AS date)", 241),
        ("SELECT CAST(3000000000 AS int)", 8115),
        ("SELECT CAST('x' AS decimal(5,2))", 8114),
        ("SELECT CAST('x' AS uniqueidentifier)", 8169),
        ("SELECT id, COUNT(*) FROM {s}.t", 8120),
        ("SELECT 1 UNION SELECT 1, 2", 205),
        ("SELECT (SELECT id, name FROM {s}.t)", 116),
        ("SELECT NOSUCHFUNCTION(1)", 195),
        ("SELECT CAST(1 AS nosuchtype)", 243),
        ("SELECT 1 WHERE 1", 4145),
        ("THROW 49999, N'low', 1", 35100),
        ("SELECT LEFT('x')", 174),
    ],
)
def test_number(sql: SqlClient, schema: str, statement: str, number: int) -> None:
    table(sql, schema)
    assert sql.error(statement.format(s=schema)) == number


def test_duplicate_key_is_2627_for_a_constraint_and_2601_for_an_index(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"CREATE UNIQUE INDEX ux ON {t} (name)")
    sql.run(f"INSERT {t} (id, name) VALUES (1, N'a')")
    assert sql.error(f"INSERT {t} (id, name) VALUES (1, N'b')") == 2627
    assert sql.error(f"INSERT {t} (id, name) VALUES (2, N'a')") == 2601


def test_a_foreign_key_is_547_both_ways(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"CREATE TABLE {schema}.child (id int NOT NULL REFERENCES {t} (id)); INSERT {t} (id) VALUES (1)")
    assert sql.error(f"INSERT {schema}.child VALUES (2)") == 547
    sql.run(f"INSERT {schema}.child VALUES (1)")
    assert sql.error(f"DELETE FROM {t}") == 547


def test_a_referenced_table_is_not_truncated_4712_nor_dropped_3726(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"CREATE TABLE {schema}.child (id int NOT NULL REFERENCES {t} (id))")
    assert sql.error(f"TRUNCATE TABLE {t}") == 4712
    assert sql.error(f"DROP TABLE {t}") == 3726


def test_a_syntax_error_anywhere_stops_the_whole_batch(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    assert sql.error(f"INSERT {t} (id) VALUES (1); SELECT FROM WHERE") == 156
    assert sql.one(f"SELECT COUNT(*) FROM {t}") == 0


def test_names_are_resolved_when_a_statement_runs(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    assert (
        sql.error(f"INSERT {t} (id) VALUES (1); INSERT {schema}.later VALUES (1); INSERT {t} (id) VALUES (2)")
        == 208
    )
    assert sql.rows(f"SELECT id FROM {t}") == [(1,)]


def test_a_table_made_in_the_batch_is_found_by_its_later_statements(sql: SqlClient, schema: str) -> None:
    assert sql.rows(
        f"CREATE TABLE {schema}.n (a int); INSERT {schema}.n VALUES (7); SELECT a FROM {schema}.n"
    ) == [(7,)]


def test_a_subquery_with_two_rows_is_512(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"INSERT {t} (id) VALUES (1), (2)")
    assert sql.error(f"SELECT (SELECT id FROM {t})") == 512


def test_error_messages_of_duplicate_keys_name_the_constraint(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"INSERT {t} (id) VALUES (41)")
    found = sql.fault(f"INSERT {t} (id) VALUES (41)")
    assert found is not None
    assert f"pk_{schema}" in found.text


def test_sqlstates_are_those_of_the_driver_documentation(sql: SqlClient, schema: str) -> None:
    t = table(sql, schema)
    sql.run(f"INSERT {t} (id) VALUES (1)")
    for statement, state in (
        (f"INSERT {t} (id) VALUES (1)", "23000"),
        (f"SELECT * FROM {schema}.no", "42S02"),
        ("SELECT 1 / 0", "22012"),
    ):
        found = sql.fault(statement)
        assert found is not None
        assert found.state == state


def test_an_error_behind_the_first_result_surfaces(sql: SqlClient) -> None:
    assert sql.error("SELECT 1; THROW 51000, N'behind', 1") == 51000
