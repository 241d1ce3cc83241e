select
    {{ utc_second('r.observed_at') }} as observed_at,
    cast(r.competitor_id as int) as competitor_id,
    cast(r.product_id as int) as product_id,
    cast(r.stars as decimal(3, 1)) as stars
from {{ source('crawl', 'ratings') }} as r
