GRANT SELECT ON {{control}}.{{table}} TO {{runtime}};
GO
