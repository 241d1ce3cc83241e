"""A SQL Server endpoint for the lab: T-SQL over TDS in front of an embedded PostgreSQL."""
