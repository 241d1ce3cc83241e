--# json_value_columns reads web.events
select event_id, occurred_at,
    cast(json_value(payload, '$.user.id') as int) as user_id,
    json_value(payload, '$.page') as page,
    json_query(payload, '$.items') as items
from web.events
where isjson(payload) = 1
--# openjson_with_schema reads web.events
select e.event_id, e.occurred_at, i.sku, i.quantity
from web.events as e
cross apply openjson(e.payload, '$.items') with (
    sku nvarchar(40) '$.sku',
    quantity int '$.quantity',
    extra nvarchar(max) '$.extra' as json
) as i
--# openjson_default_schema reads web.events
select e.event_id, e.occurred_at, j.[key], j.value
from web.events e outer apply openjson(e.payload) as j
--# for_json_subquery reads sales.orders, sales.order_lines
select o.order_id, o.ordered_at,
    (select l.line_no, l.quantity from sales.order_lines l where l.order_id = o.order_id order by l.line_no for json path) as lines
from sales.orders o
--# for_xml_concatenation reads blog.posts, blog.tags
select p.post_id, p.published_at,
    stuff((select ', ' + t.name from blog.tags t where t.post_id = p.post_id order by t.name for xml path('')), 1, 2, '') as tags
from blog.posts p
--# string_agg_ordered reads blog.tags
select post_id, string_agg(name, N', ') within group (order by name) as tags from blog.tags group by post_id
--# text_functions reads crm.contacts
select contact_id, changed_at,
    upper(ltrim(rtrim(first_name))) as first_name,
    left(last_name, 1) + '.' as initial,
    replace(replace(phone, ' ', ''), '-', '') as phone,
    substring(email, charindex('@', email) + 1, len(email)) as domain,
    concat_ws(' ', title, first_name, last_name) as full_name,
    right(replicate('0', 8) + cast(contact_id as varchar(8)), 8) as code,
    patindex('%[0-9]%', phone) as first_digit,
    nullif(trim(note), '') as note,
    hashbytes('SHA2_256', email) as email_hash
from crm.contacts
--# like_with_escape reads web.page_views
select view_id, viewed_at from web.page_views where path like '/100!%/%' escape '!' or path not like '%[^a-z]%'
--# collation_and_case reads crm.contacts
select contact_id, changed_at,
    case status when 'A' then 'active' when 'P' then 'paused' else 'unknown' end as status
from crm.contacts
where email collate Latin1_General_100_BIN2 = lower(email) collate Latin1_General_100_BIN2
--# json_construct reads web.events
select event_id, occurred_at, json_object('id': event_id, 'at': occurred_at) as envelope from web.events
--# translate_and_format reads crm.contacts
select contact_id, changed_at, translate(phone, '()-', '   ') as phone,
    convert(char(7), changed_at, 126) as month, string_escape(note, 'json') as note
from crm.contacts
--# select_for_json_without_rows reads web.events
select e.event_id, e.occurred_at, (select e.page as page, e.visitor_id as visitor for json path, without_array_wrapper) as doc
from web.events e
--# xml_concatenation_as_text reads blog.posts, blog.tags
select p.post_id, p.published_at,
    stuff((select ', ' + t.name from blog.tags t where t.post_id = p.post_id order by t.name for xml path(''), type)
        .value('.', 'nvarchar(max)'), 1, 2, '') as tags
from blog.posts p
--# trim_characters_from_column reads crm.contacts
select c.contact_id, trim('+' from c.phone) as phone from crm.contacts as c where c.phone is not distinct from c.mobile
--# json_constructors reads crm.contacts
select contact_id, json_object('phone': phone, 'note': note null on null) as j, json_array(phone, note) as a
from crm.contacts
