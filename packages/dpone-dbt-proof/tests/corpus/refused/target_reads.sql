--# reads_target refused SQL_TARGET_READ
select id, at from mart.event
--# reads_target_three_parts refused SQL_TARGET_READ
select id, at from shop.mart.event
--# reads_target_other_case refused SQL_TARGET_READ
select e.id, e.at from MART.Event as e
--# reads_target_bracketed refused SQL_TARGET_READ
select e.id, e.at from [mart].[event] e
--# reads_target_quoted refused SQL_TARGET_READ
select e.id, e.at from "mart"."EVENT" e
--# reads_target_in_join refused SQL_TARGET_READ
select o.order_id, o.ordered_at from sales.orders o left join mart.event e on e.id = o.order_id where e.id is null
--# reads_target_in_exists refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders o where not exists (select 1 from mart.event e where e.id = o.order_id)
--# reads_target_in_scalar refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders where ordered_at > (select max(at) from mart.event)
--# reads_target_in_cte refused SQL_TARGET_READ
with seen as (select id from mart.event) select order_id, ordered_at from sales.orders where order_id not in (select id from seen)
--# reads_target_in_apply refused SQL_TARGET_READ
select o.order_id, o.ordered_at from sales.orders o cross apply (select top 1 e.at from mart.event e where e.id = o.order_id order by e.at) x
--# reads_target_in_set refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders except select id, at from mart.event
--# reads_target_behind_comma refused SQL_TARGET_READ
select o.order_id, o.ordered_at from sales.orders o, mart /* x */ . event e
--# reads_dbt_temp refused SQL_TARGET_READ
select id, at from mart.event__dbt_tmp
--# reads_target_in_in refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders where order_id in (select id from mart.event)
--# reads_target_in_case refused SQL_TARGET_READ
select order_id, ordered_at, case when (select count(*) from mart.event) > 0 then 1 else 0 end as f from sales.orders
--# reads_target_in_order_by refused SQL_TARGET_READ
select top 5 order_id, ordered_at from sales.orders order by (select max(id) from mart.event)
--# reads_target_in_join_condition refused SQL_TARGET_READ
select o.order_id, o.ordered_at from sales.orders o join sales.returns r on r.order_id = (select min(id) from mart.event)
--# reads_target_in_values refused SQL_TARGET_READ
select o.order_id, v.x from sales.orders o cross apply (values ((select max(id) from mart.event))) v (x)
--# target_in_database_of_other_case refused SQL_TARGET_READ
select x from [SHOP].[Mart].[EVENT] as e
--# target_with_trailing_blank refused SQL_TARGET_READ
select x from mart.[event ]
--# target_in_wide_letters refused SQL_TARGET_READ
select x from mart.ＥＶＥＮＴ
--# target_in_the_argument_of_a_rowset refused SQL_TARGET_READ
select s.value from raw.orders as o cross apply string_split((select max(tags) from mart.event), ',') as s
