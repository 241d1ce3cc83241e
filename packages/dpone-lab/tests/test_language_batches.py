from __future__ import annotations

import pytest

from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.definitions import CreateTable, CreateTrigger, CreateView, Permission
from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.expressions import Call, Insert, Literal, Query, Select, TableSource
from dpone_lab.sqlserver.language.parameter_definitions import parse_parameter_definitions
from dpone_lab.sqlserver.language.syntax import (
    Block,
    Execute,
    ExecuteString,
    If,
    Located,
    SetOption,
    SetVariable,
    Statement,
    Throw,
    TryCatch,
)
from dpone_lab.sqlserver.language.tree_walk import walk
from dpone_lab.sqlserver.language.types import INT, SqlType


def _statements(text: str) -> list[Statement]:
    result: list[Statement] = []
    for statement in parse_batch(text).statements:
        assert isinstance(statement, Located)
        result.append(statement.statement)
    return result


def _names(text: str) -> list[str]:
    return [type(statement).__name__ for statement in _statements(text)]


def _refusal(text: str) -> SqlServerError:
    with pytest.raises(SqlServerError) as caught:
        parse_batch(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select 1 select 2", ["Query", "Query"]),
        ("select 1 union all select 2 except select 3 select 4", ["Query", "Query"]),
        ("insert into t select 1 update t set a = 1 from t delete t", ["Insert", "Update", "Delete"]),
        ("insert t (a) values (1) select case when 1 = 1 then 2 else 3 end", ["Insert", "Query"]),
        ("drop table if exists a drop view if exists b", ["DropObjects", "DropObjects"]),
        ("grant select, insert, update on t to u select 1", ["Permission", "Query"]),
        ("with a as (select 1 as x) select * from a select 2", ["Query", "Query"]),
        ("declare @a int = 1, @b bigint set @a = 2 print @a", ["Declare", "SetVariable", "Print"]),
        ("begin tran commit rollback save tran s", ["Begin", "Commit", "Rollback", "Save"]),
        ("use [lab]; use lab", ["Use", "Use"]),
        ("exec('select 1') exec sys.sp_rename 'a', 'b'", ["ExecuteString", "Execute"]),
        ("sp_who 1", ["Execute"]),
        (
            "truncate table t; alter table t add c int; waitfor delay '00:00:01'",
            ["TruncateTable", "AlterTable", "WaitForDelay"],
        ),
    ],
)
def test_statements_end_without_semicolons(text: str, names: list[str]) -> None:
    assert _names(text) == names


def test_if_else_takes_one_statement_each_and_a_semicolon_may_stand_before_else() -> None:
    (statement,) = _statements("if @@trancount <> 1 throw 51000, N'x', 1; else begin select 1 select 2 end")

    assert isinstance(statement, If)
    assert isinstance(statement.then, Located)
    assert isinstance(statement.then.statement, Throw)
    assert isinstance(statement.otherwise, Located)
    assert isinstance(statement.otherwise.statement, Block)
    assert len(statement.otherwise.statement.statements) == 2


def test_try_and_catch_are_one_statement() -> None:
    (statement,) = _statements("begin try select 1 end try begin catch throw end catch")

    assert isinstance(statement, TryCatch)
    assert len(statement.body) == len(statement.handler) == 1


def test_a_statement_knows_its_line_and_its_text() -> None:
    second = parse_batch("select 1\n\n  select 'a;b' ;").statements[1]

    assert isinstance(second, Located)
    assert (second.line, second.text) == (3, "select 'a;b'")


def test_throw_without_a_semicolon_after_an_expression_is_an_alias_as_in_sql_server() -> None:
    (statement,) = _statements("select 1 throw")

    assert isinstance(statement, Query)
    assert isinstance(statement.body, Select)
    assert statement.body.items[0].alias == "throw"


def test_compound_assignment_is_spelled_out() -> None:
    _, statement = _statements("declare @a int; set @a += 1")

    assert isinstance(statement, SetVariable)
    assert statement.value is not None


