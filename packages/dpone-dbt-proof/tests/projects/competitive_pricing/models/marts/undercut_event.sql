select
    {{ utc_second('o.observed_at') }} as observed_at,
    cast(o.product_id as int) as product_id,
    {{ pricing_utils.money('x.price') }} as lowest_price
from {{ source('crawl', 'offers') }} as o
cross apply (
    select top (1) i.price
    from {{ source('crawl', 'offers') }} as i with (index (ix_offers_product))
    where i.product_id = o.product_id and i.observed_at = o.observed_at
    order by i.price, i.competitor_id
) as x
inner join {{ source('master', 'products') }} as p
    on p.product_id = o.product_id and p.list_price > x.price
group by o.observed_at, o.product_id, x.price
