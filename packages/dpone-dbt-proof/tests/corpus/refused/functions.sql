--# scalar_user_function refused SQL_USER_FUNCTION
select order_id, ordered_at, dbo.fn_price(order_id) as price from sales.orders
--# scalar_function_three_parts refused SQL_USER_FUNCTION
select order_id, shop.dbo.fn_price(order_id) as price from sales.orders
--# scalar_function_bracketed refused SQL_USER_FUNCTION
select order_id, [dbo].[fn price](order_id) as price from sales.orders
--# scalar_function_in_where refused SQL_USER_FUNCTION
select order_id, ordered_at from sales.orders where dbo.is_open(ordered_at) = 1
--# clock_getdate refused SQL_CLOCK
select order_id, getdate() as loaded_at from sales.orders
--# clock_in_filter refused SQL_CLOCK
select order_id, ordered_at from sales.orders where ordered_at >= dateadd(day, -1, cast(GETDATE() as date))
--# clock_sysutcdatetime refused SQL_CLOCK
select order_id, SysUtcDateTime() as loaded_at from sales.orders
--# clock_current_timestamp refused SQL_CLOCK
select order_id, current_timestamp as loaded_at from sales.orders
--# clock_getutcdate refused SQL_CLOCK
select order_id, getutcdate() as loaded_at from sales.orders
--# clock_sysdatetimeoffset refused SQL_CLOCK
select order_id, sysdatetimeoffset() at time zone 'UTC' as loaded_at from sales.orders
--# random_newid refused SQL_RANDOM
select newid() as row_uid, order_id from sales.orders
--# random_order_by refused SQL_RANDOM
select top 10 order_id, ordered_at from sales.orders order by newid()
--# random_rand refused SQL_RANDOM
select order_id, rand(order_id) as r from sales.orders
--# random_bytes refused SQL_RANDOM
select order_id, crypt_gen_random(8) as r from sales.orders
--# session_login refused SQL_SESSION
select order_id, suser_sname() as loaded_by from sales.orders
--# session_user_word refused SQL_SESSION
select order_id, system_user as loaded_by from sales.orders
--# session_context_value refused SQL_SESSION
select order_id, session_context(N'tenant') as tenant from sales.orders
--# session_host refused SQL_SESSION
select order_id, host_name() as host from sales.orders
--# server_property refused SQL_SESSION
select order_id, serverproperty('MachineName') as machine from sales.orders
--# object_lookup refused SQL_SESSION
select order_id, object_id('mart.event') as target from sales.orders
--# global_variable refused SQL_VARIABLE
select order_id, @@servername as server from sales.orders
--# unknown_function refused SQL_FUNCTION
select order_id, date_format(ordered_at, '%Y') as year from sales.orders
--# other_dialect_function refused SQL_FUNCTION
select order_id, to_char(ordered_at, 'YYYY') as year from sales.orders
--# change_tracking refused SQL_TEMPORAL
select c.order_id from changetable(changes sales.orders, 0) as c
--# full_text_contains refused SQL_FULL_TEXT
select post_id, published_at from blog.posts where contains(body, 'price')
--# full_text_table refused SQL_FULL_TEXT
select p.post_id, k.rank from blog.posts p join containstable(blog.posts, body, 'price') k on k.[key] = p.post_id
--# sequence_value refused SQL_SEQUENCE
select next value for sales.order_numbers as n, order_id from sales.orders
--# xml_value_method refused SQL_METHOD
select event_id, payload.value('(/event/@id)[1]', 'int') as id from web.xml_events
--# xml_nodes_method refused SQL_METHOD
select e.event_id, n.x.value('.', 'int') as id from web.xml_events e cross apply e.payload.nodes('/a/b') as n (x)
--# clr_static_method refused SQL_METHOD
select geography::Point(lat, lon, 4326) as place, trip_id from ops.trips
--# clr_instance_method refused SQL_USER_FUNCTION
select trip_id, start_place.STDistance(end_place) as metres from ops.trips
--# user_type_cast refused SQL_USER_TYPE
select cast(order_id as dbo.order_number) as order_number from sales.orders
--# hierarchy_type refused SQL_USER_TYPE
select cast(path as hierarchyid) as node from hr.departments
--# predict_model refused SQL_CONSTRUCT
select d.id, p.score from predict(model = 'm', data = sales.orders as d) with (score float) as p
--# schema_of_builtin refused SQL_USER_FUNCTION
select order_id, dbo.getdate() as t from sales.orders
--# xml_value_of_an_expression refused SQL_METHOD
select event_id, (cast(payload as xml)).value('(/event/@id)[1]', 'int') as id from web.xml_events
--# parse_with_culture refused SQL_SESSION
select parse(amount_text as money using 'de-DE') as amount from finance.raw_lines
--# format_without_culture refused SQL_SESSION
select format(ordered_at, 'MMMM') as month from sales.orders
--# datename_of_month refused SQL_SESSION
select datename(month, ordered_at) as month from sales.orders
--# isdate_of_text refused SQL_SESSION
select order_id from sales.orders where isdate(note) = 1
