"""Result types and values of expressions, from the documentation's rules; digests computed here with hashlib."""

from __future__ import annotations

import datetime as dt
import hashlib
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dpone_lab.odbc import SqlClient

pytestmark = pytest.mark.engine


def moment(*parts: int) -> dt.datetime:
    """A datetime2 value, which has no zone."""
    year, month, day, hour, minute, second, microsecond = (*parts, *(0,) * (7 - len(parts)))
    return dt.datetime(year, month, day, hour, minute, second, microsecond, tzinfo=dt.UTC).replace(
        tzinfo=None
    )


def made_type(sql: SqlClient, schema: str, expression: str, source: str = "") -> str:
    """Return the T-SQL type that SELECT INTO gives a column, spelled from the catalog."""
    sql.run(f"DROP TABLE IF EXISTS {schema}.made; SELECT {expression} AS c INTO {schema}.made {source}")
    ((name, length, precision, scale),) = sql.rows(
        "SELECT t.name, c.max_length, c.[precision], c.scale FROM sys.columns AS c "
        f"JOIN sys.types AS t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('{schema}.made')"
    )
    if name in ("decimal", "numeric"):
        # The documentation calls both one type; which name arithmetic gives it does not say.
        return f"decimal({precision},{scale})"
    if name in ("nvarchar", "nchar", "varchar", "char", "varbinary", "binary"):
        size = length if length == -1 else length // (2 if name.startswith("n") else 1)
        return f"{name}({'max' if size == -1 else size})"
    return f"{name}({scale})" if name in ("datetime2", "time") else name


D = "CAST(1 AS decimal({},{}))".format


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"{D(18, 4)} + {D(18, 4)}", "decimal(19,4)"),
        (f"{D(10, 2)} - {D(12, 6)}", "decimal(15,6)"),
        (f"{D(10, 2)} * {D(5, 3)}", "decimal(16,5)"),
        (f"{D(10, 2)} / {D(5, 3)}", "decimal(19,8)"),
        (f"{D(38, 10)} * {D(38, 10)}", "decimal(38,6)"),
        (f"{D(38, 10)} + {D(38, 5)}", "decimal(38,5)"),
        (f"{D(10, 2)} + CAST(1 AS int)", "decimal(13,2)"),
        ("1.50", "decimal(3,2)"),
        ("1", "int"),
        ("3000000000", "decimal(10,0)"),
        ("1e0", "float"),
        ("CAST(1 AS tinyint) + CAST(1 AS tinyint)", "tinyint"),
        ("CAST(1 AS int) + CAST(1 AS bigint)", "bigint"),
        ("CAST(1 AS bigint) / CAST(2 AS int)", "bigint"),
        ("N'ab'", "nvarchar(2)"),
        ("'abc'", "varchar(3)"),
        ("N'ab' + N'c'", "nvarchar(3)"),
        ("'ab' + N'c'", "nvarchar(3)"),
        ("CAST('a' AS varchar(10)) + CAST('b' AS varchar(20))", "varchar(30)"),
        ("CAST('a' AS varchar)", "varchar(30)"),
        ("CAST(N'a' AS nvarchar(max)) + N'b'", "nvarchar(max)"),
        ("ISNULL(CAST(NULL AS varchar(5)), 'much longer')", "varchar(5)"),
        ("COALESCE(CAST(NULL AS varchar(5)), 'much longer')", "varchar(11)"),
        ("CASE WHEN 1 = 1 THEN CAST(1 AS int) ELSE CAST(2 AS bigint) END", "bigint"),
        (f"CASE WHEN 1 = 1 THEN {D(10, 2)} ELSE {D(6, 4)} END", "decimal(12,4)"),
        ("CONCAT('ab', 'c')", "varchar(3)"),
        ("HASHBYTES('SHA2_256', 'x')", "varbinary(8000)"),
        ("0x0102", "varbinary(2)"),
        ("CAST('2020-01-01' AS datetime2(3))", "datetime2(3)"),
        ("CAST('2020-01-01' AS datetime2)", "datetime2(7)"),
        ("SYSUTCDATETIME()", "datetime2(7)"),
        ("CAST(1 AS float) + 1", "float"),
        ("NEWID()", "uniqueidentifier"),
        ("LEN('abc')", "int"),
        ("UPPER(CAST('a' AS varchar(7)))", "varchar(7)"),
    ],
)
def test_expression_has_the_documented_type(
    sql: SqlClient, schema: str, expression: str, expected: str
) -> None:
    assert made_type(sql, schema, expression) == expected


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("SUM(amount)", "decimal(38,4)"),
        ("AVG(amount)", "decimal(38,6)"),
        ("SUM(small)", "int"),
        ("AVG(small)", "int"),
        ("SUM(big)", "bigint"),
        ("COUNT(*)", "int"),
        ("COUNT_BIG(*)", "bigint"),
        ("MAX(amount)", "decimal(18,4)"),
        ("MIN(name)", "nvarchar(20)"),
        ("AVG(ratio)", "float"),
    ],
)
def test_aggregate_has_the_documented_type(
    sql: SqlClient, schema: str, aggregate: str, expected: str
) -> None:
    sql.run(
        f"CREATE TABLE {schema}.a (amount decimal(18,4), small smallint, big bigint, name nvarchar(20), ratio real)"
    )
    assert made_type(sql, schema, aggregate, f"FROM {schema}.a") == expected


