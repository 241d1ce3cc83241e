-- What was written stays as it was written; only the installer could take this away.
CREATE TRIGGER {{control}}.{{trigger}} ON {{control}}.{{table}} INSTEAD OF UPDATE, DELETE
AS
THROW 51100, N'DPONE_MSSQL_CREATE_ONLY', 1;
GO
