-- name: execution
SELECT e.[workflow_execution_binding_sha256], e.[dag_run_id]
FROM {{control}}.[executions] AS e WITH (UPDLOCK, HOLDLOCK)
WHERE e.[deployment_id] = ? AND e.[plan_bundle_sha256] = ?;
-- name: insert_execution
INSERT INTO {{control}}.[executions] ([deployment_id], [plan_bundle_sha256], [workflow_execution_binding_sha256],
    [binding_schema], [dag_run_id], [bound_at])
VALUES (?, ?, ?, ?, ?, SYSUTCDATETIME());
-- name: lock_fence_counter
SELECT f.[last_epoch] FROM {{control}}.[fence_counter] AS f WITH (UPDLOCK, HOLDLOCK) WHERE f.[id] = 1;
-- name: advance_fence_counter
UPDATE {{control}}.[fence_counter] SET [last_epoch] = ? WHERE [id] = 1 AND [last_epoch] = ?;
-- name: attempts_of_execution
SELECT COUNT_BIG(*) FROM {{control}}.[attempts] AS a WITH (UPDLOCK, HOLDLOCK)
WHERE a.[workflow_execution_binding_sha256] = ?;
-- name: lock_guard
SELECT g.[status], g.[workflow_execution_binding_sha256], g.[operation_id], g.[attempt_binding_sha256],
    g.[fencing_epoch]
FROM {{control}}.[guards] AS g WITH (UPDLOCK, HOLDLOCK)
WHERE g.[resource_id] = ?;
-- name: insert_workflow_guard
INSERT INTO {{control}}.[guards] ([resource_id], [workflow_execution_binding_sha256], [operation_id],
    [operation_plan_sha256], [attempt_binding_sha256], [fencing_epoch], [owner_id], [status])
VALUES (?, ?, NULL, NULL, NULL, ?, ?, N'ACTIVE');
-- name: take_workflow_guard
UPDATE {{control}}.[guards]
SET [workflow_execution_binding_sha256] = ?, [operation_id] = NULL, [operation_plan_sha256] = NULL,
    [attempt_binding_sha256] = NULL, [fencing_epoch] = ?, [owner_id] = ?, [status] = N'ACTIVE'
WHERE [resource_id] = ? AND [fencing_epoch] = ? AND [status] <> N'ACTIVE';
-- name: insert_guard
INSERT INTO {{control}}.[guards] ([resource_id], [workflow_execution_binding_sha256], [operation_id],
    [operation_plan_sha256], [attempt_binding_sha256], [fencing_epoch], [owner_id], [status])
VALUES (?, ?, ?, ?, ?, ?, ?, N'ACTIVE');
-- name: take_guard
UPDATE {{control}}.[guards]
SET [workflow_execution_binding_sha256] = ?, [operation_id] = ?, [operation_plan_sha256] = ?,
    [attempt_binding_sha256] = ?, [fencing_epoch] = ?, [owner_id] = ?, [status] = N'ACTIVE'
WHERE [resource_id] = ? AND [fencing_epoch] = ? AND [status] <> N'ACTIVE';
-- name: acknowledged
SELECT c.[acknowledgement_sha256] FROM {{control}}.[cleanup_acknowledgements] AS c WHERE c.[operation_id] = ?;
-- name: insert_attempt
INSERT INTO {{control}}.[attempts] ([attempt_binding_sha256], [binding_schema], [workflow_execution_binding_sha256],
    [operation_id], [ordinal], [guard_resource_id], [fencing_epoch])
VALUES (?, ?, ?, ?, ?, ?, ?);
-- name: insert_reservation
INSERT INTO {{control}}.[reservations] ([reservation_id], [operation_id], [workflow_execution_binding_sha256])
VALUES (?, ?, ?);
-- name: insert_allocation
INSERT INTO {{control}}.[allocations] ([allocation_id], [reservation_id], [operation_id], [resource_kind], [amount],
    [status])
VALUES (?, ?, ?, ?, ?, N'RESERVED');
-- name: latest_attempts
SELECT a.[operation_id], d.[bytes], a.[guard_resource_id], r.[reservation_id]
FROM {{control}}.[attempts] AS a
INNER JOIN {{control}}.[documents] AS d
    ON d.[schema_id] = a.[binding_schema] AND d.[digest] = a.[attempt_binding_sha256]
INNER JOIN {{control}}.[reservations] AS r ON r.[operation_id] = a.[operation_id]
WHERE a.[workflow_execution_binding_sha256] = ?
    AND NOT EXISTS (
        SELECT 1 FROM {{control}}.[attempts] AS n
        WHERE n.[operation_id] = a.[operation_id] AND n.[ordinal] > a.[ordinal]
    )
ORDER BY a.[operation_id];
-- name: latest_attempt
SELECT a.[operation_id], d.[bytes], a.[guard_resource_id], r.[reservation_id]
FROM {{control}}.[attempts] AS a
INNER JOIN {{control}}.[documents] AS d
    ON d.[schema_id] = a.[binding_schema] AND d.[digest] = a.[attempt_binding_sha256]
INNER JOIN {{control}}.[reservations] AS r ON r.[operation_id] = a.[operation_id]
WHERE a.[operation_id] = ?
    AND NOT EXISTS (
        SELECT 1 FROM {{control}}.[attempts] AS n
        WHERE n.[operation_id] = a.[operation_id] AND n.[ordinal] > a.[ordinal]
    );
-- name: plan_of
SELECT e.[deployment_id], e.[plan_bundle_sha256]
FROM {{control}}.[reservations] AS r
INNER JOIN {{control}}.[executions] AS e
    ON e.[workflow_execution_binding_sha256] = r.[workflow_execution_binding_sha256]
WHERE r.[operation_id] = ?;
-- name: guard
SELECT g.[status], g.[fencing_epoch], g.[workflow_execution_binding_sha256], g.[operation_id],
    g.[attempt_binding_sha256]
FROM {{control}}.[guards] AS g
WHERE g.[resource_id] = ?;
-- name: allocations
SELECT a.[allocation_id], a.[resource_kind], a.[amount]
FROM {{control}}.[allocations] AS a
WHERE a.[operation_id] = ?
ORDER BY a.[resource_kind];
