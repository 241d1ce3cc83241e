"""Translated T-SQL run on PostgreSQL: values as SQL Server documents them, without any wire in between."""

from __future__ import annotations

import datetime as dt
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpone_lab.sqlserver.catalog import PostgresCatalog, Principal, defined, install
from dpone_lab.sqlserver.cluster import Cluster
from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.errors import RAISED_SQLSTATE, SqlServerError, from_raised, from_sqlstate
from dpone_lab.sqlserver.language.syntax import Declare, Located
from dpone_lab.sqlserver.language.translate import translate
from dpone_lab.sqlserver.language.translation import Kind, Scope

pytestmark = pytest.mark.engine

Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def database() -> Iterator[psycopg.Connection[Any]]:
    folder = Path(tempfile.mkdtemp(prefix="lab-lang-"))
    cluster = Cluster(folder, "lab")
    cluster.start()
    try:
        with cluster.connect() as connection:
            install(connection, "lab")
            yield connection
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def run(database: psycopg.Connection[Any]) -> Iterator[Run]:
    """Run the statements of a batch in a transaction that ends with the test; gives the last one's rows."""
    dbo = Principal("sa", 1, "dbo", 1, "dbo", is_sysadmin=True)
    catalog = PostgresCatalog(database, "lab", dbo)

    def execute(text: str, **values: Any) -> list[tuple[Any, ...]]:
        batch = parse_batch(text)
        rows: list[tuple[Any, ...]] = []
        for located in batch.statements:
            assert isinstance(located, Located)
            node = located.statement
            if isinstance(node, Declare):
                continue
            plan = translate(node, Scope(catalog, batch.variables))  # type: ignore[arg-type]
            cursor = psycopg.RawCursor(database)
            try:
                with database.transaction():
                    for domain in plan.domains:
                        cursor.execute(domain.create_sql)
                    for statement in plan.prelude:
                        cursor.execute(statement.encode())
                    arguments = [values.get(name.removeprefix("@")) for name in plan.parameters]
                    cursor.execute(plan.sql.encode(), arguments)
            except psycopg.Error as error:
                if error.sqlstate == RAISED_SQLSTATE:
                    raise from_raised(error.diag.message_primary or "") from error
                raise from_sqlstate(error.sqlstate) from error
            rows = cursor.fetchall() if plan.columns or plan.assigns else [(cursor.rowcount,)]
            if plan.kind is Kind.DEFINITION:
                defined(database, dbo, node, plan)  # type: ignore[arg-type]
            catalog.forget()
        return rows

    with database.transaction(force_rollback=True):
        yield execute


def one(run: Run, expression: str, **values: Any) -> Any:
    ((value,),) = run(f"select {expression}", **values)
    return value


