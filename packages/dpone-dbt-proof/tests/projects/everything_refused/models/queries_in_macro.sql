{{ hidden_query() }} select at, id from raw.sales
