--# plain_cte reads sales.orders
with recent as (
    select order_id, ordered_at, amount from sales.orders where ordered_at >= '2020-01-01'
)
select * from recent
--# chained_ctes reads sales.orders, sales.order_lines, sales.products
with orders as (
    select order_id, ordered_at from sales.orders
), lines as (
    select l.order_id, l.line_no, p.category_id, l.net_amount
    from sales.order_lines l join sales.products p on p.product_id = l.product_id
), joined as (
    select o.order_id, o.ordered_at, l.line_no, l.category_id, l.net_amount
    from orders o join lines l on l.order_id = o.order_id
)
select order_id, ordered_at, line_no, category_id, net_amount from joined
--# recursive_hierarchy reads hr.departments
with tree (department_id, parent_id, depth) as (
    select department_id, parent_id, 0 from hr.departments where parent_id is null
    union all
    select d.department_id, d.parent_id, t.depth + 1
    from hr.departments as d
    inner join tree as t on t.department_id = d.parent_id
)
select department_id, parent_id, depth from tree
--# recursive_numbers reads ref.parameters
with n as (
    select 1 as value
    union all
    select value + 1 from n where value < 24
)
select p.parameter_id, n.value from ref.parameters as p cross join n
--# cte_with_table_name reads sales.orders
with orders as (select * from sales.orders)
select orders.order_id, orders.ordered_at from orders
--# cte_in_set_expression reads sales.orders, sales.archived_orders
with live as (select order_id, ordered_at from sales.orders),
     old as (select order_id, ordered_at from sales.archived_orders)
select order_id, ordered_at from live
union all
select order_id, ordered_at from old
--# cte_used_twice reads market.prices
with p as (select product_id, valid_from, price from market.prices)
select a.product_id, a.valid_from, a.price - b.price as change
from p as a
left join p as b on b.product_id = a.product_id and b.valid_from = dateadd(day, -1, a.valid_from)
--# cte_in_subquery_scope reads crm.customers, crm.calls
with active as (select customer_id from crm.customers where active = 1)
select c.call_id, c.called_at from crm.calls c where c.customer_id in (select customer_id from active)
--# quoted_cte_name reads sales.orders
with [daily totals] as (select ordered_on, sum(amount) as amount from sales.orders group by ordered_on)
select [ordered_on], [amount] from [daily totals]
--# cte_values reads sales.orders
with rates (currency_id, rate) as (select * from (values (1, 1.0), (2, 1.1)) v (currency_id, rate))
select o.order_id, o.ordered_at, cast(o.amount * r.rate as decimal(18, 4)) as amount
from sales.orders o join rates r on r.currency_id = o.currency_id
--# cte_shadowing_earlier reads sales.orders, sales.returns
with a as (select order_id, ordered_at from sales.orders),
     b as (select a.order_id, a.ordered_at from a where not exists (select 1 from sales.returns r where r.order_id = a.order_id))
select * from b
