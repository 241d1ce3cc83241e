select
    time_hour,
    carrier_id,
    flight
from {{ ref('flight_departure_event') }}
group by time_hour, carrier_id, flight
having count(*) > 1
