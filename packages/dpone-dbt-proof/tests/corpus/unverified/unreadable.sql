--# unclosed_string unverified SQL_LEXICAL 1:45
select order_id from sales.orders where x = 'abc
--# unclosed_bracket unverified SQL_LEXICAL 2:6
select order_id
from [sales.orders
--# unclosed_comment unverified SQL_LEXICAL 1:17
select order_id /* and so on from sales.orders
--# unclosed_nested_comment unverified SQL_LEXICAL 1:8
select /* a /* b */ order_id from sales.orders
--# unclosed_quoted_name unverified SQL_LEXICAL 1:8
select "order_id from sales.orders
--# zero_width_space unverified SQL_LEXICAL 1:16
select order_id​ from sales.orders
--# missing_parenthesis unverified SQL_SYNTAX 2:1
select (order_id + 1
from sales.orders as o
--# missing_from_item unverified SQL_SYNTAX 1:22
select order_id from where x = 1
--# double_comma unverified SQL_SYNTAX 1:16
select order_id,, ordered_at from sales.orders
--# stray_end unverified SQL_SYNTAX 1:19
select case x end from sales.orders
--# graph_match unverified SQL_SYNTAX 3:15
select p.name
from social.person p, social.likes l, social.person q
where match(p -(l)-> q)
--# half_a_join unverified SQL_SYNTAX 1:39
select o.order_id from sales.o o join on o.order_id = 1
--# select_star_comma unverified SQL_SYNTAX 1:9
select *, from sales.orders
--# where_without_condition unverified SQL_SYNTAX 1:35
select order_id from sales.orders where
--# between_without_and unverified SQL_SYNTAX 1:53
select order_id from sales.orders where x between 1 or 2
--# in_without_list unverified SQL_SYNTAX 1:43
select order_id from sales.orders where x in
--# cte_without_body unverified SQL_SYNTAX 1:8
with a select order_id from sales.orders
--# table_function_unknown unverified SQL_TABLE_FUNCTION 1:24
select f.order_id from sales.orders_of_day('2020-01-01') as f
--# table_function_applied unverified SQL_TABLE_FUNCTION 1:60
select o.order_id, p.price from sales.orders o cross apply sales.price_at(o.product_id, o.ordered_at) p
--# database_of_other_case unverified SQL_NAME_CASE 1:22
select order_id from SHOP.sales.orders
--# unbalanced_close unverified SQL_SYNTAX 1:36
select order_id from sales.orders o) x
--# over_without_parenthesis unverified SQL_SYNTAX 1:36
select row_number() over partition by a from sales.orders
--# group_without_by unverified SQL_SYNTAX 1:44
select a, count(*) from sales.orders group a
--# join_without_condition unverified SQL_SYNTAX 1:39
select o.order_id from sales.orders o join sales.returns r where r.order_id = o.order_id
--# nothing_selected unverified SQL_SYNTAX 1:8
select from sales.orders
--# empty_list unverified SQL_SYNTAX 1:47
select order_id from sales.orders where x in ()
--# derived_table_without_alias unverified SQL_SYNTAX 3:1
select a.order_id
from (select order_id from sales.orders)
where order_id > 1
--# when_without_then unverified SQL_SYNTAX 1:15
select case x when 1 2 end as y from sales.orders
--# equals_twice unverified SQL_SYNTAX 1:45
select order_id from sales.orders where x = = 1
--# arrow unverified SQL_SYNTAX 1:13
select note->>'$.a' as a from sales.orders
--# from_before_select unverified SQL_SYNTAX 1:1
from sales.orders select order_id
--# union_distinct unverified SQL_SYNTAX 1:41
select order_id from sales.orders union distinct select order_id from sales.returns
--# offset_without_order unverified SQL_SYNTAX 1:42
select order_id from sales.orders offset 5 rows
--# table_expression_of_other_case unverified SQL_NAME_CASE 1:73
with Latest as (select order_id from sales.orders) select order_id from latest
--# function_without_argument unverified SQL_SYNTAX 1:38
select hashbytes('SHA2_256', email), ) as h from crm.contacts
--# unbalanced_open unverified SQL_SYNTAX 1:16
select datepart(iso_week, ordered_at as week from sales.orders
--# from_twice unverified SQL_SYNTAX 1:22
select order_id from from sales.orders
--# reserved_word_as_alias unverified SQL_SYNTAX 1:17
select order_id order from sales.orders
