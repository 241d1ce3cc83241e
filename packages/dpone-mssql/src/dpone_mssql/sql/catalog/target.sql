-- name: database
SELECT d.[name], d.[is_read_only], d.[delayed_durability], d.[is_read_committed_snapshot_on],
    CONVERT(int, SERVERPROPERTY('ProductMajorVersion'))
FROM sys.databases AS d
WHERE d.[database_id] = DB_ID();
-- name: object
SELECT o.[object_id], o.[type]
FROM sys.objects AS o
INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
WHERE s.[name] = ? AND o.[name] = ?;
-- name: permissions
SELECT HAS_PERMS_BY_NAME(?, N'OBJECT', N'SELECT'), HAS_PERMS_BY_NAME(?, N'OBJECT', N'INSERT'),
    HAS_PERMS_BY_NAME(?, N'OBJECT', N'UPDATE'), HAS_PERMS_BY_NAME(?, N'OBJECT', N'VIEW DEFINITION');
-- name: table
SELECT t.[temporal_type], t.[is_memory_optimized], t.[is_external], t.[is_filetable], t.[is_node], t.[is_edge],
    t.[is_replicated], t.[is_tracked_by_cdc]
FROM sys.tables AS t
WHERE t.[object_id] = ?;
-- name: ledger
SELECT t.[ledger_type] FROM sys.tables AS t WHERE t.[object_id] = ?;
-- name: columns
SELECT c.[name], t.[name], c.[max_length], c.[precision], c.[scale], c.[is_nullable], c.[collation_name],
    c.[is_identity], c.[is_computed], c.[is_sparse], c.[is_column_set], c.[generated_always_type], c.[is_masked],
    ISNULL(c.[encryption_type], 0), c.[default_object_id], c.[is_rowguidcol]
FROM sys.columns AS c
INNER JOIN sys.types AS t ON t.[user_type_id] = c.[user_type_id]
WHERE c.[object_id] = ?
ORDER BY c.[column_id];
-- name: triggers
SELECT g.[name] FROM sys.triggers AS g WHERE g.[parent_class] = 1 AND g.[parent_id] = ? ORDER BY g.[name];
-- name: indexes
SELECT i.[name], i.[type_desc], i.[ignore_dup_key]
FROM sys.indexes AS i
WHERE i.[object_id] = ? AND i.[index_id] > 0
ORDER BY i.[index_id];
-- name: cascades
SELECT f.[name] FROM sys.foreign_keys AS f
WHERE f.[referenced_object_id] = ? AND (f.[delete_referential_action] <> 0 OR f.[update_referential_action] <> 0)
ORDER BY f.[name];
-- name: row_security
SELECT COUNT(*) FROM sys.security_predicates AS p WHERE p.[target_object_id] = ?;
-- name: temp_dependants
SELECT OBJECT_SCHEMA_NAME(d.[referencing_id]), OBJECT_NAME(d.[referencing_id])
FROM sys.sql_expression_dependencies AS d
WHERE d.[referenced_schema_name] = ? AND d.[referenced_entity_name] = ?;
-- name: log_space
SELECT l.[total_log_size_in_bytes] - l.[used_log_space_in_bytes] FROM sys.dm_db_log_space_usage AS l;
-- name: server_state
SELECT HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'),
    CASE WHEN CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 16
        THEN HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE') ELSE 0 END;
-- name: version_store
SELECT ISNULL(SUM(v.[reserved_space_kb]), 0) * 1024
FROM sys.dm_tran_version_store_space_usage AS v
WHERE v.[database_id] = DB_ID();
-- name: epoch
SELECT e.[epoch] FROM {{control}}.[ddl_epochs] AS e WHERE e.[target_object_id] = ?;