def test_union_takes_the_wider_decimal_and_the_longer_text(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"SELECT * INTO {schema}.u FROM (SELECT CAST(1 AS decimal(10,2)) AS d, CAST('a' AS varchar(3)) AS v "
        "UNION ALL SELECT CAST(1 AS decimal(8,4)), CAST('a' AS varchar(9))) AS x"
    )
    assert sql.rows(
        f"SELECT name, max_length, [precision], scale FROM sys.columns WHERE object_id = OBJECT_ID('{schema}.u') "
        "ORDER BY column_id"
    ) == [("d", 9, 12, 4), ("v", 9, 0, 0)]


def test_select_into_keeps_types_and_nullability_of_columns(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.s (a int NOT NULL, b nvarchar(7) NULL, c decimal(9,3) NOT NULL, d datetime2(6) NULL,"
        " e uniqueidentifier NOT NULL, f varbinary(12) NULL, g bit NOT NULL, h tinyint NULL, i date NOT NULL, j char(4));"
        f"SELECT * INTO {schema}.copy FROM {schema}.s"
    )
    query = (
        "SELECT name, user_type_id, max_length, [precision], scale, is_nullable FROM sys.columns "
        "WHERE object_id = OBJECT_ID('{}') ORDER BY column_id"
    )
    assert sql.rows(query.format(f"{schema}.copy")) == sql.rows(query.format(f"{schema}.s"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 % 3", 1),
        ("CAST(1.9 AS int)", 1),
        ("CAST(-1.9 AS int)", -1),
        ("CAST(1.235 AS decimal(5,2))", Decimal("1.24")),
        ("CAST('2021-06-01 23:59:59.9999996' AS datetime2(6))", moment(2021, 6, 2)),
        ("CAST(CAST('2021-06-01 12:34:56.7' AS datetime2(1)) AS date)", dt.date(2021, 6, 1)),
        ("LEN('ab  ')", 2),
        ("LEN(N'')", 0),
        ("DATALENGTH(N'ab')", 4),
        ("DATALENGTH('ab ')", 3),
        ("DATALENGTH(CAST(1 AS bigint))", 8),
        ("CAST('abcdef' AS varchar(3))", "abc"),
        ("NULL + 'x'", None),
        ("CONCAT(NULL, 'x')", "x"),
        ("CASE WHEN '' IS NULL THEN 1 ELSE 0 END", 0),
        ("CASE WHEN 'a' = 'a  ' THEN 1 ELSE 0 END", 1),
        ("CASE WHEN NULL = NULL THEN 1 ELSE 0 END", 0),
        ("DATEDIFF(year, '2020-12-31', '2021-01-01')", 1),
        ("DATEDIFF(day, '2020-12-31T23:59:00', '2021-01-01T00:00:00')", 1),
        ("DATEDIFF(hour, '2020-01-01T00:59:00', '2020-01-01T01:00:00')", 1),
        ("DATEADD(month, 1, CAST('2021-01-31' AS date))", dt.date(2021, 2, 28)),
        ("TRY_CAST('x' AS int)", None),
        ("TRY_CAST('12' AS int)", 12),
        ("ISNULL(NULL, 5)", 5),
        ("NULLIF(1, 1)", None),
        ("ROUND(CAST(2.5 AS decimal(3,1)), 0)", Decimal("3.0")),
        ("CHARINDEX('b', 'abc')", 2),
        ("SUBSTRING('abcdef', 0, 3)", "ab"),
        ("STUFF('abcdef', 2, 3, 'X')", "aXef"),
        ("REPLACE('aXbX', 'X', 'yy')", "ayybyy"),
        ("RIGHT('abc', 2)", "bc"),
        ("REPLICATE('ab', 2)", "abab"),
        ("QUOTENAME('a]b')", "[a]]b]"),
        ("PARSENAME('a.b.c', 2)", "b"),
        ("IIF(1 = 2, 'y', 'n')", "n"),
        ("ABS(-5)", 5),
    ],
)
def test_expression_has_the_documented_value(sql: SqlClient, expression: str, expected: object) -> None:
    assert sql.one(f"SELECT {expression}") == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "CONVERT(varchar(40), CAST('2021-03-04 05:06:07.890000' AS datetime2(6)), 126)",
            "2021-03-04T05:06:07.890000",
        ),
        ("CONVERT(varchar(40), CAST('2021-03-04 05:06:07' AS datetime2(6)), 126)", "2021-03-04T05:06:07"),
        (
            "CONVERT(varchar(40), CAST('2021-03-04 05:06:07' AS datetime2(6)), 121)",
            "2021-03-04 05:06:07.000000",
        ),
        ("CONVERT(varchar(10), CAST('2021-03-04' AS date), 23)", "2021-03-04"),
        ("CONVERT(char(8), CAST('2021-03-04' AS date), 112)", "20210304"),
        ("CONVERT(varchar(10), 0xDEADBEEF, 1)", "0xDEADBEEF"),
        ("CONVERT(varchar(8), 0xDEADBEEF, 2)", "DEADBEEF"),
        ("CONVERT(varbinary(4), '0xDEADBEEF', 1)", b"\xde\xad\xbe\xef"),
        ("CONVERT(varbinary(4), 'DEADBEEF', 2)", b"\xde\xad\xbe\xef"),
        ("CONVERT(varbinary(4), CAST(258 AS int))", b"\x00\x00\x01\x02"),
        ("CONVERT(varbinary(8), N'ab')", b"a\x00b\x00"),
        ("CONVERT(varchar(20), CAST(-12.30 AS decimal(6,2)))", "-12.30"),
        ("CONVERT(varchar(20), CAST(1 AS bit))", "1"),
        ("CONVERT(varchar(20), CAST(12345 AS bigint))", "12345"),
    ],
)
def test_convert_writes_the_documented_text(sql: SqlClient, expression: str, expected: object) -> None:
    assert sql.one(f"SELECT {expression}") == expected


