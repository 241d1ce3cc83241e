with latest as (
    select o.*, row_number() over (
        partition by o.observed_at, o.competitor_id, o.product_id order by o.crawl_no desc
    ) as recency
    from {{ source('crawl', 'offers') }} as o
)
select
    {{ utc_second('l.observed_at') }} as observed_at,
    cast(l.competitor_id as int) as competitor_id,
    cast(l.product_id as int) as product_id,
    {{ pricing_utils.money('l.price * coalesce(r.rate, 1)') }} as price
from latest as l
left join {{ source('master', 'exchange_rates') }} as r
    on r.currency_id = l.currency_id and r.quoted_on = cast(l.observed_at as date)
where l.recency = 1 and l.price >= {{ var('minimum_price') }}
