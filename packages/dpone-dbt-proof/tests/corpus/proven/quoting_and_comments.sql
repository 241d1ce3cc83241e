--# brackets_and_blanks reads sales.order lines, sales.orders
select [o].[order id], [o].[ordered at], [l].[line no]
from [sales].[orders] as [o]
inner join [sales].[order lines] as [l] on [l].[order id] = [o].[order id]
--# double_quotes reads sales.orders
select "o"."order_id", "o"."ordered_at" from "sales"."orders" as "o"
--# three_part_names reads sales.orders
select order_id, ordered_at from shop.sales.orders
--# mixed_quoting_parts reads sales.orders, crm.customers
select o.order_id, o.ordered_at, c.customer_id
from "shop".[sales].orders o join [shop]."crm"."customers" c on c.customer_id = o.customer_id
--# escaped_bracket reads sales.odd]name
select a.id, a.at from sales.[odd]]name] a
--# unicode_names reads vertrieb.aufträge, 销售.订单
select a.auftrag_id, a.größe, b.数量
from vertrieb.aufträge as a
inner join 销售.订单 as b on b.订单号 = a.auftrag_id
--# comments_everywhere reads sales.orders
/* a header
   with /* a nested comment from mart.event */ inside */
select -- the key
    order_id /* , secret from mart.event */ , ordered_at -- , now: getdate()
from /* sales.nothing */ sales /* schema */ . /* table */ orders -- join mart.event
where 1 = 1 -- ; drop table x
--# keywords_in_strings reads web.events
select event_id, occurred_at from web.events where kind in ('select into', 'openrowset(', 'exec sp_x', N'from mart.event; --')
--# reserved_as_columns reads ops.user, ops.order
select u.[user], u.[from], o.[order], o.[index] from ops.[user] u join ops.[order] o on o.[user] = u.[user]
--# alias_forms reads sales.orders
select id = order_id, 'at' = ordered_at, amount as [net amount], tax "tax amount" from sales.orders
--# no_alias_keyword reads sales.orders
select o.order_id oid, o.ordered_at oat from sales.orders o
--# odd_whitespace reads sales.orders
	select
		order_id	,
		ordered_at
	from
		sales.orders


	where	amount>0
--# names_like_hints reads ops.locks
select l.lock_id, l.taken_at, l.snapshot, l.hash, l.loop from ops.locks l where l.rowlock_count > 0
--# hex_and_money_literals reads finance.ledger_entries
select entry_id, booked_at, case when flags & 0x0F = 0x01 then $12.50 else 1e3 end as fee from finance.ledger_entries
--# negative_and_unary reads finance.ledger_entries
select entry_id, booked_at, -amount as reversed, +amount as same, ~flags as inverted, amount % 10 as cents from finance.ledger_entries