@pytest.mark.parametrize("text", ["", "abc", "Grüße", "\U0001f600", "a  "])
def test_hashbytes_of_nvarchar_digests_utf_16(sql: SqlClient, text: str) -> None:
    found = sql.one("SELECT HASHBYTES('SHA2_256', CAST(? AS nvarchar(50)))", text)
    assert found == hashlib.sha256(text.encode("utf-16-le")).digest()


@pytest.mark.parametrize(
    ("name", "algorithm"), [("SHA2_256", "sha256"), ("SHA2_512", "sha512"), ("MD5", "md5")]
)
def test_hashbytes_of_binary_digests_the_bytes(sql: SqlClient, name: str, algorithm: str) -> None:
    value = bytes(range(256))
    found = sql.one(f"SELECT HASHBYTES('{name}', CAST(? AS varbinary(256)))", value)
    assert found == hashlib.new(algorithm, value).digest()


def test_hashbytes_of_null_is_null(sql: SqlClient) -> None:
    assert sql.one("SELECT HASHBYTES('SHA2_256', CAST(NULL AS varbinary(1)))") is None


def test_uniqueidentifier_text_is_upper_case(sql: SqlClient) -> None:
    value = uuid.UUID("6f9619ff-8b86-d011-b42d-00cf4fc964ff")
    assert (
        sql.one("SELECT CONVERT(varchar(36), CAST(? AS uniqueidentifier))", str(value)) == str(value).upper()
    )


def test_string_agg_skips_nulls_and_keeps_the_order(sql: SqlClient) -> None:
    source = "(VALUES (2, N'b'), (1, N'a'), (3, NULL)) AS v (n, t)"
    assert sql.one(f"SELECT STRING_AGG(t, N',') WITHIN GROUP (ORDER BY n) FROM {source}") == "a,b"


