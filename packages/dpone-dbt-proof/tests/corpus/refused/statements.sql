--# insert_select refused SQL_MUTATION
insert into sales.copy (id) select order_id from sales.orders
--# delete_old refused SQL_MUTATION
delete from sales.orders where ordered_at < '2019-01-01'
--# update_statement refused SQL_MUTATION
update o set amount = 0 from sales.orders o
--# merge_statement refused SQL_MUTATION
merge sales.target t using sales.orders s on s.order_id = t.order_id when matched then delete;
--# truncate_table refused SQL_MUTATION
truncate table sales.orders
--# drop_after_select refused SQL_MUTATION
select order_id from sales.orders drop table sales.orders
--# exec_procedure refused SQL_MUTATION
exec sales.load_orders
--# exec_string refused SQL_MUTATION
select order_id from sales.orders where 1 = 1 exec ('drop table sales.orders')
--# create_view refused SQL_MUTATION
create view sales.v as select order_id from sales.orders
--# waitfor_delay refused SQL_MUTATION
waitfor delay '00:00:10' select order_id from sales.orders
--# two_selects refused SQL_SEVERAL_STATEMENTS
select order_id from sales.orders; select order_id from sales.returns
--# trailing_semicolon refused SQL_SEMICOLON
select order_id, ordered_at from sales.orders;
--# semicolon_with refused SQL_SEMICOLON
;with o as (select order_id from sales.orders) select order_id from o
--# declare_variable refused SQL_VARIABLE
declare @from date = '2020-01-01'; select order_id from sales.orders where ordered_at >= @from
--# select_into refused SQL_INTO
select order_id, ordered_at into sales.copy from sales.orders
--# select_into_temporary refused SQL_INTO
select order_id into #orders from sales.orders
--# select_assignment refused SQL_VARIABLE
select @total = sum(amount) from sales.orders
--# output_subquery refused SQL_MUTATION
select x.order_id from (delete from sales.orders output deleted.order_id) as x
--# no_query_at_all refused SQL_NOT_A_QUERY
-- nothing but a comment
--# set_option_first refused SQL_NOT_A_QUERY
set nocount on
--# if_exists refused SQL_NOT_A_QUERY
if exists (select 1 from sales.orders) select order_id from sales.orders
--# grant_in_model refused SQL_MUTATION
grant select on sales.orders to public
--# dbcc_command refused SQL_MUTATION
dbcc checkident ('sales.orders')
--# batch_separator refused SQL_SEVERAL_STATEMENTS
select order_id, ordered_at from sales.orders
go
--# all_columns_except_some refused SQL_CONSTRUCT
select * except (note) from sales.orders
