-- name: plan_of_operation
SELECT e.[deployment_id], e.[plan_bundle_sha256]
FROM {{control}}.[attempts] AS a
INNER JOIN {{control}}.[executions] AS e
    ON e.[workflow_execution_binding_sha256] = a.[workflow_execution_binding_sha256]
WHERE a.[operation_id] = ? AND a.[ordinal] = 1;
-- name: target_head
SELECT h.[generation], h.[generation_id], h.[target_uuid], h.[owner_operation_id], h.[terminal_receipt_sha256]
FROM {{control}}.[target_heads] AS h WITH (UPDLOCK, HOLDLOCK)
WHERE h.[target_authority_id] = ?;
-- name: scope_head
SELECT h.[scope_revision], h.[operation_id]
FROM {{control}}.[scope_heads] AS h WITH (UPDLOCK, HOLDLOCK)
WHERE h.[scope_family_id] = ? AND h.[scope_start] = ?;
-- name: checkpoint
SELECT c.[covered_until] FROM {{control}}.[checkpoints] AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.[scope_family_id] = ?;
-- name: move_target_head
UPDATE {{control}}.[target_heads]
SET [generation] = ?, [generation_id] = ?, [target_uuid] = ?, [owner_operation_id] = ?, [terminal_receipt_sha256] = ?
WHERE [target_authority_id] = ? AND [generation] = ? AND [generation_id] = ? AND [target_uuid] = ?
    AND [owner_operation_id] = ?;
-- name: insert_scope_head
INSERT INTO {{control}}.[scope_heads] ([scope_family_id], [scope_start], [scope_revision], [operation_id])
VALUES (?, ?, ?, ?);
-- name: move_scope_head
UPDATE {{control}}.[scope_heads] SET [scope_revision] = ?, [operation_id] = ?
WHERE [scope_family_id] = ? AND [scope_start] = ? AND [scope_revision] = ? AND [operation_id] = ?;
-- name: move_checkpoint
UPDATE {{control}}.[checkpoints] SET [covered_until] = ? WHERE [scope_family_id] = ? AND [covered_until] = ?;
