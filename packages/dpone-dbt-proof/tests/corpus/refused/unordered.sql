--# top_by_a_subquery_of_nothing refused SQL_NONDETERMINISTIC
select top 5 order_id from sales.orders order by (select null)
--# page_by_a_constant refused SQL_NONDETERMINISTIC
select order_id from sales.orders order by (select 1) offset 5 rows fetch next 5 rows only
--# joined_texts_by_a_constant refused SQL_NONDETERMINISTIC
select string_agg(note, ',') within group (order by (select null)) as notes from sales.orders
--# latest_line_by_a_constant refused SQL_NONDETERMINISTIC
select o.order_id, (select top 1 l.sku from sales.lines l where l.order_id = o.order_id order by (select 1)) as sku
from sales.orders o
--# top_by_alias_of_a_constant refused SQL_NONDETERMINISTIC
select top 3 order_id, 1 as rank_no from sales.orders order by rank_no
--# top_by_number_of_a_constant refused SQL_NONDETERMINISTIC
select top 3 'x' as mark, order_id from sales.orders order by 1
--# json_by_a_constant refused SQL_NONDETERMINISTIC
select d.day, (select o.order_id from sales.orders o order by (select null) for json path) as j from ref.days d
--# approximate_count refused SQL_NONDETERMINISTIC
select approx_count_distinct(customer_id) as customers from sales.orders
--# approximate_percentile refused SQL_NONDETERMINISTIC
select approx_percentile_cont(0.5) within group (order by amount) as median from sales.orders
--# top_in_apply_without_order refused SQL_NONDETERMINISTIC
select o.order_id, l.sku from sales.orders o cross apply (select top 1 sku from sales.lines where order_id = o.order_id) l
