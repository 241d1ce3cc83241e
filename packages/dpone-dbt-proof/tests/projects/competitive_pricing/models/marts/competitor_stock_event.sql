select
    {{ utc_second('s.observed_at') }} as observed_at,
    cast(s.competitor_id as int) as competitor_id,
    cast(s.product_id as int) as product_id,
    cast(max(s.level) as int) as stock_level
from {{ source('crawl', 'stock') }} as s
inner join {{ ref('known_competitors') }} as k on k.competitor_id = s.competitor_id
group by s.observed_at, s.competitor_id, s.product_id
