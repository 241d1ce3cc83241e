{#- The strategy only inserts the batch that was rendered for its model. What the batch does is decided, and bound by
    digest, before dbt starts; dbt's own relations must be the planned ones. -#}
{% macro get_incremental_dpone_scope_merge_sql(arg_dict) %}
    {%- set batch = dpone_rendered_batches().get(model.unique_id) -%}
    {%- if not batch -%}
        {{ exceptions.raise_compiler_error("DPONE_BATCH_NOT_BOUND: no batch was rendered for " ~ model.unique_id) }}
    {%- endif -%}
    {%- if dpone_bracketed(arg_dict["target_relation"]) != batch["target"] -%}
        {{ exceptions.raise_compiler_error("DPONE_TARGET_NOT_PLANNED: " ~ arg_dict["target_relation"]) }}
    {%- endif -%}
    {%- if dpone_bracketed(arg_dict["temp_relation"]) != batch["temp"] -%}
        {{ exceptions.raise_compiler_error("DPONE_TEMP_NOT_PLANNED: " ~ arg_dict["temp_relation"]) }}
    {%- endif -%}
    {%- if arg_dict["incremental_predicates"] -%}
        {{ exceptions.raise_compiler_error("DPONE_PREDICATES_NOT_PLANNED: " ~ model.unique_id) }}
    {%- endif -%}
    {%- if local_md5(batch["sql"]) != batch["md5"] -%}
        {{ exceptions.raise_compiler_error("DPONE_BATCH_ALTERED: " ~ model.unique_id) }}
    {%- endif -%}
    {{ return(batch["sql"]) }}
{% endmacro %}

{% macro dpone_bracketed(relation) %}
    {%- set parts = [] -%}
    {%- for part in [relation.database, relation.schema, relation.identifier] -%}
        {%- do parts.append("[" ~ part.replace("]", "]]") ~ "]") -%}
    {%- endfor -%}
    {{ return(parts | join(".")) }}
{% endmacro %}
