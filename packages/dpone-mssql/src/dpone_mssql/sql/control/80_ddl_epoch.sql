-- The epoch of a target moves when anybody changes the target or an object that its model reads.
CREATE TABLE {{control}}.[ddl_epochs] (
    [target_object_id] int NOT NULL,
    [schema_name] nvarchar(128) NOT NULL,
    [object_name] nvarchar(128) NOT NULL,
    [epoch] bigint NOT NULL,
    CONSTRAINT [pk_ddl_epochs] PRIMARY KEY ([target_object_id]),
    CONSTRAINT [ck_ddl_epochs_epoch] CHECK ([epoch] >= 1)
);
GO
-- Covered objects by name, since a DDL event names its object and a dropped object has no id any more.
CREATE TABLE {{control}}.[ddl_coverage] (
    [target_object_id] int NOT NULL,
    [covered_object_id] int NOT NULL,
    [schema_name] nvarchar(128) NOT NULL,
    [object_name] nvarchar(128) NOT NULL,
    CONSTRAINT [pk_ddl_coverage] PRIMARY KEY ([target_object_id], [covered_object_id]),
    CONSTRAINT [fk_ddl_coverage_target] FOREIGN KEY ([target_object_id])
        REFERENCES {{control}}.[ddl_epochs] ([target_object_id])
);
GO
-- Fires inside the transaction of the DDL. dbt's temp relations and test views are other objects and pass.
CREATE TRIGGER [dpone_ddl_epoch] ON DATABASE WITH EXECUTE AS 'dbo' FOR DDL_DATABASE_LEVEL_EVENTS
AS
BEGIN
    -- Reading EVENTDATA needs these of whatever session runs the DDL.
    SET NOCOUNT ON;
    SET ANSI_WARNINGS ON;
    SET ANSI_PADDING ON;
    SET ARITHABORT ON;
    SET CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    DECLARE @schema nvarchar(128) = EVENTDATA().value('(/EVENT_INSTANCE/SchemaName)[1]', 'nvarchar(128)');
    DECLARE @object nvarchar(128) = EVENTDATA().value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(128)');
    DECLARE @parent nvarchar(128) = EVENTDATA().value('(/EVENT_INSTANCE/TargetObjectName)[1]', 'nvarchar(128)');
    DECLARE @freeze int;
    IF NOT EXISTS (
        SELECT 1 FROM {{control}}.[ddl_coverage] AS c
        WHERE c.[schema_name] = @schema AND (c.[object_name] = @object OR c.[object_name] = @parent)
    )
        RETURN;
    -- A running mutation holds this lock shared: its objects don't change under it, the DDL fails instead.
    EXEC @freeze = sys.sp_getapplock @Resource = N'dpone:ddl-freeze', @LockMode = N'Exclusive',
        @LockOwner = N'Transaction', @LockTimeout = 0;
    IF @freeze IS NULL OR @freeze < 0
        THROW 51101, N'DPONE_MSSQL_DDL_FROZEN', 1;
    UPDATE e SET e.[epoch] = e.[epoch] + 1
    FROM {{control}}.[ddl_epochs] AS e
    WHERE EXISTS (
        SELECT 1 FROM {{control}}.[ddl_coverage] AS c
        WHERE c.[target_object_id] = e.[target_object_id]
            AND c.[schema_name] = @schema AND (c.[object_name] = @object OR c.[object_name] = @parent)
    );
END;
GO
