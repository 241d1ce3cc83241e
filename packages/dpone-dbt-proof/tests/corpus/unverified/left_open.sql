--# comment_with_line_separator unverified SQL_LEXICAL 1:42
select order_id from sales.orders -- note  union all select id from mart.event
--# convert_to_date_without_style unverified SQL_CONVERSION 1:18
select order_id, convert(date, ordered_text) as ordered_on from sales.orders
--# convert_to_text_without_style unverified SQL_CONVERSION 1:18
select order_id, convert(varchar(30), ordered_at) as ordered_text from sales.orders
--# try_convert_with_computed_style unverified SQL_CONVERSION 1:18
select order_id, try_convert(datetime2(6), ordered_text, style_no) as ordered_at from sales.orders
--# comparison_with_a_date_of_two_orders unverified SQL_CONVERSION 1:55
select order_id from sales.orders where ordered_at >= '01.02.2020'
--# name_that_begins_with_a_dot unverified SQL_SYNTAX 1:22
select order_id from .sales.orders
--# type_before_a_text unverified SQL_SYNTAX 1:40
select order_id from x.y, (select date '2020-01-01' as d from sales.orders) q
--# table_expression_of_other_letters unverified SQL_NAME_CASE 1:75
with straße as (select order_id from sales.orders) select s.order_id from STRASSE as s
--# database_in_wide_letters unverified SQL_NAME_CASE 1:22
select order_id from ｓｈｏｐ.sales.orders
--# function_with_blank_in_its_name unverified SQL_TABLE_FUNCTION 1:60
select o.order_id, p.price from sales.orders o cross apply [sales].[price at](o.order_id) p
--# two_queries_without_semicolon unverified SQL_SYNTAX 1:35
select order_id from sales.orders select 1 as x
