"""ClickHouse staging, shadow, exact proof, exchange and UUID reconciliation."""
