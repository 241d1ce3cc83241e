-- Who this store is. One row; a runtime of another schema version refuses by name.
CREATE TABLE {{control}}.[store] (
    [id] tinyint NOT NULL,
    [store_id] nvarchar(36) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [schema_version] int NOT NULL,
    [installed_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_store] PRIMARY KEY ([id]),
    CONSTRAINT [uq_store_id] UNIQUE ([store_id]),
    CONSTRAINT [ck_store_one_row] CHECK ([id] = 1)
);
GO
INSERT INTO {{control}}.[store] ([id], [store_id], [schema_version], [installed_at])
VALUES (1, LOWER(CONVERT(nvarchar(36), NEWID())), {{schema_version}}, SYSUTCDATETIME());
GO
