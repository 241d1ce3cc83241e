from __future__ import annotations

import pytest

from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.syntax import If, Located, SetVariable
from dpone_lab.sqlserver.language.translate import translate, translate_condition, translate_expression
from dpone_lab.sqlserver.language.translation import (
    Column,
    Kind,
    LockRequest,
    Relation,
    Scope,
    Translation,
)
from dpone_lab.sqlserver.language.types import INT, parse_type


def _table(name: str, **columns: str) -> Relation:
    return Relation(
        "TABLE",
        "dbo",
        name,
        f'"dbo"."{name}"',
        tuple(
            Column(column, parse_type(text.removesuffix("!")).with_null(not text.endswith("!")))
            for column, text in columns.items()
        ),
    )


class SmallCatalog:
    """Two tables, a view and a system view."""

    database = "lab"
    default_schema = "dbo"
    version = 1

    def __init__(self) -> None:
        view = Relation(
            "VIEW",
            "dbo",
            "V",
            '"dbo"."V"',
            (Column("Key", INT), Column("n", parse_type("nvarchar(10)"))),
            "select Id, Name from T where Id > 0",
            ("Key", "n"),
        )
        system = Relation(
            "SYSTEM", "sys", "tables", '"sys"."tables"', (Column("name", parse_type("nvarchar(128)")),)
        )
        self._relations = {
            ("dbo", "t"): _table(
                "T", Id="bigint!", Name="nvarchar(10)", Amount="decimal(18,4)", At="datetime2(6)"
            ),
            ("dbo", "s"): _table("S", Id="bigint!", Name="nvarchar(20)"),
            ("dbo", "v"): view,
            ("sys", "tables"): system,
        }

    def relation(self, schema: str | None, name: str) -> Relation | None:
        if schema is None:
            temporary = _table("#T", id="int")
            return (
                Relation("TEMPORARY", "", "#T", 'pg_temp."#T"', temporary.columns)
                if name.lower() == "#t"
                else None
            )
        return self._relations.get((schema.lower(), name.lower()))

    def schema(self, name: str) -> str | None:
        return {"dbo": "dbo", "mart": "Mart", "sys": "sys"}.get(name.lower())

    def trigger(self, schema: str, name: str) -> tuple[str, str, str] | None:
        del schema, name
        return None

    def index_name(self, schema: str, table: str, index: str) -> str | None:
        del schema, table
        return '"dbo"."index 1"' if index.lower() == "ix" else None


def plan(text: str) -> Translation:
    batch = parse_batch(text)
    located = batch.statements[-1]
    assert isinstance(located, Located)
    return translate(located.statement, Scope(SmallCatalog(), batch.variables))  # type: ignore[arg-type]


def refusal(text: str) -> SqlServerError:
    with pytest.raises(SqlServerError) as caught:
        plan(text)
    return caught.value


def locks(text: str) -> list[tuple[tuple[str, str], str, bool]]:
    return [(lock.resource, lock.mode, lock.hold_to_end) for lock in plan(text).locks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from t", [(("dbo", "T"), "S", False)]),
        ("select * from t with (holdlock)", [(("dbo", "T"), "S", True)]),
        ("select * from t with (repeatableread, readcommittedlock)", [(("dbo", "T"), "S", True)]),
        ("select * from t with (updlock, holdlock, rowlock)", [(("dbo", "T"), "U", True)]),
        ("select * from t with (tablockx, holdlock)", [(("dbo", "T"), "X", True)]),
        ("select * from t a join s b on a.id = b.id", [(("dbo", "S"), "S", False), (("dbo", "T"), "S", False)]),
        ("select 1 where exists (select 1 from t with (updlock))", [(("dbo", "T"), "U", True)]),
        ("select * from v", [(("dbo", "T"), "S", False)]),
        ("insert t (id) select id from s", [(("dbo", "S"), "S", False), (("dbo", "T"), "X", True)]),
        ("update t set amount = 1", [(("dbo", "T"), "X", True)]),
        ("update x set amount = 1 from t x join s on s.id = x.id", [(("dbo", "S"), "S", False), (("dbo", "T"), "X", True)]),
        ("delete from t where id = 1", [(("dbo", "T"), "X", True)]),
        ("select * from sys.tables", [(("#catalog", "*"), "S", False)]),
        ("select * from sys.tables with (nolock)", []),
        ("select * from #t", []),
        ("select object_id('mart.x')", [(("#catalog", "Mart"), "S", False)]),
        ("select object_id('tempdb..#t')", []),
        ("create table mart.n (a int)", [(("#catalog", "Mart"), "X", True), (("Mart", "n"), "SCH-M", True)]),
        ("select * into mart.n from s", [(("#catalog", "Mart"), "X", True), (("Mart", "n"), "SCH-M", True), (("dbo", "S"), "S", False)]),
        ("drop table if exists nothing", [(("#catalog", "dbo"), "S", False)]),
        ("truncate table t", [(("dbo", "T"), "SCH-M", True)]),
    ],
)  # fmt: skip
def test_the_lock_plan_follows_the_hints(
    text: str, expected: list[tuple[tuple[str, str], str, bool]]
) -> None:
    assert locks(text) == expected


