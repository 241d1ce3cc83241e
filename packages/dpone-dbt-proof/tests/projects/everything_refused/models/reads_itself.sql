select at, id from {{ this }}
