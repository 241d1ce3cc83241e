--# date_arithmetic reads sales.orders
select order_id, ordered_at,
    dateadd(day, 14, ordered_at) as due_at,
    datediff_big(microsecond, created_at, ordered_at) as lag_us,
    eomonth(ordered_at) as month_end,
    datefromparts(year(ordered_at), month(ordered_at), 1) as month_start,
    datepart(iso_week, ordered_at) as week, datepart(dayofyear, ordered_at) as day_number,
    datetrunc(hour, ordered_at) as hour_at, date_bucket(week, 1, ordered_at) as bucket
from sales.orders
--# time_zones reads ops.trips
select trip_id, cast(started_local at time zone 'Central European Standard Time' at time zone 'UTC' as datetime2(6)) as started_at,
    switchoffset(started_offset, '+00:00') as started_utc, todatetimeoffset(started_local, '+01:00') as with_offset
from ops.trips
--# casts_and_converts reads finance.raw_lines
select line_id, try_convert(date, booked_text, 104) as booked_on, cast(amount_text as decimal(18, 4)) as amount,
    try_cast(quantity_text as int) as quantity, convert(varchar(10), booked_at, 120) as day_text,
    convert(varbinary(8), line_id) as line_bytes
from finance.raw_lines
--# arithmetic reads finance.ledger_entries
select entry_id, booked_at, round(amount * 1.19, 2) as gross, floor(amount) as f, ceiling(amount) as c, abs(amount) as a,
    power(cast(amount as float), 2) as p, sqrt(square(3)) as s, sign(amount) as sg, log(10) as l, exp(1) as e, pi() as pi
from finance.ledger_entries
--# null_handling reads finance.ledger_entries
select entry_id, booked_at, isnull(amount, 0) as amount, coalesce(note, memo, '') as note, nullif(account_id, 0) as account_id,
    case when note is null and memo is not null then 1 else 0 end as only_memo
from finance.ledger_entries where amount is distinct from 0
--# between_and_in reads sales.orders
select order_id, ordered_at from sales.orders
where ordered_at between '2020-01-01' and '2020-12-31' and status in (1, 2, 3) and not (amount < 0 or amount >= 1000000)
--# having_and_aggregates reads sales.orders
select customer_id, cast(ordered_at as date) as day, count_big(*) as orders, count(distinct store_id) as stores,
    min(amount) as low, max(amount) as high, avg(amount) as mean, stdev(amount) as spread, var(amount) as variance,
    checksum_agg(checksum(order_id)) as check_value
from sales.orders
group by customer_id, cast(ordered_at as date)
having count(*) > 1 and sum(amount) > 0
--# least_greatest reads market.prices
select product_id, valid_from, greatest(price, floor_price) as g, least(price, ceiling_price) as l, choose(kind, 'a', 'b') as k
from market.prices
