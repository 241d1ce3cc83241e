"""Model and macro text may use names alone that give the same SQL for every target, run and environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dpone_dbt_proof.jinja_closure import MacroIndex, model_closure, overriding_macros

if TYPE_CHECKING:
    from dpone_dbt_proof.reasons import Reason


def reasons(shop: Any, raw: str) -> tuple[Reason, ...]:
    shop.node["raw_code"] = raw
    manifest = shop.load()
    return model_closure(manifest, MacroIndex(manifest), manifest.nodes[shop.MODEL]).reasons


def codes(shop: Any, raw: str) -> set[str]:
    return {reason.code.name for reason in reasons(shop, raw)}


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("select * from {{ this }}", "JINJA_THIS"),
        ("{% set t = this %}select * from {{ t }}", "JINJA_THIS"),
        ("{% if is_incremental() %}where 1=1{% endif %}", "JINJA_IS_INCREMENTAL"),
        ("{{ 'x' if is_incremental() else 'y' }}", "JINJA_IS_INCREMENTAL"),
        ("{% set r = run_query('select 1') %}", "JINJA_RUN_QUERY"),
        ("{% set q = run_query %}{{ q('select 1') }}", "JINJA_RUN_QUERY"),
        ("{% set fs = {'q': run_query} %}{{ fs.q('select 1') }}", "JINJA_RUN_QUERY"),
        ("{% call statement('a', fetch_result=True) %}select 1{% endcall %}", "JINJA_RUN_QUERY"),
        ("{{ load_result('a') }}", "JINJA_RUN_QUERY"),
        ("{{ adapter.get_columns_in_relation(ref('x')) }}", "JINJA_ADAPTER"),
        ("{{ adapter['get_relation'](1, 2, 3) }}", "JINJA_ADAPTER"),
        ("{{ api.Relation.create(identifier='x') }}", "JINJA_ADAPTER"),
        ("{{ load_relation(ref('x')) }}", "JINJA_INTROSPECTION"),
        ("{% for n in graph.nodes %}{% endfor %}", "JINJA_INTROSPECTION"),
        ("{% if target.name == 'prod' %}x{% endif %}", "JINJA_ENVIRONMENT"),
        ("{{ target.schema }}", "JINJA_ENVIRONMENT"),
        ("{{ env_var('DBT_X') }}", "JINJA_ENVIRONMENT"),
        ("{% if execute %}x{% endif %}", "JINJA_ENVIRONMENT"),
        ("{{ flags.FULL_REFRESH }}", "JINJA_ENVIRONMENT"),
        ("{{ model.alias }}", "JINJA_ENVIRONMENT"),
        ("{{ project_name }}", "JINJA_ENVIRONMENT"),
        ("{{ run_started_at }}", "JINJA_NONDETERMINISTIC"),
        ("{{ invocation_id }}", "JINJA_NONDETERMINISTIC"),
        ("{{ modules.datetime.datetime.now() }}", "JINJA_NONDETERMINISTIC"),
        ("{% set dt = modules.datetime %}{{ dt.date.today() }}", "JINJA_NONDETERMINISTIC"),
        ("{{ [1, 2] | random }}", "JINJA_NONDETERMINISTIC"),
        ("{{ context['run_query']('select 1') }}", "JINJA_DYNAMIC"),
        ("{{ builtins.run_query }}", "JINJA_DYNAMIC"),
        ("{{ ''.__class__.__mro__ }}", "JINJA_DYNAMIC"),
        ("{% include 'x.sql' %}", "JINJA_DYNAMIC"),
        ("{% import 'x.sql' as x %}", "JINJA_DYNAMIC"),
        ("{% set n = 'm' %}{{ adapter.dispatch(n)() }}", "JINJA_DYNAMIC"),
        ("{{ ref(var('table')) }}", "JINJA_DYNAMIC"),
        ("{% if var('full') %}x{% endif %}", "JINJA_VAR_BRANCH"),
        ("{% set full = var('full') %}{% if full %}x{% endif %}", "JINJA_VAR_BRANCH"),
        ("{{ 'a' if var('full') else 'b' }}", "JINJA_VAR_BRANCH"),
        ("{% for c in var('columns') %}{{ c }}{% endfor %}", "JINJA_VAR_BRANCH"),
        ("{{ {'a': 1}[var('which')] }}", "JINJA_VAR_BRANCH"),
        ("{{ var('full') and 'a' or 'b' }}", "JINJA_VAR_BRANCH"),
        ("{% if builtins.var('full') %}x{% endif %}", "JINJA_VAR_BRANCH"),
        ("{% with t = this %}{{ t }}{% endwith %}", "JINJA_THIS"),
        ("{% macro m(t=this) %}{{ t }}{% endmacro %}{{ m() }}", "JINJA_THIS"),
        ("{% macro m() %}{{ var('x') }}{% endmacro %}{% if m() %}x{% endif %}", "JINJA_VAR_BRANCH"),
        ("{{ write('x') }}", "JINJA_SIDE_EFFECT"),
        ("{% if x %}", "JINJA_SYNTAX"),
        ("{{ not_a_macro() }}", "JINJA_UNKNOWN"),
    ],
)
def test_what_depends_on_target_run_or_environment_is_refused(shop: Any, raw: str, code: str) -> None:
    assert code in codes(shop, raw)


@pytest.mark.parametrize(
    "raw",
    [
        "select * from {{ source('raw', 'sales') }}",
        "{{ config(materialized='incremental') }}select 1",
        "{% for s in ['a', 'b'] %}{{ ref(s) }}{% endfor %}",
        "where day > {{ var('first_day') }}",
        "{% macro local(x) %}{{ x }}{{ local(x) if x }}{% endmacro %}{{ local('a') }}",
        "{% with x = 'a' %}{{ x }}{% endwith %}",
        "{% set d = var('days', 3) %}where x > {{ d }}",
        "{% raw %}{{ this }}{% endraw %}",
        "{# {{ this }} #}select 1",
        "{% set this = 'x' %}{{ this }}",
        "{{ modules.re.sub('a', 'b', 'c') }}",
        "{% set cols = ['a', 'b'] %}{{ cols | join(', ') }}{% do cols.append('c') %}",
        "{{ exceptions.raise_compiler_error('no') if false }}",
    ],
)
def test_what_is_the_same_everywhere_passes(shop: Any, raw: str) -> None:
    assert codes(shop, raw) == set()


def test_a_refused_name_is_found_through_macros_at_any_depth(shop: Any) -> None:
    shop.macro("shop", "outer", "{% macro outer(x) %}{{ helper.middle(x) }}{% endmacro %}")
    shop.macro(
        "helper", "middle", "{% macro middle(x) %}{{ adapter.dispatch('inner', 'helper')(x) }}{% endmacro %}"
    )
    shop.macro(
        "helper", "default__inner", "{% macro default__inner(x) %}\n  {{ x }} {{ this }}{% endmacro %}"
    )
    (reason,) = reasons(shop, "{{ outer(1) }}")
    assert (reason.code.name, reason.path, reason.line) == (
        "JINJA_THIS",
        "dbt_packages/helper/macros/default__inner.sql",
        2,
    )
    assert reason.message.endswith("(through shop.outer > helper.middle > helper.default__inner)")


def test_a_macro_handed_on_is_followed(shop: Any) -> None:
    shop.macro("shop", "bad", "{% macro bad() %}{{ run_query('x') }}{% endmacro %}")
    shop.macro("shop", "apply", "{% macro apply(f) %}{{ f() }}{% endmacro %}")
    assert codes(shop, "{{ apply(bad) }}") == {"JINJA_RUN_QUERY"}
    assert codes(shop, "{% set f = bad %}{{ f() }}") == {"JINJA_RUN_QUERY"}


def test_a_package_handed_on_is_refused(shop: Any) -> None:
    shop.macro("helper", "fine", "{% macro fine() %}x{% endmacro %}")
    assert codes(shop, "{% set h = helper %}{{ h.fine() }}") == {"JINJA_DYNAMIC"}


def test_a_parameter_hides_the_name_that_it_has(shop: Any) -> None:
    shop.macro("shop", "line", "{% macro line(model, target) %}{{ model }} {{ target }}{% endmacro %}")
    assert codes(shop, "{{ line('a', 'b') }}") == set()


def test_a_macro_that_branches_on_a_var_argument_is_refused(shop: Any) -> None:
    shop.macro("shop", "pick", "{% macro pick(mode) %}{% if mode %}a{% endif %}{% endmacro %}")
    shop.macro("shop", "show", "{% macro show(text) %}{{ text }}{% endmacro %}")
    assert codes(shop, "{{ pick(var('mode')) }}") == {"JINJA_VAR_BRANCH"}
    assert codes(shop, "{{ pick(mode=var('mode')) }}") == {"JINJA_VAR_BRANCH"}
    assert codes(shop, "{{ show(var('mode')) }}") == set()


def test_a_place_is_line_and_column_of_the_name(shop: Any) -> None:
    (reason,) = reasons(shop, "select *\nfrom {{ source('raw', 'x') }} as s\nwhere {{ target.name }} = 1")
    assert (reason.line, reason.column) == (3, 10)


def test_macros_named_like_dbts_own_are_refused_but_for_the_name_macros(shop: Any) -> None:
    for name in ("drop_relation", "sqlserver__get_drop_sql", "generate_schema_name"):
        shop.macro("dbt", name, "{% macro x() %}{% endmacro %}")
        shop.macro("shop", name, "{% macro x() %}{% endmacro %}")
    found = overriding_macros(MacroIndex(shop.load()), "shop")
    assert [(r.code.name, r.path) for r in found] == [
        ("MACRO_OVERRIDE", "macros/drop_relation.sql"),
        ("DISPATCH_OVERRIDE", "macros/sqlserver__get_drop_sql.sql"),
    ]


@pytest.mark.parametrize(
    "raw",
    [
        "{% if setting() == 'a' %}x{% endif %}",
        "{% set s = setting() %}{{ 'x' if s }}",
        "{% if outer() %}x{% endif %}",
        "{% if shop.setting() %}x{% endif %}",
    ],
)
def test_a_branch_on_a_macro_that_takes_from_var_is_a_branch_on_var(shop: Any, raw: str) -> None:
    shop.macro("shop", "setting", "{% macro setting() %}{{ return(var('s')) }}{% endmacro %}")
    shop.macro("shop", "outer", "{% macro outer() %}{{ return(setting()) }}{% endmacro %}")
    assert codes(shop, raw) == {"JINJA_VAR_BRANCH"}


def test_a_place_is_not_that_of_a_comment_or_a_text(shop: Any) -> None:
    (reason,) = reasons(shop, "{# this #}select 'this' as x, {{ 'this' ~ this }}")
    assert (reason.line, reason.column) == (1, 43)


def test_a_broken_template_is_placed_at_its_tag(shop: Any) -> None:
    (reason,) = reasons(shop, "select 1\n  {{ x.y( }}")
    assert (reason.code.name, reason.line, reason.column) == ("JINJA_SYNTAX", 2, 3)


def test_a_macro_in_place_of_ref_is_followed(shop: Any) -> None:
    shop.macro("shop", "ref", "{% macro ref(n) %}{{ return(this) }}{% endmacro %}")
    assert codes(shop, "select 1 as x from {{ ref('orders') }}") == {"JINJA_THIS"}
