-- name: database
SELECT DB_NAME(), CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), 'Collation'));
-- name: object_by_name
SELECT OBJECT_ID(?);
-- name: object
SELECT o.[object_id], s.[name], o.[name], o.[type], o.[is_ms_shipped],
    OBJECTPROPERTY(o.[object_id], 'IsEncrypted'), OBJECTPROPERTY(o.[object_id], 'IsSchemaBound'),
    m.[definition], ISNULL(t.[is_external], 0),
    (SELECT COUNT(*) FROM sys.security_predicates AS p WHERE p.[target_object_id] = o.[object_id])
FROM sys.objects AS o
INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
LEFT JOIN sys.sql_modules AS m ON m.[object_id] = o.[object_id]
LEFT JOIN sys.tables AS t ON t.[object_id] = o.[object_id]
WHERE o.[object_id] = ?;
-- name: columns
SELECT c.[column_id], c.[name], t.[name], c.[max_length], c.[precision], c.[scale], c.[is_nullable],
    c.[collation_name], c.[is_computed], k.[definition], t.[is_user_defined], c.[is_masked],
    ISNULL(c.[encryption_type], 0), c.[generated_always_type]
FROM sys.columns AS c
INNER JOIN sys.types AS t ON t.[user_type_id] = c.[user_type_id]
LEFT JOIN sys.computed_columns AS k ON k.[object_id] = c.[object_id] AND k.[column_id] = c.[column_id]
WHERE c.[object_id] = ?
ORDER BY c.[column_id];
-- name: indexes
SELECT i.[name] FROM sys.indexes AS i WHERE i.[object_id] = ? AND i.[name] IS NOT NULL;
-- name: edges
SELECT DISTINCT d.[referenced_id], d.[referenced_server_name], d.[referenced_database_name],
    d.[referenced_schema_name], d.[referenced_entity_name], d.[is_schema_bound_reference], d.[is_caller_dependent],
    d.[is_ambiguous]
FROM sys.sql_expression_dependencies AS d
WHERE d.[referencing_id] = ? AND d.[referenced_class] = 1;
-- name: may_view_definition
SELECT HAS_PERMS_BY_NAME(QUOTENAME(?) + N'.' + QUOTENAME(?), N'OBJECT', N'VIEW DEFINITION');
