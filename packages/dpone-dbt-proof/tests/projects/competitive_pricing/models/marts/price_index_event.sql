{% set bands = ['low', 'middle', 'high'] %}
select
    {{ utc_second('o.observed_at') }} as observed_at,
    cast(p.category_id as int) as category_id,
{% for band in bands %}
    cast(count(case when o.band = '{{ band }}' then 1 end) as int) as {{ band }}_offers,
{% endfor %}
    {{ pricing_utils.money('avg(o.price)', precision=19) }} as average_price
from {{ source('crawl', 'offers') }} as o
inner join {{ source('master', 'products') }} as p on p.product_id = o.product_id
group by o.observed_at, p.category_id
