select s.at, s.id
from {{ ref('nowhere') }} as s
