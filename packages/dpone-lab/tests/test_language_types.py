"""Result types by "Precision, scale, and length (Transact-SQL)", "Data type precedence" and each function's page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.expressions import Query
from dpone_lab.sqlserver.language.inference import decimal_result
from dpone_lab.sqlserver.language.syntax import Located
from dpone_lab.sqlserver.language.translate import translate
from dpone_lab.sqlserver.language.translation import Relation, ResultColumn, Scope
from dpone_lab.sqlserver.language.types import (
    MAX,
    SqlType,
    base_type,
    column_type,
    domain_of,
    from_postgres,
    parse_type,
)


class EmptyCatalog:
    """A database without objects."""

    database = "lab"
    default_schema = "dbo"
    version = 1

    def relation(self, schema: str | None, name: str) -> Relation | None:
        del schema, name
        return None

    def schema(self, name: str) -> str | None:
        return name

    def trigger(self, schema: str, name: str) -> tuple[str, str, str] | None:
        del schema, name
        return None

    def index_name(self, schema: str, table: str, index: str) -> str | None:
        del schema, table, index
        return None


def column_of(expression: str, declarations: str = "") -> ResultColumn:
    """Return the only column of ``SELECT expression``; ``declarations`` are DECLARE's variables."""
    batch = parse_batch(f"{f'declare {declarations};' if declarations else ''} select {expression}")
    located = batch.statements[-1]
    assert isinstance(located, Located)
    assert isinstance(located.statement, Query)
    (column,) = translate(located.statement, Scope(EmptyCatalog(), batch.variables)).columns
    return column


def type_of(expression: str, declarations: str = "") -> str:
    return str(column_of(expression, declarations).type)


