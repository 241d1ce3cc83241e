--# pivot_channels reads sales.orders
select ordered_on, customer_id, [web], [shop], [phone]
from (select ordered_on, customer_id, channel, amount from sales.orders) as s
pivot (sum(amount) for channel in ([web], [shop], [phone])) as p
--# unpivot_measures reads iot.wide_readings
select device_id, measured_at, metric, value
from iot.wide_readings
unpivot (value for metric in (temperature, humidity, pressure)) as u
--# pivot_then_join reads finance.ledger_entries, finance.accounts
select p.account_id, p.booked_on, p.[D], p.[C], a.account_class
from (select account_id, booked_on, side, amount from finance.ledger_entries) e
pivot (sum(amount) for side in ([D], [C])) as p
inner join finance.accounts as a on a.account_id = p.account_id
--# conditional_aggregation reads sales.orders
select ordered_on, store_id,
    sum(case when channel = 'web' then amount else 0 end) as web,
    sum(iif(channel = 'shop', amount, 0)) as shop,
    count(case when amount > 100 then 1 end) as large
from sales.orders
group by ordered_on, store_id
--# grouping_sets_report reads sales.orders
select ordered_on, store_id, channel, grouping(store_id) as all_stores, grouping_id(store_id, channel) as level_id,
    sum(amount) as amount
from sales.orders
group by grouping sets ((ordered_on, store_id, channel), (ordered_on, store_id), (ordered_on))
--# rollup_and_cube reads finance.ledger_entries
select booked_on, account_id, sum(amount) as amount from finance.ledger_entries group by rollup (booked_on, account_id)
union all
select booked_on, cost_centre_id, sum(amount) from finance.ledger_entries group by cube (booked_on, cost_centre_id)
