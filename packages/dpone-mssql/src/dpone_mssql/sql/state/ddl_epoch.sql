-- name: object_id
SELECT OBJECT_ID(?, N'U');
-- name: epoch
SELECT e.[epoch] FROM {{control}}.[ddl_epochs] AS e WITH (UPDLOCK, HOLDLOCK) WHERE e.[target_object_id] = ?;
-- name: covered
SELECT c.[covered_object_id] FROM {{control}}.[ddl_coverage] AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.[target_object_id] = ?;
-- name: insert_epoch
INSERT INTO {{control}}.[ddl_epochs] ([target_object_id], [schema_name], [object_name], [epoch])
SELECT o.[object_id], s.[name], o.[name], 1
FROM sys.objects AS o
INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
WHERE o.[object_id] = ?;
-- name: move_epoch
UPDATE {{control}}.[ddl_epochs] SET [epoch] = [epoch] + 1 WHERE [target_object_id] = ? AND [epoch] = ?;
-- name: insert_coverage
INSERT INTO {{control}}.[ddl_coverage] ([target_object_id], [covered_object_id], [schema_name], [object_name])
SELECT CAST(? AS int), o.[object_id], s.[name], o.[name]
FROM sys.objects AS o
INNER JOIN sys.schemas AS s ON s.[schema_id] = o.[schema_id]
WHERE o.[object_id] = ?;
