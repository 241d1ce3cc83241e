-- name: receipt
SELECT r.[attempt_binding_sha256], r.[bytes], r.[bytes_sha256]
FROM {{control}}.[build_receipts] AS r
WHERE r.[operation_id] = ?;
-- name: intent
SELECT COUNT_BIG(*) FROM {{control}}.[invocation_intents] AS i WHERE i.[attempt_binding_sha256] = ?;
-- name: fate
SELECT f.[fate] FROM {{control}}.[attempt_fates] AS f WHERE f.[attempt_binding_sha256] = ?;
-- name: object_exists
SELECT OBJECT_ID(?, N'U');
-- name: images
SELECT i.[kind], i.[relation_name], i.[object_id], OBJECT_ID(N'{{images}}.' + QUOTENAME(i.[relation_name]), N'U')
FROM {{control}}.[images] AS i
WHERE i.[attempt_binding_sha256] = ?
ORDER BY i.[kind];
-- name: insert_image
INSERT INTO {{control}}.[images] ([attempt_binding_sha256], [kind], [relation_name], [object_id], [created_at])
SELECT CAST(? AS binary(32)), CAST(? AS nvarchar(8)), CAST(? AS nvarchar(128)), o.[object_id], SYSUTCDATETIME()
FROM sys.objects AS o
WHERE o.[object_id] = OBJECT_ID(?, N'U');
-- name: sessions
SELECT HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'),
    CASE WHEN CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 16
        THEN HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE') ELSE 0 END,
    (SELECT COUNT(*) FROM sys.dm_exec_sessions AS s
        WHERE s.[session_id] <> @@SPID AND s.[is_user_process] = 1
            AND SUBSTRING(s.[context_info], 1, 32) = CAST(? AS binary(32)));
-- name: operation_lock_free
DECLARE @lock int;
EXEC @lock = sys.sp_getapplock @Resource = ?, @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 0;
SELECT @lock;
-- name: guard_free
SELECT COUNT_BIG(*)
FROM {{control}}.[guards] AS g WITH (UPDLOCK, HOLDLOCK)
WHERE g.[resource_id] = ? AND g.[operation_id] = ? AND g.[fencing_epoch] = ?;
