select
    cast(f.time_hour as datetime2(6)) as time_hour,
    cast(c.carrier_id as smallint) as carrier_id,
    cast(f.flight as int) as flight,
    cast(o.airport_id as smallint) as origin_id,
    cast(d.airport_id as smallint) as destination_id,
    cast(f.tailnum as nvarchar(10)) as tail_number,
    cast(f.sched_dep_time as smallint) as scheduled_departure_local,
    cast(f.dep_delay as smallint) as departure_delay_minutes,
    cast(f.arr_delay as smallint) as arrival_delay_minutes,
    cast(f.air_time as smallint) as air_time_minutes,
    cast(f.distance * 1.609344 as decimal(9, 3)) as distance_km,
    cast(case when f.dep_time is null then 1 else 0 end as bit) as is_cancelled
from {{ source('raw', 'flights') }} as f
inner join {{ source('raw', 'carriers') }} as c
    on c.carrier = f.carrier
inner join {{ source('raw', 'airports') }} as o
    on o.faa = f.origin
inner join {{ source('raw', 'airports') }} as d
    on d.faa = f.dest
