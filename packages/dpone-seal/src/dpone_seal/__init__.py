"""dpone_parquet_v1 artifacts in a create-only versioned object store."""
