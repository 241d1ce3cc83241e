{{ config(on_schema_change='append_new_columns', full_refresh=true, incremental_predicates=['1 = 1']) }}
select at, id from raw.sales