def test_a_hint_that_asks_for_locks_says_so_under_row_versions() -> None:
    assert plan("select * from t with (readcommittedlock)").locks == (
        LockRequest(("dbo", "T"), "S", hold_to_end=False, always=True),
    )


def test_nolock_on_a_user_table_is_refused() -> None:
    assert refusal("select * from t with (nolock)").number == 40517


def test_names_resolve_case_insensitively_and_keep_their_stored_spelling() -> None:
    translation = plan("SELECT NAME, T.ID FROM DBO.T WHERE aMoUnT > 1")

    assert [column.name for column in translation.columns] == ["NAME", "ID"]
    assert '"T"."Name"' in translation.sql
    assert [column.name for column in plan("select * from t").columns] == ["Id", "Name", "Amount", "At"]


def test_three_part_names_are_checked_and_cut() -> None:
    assert '"dbo"."T"' in plan('select * from "LAB"."dbo"."t"').sql
    assert refusal("select * from other.dbo.t").number == 911


def test_a_views_body_is_inlined_under_its_own_column_names() -> None:
    translation = plan("select [key] from v where n = N'a'")

    assert translation.reads_view
    assert '"dbo"."V"' not in translation.sql
    assert '"dbo"."T"' in translation.sql


def test_a_missing_object_says_where_it_was_looked_for() -> None:
    error = refusal("select * from mart.gone")

    assert (error.number, error.missing) == (208, ("Mart", "gone"))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("select nothing from t", 207),
        ("select x.id from t", 4104),
        ("select t.nothing from t", 207),
        ("select id from t a join s b on a.id = b.id", 209),
        ("select z.* from t", 107),
        ("select * from t, t", 1013),
        ("select 1 union select 1, 2", 205),
        ("select id from t order by 2", 108),
        ("select id from (select id from t order by id) x", 1033),
        ("select * from (select 1) x", 8155),
        ("select * from (select 1 as a, 2 as a) x", 8156),
        ("select 1 into n", 1038),
        ("select 1 as a, 2 as a into n", 2705),
        ("select 1 as a into t", 2714),
        ("select (select id, name from t)", 116),
        ("insert t (id, id) values (1, 2)", 264),
        ("insert t (id) values (1, 2)", 110),
        ("insert t (id, name) values (1)", 109),
        ("insert t (id, name) select 1", 120),
        ("insert t (id) select 1, 2", 121),
        ("insert t values (1)", 213),
        ("update t set nothing = 1", 207),
        ("update v set n = N'a'", 40517),
        ("delete sys.tables", 259),
        ("drop table gone", 3701),
        ("drop view t", 3705),
        ("drop trigger gone", 3701),
        ("disable trigger gone on t", 4902),
        ("create table mart2.x (a int)", 2760),
        ("create table t (a int)", 2714),
        ("create table n (a int, A int)", 2705),
        ("alter table gone add a int", 4902),
        ("alter table t add name int", 2705),
        ("alter table t drop column gone", 4924),
        ("create index ix on t (id)", 1913),
        ("create index iy on t (gone)", 1911),
        ("create view x as select 1 as a order by a", 1033),
        ("create view x as select 1", 8155),
        ("create schema mart", 2714),
        ("with a as (select * from a) select * from a", 40517),
    ],
)
def test_what_cannot_be_bound_has_sql_servers_number(text: str, number: int) -> None:
    assert refusal(text).number == number


def test_select_into_makes_exact_columns_and_keeps_not_null() -> None:
    translation = plan("select id, name, amount * 2 as twice, at, isnull(name, N'') as n2 into #n from t")

    assert translation.kind is Kind.SELECT_INTO
    (create,) = translation.prelude
    assert create == (
        'CREATE TEMPORARY TABLE "#n" ("id" int8 NOT NULL, "name" sys."nvarchar(10)", "twice" numeric(20,4), '
        '"at" timestamp(6), "n2" sys."nvarchar(10)" NOT NULL)'
    )
    assert [domain.name for domain in translation.domains] == ["nvarchar(10)"]