def number_of(work: Callable[[], object]) -> int:
    with pytest.raises(SqlServerError) as caught:
        work()
    return caught.value.number


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # CAST and CONVERT: numbers
        ("cast(1.9 as int)", 1),
        ("cast(-1.9 as int)", -1),
        ("cast(1.23456 as decimal(9, 4))", Decimal("1.2346")),
        ("cast(' 42 ' as int)", 42),
        ("cast('' as int)", 0),
        ("cast('true' as bit)", True),
        ("cast(2 as bit)", True),
        ("try_cast('1.5' as int)", None),
        ("try_cast('1.55' as decimal(3, 1))", Decimal("1.6")),
        ("try_cast(300 as tinyint)", None),
        ("try_cast('2013-02-30' as date)", None),
        ("cast(cast(1 as bit) as int)", 1),
        # text
        ("cast('abcdef' as varchar(3))", "abc"),
        ("cast('ab' as char(4)) + '|'", "ab  |"),
        ("cast('äö' as varchar(3))", "ä"),
        ("cast(12345 as varchar(3))", "*"),
        ("cast(12.50 as varchar(10))", "12.50"),
        ("cast(0.5 as varchar(10))", "0.5"),
        ("cast(cast(1 as bit) as varchar(5))", "1"),
        ("convert(varchar(10), cast('2013-01-05' as date), 112)", "20130105"),
        ("convert(varchar(30), cast('2013-01-05T06:07:08.5' as datetime2(3)), 121)", "2013-01-05 06:07:08.500"),
        ("convert(varchar(30), cast('2013-01-05T06:07:08' as datetime2(6)), 126)", "2013-01-05T06:07:08"),
        ("convert(varchar(30), cast('2013-01-05T06:07:08.123456' as datetime2(6)), 126)", "2013-01-05T06:07:08.123456"),
        ("convert(varchar(30), cast('2013-01-05T06:07:08.999' as datetime2(3)), 120)", "2013-01-05 06:07:08"),
        ("convert(varchar(30), cast('2013-01-05T06:07:08' as datetime2(7)), 121)", "2013-01-05 06:07:08.0000000"),
        ("convert(varchar(10), 0x0aff, 1)", "0x0AFF"),
        ("convert(varchar(10), 0x0aff, 2)", "0AFF"),
        ("convert(varbinary(4), '0x0AFF', 1)", b"\x0a\xff"),
        ("cast(N'ab' as varbinary(8))", b"a\x00b\x00"),
        ("cast('ab' as varbinary(8))", b"ab"),
        ("cast(0x6100 as nvarchar(5))", "a"),
        ("cast(258 as binary(4))", b"\x00\x00\x01\x02"),
        ("cast(0x0102 as int)", 258),
        ("cast(0xffffffff as int)", -1),
        ("cast(0x01 as binary(3))", b"\x01\x00\x00"),
        # dates
        ("cast('20130105' as date)", dt.date(2013, 1, 5)),
        ("cast('2013-01-05 23:59:59.9999996' as datetime2(6))", dt.datetime(2013, 1, 6)),  # noqa: DTZ001
        ("dateadd(month, 1, cast('2013-01-31' as date))", dt.date(2013, 2, 28)),
        ("datediff(day, '2013-01-01 23:59', '2013-01-02 00:00')", 1),
        ("datediff(hour, '2013-01-01 23:59', '2013-01-02 00:01')", 1),
        ("datediff(year, '2012-12-31', '2013-01-01')", 1),
        ("datediff(week, '2013-01-05', '2013-01-06')", 1),
        ("datediff(day, 0, '1900-01-31')", 30),
        ("cast(dateadd(month, datediff(month, 0, '2013-05-17'), 0) as date)", dt.date(2013, 5, 1)),
        ("eomonth('2012-02-10')", dt.date(2012, 2, 29)),
        ("datepart(week, '2013-01-06')", 2),
        ("datetime2fromparts(2013, 1, 2, 3, 4, 5, 678, 3)", dt.datetime(2013, 1, 2, 3, 4, 5, 678000)),  # noqa: DTZ001
        ("datepart(millisecond, cast('2013-01-05 00:00:00.12345' as datetime2(6)))", 123),
        # arithmetic
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("2.0 / 3", Decimal("0.666666")),
        ("cast(1 as decimal(38, 10)) * cast(0.0000004 as decimal(38, 10))", Decimal("0.000000")),
        ("1 + null", None),
        ("5 & 3 | 8 ^ 1", 8),
        ("round(2.345, 2)", Decimal("2.350")),
        ("round(2.349, 2, 1)", Decimal("2.340")),
        ("floor(-1.5)", Decimal(-2)),
        ("power(2, 10)", 1024),
        # comparison and LIKE
        ("case when 'a  ' = 'a' then 1 else 0 end", 1),
        ("case when 'A' = 'a' then 1 else 0 end", 0),
        ("case when N'a' in (N'b', N'a ') then 1 else 0 end", 1),
        ("case when '10' > 9 then 1 else 0 end", 1),
        ("case when null = null then 1 else 0 end", 0),
        ("case when 'abc' like 'a[b-d]%' then 1 else 0 end", 1),
        ("case when 'abc' like 'a[^b]%' then 1 else 0 end", 0),
        ("case when '50%' like '50!%' escape '!' then 1 else 0 end", 1),
        ("case when 'a\\b' like 'a\\_' then 1 else 0 end", 1),
        # functions
        ("'a' + null", None),
        ("concat('a', null, 1, 2.5)", "a12.5"),
        ("concat_ws('-', 'a', null, 'b')", "a-b"),
        ("len('ab  ')", 2),
        ("datalength(N'ab ')", 6),
        ("datalength('ä')", 2),
        ("datalength(cast('x' as char(5)))", 5),
        ("datalength(cast(1 as decimal(18, 4)))", 9),
        ("isnull(cast(null as varchar(2)), 'abcdef')", "ab"),
        ("nullif('a ', 'a')", None),
        ("charindex('c', 'abcabc', 4)", 6),
        ("substring('abcdef', 0, 3)", "ab"),
        ("stuff('abcdef', 2, 3, 'X')", "aXef"),
        ("replicate('ab', 3)", "ababab"),
        ("right('abc', 0)", ""),
        ("quotename('a]b')", "[a]]b]"),
        ("parsename('a.[b.c].d', 2)", "b.c"),
        ("trim('x' from 'xxaxx')", "a"),
        ("hashbytes('SHA2_256', N'ä')", hashlib.sha256("ä".encode("utf-16-le")).digest()),
        ("hashbytes('SHA2_256', 'ä')", hashlib.sha256("ä".encode()).digest()),
        ("hashbytes('SHA2_256', 0x00)", hashlib.sha256(b"\x00").digest()),
        ("hashbytes('SHA2_256', N'😀')", hashlib.sha256("😀".encode("utf-16-le")).digest()),
        ("object_id('dbo.nothing')", None),
    ],
)  # fmt: skip
def test_expression_has_sql_servers_value(run: Run, expression: str, expected: object) -> None:
    assert one(run, expression) == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("select 1 / 0", 8134),
        ("select cast('x' as int)", 245),
        ("select cast('x' as decimal(5, 2))", 8114),
        ("select cast('2013-13-01' as date)", 241),
        ("select cast(300 as tinyint)", 220),
        ("select cast(12345 as decimal(4, 0))", 8115),
        ("select 2147483647 + 1", 8115),
        ("select substring('a', 1, -1)", 537),
        ("select datefromparts(2013, 2, 30)", 289),
        ("select cast('x' as uniqueidentifier)", 8169),
        ("create table t (v varchar(2)); insert t values ('abc')", 2628),
        ("create table t (h binary(2)); insert t values (0x010203)", 2628),
        ("create table t (a int not null); insert t values (null)", 515),
        ("create table t (a int primary key); insert t values (1), (1)", 2627),
        ("create table t (a int unique); insert t values (null), (null)", 2627),
        ("create table t (a int check (a > 0)); insert t values (0)", 547),
        ("select (select a from (values (1), (2)) v (a))", 512),
    ],
)
def test_error_has_sql_servers_number(run: Run, text: str, number: int) -> None:
    assert number_of(lambda: run(text)) == number