def test_a_unique_key_admits_one_null(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.n (a int NULL UNIQUE); INSERT {schema}.n VALUES (NULL)")
    assert sql.error(f"INSERT {schema}.n VALUES (NULL)") == 2627


def test_insert_converts_and_rounds_as_assignment(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.c (i int, d decimal(6,2), t datetime2(0), c char(4), b binary(4));"
        f"INSERT {schema}.c VALUES ('12', 1.235, '2021-01-01 00:00:00.5', 'ab', 0x01)"
    )
    assert sql.rows(f"SELECT i, d, t, c, b FROM {schema}.c") == [
        (12, Decimal("1.24"), moment(2021, 1, 1, 0, 0, 1), "ab  ", b"\x01\x00\x00\x00")
    ]


def test_values_of_every_type_come_back_as_they_went(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.v (a bigint, b int, c smallint, d tinyint, e bit, f decimal(38,10), g float, h real,"
        " i date, j datetime2(6), k uniqueidentifier, l nvarchar(20), m varchar(20), n varbinary(20), o nvarchar(max))"
    )
    row = (
        -(2**63), 2**31 - 1, -32768, 255, True, Decimal("-9999999999999999999999999999.0123456789"), 0.1, 0.5,
        dt.date(1753, 1, 1), moment(9999, 12, 31, 23, 59, 59, 999999), "6F9619FF-8B86-D011-B42D-00CF4FC964FF",
        "Grüße \U0001f600", "Grüße", b"\x00\xff", "x" * 10_000,
    )  # fmt: skip
    marks = ", ".join("?" * len(row))
    sql.run(f"INSERT {schema}.v VALUES ({marks})", *row)
    sql.run(f"INSERT {schema}.v (a) VALUES (NULL)")
    found = sql.rows(f"SELECT * FROM {schema}.v ORDER BY a DESC")
    assert [str(value).upper() if isinstance(value, uuid.UUID) else value for value in found[0]] == list(row)
    assert found[1] == (None,) * len(row)


def test_null_parameters_fit_columns_of_any_type(sql: SqlClient, schema: str) -> None:
    # FreeTDS sends an untyped None as varchar, which no server converts to varbinary.
    sql.run(f"CREATE TABLE {schema}.p (a int, b nvarchar(4), c datetime2(6), d decimal(9,2))")
    sql.run(f"INSERT {schema}.p VALUES (?, ?, ?, ?)", None, None, None, None)
    assert sql.rows(f"SELECT * FROM {schema}.p") == [(None, None, None, None)]


def test_top_order_offset_and_ranking(sql: SqlClient) -> None:
    source = "(VALUES (3), (1), (2)) AS v (n)"
    assert sql.rows(f"SELECT TOP (2) n FROM {source} ORDER BY n DESC") == [(3,), (2,)]
    assert sql.rows(f"SELECT n FROM {source} ORDER BY n OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY") == [(2,)]
    assert sql.rows(f"SELECT ROW_NUMBER() OVER (ORDER BY n) FROM {source} ORDER BY n") == [(1,), (2,), (3,)]


def test_nulls_sort_first(sql: SqlClient) -> None:
    assert sql.rows("SELECT n FROM (VALUES (1), (NULL)) AS v (n) ORDER BY n") == [(None,), (1,)]


def test_update_from_join_and_delete_from_join(sql: SqlClient, schema: str) -> None:
    sql.run(
        f"CREATE TABLE {schema}.t (id int PRIMARY KEY, n int); CREATE TABLE {schema}.s (id int PRIMARY KEY, n int);"
        f"INSERT {schema}.t VALUES (1, 0), (2, 0), (3, 0); INSERT {schema}.s VALUES (2, 20), (3, 30);"
        f"UPDATE t SET n = s.n FROM {schema}.t AS t JOIN {schema}.s AS s ON s.id = t.id;"
        f"DELETE t FROM {schema}.t AS t JOIN {schema}.s AS s ON s.id = t.id WHERE s.n = 30"
    )
    assert sql.rows(f"SELECT id, n FROM {schema}.t ORDER BY id") == [(1, 0), (2, 20)]


def test_output_returns_inserted_and_deleted(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.t (id int PRIMARY KEY, n int)")
    assert sql.rows(f"INSERT {schema}.t OUTPUT inserted.id VALUES (1, 10)") == [(1,)]
    assert sql.rows(f"UPDATE {schema}.t SET n = 11 OUTPUT deleted.n, inserted.n") == [(10, 11)]
    assert sql.rows(f"DELETE FROM {schema}.t OUTPUT deleted.id") == [(1,)]


def test_identity_counts_and_scope_identity_tells(sql: SqlClient, schema: str) -> None:
    sql.run(f"CREATE TABLE {schema}.i (id int IDENTITY(10, 5) PRIMARY KEY, n int)")
    assert (
        sql.one(
            f"SET NOCOUNT ON; INSERT {schema}.i (n) VALUES (1), (2); SELECT CAST(SCOPE_IDENTITY() AS int)"
        )
        == 15
    )
