"""Texts written to get past the closure: each refused name behind whatever Jinja offers to hide it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from dpone_dbt_proof.jinja_closure import MacroIndex, model_closure

if TYPE_CHECKING:
    from collections.abc import Iterator

EVASIONS: Final[dict[str, str]] = {
    "JINJA_ADAPTER": r"""
        {{ adapter }}
        {{ (adapter).get_relation(1,2,3) }}
        {{ [adapter][0].get_relation(1,2,3) }}
        {% set a = adapter %}{{ a.execute('x') }}
        {% do adapter.drop_relation(ref('x')) %}
    """,
    "JINJA_DYNAMIC": r"""
        {{ context['th' ~ 'is'] }}
        {{ context.get('th' ~ 'is') }}
        {{ context }}
        {{ self }}
        {{ self._TemplateReference__context }}
        {{ self.__init__.__globals__ }}
        {{ ''|attr('__class__') }}
        {{ ref('x')|attr('schema') }}
        {{ ref('x')|attr(var('a')) }}
        {{ modules|attr('datetime') }}
        {{ [modules] | map(attribute='datetime') | list }}
        {{ modules.datetime.datetime.strptime('2020','%Y').now() }}
        {{ modules.datetime.datetime.strptime('2020','%Y').today() }}
        {{ modules.datetime.datetime(2020,1,1).__class__ }}
        {{ modules.datetime.datetime(2020,1,1).astimezone() }}
        {{ modules.datetime.datetime(2020,1,1).timestamp() }}
        {{ adapter['dispatch'] }}
        {{ adapter.dispatch }}
        {{ adapter.dispatch(*['x'])() }}
        {{ adapter.dispatch(**{'macro_name': 'x'})() }}
        {{ adapter.dispatch(macro_name=var('m'))() }}
        {% set d = adapter.dispatch %}{{ d('drop_relation')() }}
        {% import 'a' as b %}
        {% from 'a' import b %}
        {% include 'a' ignore missing %}
        {% extends 'a' %}
        {% block a %}{% endblock %}{{ self.a() }}
        {{ builtins.run_query('x') }}
        {{ builtins['run' ~ '_query']('x') }}
        {{ builtins }}
        {{ dbt }}
        {{ render('{{ this }}') }}
        {{ fromyaml('a: b')|attr('x') }}
        {{ config.model }}
        {{ config.persist_relation_docs() }}
        {{ sql }}
        {{ load_agate_table() }}
        {{ ref('a' ~ var('b')) }}
        {{ source(var('a'), 'b') }}
        {{ ref(*[var('a')]) }}
        {{ [''] | map(attribute='__class__') | list }}
        {{ 'x'.__class__ }}
        {{ 'x'['__class__'] }}
        {{ ref.__globals__ }}
        {{ ref['__glo' ~ 'bals__'] }}
        {{ namespace.__init__ }}
    """,
    "JINJA_ENVIRONMENT": r"""
        {% set ns = namespace(a=namespace(b=target)) %}{{ ns.a.b.name }}
        {% do exceptions.warn(env_var('X')) %}
        {{ print(target.name) }}
        {% filter replace('a', target.name) %}a{% endfilter %}
        {% for k in [1] if target.name == 'x' %}{% endfor %}
        {% if env_var is defined %}a{% endif %}
        {% with x=target %}{{ x.name }}{% endwith %}
        {{ config.get('materialized', default=target.name) }}
        {{ model }}
        {{ model['config'] }}
        {{ node }}
        {{ schema }}
        {{ database }}
        {{ dbt_version }}
        {{ flags }}
        {{ selected_resources }}
        {{ thread_id }}
        {{ connection_name }}
        {{ tojson(target) }}
        {{ toyaml(flags) }}
        {{ set([env_var('X')]) }}
        {{ ref(model.name) }}
        {{ ref(env_var('X')) }}
        {{ joiner(target.name)() }}
        {{ config(materialized=env_var('X')) }}
        {{ config(alias=target.name) }}
    """,
    "JINJA_INTROSPECTION": r"""
        {% for k, v in graph.nodes.items() %}{% endfor %}
        {{ dbt.get_columns_in_relation(ref('x')) }}
        {{ dbt.load_relation(this) }}
    """,
    "JINJA_IS_INCREMENTAL": r"""
        {{ "a" if is_incremental is defined and is_incremental() }}
        {{ dbt.is_incremental() }}
    """,
    "JINJA_NONDETERMINISTIC": r"""
        {{ modules.datetime|attr('datetime')|attr('now')() }}
        {% set m = modules.datetime.datetime %}{{ m.now() }}
        {% set m = [modules.datetime] %}{{ m[0].datetime.now() }}
        {{ (modules.datetime.datetime|attr('now'))() }}
        {{ [modules.datetime.datetime] | map(attribute='now') | list }}
        {{ modules['date' ~ 'time'].datetime.now() }}
        {{ modules.datetime.datetime.fromtimestamp(0) }}
        {{ modules.datetime.date.fromtimestamp(0) }}
        {{ modules.datetime.date['today']() }}
        {% do log(run_started_at, info=true) %}
        {{ log(invocation_id) }}
        {{ local_md5(invocation_id) }}
        {{ var('x') | random }}
        {{ range(3) | random }}
    """,
    "JINJA_RUN_QUERY": r"""
        {% call statement('x') %}drop{% endcall %}
        {% call(x) run_query('x') %}{{ x }}{% endcall %}
        {% macro w() %}{{ varargs[0]('select 1') }}{% endmacro %}{{ w(run_query) }}
        {% macro w() %}{{ kwargs['q']('x') }}{% endmacro %}{{ w(**{'q': run_query}) }}
        {% set ns = namespace(q=run_query) %}{{ ns.q('x') }}
        {% do run_query('x') %}
        {{ dbt.run_query('x') }}
        {{ dbt['run_query']('x') }}
        {{ dbt.statement('x') }}
        {{ dbt_sqlserver.run_query('x') }}
        {{ dbt_utils.get_column_values(ref('x'), 'y') }}
        {{ load_result('x') }}
        {{ try_or_compiler_error('m', run_query, 'x') }}
        {{ dict(a=run_query)['a']('x') }}
        {% call statement(name=none) -%} select 1 {%- endcall %}
    """,
    "JINJA_SIDE_EFFECT": r"""
        {{ store_result('x', response=1) }}
        {{ submit_python_job(1, 2) }}
        {{ debug() }}
        {{ write('x') }}
    """,
    "JINJA_THIS": r"""
        {{ [this] | map(attribute='schema') | join }}
        {% set x = dict(t=this) %}{{ x.t }}
        {% set x = [1, this] %}{{ x[1] }}
        {{ {'a': this}['a'] }}
        {% macro wrap() %}{{ caller(this) }}{% endmacro %}{% call(q) wrap() %}{{ q }}{% endcall %}
        {% macro w() %}{{ varargs[0] }}{% endmacro %}{{ w(this) }}
        {% macro w() %}{{ kwargs.t }}{% endmacro %}{{ w(t=this) }}
        {% set ns = namespace() %}{% set ns.t = this %}{{ ns.t }}
        {% set t %}{{ this }}{% endset %}{{ t }}
        {% set t | upper %}{{ this }}{% endset %}{{ t }}
        {% filter upper %}{{ this }}{% endfilter %}
        {% for k in [this] %}{{ k }}{% endfor %}
        {% for k in [] %}{% else %}{{ this }}{% endfor %}
        {% for k in [1] recursive %}{{ loop(this) }}{% endfor %}
        {% if false %}{{ this }}{% endif %}
        {{ 'a' if this is none else 'b' }}
        {% if this is defined %}a{% endif %}
        {% block a %}{{ this }}{% endblock %}
        {{ return(this) }}
        {{ zip([this], [1]) }}
        {{ exceptions.raise_compiler_error(this) }}
        {{ ref(this.name) }}
        {{ cycler(this) }}
        {{ {'a': {'b': this}}.a.b }}
        {{ ([this] + [])[0] }}
        {{ (this, 1)[0] }}
        {{ (this) }}
        {{ -this }}
        {{ this ~ '' }}
        {{ 'x' in this }}
        {{ not this }}
        {{ this | string }}
        {{ this.schema | default('x') }}
        {{ 'x' | replace('x', this.name) }}
        {{ [1] | map('replace', 'a', this) | list }}
        {{ '%s' | format(this) }}
        {% set ref = this %}{{ ref }}
        {{ config(**{'pre_hook': this}) }}
    """,
    "JINJA_UNKNOWN": r"""
        {{ adapter.dispatch('a' ~ 'b')() }}
        {{ dbt['run' ~ '_query']('x') }}
        {{ compiled_code }}
        {{ [1,2,3] | shuffle }}
        {{ lipsum() }}
        {{ undefined_name }}
    """,
    "JINJA_VAR_BRANCH": r"""
        {% set x = var('v') %}{% if x == 1 %}a{% endif %}
        {% set x = [var('v')] %}{% for y in x %}{{ y }}{% endfor %}
        {% set x = {} %}{% do x.update({'a': var('v')}) %}{% if x.a %}b{% endif %}
        {% set x = [] %}{% do x.append(var('v')) %}{% for y in x %}a{% endfor %}
        {% set ns = namespace(a=1) %}{% set ns.a = var('v') %}{% if ns.a %}b{% endif %}
        {% macro m(x) %}{% if x %}a{% endif %}{% endmacro %}{{ m(var('v')) }}
        {% macro m(x) %}{% if x %}a{% endif %}{% endmacro %}{% set f = m %}{{ f(var('v')) }}
        {{ var('v') | replace('a', 'b') if var('v') else 'c' }}
        {{ ['a','b'][var('v')] }}
        {{ 'abc'[:var('v')] }}
        {{ (var('v') == 1) and 'a' or 'b' }}
        {{ {'a': 'b'}.get(var('v')) }}
        {{ ['a'] | select('equalto', var('v')) | list }}
    """,
}
"""One text a line, under the code of the reason that it must have."""

PASSING: Final = """
    {{ [ref('orders')] | map(attribute='schema') | join(',') }}
    {{ modules.datetime.datetime(2020, 1, 1).strftime('%Y') }}
    {{ modules.re.sub('a', 'b', 'c') }}
    {{ ['b', 'a'] | sort | map('upper') | join(',') }}
    {% set rows = [{'today': 1}] %}{{ rows[0]['n'] }}
    {{ config.get('tags', default=[]) | length }}
    {% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}
    {% macro w() %}{{ caller() }}{% endmacro %}{% call w() %}a{% endcall %}
    {% raw %}{{ this }} {% endraw %}{# {{ target.name }} #}select 1
    {% do log('built', info=false) %}
    {{ '%s' | format('a') | as_text }}
"""
"""Texts that give the same SQL everywhere and look like the others."""


def lines(text: str) -> Iterator[str]:
    """Yield the texts of a table."""
    return (line.strip() for line in text.strip().splitlines())


def codes(shop: Any, raw: str) -> set[str]:
    """Return the codes of a text in a project that has dbt's own macros and a package."""
    shop.node["raw_code"] = raw
    shop.macro("dbt", "run_query", "{% macro run_query(sql) %}{% endmacro %}")
    shop.macro("dbt", "is_incremental", "{% macro is_incremental() %}{% endmacro %}")
    dispatched = "{{ return(adapter.dispatch('get_columns_in_relation', 'dbt')(relation)) }}"
    shop.macro(
        "dbt",
        "get_columns_in_relation",
        "{% macro get_columns_in_relation(relation) %}" + dispatched + "{% endmacro %}",
    )
    shop.macro("dbt_sqlserver", "sqlserver__drop", "{% macro sqlserver__drop() %}{% endmacro %}")
    shop.macro(
        "dbt_utils",
        "get_column_values",
        "{% macro get_column_values(table, column) %}{% call statement('values') %}{% endcall %}{% endmacro %}",
    )
    manifest = shop.load()
    closure = model_closure(manifest, MacroIndex(manifest), manifest.nodes[shop.MODEL])
    return {reason.code.name for reason in closure.reasons}


@pytest.mark.parametrize(
    ("code", "raw"), [(code, raw) for code, text in EVASIONS.items() for raw in lines(text)]
)
def test_a_refused_name_is_found_wherever_it_hides(shop: Any, code: str, raw: str) -> None:
    assert code in codes(shop, raw)


@pytest.mark.parametrize("raw", [*lines(PASSING)])
def test_what_only_looks_like_an_evasion_passes(shop: Any, raw: str) -> None:
    assert codes(shop, raw) == set()