def test_trailing_blanks_beyond_the_length_are_stored_away_silently(run: Run) -> None:
    assert run("create table t (v varchar(2)); insert t values ('ab   '); select v from t") == [("ab",)]


def test_groups_ignore_trailing_blanks(run: Run) -> None:
    assert run("select count(*) from (values ('a'), ('a '), ('b')) v (x) group by x order by count(*)") == [
        (1,),
        (2,),
    ]


def test_select_into_recreates_types_and_nullability(run: Run) -> None:
    run(
        "create table t (id bigint not null, n nvarchar(5), d decimal(9, 3), b binary(4), s tinyint not null)"
    )
    run("select *, d / 3 as q, n + N'x' as nx into dbo.copy from t")
    rows = run(
        "select c.name, y.name, c.max_length, c.precision, c.scale, c.is_nullable from sys.columns c "
        "join sys.types y on y.user_type_id = c.user_type_id where c.object_id = object_id('dbo.copy') order by c.column_id"
    )
    assert rows == [
        ("id", "bigint", 8, 19, 0, False),
        ("n", "nvarchar", 10, 0, 0, True),
        ("d", "decimal", 5, 9, 3, True),
        ("b", "binary", 4, 0, 0, True),
        ("s", "tinyint", 1, 3, 0, False),
        ("q", "decimal", 9, 12, 6, True),
        ("nx", "nvarchar", 12, 0, 0, True),
    ]


def test_update_from_a_join_changes_matched_rows_only(run: Run) -> None:
    run("create table t (id int primary key, n int); create table s (id int primary key, n int)")
    run("insert t values (1, 0), (2, 0), (3, 0); insert s values (2, 20), (3, 30), (4, 40)")
    assert run("update x set n += s.n from t as x join s on s.id = x.id where x.id < 3") == [(1,)]
    assert run("select * from t order by id") == [(1, 0), (2, 20), (3, 0)]


def test_delete_by_alias_and_delete_top(run: Run) -> None:
    run("create table t (id int primary key); insert t values (1), (2), (3), (4)")
    assert run("delete x from t x where x.id = 1") == [(1,)]
    assert run("delete top (2) from t") == [(2,)]
    assert run("select count(*) from t") == [(1,)]


def test_output_into_a_table_stores_old_and_new_values(run: Run) -> None:
    run("create table t (id int, n int); create table log (old int, new int); insert t values (1, 10)")
    run("update t set n = 11 output deleted.n, inserted.n into log (old, new) where id = 1")
    assert run("select * from log") == [(10, 11)]


