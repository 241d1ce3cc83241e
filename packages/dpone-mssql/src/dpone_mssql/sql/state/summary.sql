-- name: summary
SELECT s.[summary_schema], s.[summary_sha256]
FROM {{control}}.[summaries] AS s WITH (UPDLOCK, HOLDLOCK)
WHERE s.[workflow_execution_binding_sha256] = ?;
-- name: insert_summary
INSERT INTO {{control}}.[summaries] ([workflow_execution_binding_sha256], [summary_schema], [summary_sha256])
VALUES (?, ?, ?);
-- name: journal_heads
SELECT a.[operation_id], j.[state]
FROM {{control}}.[attempts] AS a
INNER JOIN {{control}}.[journal] AS j WITH (UPDLOCK, HOLDLOCK) ON j.[operation_id] = a.[operation_id]
WHERE a.[workflow_execution_binding_sha256] = ? AND a.[ordinal] = 1
    AND NOT EXISTS (
        SELECT 1 FROM {{control}}.[journal] AS n
        WHERE n.[operation_id] = j.[operation_id] AND n.[version] > j.[version]
    )
ORDER BY a.[operation_id];
-- name: release_guards
UPDATE {{control}}.[guards] SET [status] = N'RELEASED'
WHERE [workflow_execution_binding_sha256] = ? AND [status] = N'ACTIVE';
-- name: hold_failed_guards
UPDATE {{control}}.[guards] SET [status] = CASE WHEN [operation_id] IS NULL THEN N'RELEASED' ELSE N'CLEANUP_REQUIRED' END
WHERE [workflow_execution_binding_sha256] = ? AND [status] = N'ACTIVE';
-- name: release_transient_allocations
UPDATE a SET a.[status] = N'RELEASED'
FROM {{control}}.[allocations] AS a
INNER JOIN {{control}}.[reservations] AS r ON r.[reservation_id] = a.[reservation_id]
WHERE r.[workflow_execution_binding_sha256] = ? AND a.[status] = N'RESERVED'
    AND a.[resource_kind] IN (N'clickhouse_staging_bytes', N'prepared_models', N'shadow_bytes');
