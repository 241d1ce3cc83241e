GRANT SELECT, INSERT, UPDATE ON {{control}}.{{table}} TO {{runtime}};
GO
