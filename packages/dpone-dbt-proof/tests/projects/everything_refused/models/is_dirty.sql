select at, id from raw.sales with (nolock)
