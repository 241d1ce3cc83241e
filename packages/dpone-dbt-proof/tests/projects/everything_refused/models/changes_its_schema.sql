{{ config(schema='finance') }}
select at, id from raw.sales
