--# index_hint reads sales.orders
select order_id, ordered_at from sales.orders with (index (ix_orders_ordered_at))
--# several_plan_hints reads sales.orders
select order_id, ordered_at from sales.orders as o with (index (1), forceseek) where o.ordered_at > '2020-01-01'
--# join_hints reads sales.orders, crm.customers, sales.returns
select o.order_id, o.ordered_at
from sales.orders o
inner hash join crm.customers c on c.customer_id = o.customer_id
left loop join sales.returns r on r.order_id = o.order_id
--# merge_join_hint reads sales.orders, sales.returns
select o.order_id, o.ordered_at from sales.orders o inner merge join sales.returns r on r.order_id = o.order_id
--# noexpand_view reads sales.v_indexed_totals
select ordered_on, amount from sales.v_indexed_totals with (noexpand)
--# index_equals_name reads sales.orders
select o.order_id, o.ordered_at from sales.orders o with (index = ix_orders, forcescan) where o.amount !> 10 and o.tax !< 1
--# forceseek_with_columns reads sales.orders
select o.order_id, o.ordered_at from sales.orders as o with (forceseek (ix_orders (ordered_at, order_id)))
--# apply_of_a_table reads sales.orders, crm.customers
select o.order_id, o.ordered_at, c.customer_id from sales.orders o cross apply crm.customers c where c.customer_id = o.customer_id
--# old_index_hint reads sales.orders
select o.order_id from sales.orders o (index = ix_ordered_at) where o.ordered_at > '2020-01-01'
