--# target_with_invisible_character refused SQL_TARGET_READ
select e.id, e.at from [mart].[event​] as e
--# target_with_accent refused SQL_TARGET_READ
select e.id, e.at from [mart].[évent] as e
--# target_with_weightless_emoji refused SQL_TARGET_READ
select e.id, e.at from [mart].[event😀] as e
--# target_with_soft_hyphen_in_schema refused SQL_TARGET_READ
select e.id, e.at from [ma­rt].event as e
--# target_in_decomposed_letters refused SQL_TARGET_READ
select e.id, e.at from mart.[évent] as e
--# target_called_target refused SQL_TARGET_READ
select target.id, target.at from mart.event as target
--# target_in_parentheses refused SQL_TARGET_READ
select e.id, e.at from (mart.event) as e
--# target_in_nested_join refused SQL_TARGET_READ
select o.order_id, o.ordered_at
from sales.orders o
join (mart.event e join sales.lines l on l.line_id = e.id) on o.order_id = e.id
--# target_beside_cte_of_its_name refused SQL_TARGET_READ
with event as (select order_id, ordered_at from sales.orders)
select e.id, v.ordered_at from mart.event e join event v on v.order_id = e.id
--# cte_named_like_the_whole_target refused SQL_TARGET_READ
with [mart.event] as (select order_id from sales.orders)
select id, at from mart.event
--# cte_named_like_the_schema refused SQL_TARGET_READ
with mart as (select order_id from sales.orders)
select e.id, e.at from mart.event e, mart m
--# target_under_any refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders where order_id = any (select id from mart.event)
--# target_under_not_all refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders where not order_id <> all (select id from mart.event)
--# target_in_intersect_inside_exists refused SQL_TARGET_READ
select o.order_id, o.ordered_at from sales.orders o
where exists (select o.order_id intersect select e.id from mart.event e)
--# target_in_nested_set_expression refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders
union all (select id, at from sales.archive except (select id, at from mart.event))
--# target_in_for_json refused SQL_TARGET_READ
select o.order_id, (select e.id from mart.event e where e.id = o.order_id order by e.id for json path) as j
from sales.orders o
--# target_in_for_xml refused SQL_TARGET_READ
select o.order_id, (select e.id as [*] from mart.event e where e.id = o.order_id order by e.id for xml path(''))
    as j from sales.orders o
--# target_in_having refused SQL_TARGET_READ
select customer_id, max(ordered_at) as last_at from sales.orders
group by customer_id having count(*) > (select count(*) from mart.event)
--# target_in_window_partition refused SQL_TARGET_READ
select order_id, sum(amount) over (partition by (select max(id) from mart.event), store_id order by ordered_at) as s
from sales.orders
--# target_pivoted refused SQL_TARGET_READ
select p.id, p.web from mart.event pivot (max(amount) for channel in ([web], [shop])) as p
--# target_unpivoted refused SQL_TARGET_READ
select u.id, u.amount from mart.event unpivot (amount for measure in (net, gross)) as u
--# target_in_offset refused SQL_TARGET_READ
select order_id from sales.orders
order by order_id offset (select count(*) from mart.event) rows fetch next 5 rows only
--# target_in_top refused SQL_TARGET_READ
select top ((select count(*) from mart.event)) order_id from sales.orders order by order_id
--# target_in_openjson_with refused SQL_TARGET_READ
select j.sku from sales.orders o
cross apply openjson((select max(payload) from mart.event)) with (sku nvarchar(20) '$.sku') j
--# target_in_string_agg_order refused SQL_TARGET_READ
select string_agg(note, ',') within group (order by note, (select max(id) from mart.event)) as notes from sales.orders
--# target_in_trim refused SQL_TARGET_READ
select order_id, trim((select max(mark) from mart.event) from note) as note from sales.orders
--# target_in_json_object refused SQL_TARGET_READ
select order_id, json_object('seen': (select max(id) from mart.event)) as j from sales.orders
--# target_in_at_time_zone refused SQL_TARGET_READ
select order_id, (select max(at) from mart.event) at time zone 'UTC' as at from sales.orders
--# target_in_like_pattern refused SQL_TARGET_READ
select order_id from sales.orders where note like '%' + (select max(mark) from mart.event) escape '!'
--# target_in_grouping_set refused SQL_TARGET_READ
select count(*) as n from sales.orders group by grouping sets ((store_id, (select max(id) from mart.event)), ())
--# target_in_generate_series refused SQL_TARGET_READ
select o.order_id, s.value from sales.orders o, generate_series(1, (select max(id) from mart.event)) s
--# target_behind_comments refused SQL_TARGET_READ
select e.id, e.at from sales.orders o right/**/join/* mart.x */mart/**/./* . */event -- sales.x
    e on e.id = o.order_id
--# target_after_an_escaped_quote refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders where note = 'a'' from sales.x'
union all select id, at from mart.event
--# target_after_a_text_of_comment refused SQL_TARGET_READ
select order_id, ordered_at from sales.orders where note = '/*'
union all select id, at from mart.event where note = '*/'
--# dbt_backup_of_the_target refused SQL_TARGET_READ
select id, at from mart.event__DBT_Backup
--# four_parts_without_database refused SQL_REMOTE
select o.order_id from [srv]...orders o
--# variable_with_concatenation refused SQL_VARIABLE
select @list += order_no from sales.orders
--# sequence_over_an_order refused SQL_SEQUENCE
select next value for sales.numbers over (order by order_id) as n from sales.orders
--# odbc_function refused SQL_NOT_TSQL
select order_id, {fn now()} as at from sales.orders
--# odbc_outer_join refused SQL_NOT_TSQL
select o.order_id from {oj sales.orders o left outer join sales.lines l on l.order_id = o.order_id}
--# quoted_clock refused SQL_CLOCK
select order_id, [getdate]() as at from sales.orders
--# clock_behind_a_comment refused SQL_CLOCK
select order_id, sysdatetime/* now */ ( ) at time zone 'UTC' as at from sales.orders
--# random_inside_a_hash refused SQL_RANDOM
select order_id, hashbytes('sha2_256', convert(nvarchar(36), newid(), 0)) as h from sales.orders
--# member_of_a_clr_column refused SQL_METHOD
select s.store_id, s.place.Lat as latitude from sales.stores s
--# property_of_a_column refused SQL_METHOD
select place.Long as longitude from sales.stores
--# history_of_a_joined_table refused SQL_TEMPORAL
select o.order_id from sales.orders o join ref.prices for system_time as of '20200101' p on p.sku = o.sku
--# rows_of_a_sample refused SQL_NONDETERMINISTIC
select order_id from sales.orders as o tablesample system (10 rows) repeatable (3)
--# dynamic_management_function refused SQL_SYSTEM_CATALOG
select o.order_id from sales.orders o cross apply sys.dm_exec_sql_text(o.handle) t
--# partition_function refused SQL_CONSTRUCT
select $partition.by_day(ordered_at) as p from sales.orders
--# full_text_without_column refused SQL_FULL_TEXT
select order_id from sales.orders where freetext(*, 'late')
--# dirty_read_among_plan_hints refused SQL_DIRTY_READ
select order_id from sales.orders as o with (forceseek, index(ix_day), nolock)
--# delete_with_output_in_cte refused SQL_MUTATION
with gone as (delete from sales.orders output deleted.order_id) select order_id from gone
--# columns_replaced refused SQL_CONSTRUCT
select * replace (1 as note) from sales.orders
