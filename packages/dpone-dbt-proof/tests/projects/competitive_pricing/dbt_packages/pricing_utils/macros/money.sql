{% macro money(expression, precision=18) %}
    {{- return(adapter.dispatch('money', 'pricing_utils')(expression, precision)) -}}
{% endmacro %}

{% macro default__money(expression, precision) -%}
    cast({{ expression }} as decimal({{ precision }}, 4))
{%- endmacro %}
