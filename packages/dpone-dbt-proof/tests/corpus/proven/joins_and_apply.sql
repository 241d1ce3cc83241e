--# latest_price_apply reads sales.orders, market.prices
select o.order_id, o.ordered_at, p.price
from sales.orders o
cross apply (
    select top (1) price
    from market.prices as p
    where p.product_id = o.product_id and p.valid_from <= o.ordered_at
    order by p.valid_from desc
) as p
--# outer_apply_optional reads crm.customers, crm.calls
select c.customer_id, c.created_at, l.called_at, l.agent_id
from crm.customers as c
outer apply (select top 1 called_at, agent_id from crm.calls where customer_id = c.customer_id order by called_at desc) l
--# apply_values reads iot.readings
select r.device_id, r.measured_at, m.metric_id, m.value
from iot.readings as r
cross apply (values (1, r.temperature), (2, r.humidity), (3, r.pressure)) as m (metric_id, value)
--# comma_join reads sales.orders, sales.order_lines
select o.order_id, o.ordered_at, l.line_no, l.quantity
from sales.orders o, sales.order_lines l
where o.order_id = l.order_id
--# full_outer_reconciliation reads finance.ledger_entries, finance.bank_lines
select coalesce(l.reference_id, b.reference_id) as reference_id,
       coalesce(l.booked_at, b.booked_at) as booked_at,
       l.amount as ledger_amount, b.amount as bank_amount
from finance.ledger_entries l
full outer join finance.bank_lines b on b.reference_id = l.reference_id
--# self_join_managers reads hr.employees
select e.employee_id, e.hired_on, m.employee_id as manager_id
from hr.employees e left join hr.employees m on m.employee_id = e.manager_id
--# range_join reads ops.shifts, ops.trips
select t.trip_id, t.started_at, s.shift_id
from ops.trips t
inner join ops.shifts s on t.started_at >= s.starts_at and t.started_at < s.ends_at and s.driver_id = t.driver_id
--# nested_join reads sales.orders, sales.order_lines, sales.products
select o.order_id, o.ordered_at, x.product_id
from sales.orders o
left join (sales.order_lines l inner join sales.products x on x.product_id = l.product_id) on l.order_id = o.order_id
--# cross_join_calendar reads ref.days, ref.stores
select d.day, s.store_id from ref.days d cross join ref.stores s
--# string_split_tags reads blog.posts
select p.post_id, p.published_at, t.value as tag
from blog.posts p cross apply string_split(p.tags, ',') as t
--# generate_series_hours reads ops.plants
select p.plant_id, dateadd(hour, h.value, cast(p.opened_on as datetime2(6))) as hour_at
from ops.plants as p cross join generate_series(0, 23) as h
--# right_join_still_valid reads ref.days, sales.orders
select d.day, count(o.order_id) as orders
from sales.orders o right join ref.days d on cast(o.ordered_at as date) = d.day
group by d.day
--# correlated_subqueries reads sales.orders, sales.order_lines, sales.returns
select o.order_id, o.ordered_at,
    (select sum(l.net_amount) from sales.order_lines l where l.order_id = o.order_id) as net,
    case when exists (select 1 from sales.returns r where r.order_id = o.order_id) then 1 else 0 end as returned
from sales.orders o
--# quantified_comparison reads market.prices, market.rivals
select p.product_id, p.valid_from, p.price
from market.prices p
where p.price <= all (select r.price from market.rivals r where r.product_id = p.product_id)
  and p.price > any (select r.price from market.rivals r where r.product_id = p.product_id and r.listed = 1)
--# not_in_and_not_exists reads crm.leads, crm.customers, crm.blocked
select l.lead_id, l.created_at from crm.leads l
where l.email_id not in (select c.email_id from crm.customers c where c.email_id is not null)
  and not exists (select * from crm.blocked b where b.email_id = l.email_id)
--# nested_joins_in_parentheses reads sales.orders, sales.returns, sales.lines
select o.order_id
from ((sales.orders as o join sales.lines as l on l.order_id = o.order_id)
    left join sales.returns as r on r.order_id = o.order_id)
--# condition_after_is_null reads sales.orders, sales.lines, sales.returns
select o.order_id
from sales.orders as o
left join sales.lines as l
    join sales.returns as r on r.line_id = l.line_id and r.closed_at is null
    on l.order_id = o.order_id
