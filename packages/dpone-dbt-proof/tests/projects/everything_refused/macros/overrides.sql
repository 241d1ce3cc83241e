{% macro sqlserver__get_drop_sql(relation) %}drop table if exists {{ relation }}{% endmacro %}
{% macro hidden_query() %}{% set found = run_query('select 1') %}{% endmacro %}
{% macro pick(mode) %}{% if mode == 'full' %}1 = 1{% else %}1 = 0{% endif %}{% endmacro %}
