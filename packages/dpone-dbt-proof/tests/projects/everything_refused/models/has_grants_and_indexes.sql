{{ config(grants={'select': ['bi']}, indexes=[{'columns': ['id']}], persist_docs={'relation': true}) }}
select at, id from raw.sales
