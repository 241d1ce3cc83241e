select c.competitor_id, c.country_id
from {{ source('master', 'competitors') }} as c
where c.is_active = 1
