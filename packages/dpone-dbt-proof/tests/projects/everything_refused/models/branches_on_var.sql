select at, id from raw.sales where {{ pick(var('mode', 'full')) }}
