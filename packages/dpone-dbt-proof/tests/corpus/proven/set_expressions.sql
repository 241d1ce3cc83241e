--# union_all_sources reads sales.web_orders, sales.shop_orders
select order_id, ordered_at, 1 as channel_id from sales.web_orders
union all
select order_id, ordered_at, 2 from sales.shop_orders
--# union_distinct_three reads crm.leads, crm.customers, crm.contacts
select email_id, created_at from crm.leads
union
select email_id, created_at from crm.customers
union
select email_id, created_at from crm.contacts
--# except_and_intersect reads crm.leads, crm.customers, crm.blocked
select email_id, created_at from crm.leads
except
select email_id, created_at from crm.blocked
intersect
select email_id, created_at from crm.customers
--# parenthesised_sets reads sales.a, sales.b, sales.c, sales.d
(select id, at from sales.a union all select id, at from sales.b)
except
(select id, at from sales.c intersect select id, at from sales.d)
--# sets_in_from reads sales.web_orders, sales.shop_orders
select x.ordered_on, count(*) as orders
from (
    select cast(ordered_at as date) as ordered_on from sales.web_orders
    union all
    select cast(ordered_at as date) from sales.shop_orders
) as x
group by x.ordered_on
--# sets_in_exists reads crm.customers, crm.calls, crm.mails
select c.customer_id, c.created_at from crm.customers c
where exists (
    select l.customer_id from crm.calls l where l.customer_id = c.customer_id
    union all
    select m.customer_id from crm.mails m where m.customer_id = c.customer_id
)
--# offset_inside_derived reads sales.orders
select x.order_id, x.ordered_at from (
    select order_id, ordered_at from sales.orders order by ordered_at, order_id offset 10 rows fetch next 100 rows only
) x
--# top_with_ties reads sales.orders
select top (10) with ties order_id, ordered_at from sales.orders order by amount desc
--# distinct_rows reads web.page_views
select distinct visitor_id, cast(viewed_at as date) as day from web.page_views
