--# nolock_with refused SQL_DIRTY_READ
select order_id, ordered_at from sales.orders with (nolock)
--# nolock_legacy refused SQL_DIRTY_READ
select order_id, ordered_at from sales.orders (nolock)
--# nolock_after_alias refused SQL_DIRTY_READ
select o.order_id from sales.orders as o with (NOLOCK) join sales.returns r on r.order_id = o.order_id
--# readpast refused SQL_DIRTY_READ
select order_id from sales.orders with (readpast)
--# readuncommitted_among_others refused SQL_DIRTY_READ
select order_id from sales.orders with (index (ix_a), readuncommitted)
--# nolock_in_subquery refused SQL_DIRTY_READ
select order_id from sales.orders where order_id in (select order_id from sales.returns with (nolock))
--# holdlock refused SQL_LOCK_HINT
select order_id from sales.orders with (holdlock)
--# updlock refused SQL_LOCK_HINT
select order_id from sales.orders with (updlock, index (ix_a))
--# tablockx refused SQL_LOCK_HINT
select order_id from sales.orders with (tablockx)
--# serializable_hint refused SQL_LOCK_HINT
select order_id from sales.orders o with (serializable)
--# rowlock_legacy refused SQL_LOCK_HINT
select order_id from sales.orders (rowlock)
--# snapshot_hint refused SQL_LOCK_HINT
select order_id from sales.orders with (snapshot)
--# remote_join_hint refused SQL_HINT
select o.order_id from sales.orders o inner remote join sales.returns r on r.order_id = o.order_id
--# keepidentity_hint refused SQL_HINT
select order_id from sales.orders with (keepidentity)
