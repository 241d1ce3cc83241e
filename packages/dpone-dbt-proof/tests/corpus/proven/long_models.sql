--# competitor_price_event reads pricing.offers, pricing.products, pricing.competitors, pricing.exchange_rates
with offers as (
    select
        o.offer_uid,
        o.observed_at,
        o.competitor_id,
        o.product_id,
        o.price,
        o.currency_id,
        row_number() over (
            partition by o.competitor_id, o.product_id, o.observed_at
            order by o.loaded_no desc
        ) as version_no
    from pricing.offers as o
    where o.price > 0
),
rates as (
    select r.currency_id, r.quoted_on, r.rate
    from pricing.exchange_rates as r
    where r.rate is not null
)
select
    cast(o.observed_at as datetime2(6)) as observed_at,
    cast(o.competitor_id as int) as competitor_id,
    cast(o.product_id as int) as product_id,
    cast(o.price * coalesce(r.rate, 1) as decimal(18, 4)) as price,
    cast(case when c.is_marketplace = 1 then 1 else 0 end as bit) as is_marketplace,
    cast(p.list_price - o.price as decimal(18, 4)) as gap
from offers as o
inner join pricing.competitors as c on c.competitor_id = o.competitor_id
inner join pricing.products as p on p.product_id = o.product_id
left join rates as r
    on r.currency_id = o.currency_id
    and r.quoted_on = cast(o.observed_at as date)
where o.version_no = 1
--# stock_level_changes reads stock.movements, stock.warehouses
select
    cast(m.moved_at as datetime2(6)) as moved_at,
    cast(m.warehouse_id as smallint) as warehouse_id,
    cast(m.sku_id as bigint) as sku_id,
    cast(sum(m.quantity * case m.direction when 'I' then 1 when 'O' then -1 else 0 end) as decimal(18, 3)) as net_quantity,
    cast(count(*) as int) as movements,
    cast(max(case when m.reason = 'inventory' then 1 else 0 end) as bit) as counted
from stock.movements as m
inner join stock.warehouses as w
    on w.warehouse_id = m.warehouse_id
    and w.closed_on is null
group by m.moved_at, m.warehouse_id, m.sku_id
--# call_centre_slots reads crm.calls, ref.slots
select s.slot_start, s.queue_id,
    count(c.call_id) as offered,
    sum(case when c.answered_at is not null then 1 else 0 end) as answered,
    avg(cast(datediff(second, c.queued_at, c.answered_at) as decimal(9, 2))) as wait_s
from ref.slots as s
left outer join crm.calls as c
    on c.queue_id = s.queue_id
    and c.queued_at >= s.slot_start
    and c.queued_at < dateadd(minute, 15, s.slot_start)
group by s.slot_start, s.queue_id