_VARIABLES = (
    "@t tinyint, @s smallint, @i int, @b bigint, @bit bit, @d decimal(18,4), @d2 decimal(10,2), @f float, @r real,"
    " @v varchar(10), @n nvarchar(20), @c char(3), @vm varchar(max), @nm nvarchar(max), @x varbinary(5), @h binary(32),"
    " @dt datetime2(3), @da date, @dd datetime, @g uniqueidentifier, @big decimal(38,10)"
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # constants
        ("1", "int"),
        ("2147483647", "int"),
        ("2147483648", "numeric(10,0)"),
        ("1.50", "numeric(3,2)"),
        ("0.5", "numeric(1,1)"),
        ("1e0", "float"),
        ("'abc'", "varchar(3)"),
        ("''", "varchar(1)"),
        ("N'ü'", "nvarchar(1)"),
        ("'ü'", "varchar(2)"),
        ("0xAB", "varbinary(1)"),
        ("null", "int"),
        # integer arithmetic keeps the higher type
        ("@t + @t", "tinyint"),
        ("@t + @s", "smallint"),
        ("@s * @i", "int"),
        ("@i / @b", "bigint"),
        ("@i % 2", "int"),
        ("@bit + 1", "int"),
        # decimals
        ("@d + @d", "decimal(19,4)"),
        ("@d - @d2", "decimal(19,4)"),
        ("@d * @d", "decimal(37,8)"),
        ("@d / @d2", "decimal(31,15)"),
        ("@d % @d2", "decimal(12,4)"),
        ("@d2 + @i", "decimal(13,2)"),
        ("@d2 + 1", "decimal(11,2)"),
        ("@big * @big", "decimal(38,6)"),
        ("@big / @big", "decimal(38,6)"),
        ("@big + @big", "decimal(38,10)"),
        ("2.0 / 3", "numeric(7,6)"),
        ("@d + @f", "float"),
        ("@r + @i", "real"),
        # strings
        ("@v + @v", "varchar(20)"),
        ("@v + @n", "nvarchar(30)"),
        ("@v + @vm", "varchar(max)"),
        ("@c + @c", "char(6)"),
        ("@x + @x", "varbinary(10)"),
        ("'1' + @i", "int"),
        # choice
        ("case when 1 = 1 then @i else @b end", "bigint"),
        ("case when 1 = 1 then @v else @n end", "nvarchar(20)"),
        ("case when 1 = 1 then @d2 else 1 end", "decimal(10,2)"),
        ("case when 1 = 1 then @d2 else @d end", "decimal(18,4)"),
        ("iif(1 = 1, @da, @dt)", "datetime2(3)"),
        ("coalesce(null, @v, @n)", "nvarchar(20)"),
        ("isnull(@v, N'longer than ten')", "varchar(10)"),
        ("isnull(null, @n)", "nvarchar(20)"),
        ("nullif(@d, 1)", "decimal(18,4)"),
        # aggregates
        ("sum(@t)", "int"),
        ("sum(@b)", "bigint"),
        ("sum(@d)", "decimal(38,4)"),
        ("sum(@r)", "float"),
        ("avg(@i)", "int"),
        ("avg(@d)", "decimal(38,6)"),
        ("avg(@d2)", "decimal(38,6)"),
        ("count(*)", "int"),
        ("count_big(*)", "bigint"),
        ("max(@n)", "nvarchar(20)"),
        ("min(@dt)", "datetime2(3)"),
        ("string_agg(@v, ',')", "varchar(8000)"),
        ("string_agg(@nm, ',')", "nvarchar(max)"),
        ("string_agg(@i, ',')", "nvarchar(4000)"),
        ("row_number() over (order by @i)", "bigint"),
        ("sum(@i) over ()", "int"),
        ("lag(@d) over (order by @i)", "decimal(18,4)"),
        # functions
        ("len(@v)", "int"),
        ("len(@nm)", "bigint"),
        ("datalength(@vm)", "bigint"),
        ("upper(@n)", "nvarchar(20)"),
        ("left(@n, 3)", "nvarchar(3)"),
        ("substring(@x, 1, 2)", "varbinary(2)"),
        ("replace(@v, 'a', 'b')", "varchar(8000)"),
        ("replace(@v, 'a', N'b')", "nvarchar(4000)"),
        ("quotename(@n)", "nvarchar(258)"),
        ("concat(@v, @n)", "nvarchar(30)"),
        ("concat('ab', 'c')", "varchar(3)"),
        ("hashbytes('SHA2_256', @n)", "varbinary(8000)"),
        ("abs(@d)", "decimal(18,4)"),
        ("floor(@d)", "decimal(18,0)"),
        ("round(@d, 1)", "decimal(18,4)"),
        ("dateadd(day, 1, @dt)", "datetime2(3)"),
        ("dateadd(day, 1, @da)", "date"),
        ("dateadd(day, 1, '2020-01-01')", "datetime"),
        ("datediff(day, @da, @dt)", "int"),
        ("datediff_big(second, @da, @dt)", "bigint"),
        ("sysutcdatetime()", "datetime2(7)"),
        ("getdate()", "datetime"),
        ("datetime2fromparts(2020, 1, 1, 0, 0, 0, 0, 3)", "datetime2(3)"),
        ("newid()", "uniqueidentifier"),
        ("object_id('t')", "int"),
        # conversions
        ("cast(1 as varchar)", "varchar(30)"),
        ("cast(1 as decimal)", "decimal(18,0)"),
        ("cast(1 as float(24))", "real"),
        ("convert(varchar(10), @da, 23)", "varchar(10)"),
        ("try_cast('x' as bigint)", "bigint"),
        ("cast('x' as nvarchar(max))", "nvarchar(max)"),
        ("@@rowcount", "int"),
        ("xact_state()", "smallint"),
    ],
)
def test_result_type_is_the_documented_one(expression: str, expected: str) -> None:
    assert type_of(expression, _VARIABLES) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select 1 as c union all select cast(1 as bigint)", "bigint"),
        ("select 'ab' as c union select N'c'", "nvarchar(2)"),
        ("select cast(1 as decimal(10,2)) as c union all select cast(1 as decimal(6,4))", "decimal(12,4)"),
        ("select null as c union all select 'abc'", "varchar(3)"),
        ("select c from (values (1, 2), (3, null)) as v (a, c)", "int"),
        ("select x.c from (select 1.5 as c) as x", "numeric(2,1)"),
        ("select (select 1 as c) as c", "int"),
    ],
)
def test_set_operations_and_derived_tables_carry_types(query: str, expected: str) -> None:
    located = parse_batch(query).statements[0]
    assert isinstance(located, Located)
    assert isinstance(located.statement, Query)

    assert str(translate(located.statement, Scope(EmptyCatalog(), {})).columns[0].type) == expected


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("@bit + @bit", 402),
        ("@f % 2", 402),
        ("@da + 1", 40517),
        ("sum(@v)", 8117),
        ("max(@bit)", 8117),
        ("case when 1 = 1 then @g else 1 end", 206),
        ("coalesce(@da, 1)", 206),
        ("isnull(@x, 'a')", 257),
        ("cast(@da as int)", 529),
        ("cast(@dd as varchar(30))", 40517),
        ("convert(varchar(30), @dt, 130)", 281),
        ("hashbytes('SHA2_256', @i)", 8116),
        ("case when 1 = 1 then null else null end", 8133),
        ("dateadd(hour, 1, @da)", 9810),
        ("1 collate Latin1_General_100_BIN2", 447),
    ],
)
def test_what_has_no_rule_is_refused(expression: str, number: int) -> None:
    with pytest.raises(SqlServerError) as caught:
        type_of(expression, _VARIABLES)

    assert caught.value.number == number


