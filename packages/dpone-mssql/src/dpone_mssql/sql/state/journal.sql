-- name: fence
SELECT g.[resource_id]
FROM {{control}}.[guards] AS g WITH (UPDLOCK, HOLDLOCK)
WHERE g.[resource_id] = (
        SELECT a.[guard_resource_id] FROM {{control}}.[attempts] AS a WHERE a.[attempt_binding_sha256] = ?
    )
    AND g.[operation_id] = ? AND g.[attempt_binding_sha256] = ? AND g.[fencing_epoch] = ? AND g.[status] = N'ACTIVE';
-- name: lock_entries
SELECT j.[version] FROM {{control}}.[journal] AS j WITH (UPDLOCK, HOLDLOCK) WHERE j.[operation_id] = ?;
-- name: insert_first
INSERT INTO {{control}}.[journal] ([operation_id], [version], [state], [predecessor_version], [predecessor],
    [attempt_binding_sha256], [receipt_schema], [receipt_sha256], [recorded_at])
VALUES (?, 1, N'PREPARING', NULL, NULL, ?, ?, ?, SYSUTCDATETIME());
-- name: insert_next
INSERT INTO {{control}}.[journal] ([operation_id], [version], [state], [predecessor_version], [predecessor],
    [attempt_binding_sha256], [receipt_schema], [receipt_sha256], [recorded_at])
VALUES (?, ?, ?, ?, ?, ?, ?, ?, SYSUTCDATETIME());
-- name: entries
SELECT j.[version], j.[state], j.[predecessor], j.[attempt_binding_sha256], j.[receipt_schema], j.[receipt_sha256],
    CONVERT(nvarchar(27), j.[recorded_at], 121)
FROM {{control}}.[journal] AS j
WHERE j.[operation_id] = ?
ORDER BY j.[version];
-- name: intent
SELECT i.[attempt_binding_sha256] FROM {{control}}.[invocation_intents] AS i WITH (UPDLOCK, HOLDLOCK)
WHERE i.[attempt_binding_sha256] = ?;
-- name: insert_intent
INSERT INTO {{control}}.[invocation_intents] ([attempt_binding_sha256], [recorded_at]) VALUES (?, SYSUTCDATETIME());
-- name: fate
SELECT f.[fate] FROM {{control}}.[attempt_fates] AS f WITH (UPDLOCK, HOLDLOCK) WHERE f.[attempt_binding_sha256] = ?;
-- name: insert_abandoned
INSERT INTO {{control}}.[attempt_fates] ([attempt_binding_sha256], [fate], [transaction_id], [recorded_at])
VALUES (?, N'ABANDONED', CURRENT_TRANSACTION_ID(), SYSUTCDATETIME());
