GRANT SELECT, INSERT ON {{control}}.{{table}} TO {{runtime}};
GO
