-- name: continuation
SELECT c.[continuation_receipt_sha256], c.[successor_attempt_sha256]
FROM {{control}}.[continuations] AS c WITH (UPDLOCK, HOLDLOCK)
WHERE c.[operation_id] = ?;
-- name: insert_continuation
INSERT INTO {{control}}.[continuations] ([operation_id], [original_attempt_sha256], [successor_attempt_sha256],
    [receipt_schema], [continuation_receipt_sha256])
VALUES (?, ?, ?, ?, ?);
-- name: receipt
SELECT r.[receipt_sha256], r.[operation_plan_sha256] FROM {{control}}.[build_receipts] AS r WHERE r.[operation_id] = ?;
-- name: hand_over_guard
UPDATE {{control}}.[guards] SET [attempt_binding_sha256] = ?, [fencing_epoch] = ?, [owner_id] = ?
WHERE [resource_id] = ? AND [operation_id] = ? AND [attempt_binding_sha256] = ? AND [fencing_epoch] = ?
    AND [status] = N'ACTIVE';
