--# first_order_per_customer reads sales.orders
select o.customer_id, o.ordered_at, o.order_id
from (
    select customer_id, ordered_at, order_id,
           row_number() over (partition by customer_id order by ordered_at, order_id) as rn
    from sales.orders
) as o
where o.rn = 1
--# running_total reads finance.ledger_entries
select entry_id, booked_at, account_id, amount,
    sum(amount) over (partition by account_id order by booked_at, entry_id
                      rows between unbounded preceding and current row) as balance
from finance.ledger_entries
--# lag_lead_gaps reads iot.readings
select device_id, measured_at, value,
    value - lag(value, 1, value) over (partition by device_id order by measured_at) as delta,
    lead(measured_at) over (partition by device_id order by measured_at) as next_at,
    datediff(second, measured_at, lead(measured_at) over (partition by device_id order by measured_at)) as gap_s
from iot.readings
--# percentile_by_route reads ops.trips
select distinct route_id, trip_date,
    percentile_cont(0.5) within group (order by duration_s) over (partition by route_id, trip_date) as median_s,
    percentile_disc(0.95) within group (order by duration_s) over (partition by route_id, trip_date) as p95_s
from ops.trips
--# named_window reads hr.salaries
select employee_id, valid_from, salary,
    avg(salary) over w as team_average, max(salary) over w as team_max
from hr.salaries
window w as (partition by team_id)
--# ntile_and_ranks reads sales.order_lines
select order_id, line_no, booked_on,
    ntile(4) over (partition by booked_on order by net_amount desc, order_id, line_no) as quartile,
    rank() over (partition by booked_on order by net_amount desc) as rnk,
    dense_rank() over (partition by booked_on order by net_amount desc) as drnk,
    percent_rank() over (partition by booked_on order by net_amount) as prnk,
    cume_dist() over (partition by booked_on order by net_amount) as cdist
from sales.order_lines
--# first_last_value reads market.ticks
select symbol_id, traded_at,
    first_value(price) over (partition by symbol_id, cast(traded_at as date) order by traded_at, trade_id
        rows between unbounded preceding and unbounded following) as open_price,
    last_value(price) over (partition by symbol_id, cast(traded_at as date) order by traded_at, trade_id
        rows between unbounded preceding and unbounded following) as close_price
from market.ticks
--# sessions_by_gap reads web.page_views
select v.visitor_id, v.viewed_at, v.page_id,
    sum(v.starts) over (partition by v.visitor_id order by v.viewed_at, v.page_id rows unbounded preceding) as session_no
from (
    select visitor_id, viewed_at, page_id,
        case when datediff(minute, lag(viewed_at) over (partition by visitor_id order by viewed_at, page_id), viewed_at) > 30
             then 1 else 0 end as starts
    from web.page_views
) v
--# ignore_nulls reads iot.readings
select device_id, measured_at,
    last_value(firmware) ignore nulls over (partition by device_id order by measured_at) as firmware
from iot.readings
--# share_of_total reads sales.orders
select order_id, ordered_at, amount,
    cast(amount / nullif(sum(amount) over (partition by cast(ordered_at as date)), 0) as decimal(9, 6)) as share
from sales.orders
--# deduplicated_by_version reads crm.contacts_history
select contact_id, changed_at, email_hash
from (
    select *, rank() over (partition by contact_id, changed_at order by version desc) as latest
    from crm.contacts_history
) as h
where latest = 1
--# range_frame reads finance.rates
select currency_id, quoted_on, rate,
    min(rate) over (partition by currency_id order by quoted_on range between unbounded preceding and current row) as low
from finance.rates
