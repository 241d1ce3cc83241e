"""Evidence-driven semantic refresh of dbt event facts from SQL Server to ClickHouse."""
