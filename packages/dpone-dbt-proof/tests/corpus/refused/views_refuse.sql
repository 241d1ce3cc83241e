--# order_by_top_level refused SQL_ORDER_BY
select order_id, ordered_at from sales.orders order by ordered_at
--# order_by_in_derived refused SQL_ORDER_BY
select x.order_id from (select order_id from sales.orders order by ordered_at) x
--# order_by_in_cte refused SQL_ORDER_BY
with o as (select order_id from sales.orders order by ordered_at) select order_id from o
--# order_by_after_union refused SQL_ORDER_BY
select order_id from sales.orders union all select order_id from sales.returns order by order_id
--# option_recompile refused SQL_OPTION
select order_id, ordered_at from sales.orders option (recompile)
--# option_maxrecursion refused SQL_OPTION
with n as (select 1 as v union all select v + 1 from n where v < 500) select n.v, p.id from n cross join ref.parameters p option (maxrecursion 500)
--# nested_with refused SQL_NESTED_WITH
select x.order_id from (with o as (select order_id from sales.orders) select order_id from o) x
--# for_json_rows refused SQL_CONSTRUCT
select order_id, ordered_at from sales.orders order by order_id for json path
--# top_without_order refused SQL_NONDETERMINISTIC
select top 100 order_id, ordered_at from sales.orders
--# top_in_scalar_without_order refused SQL_NONDETERMINISTIC
select c.customer_id, (select top 1 o.order_id from sales.orders o where o.customer_id = c.customer_id) as any_order from crm.customers c
--# row_number_over_constant refused SQL_NONDETERMINISTIC
select order_id, row_number() over (order by (select null)) as rn from sales.orders
--# string_agg_unordered refused SQL_NONDETERMINISTIC
select post_id, string_agg(name, ',') as tags from blog.tags group by post_id
--# xml_concatenation_unordered refused SQL_NONDETERMINISTIC
select p.post_id, stuff((select ',' + t.name from blog.tags t where t.post_id = p.post_id for xml path('')), 1, 1, '') as tags from blog.posts p
--# tablesample_rows refused SQL_NONDETERMINISTIC
select order_id, ordered_at from sales.orders tablesample (10 percent)
--# temporal_as_of refused SQL_TEMPORAL
select order_id, ordered_at from sales.orders for system_time as of '2020-01-01'
--# temporal_all refused SQL_TEMPORAL
select order_id, ordered_at from sales.orders for system_time all
--# limit_clause refused SQL_NOT_TSQL
select order_id, ordered_at from sales.orders limit 10
--# using_join refused SQL_NOT_TSQL
select order_id from sales.orders join sales.returns using (order_id)
--# double_pipe refused SQL_NOT_TSQL
select order_id, first_name || last_name as name from sales.orders
--# qualify_clause refused SQL_NOT_TSQL
select order_id from sales.orders qualify row_number() over (partition by customer_id order by ordered_at) = 1
--# ilike_operator refused SQL_NOT_TSQL
select order_id from sales.orders where note ilike '%late%'
--# cast_operator refused SQL_METHOD
select order_id::int as id from sales.orders
--# odbc_escape refused SQL_NOT_TSQL
select order_id, {fn now()} as t from sales.orders
--# natural_join refused SQL_NOT_TSQL
select order_id from sales.orders natural join sales.returns
--# asof_join refused SQL_NOT_TSQL
select o.order_id from sales.orders o asof join market.prices p on o.ordered_at >= p.valid_from
--# values_in_union refused SQL_NOT_TSQL
select order_id from sales.orders union all values (1)
--# member_of_expression refused SQL_CONSTRUCT
select (place).lat from ops.trips
--# clock_without_parentheses refused SQL_CLOCK
select current_time as t, order_id from sales.orders
--# option_use_hint refused SQL_OPTION
select order_id
from sales.orders
option (use hint ('ENABLE_PARALLEL_PLAN_PREFERENCE'))