def test_update_from_a_join_finds_rows_by_address_and_names_columns_unqualified() -> None:
    sql = plan("update x set x.name = s.name from t as x left join s on s.id = x.id where x.id > 1").sql

    assert sql.startswith('UPDATE "dbo"."T" AS "#changed" SET "Name" = ')
    assert '"x".ctid' in sql
    assert "LEFT JOIN" in sql


def test_assignment_select_converts_to_the_variables_types() -> None:
    translation = plan("declare @a int, @b varchar(3); select @a = count_big(*), @b = max(name) from t")

    assert (translation.kind, translation.assigns, translation.columns) == (Kind.ASSIGN, ("@a", "@b"), ())
    assert "AS int4)" in translation.sql
    assert "sys.cut(" in translation.sql


def test_session_values_and_variables_arrive_as_parameters() -> None:
    translation = plan("declare @i int; select @i, @@rowcount, xact_state(), @i + 1")

    assert translation.parameters == ("@i", "@@rowcount", "xact_state()")
    assert translation.sql.count("$1") == 2


def test_trailing_blanks_do_not_count_in_comparisons_groups_and_joins() -> None:
    assert "rtrim(\"T\".\"Name\", ' ') = 'a'::text" in plan("select 1 from t where name = N'a  '").sql
    grouped = plan("select name, count(*) from t group by name").sql
    assert 'any_value("T"."Name")' in grouped
    assert "GROUP BY rtrim(" in grouped


def test_nulls_sort_lowest() -> None:
    assert plan("select id from t order by name, amount desc").sql.endswith(
        'ORDER BY rtrim("T"."Name", \' \') NULLS FIRST, "T"."Amount" DESC NULLS LAST'
    )


def test_apply_becomes_lateral() -> None:
    sql = plan("select * from t outer apply (select max(s.id) as m from s where s.id < t.id) x").sql

    assert "LEFT JOIN LATERAL (" in sql


def test_output_reads_old_and_new_rows() -> None:
    translation = plan("update t set amount = 1 output deleted.amount, inserted.amount as n where id = 1")

    assert [column.name for column in translation.columns] == ["amount", "n"]
    assert '"old"."Amount"' in translation.sql
    assert '"new"."Amount"' in translation.sql


def test_create_view_leaves_a_typed_stub_and_its_body() -> None:
    translation = plan("create view mart.w (a, b) as select id, name from t")

    assert translation.view is not None
    assert translation.view.body == "select id, name from t"
    assert [str(name) for name in translation.view.references] == ["t"]
    assert translation.prelude == (
        'CREATE VIEW "Mart"."w" AS SELECT CAST(NULL AS int8) AS "a", CAST(NULL AS sys."nvarchar(10)") AS "b" WHERE false',
    )
    assert [lock.resource for lock in translation.locks] == [("#catalog", "Mart"), ("Mart", "w")]


def test_a_condition_too_deep_to_walk_is_error_191_not_a_crash() -> None:
    assert refusal(f"select 1 from t where {' and '.join(['id = 1'] * 2000)}").number == 191


def test_conditions_are_one_boolean_and_unknown_is_false() -> None:
    batch = parse_batch("if null = 1 select 1")
    located = batch.statements[0]
    assert isinstance(located, Located)
    assert isinstance(located.statement, If)

    assert translate_condition(located.statement.condition, Scope(SmallCatalog(), {})).sql.endswith("IS TRUE")


def test_an_assigned_expression_is_cut_to_the_variables_length() -> None:
    batch = parse_batch("declare @v varchar(2); set @v = 'abc'")
    located = batch.statements[1]
    assert isinstance(located, Located)
    assert isinstance(located.statement, SetVariable)

    target = batch.variables["@v"]
    sql = translate_expression(located.statement.value, Scope(SmallCatalog(), batch.variables), target).sql
    assert "sys.cut('abc'::text, 2, 'byte')" in sql


def test_a_table_trigger_that_does_more_than_throw_is_refused() -> None:
    assert refusal("create trigger x on t after delete as select 1").number == 40517
    assert (
        "trigger|51000|16|1|no"
        in plan("create trigger x on t after delete as throw 51000, N'no', 1").prelude[0]
    )
