{{ config(materialized='ephemeral', meta={'dpone': {'publish': {'enabled': false}}}) }}
select at, id from raw.sales
