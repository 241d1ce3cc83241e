select
    time_hour,
    airport_id
from {{ ref('airport_hour_event') }}
group by time_hour, airport_id
having count(*) > 1
