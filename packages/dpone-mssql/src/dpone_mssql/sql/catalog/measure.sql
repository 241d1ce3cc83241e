-- name: context
SELECT DB_NAME(), CONVERT(int, SERVERPROPERTY('ProductMajorVersion')), USER_NAME(), USER_ID(), d.[owner_sid],
    d.[is_trustworthy_on], d.[is_db_chaining_on],
    HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'VIEW DEFINITION'),
    HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW ANY DEFINITION'),
    HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW ANY SECURITY DEFINITION')
FROM sys.databases AS d
WHERE d.[database_id] = DB_ID();
-- name: target
SELECT o.[object_id], o.[schema_id], ISNULL(o.[principal_id], s.[principal_id])
FROM sys.objects AS o
INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
WHERE s.[name] = ? AND o.[name] = ? AND o.[type] = 'U';
-- name: schemas
SELECT s.[schema_id], s.[name], s.[principal_id] FROM sys.schemas AS s;
-- name: database_principals
SELECT p.[principal_id], p.[name], p.[type_desc], CASE WHEN p.[type] = 'R' THEN 1 ELSE 0 END,
    p.[owning_principal_id], p.[sid]
FROM sys.database_principals AS p;
-- name: database_members
SELECT m.[role_principal_id], m.[member_principal_id] FROM sys.database_role_members AS m;
-- name: database_permissions
SELECT p.[class], p.[major_id], p.[minor_id], p.[grantee_principal_id], p.[permission_name], p.[state]
FROM sys.database_permissions AS p
WHERE p.[class] IN (0, 1, 3, 4);
-- name: server_principals
SELECT p.[principal_id], p.[name], p.[type_desc], CASE WHEN p.[type] = 'R' THEN 1 ELSE 0 END, NULL, p.[sid]
FROM sys.server_principals AS p;
-- name: server_members
SELECT m.[role_principal_id], m.[member_principal_id] FROM sys.server_role_members AS m;
-- name: server_permissions
SELECT p.[class], p.[major_id], p.[minor_id], p.[grantee_principal_id], p.[permission_name], p.[state]
FROM sys.server_permissions AS p
WHERE p.[class] IN (100, 101);
-- name: modules
SELECT m.[object_id], o.[type], s.[name], o.[name], ISNULL(o.[principal_id], s.[principal_id]),
    m.[definition], m.[execute_as_principal_id]
FROM sys.sql_modules AS m
INNER JOIN sys.objects AS o ON o.[object_id] = m.[object_id]
INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
WHERE o.[is_ms_shipped] = 0;
-- name: database_triggers
SELECT t.[object_id], t.[name], t.[is_disabled], m.[definition], m.[execute_as_principal_id]
FROM sys.triggers AS t
LEFT JOIN sys.sql_modules AS m ON m.[object_id] = t.[object_id]
WHERE t.[parent_class] = 0 AND t.[is_ms_shipped] = 0;
-- name: server_triggers
SELECT t.[name] FROM sys.server_triggers AS t WHERE t.[is_ms_shipped] = 0 AND t.[is_disabled] = 0;
-- name: dependants
SELECT d.[referencing_id] FROM sys.sql_expression_dependencies AS d
WHERE d.[referenced_id] = ? AND d.[referencing_class] = 1;
-- name: synonyms
SELECT n.[object_id], s.[name], n.[name], n.[base_object_name]
FROM sys.synonyms AS n
INNER JOIN sys.schemas AS s ON s.[schema_id] = n.[schema_id];
-- name: cascades
SELECT f.[name] FROM sys.foreign_keys AS f
WHERE f.[parent_object_id] = ? AND (f.[delete_referential_action] <> 0 OR f.[update_referential_action] <> 0);
-- name: assemblies
SELECT a.[name] FROM sys.assemblies AS a WHERE a.[is_user_defined] = 1;
-- name: features
SELECT t.[is_replicated], t.[is_merge_published], t.[is_sync_tran_subscribed], t.[is_tracked_by_cdc],
    t.[temporal_type], t.[is_memory_optimized], t.[is_external], t.[is_filetable]
FROM sys.tables AS t
WHERE t.[object_id] = ?;
-- name: ledger
SELECT t.[ledger_type] FROM sys.tables AS t WHERE t.[object_id] = ?;
-- name: chaining
SELECT CONVERT(int, c.[value_in_use]) FROM sys.configurations AS c WHERE c.[name] = N'cross db ownership chaining';
-- name: jobs
SELECT j.[name], p.[step_id], p.[subsystem], p.[command]
FROM [msdb].[dbo].[sysjobs] AS j
INNER JOIN [msdb].[dbo].[sysjobsteps] AS p ON p.[job_id] = j.[job_id];
-- name: epoch
SELECT e.[epoch] FROM {{control}}.[ddl_epochs] AS e WHERE e.[target_object_id] = ?;
-- name: coverage
SELECT c.[covered_object_id], c.[schema_name], c.[object_name],
    CASE WHEN EXISTS (
        SELECT 1 FROM sys.objects AS o INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
        WHERE o.[object_id] = c.[covered_object_id] AND s.[name] = c.[schema_name] AND o.[name] = c.[object_name]
    ) THEN 1 ELSE 0 END
FROM {{control}}.[ddl_coverage] AS c
WHERE c.[target_object_id] = ?;
-- name: column
SELECT t.[name], c.[max_length], c.[precision], c.[scale], c.[is_computed], c.[default_object_id],
    t.[is_user_defined]
FROM sys.columns AS c
INNER JOIN sys.types AS t ON t.[user_type_id] = c.[user_type_id]
WHERE c.[object_id] = ? AND c.[name] = ?;
-- name: default
SELECT k.[definition] FROM sys.default_constraints AS k WHERE k.[object_id] = ?;
-- name: session
SELECT s.[language], s.[date_format], DATEDIFF(MINUTE, SYSUTCDATETIME(), SYSDATETIME())
FROM sys.dm_exec_sessions AS s
WHERE s.[session_id] = @@SPID;