def test_create_view_takes_the_rest_of_its_batch_as_its_body() -> None:
    (statement,) = _statements("create or alter view a.v with schemabinding as select 1 as x, 'y' as y;")

    assert isinstance(statement, CreateView)
    assert statement.body == "select 1 as x, 'y' as y"
    assert statement.schemabinding
    assert statement.mode == "CREATE OR ALTER"


def test_create_view_must_be_alone_error_111() -> None:
    assert _refusal("select 1; create view v as select 1 as x").number == 111


def test_table_hints_are_kept_for_the_lock_plan() -> None:
    (statement,) = _statements("select * from dbo.t with (updlock, holdlock) where a = 1")

    hints = [node.hints for node in walk(statement) if isinstance(node, TableSource)]
    assert hints == [frozenset({"UPDLOCK", "HOLDLOCK"})]


def test_insert_takes_hints_before_its_columns() -> None:
    (statement,) = _statements("insert into x with (tablock) (c) select c from y option (label = 'z')")

    assert isinstance(statement, Insert)
    assert (statement.target.hints, statement.columns) == (frozenset({"TABLOCK"}), ("c",))


def test_option_accepts_label_recompile_and_maxdop_only() -> None:
    assert _names("select 1 option (label = 'a', recompile, maxdop 1)") == ["Query"]
    assert _refusal("select 1 option (hash join)").number == 40517


def test_varchar_without_a_length_is_1_in_declarations_and_30_in_cast() -> None:
    batch = parse_batch("declare @a varchar = cast('x' as varchar)")

    assert batch.variables["@a"] == SqlType("varchar", length=1)
    assert SqlType("varchar", length=30) in [
        node for node in walk(batch.statements) if isinstance(node, SqlType)
    ]


def test_procedures_return_into_a_variable_and_take_named_and_output_arguments() -> None:
    _, statement = _statements("declare @r int, @o int; exec @r = dbo.p 1, @b = N'x', @c = @o output")

    assert isinstance(statement, Execute)
    assert statement.result == "@r"
    assert [(argument.name, argument.is_output) for argument in statement.arguments] == [
        (None, False),
        ("@b", False),
        ("@c", True),
    ]


def test_exec_of_a_string_is_an_expression() -> None:
    _, statement = _statements("declare @s nvarchar(10); exec('select ' + @s)")

    assert isinstance(statement, ExecuteString)


def test_a_list_of_options_sets_each() -> None:
    (statement,) = _statements("set ansi_nulls, quoted_identifier on")

    assert isinstance(statement, Block)
    assert statement.statements == (SetOption("ANSI_NULLS", "ON"), SetOption("QUOTED_IDENTIFIER", "ON"))


def test_primary_key_columns_become_not_null() -> None:
    (statement,) = _statements(
        "create table t (a int, b int null, constraint pk primary key nonclustered (a desc))"
    )

    assert isinstance(statement, CreateTable)
    assert [column.type.nullable for column in statement.columns] == [False, True]


def test_permissions_have_several_words_and_a_class() -> None:
    (statement,) = _statements("deny view definition, select on schema::mart to [a b], public")

    assert isinstance(statement, Permission)
    assert statement.permissions == ("VIEW DEFINITION", "SELECT")
    assert (statement.securable_class, statement.principals) == ("SCHEMA", ("a b", "public"))


def test_a_database_trigger_has_a_parsed_body() -> None:
    (statement,) = _statements(
        "create trigger e on database with execute as 'dbo' for ddl_database_level_events as "
        "update dpone.ddl_epoch set epoch = epoch + 1 "
        "where eventdata().value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(256)') <> N'x'"
    )

    assert isinstance(statement, CreateTrigger)
    assert (statement.table, statement.events, len(statement.body)) == (
        None,
        ("DDL_DATABASE_LEVEL_EVENTS",),
        1,
    )


def test_string_agg_keeps_its_order() -> None:
    (statement,) = _statements("select string_agg(a, ',') within group (order by b desc) from t")

    (call,) = [node for node in walk(statement) if isinstance(node, Call)]
    assert call.within_group[0].descending


