select cast(p.listed_on as date) as listed_on, cast(p.product_id as int) as product_id, cast(1 as bit) as is_listed
from {{ source('master', 'products') }} as p
where p.listed_on is not null
union all
select cast(p.delisted_on as date), cast(p.product_id as int), cast(0 as bit)
from {{ source('master', 'products') }} as p
where p.delisted_on is not null
