"""Which collation an expression has: "Collation Precedence (Transact-SQL)"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine

FIRST = "Latin1_General_BIN2"
SECOND = "Japanese_BIN2"
DATABASE = "CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS nvarchar(128))"
CONFLICT = 468


@pytest.fixture
def table(sql: SqlClient, schema: str) -> str:
    """A column of either collation, one of the database's, and a number."""
    sql.run(
        f"CREATE TABLE {schema}.t (a nvarchar(5) COLLATE {FIRST}, b nvarchar(5) COLLATE {SECOND}, c nvarchar(5), n int)"
    )
    return f"{schema}.t"


@pytest.mark.parametrize(
    ("expression", "collation"),
    [
        ("a", FIRST),
        (f"c COLLATE {SECOND}", SECOND),
        (f"a COLLATE {SECOND}", SECOND),
        (f"N'x' COLLATE {SECOND}", SECOND),
        ("a COLLATE database_default", None),
        ("c", None),
        ("N'x'", None),
        ("CAST(n AS varchar(9))", None),
        ("CAST(a AS varchar(5))", FIRST),
        (f"CAST(c COLLATE {SECOND} AS varchar(5))", SECOND),
        ("UPPER(a)", FIRST),
        ("SUBSTRING(a, 1, 2)", FIRST),
        ("LTRIM(a)", FIRST),
        ("REPLACE(a, N'x', N'y')", FIRST),
        ("a + N'x'", FIRST),
        ("CONCAT(a, n)", FIRST),
        ("MAX(a) OVER (PARTITION BY n)", FIRST),
        ("ISNULL(a, N'')", FIRST),
        ("COALESCE(a, N'')", FIRST),
        ("CASE WHEN n = 1 THEN a ELSE N'' END", FIRST),
        (f"a + b COLLATE {FIRST}", FIRST),
        (f"CASE WHEN n = 1 THEN a COLLATE {SECOND} ELSE b END", SECOND),
        (f"CASE WHEN n = 1 THEN a COLLATE {SECOND} ELSE a END", SECOND),
    ],
)
def test_select_into_gives_the_column_its_expressions_collation(
    sql: SqlClient, schema: str, table: str, expression: str, collation: str | None
) -> None:
    sql.run(f"SELECT {expression} AS x INTO {schema}.made FROM {table}")
    found = sql.one(f"SELECT collation_name FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.made')")
    assert found == (collation or sql.one(f"SELECT {DATABASE}"))


def test_select_into_keeps_collations_through_views_subqueries_and_unions(
    sql: SqlClient, schema: str, table: str
) -> None:
    sql.run(f"CREATE VIEW {schema}.v AS SELECT c COLLATE {SECOND} AS x FROM {table}")
    sql.run(
        f"WITH w AS (SELECT a FROM {table} UNION ALL SELECT N'y') SELECT d.x, w.a INTO {schema}.made"
        f" FROM (SELECT x FROM {schema}.v) AS d CROSS JOIN w"
    )
    query = "SELECT collation_name FROM sys.columns WHERE object_id = OBJECT_ID('{}') ORDER BY column_id"
    assert sql.rows(query.format(f"{schema}.v")) == [(SECOND,)]
    assert sql.rows(query.format(f"{schema}.made")) == [(SECOND,), (FIRST,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 FROM {t} WHERE a = b",
        "SELECT 1 FROM {t} WHERE a IN (SELECT b FROM {t})",
        "SELECT 1 FROM {t} WHERE a LIKE b",
        "SELECT 1 FROM {t} AS x JOIN {t} AS y ON x.a = y.b",
        f"SELECT 1 FROM {{t}} WHERE a COLLATE {FIRST} = b COLLATE {SECOND}",
    ],
)
def test_two_collations_on_a_par_cannot_be_compared(sql: SqlClient, table: str, query: str) -> None:
    assert sql.error(query.format(t=table)) == CONFLICT


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT 1 FROM {{t}} WHERE a = b COLLATE {FIRST}",
        f"SELECT 1 FROM {{t}} WHERE a = b COLLATE {SECOND}",
        "SELECT 1 FROM {t} WHERE a = N'x' OR N'x' = b",
        "DECLARE @x nvarchar(5) = N'x'; SELECT 1 FROM {t} WHERE a = @x OR b = @x",
        "SELECT 1 FROM {t} AS x JOIN {t} AS y ON x.a = y.a",
    ],
)
def test_collate_prevails_over_columns_and_columns_over_constants_and_variables(
    sql: SqlClient, table: str, query: str
) -> None:
    assert sql.rows(query.format(t=table)) == []


def test_collate_of_a_number_is_an_error(sql: SqlClient, table: str) -> None:
    assert sql.error(f"SELECT n COLLATE {FIRST} FROM {table}") == 447