def test_exec_arguments_without_quotes_are_strings() -> None:
    (statement,) = _statements("exec sp_help customers")

    assert isinstance(statement, Execute)
    assert statement.arguments[0].value == Literal("nstring", "customers")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("select 1 from", 102),
        ("select from t", 156),
        ("selec * from t", 102),
        ("begin end", 156),
        ("select (1", 102),
        ("if 1 select 1", 4145),
        ("select @a", 137),
        ("declare @a int declare @a int", 134),
        ("declare @a int select @a = 1, 2", 141),
        ("select no_such_function(1)", 195),
        ("select len()", 174),
        ("select cast(1 as wibble)", 243),
        ("select dateadd(fortnight, 1, 2)", 155),
        ("drop index a", 159),
        ("select a.b.c.d.e.f from t", 4104),
        ("create table t (a nvarchar(5) collate Latin1_General_CI_AS)", 448),
        ("select row_number() from t", 10753),
    ],
)
def test_bad_text_is_refused_with_sql_servers_number(text: str, number: int) -> None:
    assert _refusal(text).number == number


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("select 1 as a for json path", "FOR JSON"),
        ("select 1 as a for xml path('')", "FOR XML"),
        ("merge into t using s on 1 = 1 when matched then delete;", "MERGE"),
        ("raiserror('x', 16, 1)", "RAISERROR"),
        ("declare @t table (a int)", "table variable"),
        ("select * from t tablesample (10 percent)", "TABLESAMPLE"),
        ("select * from t pivot (max(a) for b in ([x])) p", "PIVOT"),
        ("select top 5 percent * from t", "TOP … PERCENT"),
        ("select * from t with (index(1))", "table hint INDEX"),
        ("create table t (a int, b as a + 1)", "computed column"),
        ("select dbo.f(1)", "function dbo.f"),
        ("select a from t group by rollup (a)", "GROUP BY ROLLUP"),
        ("create procedure p as select 1", "CREATE PROCEDURE"),
        ("insert t exec p", "INSERT … EXEC"),
        ("select cast(1 as money)", "type money"),
        ("set rowcount 5", "SET ROWCOUNT other than 0"),
        ("set ansi_nulls off", "SET ANSI_NULLS OFF"),
        ("set transaction isolation level snapshot", "SET TRANSACTION ISOLATION LEVEL SNAPSHOT"),
        ("select next value for s", "NEXT VALUE FOR"),
        ("create clustered columnstore index i on t", "COLUMNSTORE index"),
        ("goto x", "GOTO"),
        ("select {fn now()}", "ODBC escape sequence"),
    ],
)
def test_what_the_lab_lacks_is_refused_by_name_before_any_effect(text: str, construct: str) -> None:
    error = _refusal(f"insert t (a) values (1); {text}" if not text.startswith("create proc") else text)

    assert error.number == 40517
    assert construct in error.message


def test_parameters_of_the_caller_count_as_declared() -> None:
    assert parse_batch("select @p", {"@p": INT}).variables == {"@p": INT}


def test_parameter_definitions_of_sp_executesql() -> None:
    assert parse_parameter_definitions("@a int, @B nvarchar(max) OUTPUT") == (
        ("@a", INT, False),
        ("@b", SqlType("nvarchar", length=-1), True),
    )


def test_parameter_definitions_in_unusual_spellings() -> None:
    assert parse_parameter_definitions(" @a AS decimal(9, 2) out /* x */ , @b double precision") == (
        ("@a", SqlType("decimal", precision=9, scale=2), True),
        ("@b", SqlType("float"), False),
    )
    with pytest.raises(SqlServerError) as caught:
        parse_parameter_definitions("@a int,")
    assert caught.value.number == 102


def test_deep_nesting_is_error_191_not_a_crash() -> None:
    assert _refusal("select " + "(" * 5000 + "1" + ")" * 5000).number == 191
