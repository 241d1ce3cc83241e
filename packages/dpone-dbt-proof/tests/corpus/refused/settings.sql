--# weekday_by_datefirst refused SQL_SESSION
select order_id, datepart(weekday, ordered_at) as day_of_week from sales.orders
--# weekday_by_its_short_name refused SQL_SESSION
select order_id from sales.orders where datepart(dw, ordered_at) in (1, 7)
--# week_by_datefirst refused SQL_SESSION
select datepart(ww, ordered_at) as week, count(*) as n from sales.orders group by datepart(ww, ordered_at)
--# week_truncated refused SQL_SESSION
select datetrunc(week, ordered_at) as week_at from sales.orders
--# month_names_by_style refused SQL_SESSION
select order_id, convert(varchar(11), ordered_at, 106) as day_text from sales.orders
--# literal_by_dateformat refused SQL_SESSION
select order_id, cast('01/02/2020' as date) as since from sales.orders
--# literal_with_month_name refused SQL_SESSION
select order_id, convert(date, '1 mai 2020') as since from sales.orders
--# dashed_literal_as_datetime refused SQL_SESSION
select order_id, cast('2020-02-01' as datetime) as since from sales.orders
--# dashed_literal_in_dateadd refused SQL_SESSION
select order_id, dateadd(day, order_id, '2020-02-01') as due_at from sales.orders
--# literal_year refused SQL_SESSION
select order_id from sales.orders where year('1.2.20') = year_no
