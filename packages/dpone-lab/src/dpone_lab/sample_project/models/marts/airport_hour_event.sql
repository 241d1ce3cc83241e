select
    cast(w.time_hour as datetime2(6)) as time_hour,
    cast(a.airport_id as smallint) as airport_id,
    cast(w.temperature_f as decimal(6, 2)) as temperature_f,
    cast(w.wind_speed_mph as decimal(9, 5)) as wind_speed_mph,
    cast(w.precipitation_inches as decimal(4, 2)) as precipitation_inches,
    cast(w.pressure_mbar as decimal(6, 1)) as pressure_mbar,
    cast(w.visibility_miles as decimal(4, 2)) as visibility_miles,
    cast(coalesce(h.scheduled_departures, 0) as int) as scheduled_departures,
    cast(coalesce(h.cancelled_departures, 0) as int) as cancelled_departures
from {{ source('raw', 'weather') }} as w
inner join {{ source('raw', 'airports') }} as a
    on a.faa = w.origin
left join (
    select
        f.origin,
        f.time_hour,
        count(*) as scheduled_departures,
        sum(case when f.dep_time is null then 1 else 0 end) as cancelled_departures
    from {{ source('raw', 'flights') }} as f
    group by f.origin, f.time_hour
) as h
    on h.origin = w.origin and h.time_hour = w.time_hour
