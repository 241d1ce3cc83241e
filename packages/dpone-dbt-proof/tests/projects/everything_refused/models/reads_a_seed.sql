select at, id from {{ ref('currencies') }}