@pytest.mark.parametrize(
    ("expression", "nullable"),
    [
        ("1", False),
        ("N'a'", False),
        ("@i", True),
        ("1 + 1", True),
        ("isnull(@i, 0)", False),
        ("coalesce(@i, 0)", True),
        ("case when 1 = 1 then 1 else 0 end", False),
        ("case when 1 = 1 then 1 end", True),
        ("count(*)", True),
        ("sysutcdatetime()", False),
        ("cast(1 as bigint)", True),
    ],
)
def test_nullability_of_a_computed_column(expression: str, *, nullable: bool) -> None:
    assert column_of(expression, _VARIABLES).type.nullable is nullable


_DECIMALS = st.integers(1, 38).flatmap(
    lambda precision: st.builds(
        lambda scale: SqlType("decimal", precision=precision, scale=scale), st.integers(0, precision)
    )
)


@given(st.sampled_from("+-*/%"), _DECIMALS, _DECIMALS)
def test_decimal_results_never_exceed_38_digits_nor_their_precision(
    operator: str, left: SqlType, right: SqlType
) -> None:
    result = decimal_result(operator, left, right)

    assert result.precision is not None
    assert result.scale is not None
    assert 0 <= result.scale <= result.precision <= 38


@given(_DECIMALS, _DECIMALS)
def test_division_keeps_at_least_six_digits(left: SqlType, right: SqlType) -> None:
    assert (decimal_result("/", left, right).scale or 0) >= 6


_TYPES = st.one_of(
    st.sampled_from(
        [
            "bit",
            "tinyint",
            "smallint",
            "int",
            "bigint",
            "float",
            "real",
            "date",
            "datetime",
            "uniqueidentifier",
        ]
    ).map(SqlType),
    _DECIMALS,
    st.builds(SqlType, st.sampled_from(["datetime2", "time"]), scale=st.integers(0, 7)),
    st.builds(
        SqlType, st.sampled_from(["varchar", "char", "varbinary", "binary"]), length=st.integers(1, 8000)
    ),
    st.builds(SqlType, st.sampled_from(["nvarchar", "nchar"]), length=st.integers(1, 4000)),
    st.builds(SqlType, st.sampled_from(["varchar", "nvarchar", "varbinary"]), length=st.just(MAX)),
)


@given(_TYPES)
def test_a_type_is_read_back_from_its_spelling(sql_type: SqlType) -> None:
    assert parse_type(str(sql_type)) == sql_type


@given(_TYPES)
def test_a_stored_column_tells_its_type_by_twin_or_domain(sql_type: SqlType) -> None:
    domain = domain_of(sql_type)
    if domain is not None:
        assert from_postgres(domain.name, -1) == sql_type
        assert column_type(sql_type) == f'sys."{domain.name}"'
        return
    typmod = -1
    if sql_type.precision is not None:
        typmod = (sql_type.precision << 16 | (sql_type.scale or 0)) + 4
    elif sql_type.scale is not None:
        typmod = sql_type.scale
    names = {
        "bool",
        "int2",
        "int4",
        "int8",
        "float8",
        "float4",
        "date",
        "uuid",
        "numeric",
        "timestamp",
        "time",
    }
    name = base_type(sql_type).partition("(")[0]
    assert name in names
    assert from_postgres(name, typmod) == sql_type


@pytest.mark.parametrize(
    ("text", "length"),
    [("decimal(9,2)", 5), ("decimal(18,4)", 9), ("decimal(38,10)", 17), ("datetime2(6)", 8), ("datetime2(2)", 6), ("nvarchar(50)", 100), ("varchar(max)", -1), ("time(7)", 5), ("bit", 1)],
)  # fmt: skip
def test_max_length_counts_bytes_as_sys_columns_does(text: str, length: int) -> None:
    assert parse_type(text).max_length == length


@pytest.mark.parametrize(
    ("text", "number"),
    [("varchar(9000)", 131), ("varchar(0)", 1001), ("decimal(39,0)", 2750), ("decimal(5,6)", 183), ("datetime2(8)", 1002), ("int(4)", 2716), ("money", 40517), ("wibble", 243)],
)  # fmt: skip
def test_impossible_types_have_their_numbers(text: str, number: int) -> None:
    with pytest.raises(SqlServerError) as caught:
        parse_type(text)

    assert caught.value.number == number
