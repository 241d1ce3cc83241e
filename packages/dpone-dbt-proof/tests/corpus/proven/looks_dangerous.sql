--# alias_like_the_target reads sales.orders
select event.order_id, event.ordered_at from sales.orders as event
--# column_alias_like_the_target reads sales.orders
select o.order_id as "mart.event", o.ordered_at from sales.orders o
--# text_with_the_target reads sales.orders
select 'from mart.event' as a, N'join mart.event' as b, order_id from sales.orders
--# comments_with_the_target reads sales.orders
select order_id /* from mart.event */, ordered_at from sales.orders -- join mart.event
--# nested_comment_with_a_query reads sales.orders
select order_id from sales.orders /* /* */ union all select id from mart.event -- */
--# column_named_like_a_clause reads sales.orders
select o.[from mart.event], o."join", [o].[select] from [sales].[orders] [o]
--# schema_with_a_dot reads sales.x.orders
select o.order_id from [sales.x].[orders] o
--# quote_in_a_quoted_name reads sales.ord"ers
select o.order_id from "sales"."ord""ers" o
--# database_in_brackets reads sales.orders
select o.order_id from [shop].[sales].[orders] o
--# texts_that_end_in_quotes reads sales.orders
select order_id from sales.orders where note = 'it''s' and mark = '''' and other = '--' /* ' */
--# texts_like_comments reads sales.orders
select order_id from sales.orders where note = '/*' and mark = '*/'
--# pattern_with_brackets reads sales.orders
select order_id from sales.orders where note like '[[]a-z]%' or note like '100!%' escape '!'
--# compares_with_null reads sales.orders
select order_id from sales.orders where a is distinct from b and c is not distinct from null
--# all_rows_wanted reads sales.orders
select all order_id from sales.orders
--# page_by_a_column reads sales.orders
select order_id, ordered_at from sales.orders order by ordered_at, order_id offset 10 rows fetch next 5 rows only
--# top_by_an_aggregate reads sales.orders
select top 3 with ties customer_id, sum(amount) as total from sales.orders group by customer_id order by total desc, 1
--# dates_of_one_spelling reads sales.orders
select order_id, cast('2020-02-01' as date) as a, cast('20200201' as datetime) as b,
    convert(varchar(33), ordered_at, 126) as c, dateadd(day, 1, '20200201') as d, datepart(iso_week, ordered_at) as w
from sales.orders where ordered_at >= '2020-02-01T00:00:00'
--# three_part_column reads sales.orders
select sales.orders.order_id, shop.sales.orders.ordered_at from shop.sales.orders
--# outer_column_deep_inside reads sales.orders, sales.lines
select o.order_id from sales.orders o
where exists (select 1 from sales.lines l where l.n = (select max(k.n) from sales.lines k where k.order_id = o.order_id))
--# grouping_of_all_kinds reads sales.orders
select store_id, channel, count(*) as n, grouping_id(store_id, channel) as level from sales.orders
group by grouping sets (rollup (store_id, channel), cube (channel), ())
--# values_and_series reads sales.orders
select o.order_id, v.k, s.value from sales.orders o cross apply (values (1, o.a), (2, o.b)) v (k, x)
cross join generate_series(1, 3) s
