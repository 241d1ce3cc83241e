select at, id from {{ ref('inner_query') }}
