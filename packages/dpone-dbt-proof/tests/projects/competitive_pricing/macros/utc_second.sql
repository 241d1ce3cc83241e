{% macro utc_second(column) -%}
    cast(datetrunc(second, {{ column }}) as datetime2(6))
{%- endmacro %}