def test_views_follow_their_tables_late(run: Run) -> None:
    run("create table t (id int); insert t values (1)")
    run("create view v as select id from t")
    run("drop table t; create table t (id int); insert t values (2)")
    assert run("select * from v") == [(2,)]


def test_a_view_redefined_with_other_columns(run: Run) -> None:
    run("create view v as select 1 as a")
    run("create or alter view v as select 2 as b, N'x' as c")
    assert run("select b, c from v") == [(2, "x")]


def test_ranking_and_windows(run: Run) -> None:
    text = "select row_number() over (partition by g order by n desc), sum(n) over (partition by g) from (values (1, 5), (1, 7), (2, 1)) v (g, n) order by g, n"
    assert run(text) == [(2, 12), (1, 12), (1, 1)]


def test_string_agg_keeps_its_order_and_skips_nulls(run: Run) -> None:
    text = "select string_agg(cast(x as varchar(max)), ',') within group (order by x desc) from (values ('a'), (null), ('b')) v (x)"
    assert run(text) == [("b,a",)]


def test_aggregates_over_no_rows(run: Run) -> None:
    run("create table t (n int, d decimal(9, 2))")
    assert run("select count(*), sum(n), avg(n), avg(d), max(n) from t") == [(0, None, None, None, None)]


def test_averages_cut_integers_and_keep_six_digits_of_decimals(run: Run) -> None:
    text = "select avg(i), avg(d) from (values (1, cast(1 as decimal(9, 2))), (2, 2), (2, 2)) v (i, d)"
    assert run(text) == [(1, Decimal("1.666666"))]


def test_top_and_offset(run: Run) -> None:
    rows = "(values (3), (1), (2)) v (n)"
    assert run(f"select top (2) n from {rows} order by n desc") == [(3,), (2,)]
    assert run(f"select n from {rows} order by n offset 1 rows fetch next 1 rows only") == [(2,)]


def test_set_operations(run: Run) -> None:
    assert run("select 1 union select 2 union all select 2 order by 1") == [(1,), (2,), (2,)]
    assert run("select n from (values (1), (2)) v (n) except select 1") == [(2,)]


def test_identity_and_defaults(run: Run) -> None:
    run("create table t (id int identity(5, 10) primary key, n varchar(5) not null default 'x')")
    assert run("insert t default values; insert t (n) output inserted.id values (default), ('y')") == [
        (15,),
        (25,),
    ]
    assert run("select id, n from t order by id") == [(5, "x"), (15, "x"), (25, "y")]


def test_alter_table_changes_columns_and_their_nullability(run: Run) -> None:
    run("create table t (id int not null, v varchar(5)); insert t values (1, 'ab')")
    run("alter table t add w decimal(9, 2) null, x int not null default 7")
    run("alter table t alter column v nvarchar(10) not null")
    run("alter table t add constraint pk primary key (id)")
    run("alter table t drop column w")
    assert run("select * from t") == [(1, "ab", 7)]
    assert number_of(lambda: run("insert t (id, v) values (2, null)")) == 515


def test_a_trigger_that_throws_guards_a_create_only_table(run: Run) -> None:
    run("create table t (id int); insert t values (1)")
    run("create trigger no_change on t instead of update, delete as throw 51200, N'CREATE_ONLY', 1")
    assert number_of(lambda: run("delete from t where 1 = 0")) == 51200
    run("disable trigger no_change on t")
    assert run("delete from t") == [(1,)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20))
def test_any_text_survives_as_a_constant_and_hashes_like_its_utf_16(run: Run, text: str) -> None:
    quoted = "N'" + text.replace("'", "''") + "'"
    digest = hashlib.sha256(text.encode("utf-16-le")).digest()
    assert run(f"select {quoted}, hashbytes('SHA2_256', {quoted})") == [(text, digest)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12),
    length=st.integers(1, 12),
)
def test_a_cut_text_is_the_longest_prefix_that_fits_in_bytes(run: Run, text: str, length: int) -> None:
    quoted = "N'" + text.replace("'", "''") + "'"
    expected = max(
        (text[:end] for end in range(len(text) + 1) if len(text[:end].encode()) <= length), key=len
    )
    assert one(run, f"cast({quoted} as varchar({length}))") == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),  # noqa: DTZ001
    days=st.integers(-3000, 3000),
)
def test_dateadd_and_datediff_of_days_agree(run: Run, start: dt.datetime, days: int) -> None:
    text = start.isoformat(timespec="microseconds")
    moment = f"cast('{text}' as datetime2(6))"
    assert one(run, f"datediff(day, {moment}, dateadd(day, {days}, {moment}))") == days
