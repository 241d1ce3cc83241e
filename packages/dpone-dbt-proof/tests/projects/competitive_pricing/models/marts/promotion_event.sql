select
    {{ utc_second('o.observed_at') }} as observed_at,
    cast(o.competitor_id as int) as competitor_id,
    cast(j.promotion_id as bigint) as promotion_id,
    cast(j.label as nvarchar(80)) as label
from {{ source('crawl', 'offers') }} as o
cross apply openjson(o.payload, '$.promotions')
    with (promotion_id bigint '$.id', label nvarchar(80) '$.label') as j
