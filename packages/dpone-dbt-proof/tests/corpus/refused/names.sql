--# one_part_name refused SQL_ONE_PART_NAME
select order_id from orders
--# one_part_beside_cte refused SQL_ONE_PART_NAME
with a as (select order_id from sales.orders) select a.order_id from a join b on b.order_id = a.order_id
--# cte_used_before_definition refused SQL_ONE_PART_NAME
with a as (select order_id from b), b as (select order_id from sales.orders) select order_id from a
--# omitted_schema refused SQL_OMITTED_SCHEMA
select order_id from shop..orders
--# linked_server refused SQL_REMOTE
select order_id from erp.shop.sales.orders
--# linked_server_omitted_parts refused SQL_REMOTE
select order_id from erp...orders
--# other_database refused SQL_CROSS_DATABASE
select order_id from archive.sales.orders
--# other_database_in_subquery refused SQL_CROSS_DATABASE
select order_id from sales.orders where order_id in (select order_id from [archive].[sales].[orders])
--# openquery refused SQL_REMOTE
select order_id from openquery(erp, 'select order_id from orders')
--# openrowset_provider refused SQL_REMOTE
select a.order_id from openrowset('MSOLEDBSQL', 'Server=x;', 'select 1 as order_id') as a
--# openrowset_bulk refused SQL_REMOTE
select c.contents from openrowset(bulk 'c:\x.txt', single_clob) as c
--# opendatasource refused SQL_REMOTE
select o.order_id from opendatasource('MSOLEDBSQL', 'Server=x;').shop.sales.orders as o
--# temporary_table refused SQL_TEMP_TABLE
select order_id from #orders
--# global_temporary_table refused SQL_TEMP_TABLE
select order_id from ##orders
--# table_variable refused SQL_VARIABLE
select order_id from @orders
--# system_tables refused SQL_SYSTEM_CATALOG
select object_id, create_date from sys.objects
--# information_schema refused SQL_SYSTEM_CATALOG
select table_name from INFORMATION_SCHEMA.TABLES
--# system_table_other_case refused SQL_SYSTEM_CATALOG
select name from [SYS].[tables]
--# no_relation refused SQL_NO_RELATION
select 1 as id, cast('2020-01-01' as date) as at
--# only_values refused SQL_NO_RELATION
select v.id, v.at from (values (1, cast('2020-01-01' as date))) v (id, at)
--# only_rowset_function refused SQL_NO_RELATION
select value from generate_series(1, 10)
--# tempdb_object refused SQL_CROSS_DATABASE
select order_id from tempdb.dbo.orders
--# compatibility_view refused SQL_SYSTEM_CATALOG
select o.id, o.crdate from dbo.sysobjects as o
--# quoted_temporary_table refused SQL_TEMP_TABLE
select order_id from dbo.[#orders]
