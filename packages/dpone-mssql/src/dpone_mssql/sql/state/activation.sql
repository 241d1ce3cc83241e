-- name: deployment
SELECT d.[release_id], d.[store_id]
FROM {{control}}.[deployments] AS d WITH (UPDLOCK, HOLDLOCK)
WHERE d.[deployment_id] = ?;
-- name: insert_deployment
INSERT INTO {{control}}.[deployments] ([deployment_id], [release_id], [store_id]) VALUES (?, ?, ?);
-- name: owner
SELECT o.[deployment_id], o.[model_unique_id], o.[scope_family_id], o.[baseline_sha256]
FROM {{control}}.[target_owners] AS o WITH (UPDLOCK, HOLDLOCK)
WHERE o.[target_authority_id] = ?;
-- name: insert_owner
INSERT INTO {{control}}.[target_owners] ([target_authority_id], [deployment_id], [release_id], [model_unique_id],
    [scope_family_id], [baseline_schema], [baseline_sha256])
VALUES (?, ?, ?, ?, ?, ?, ?);
-- name: insert_initial_head
INSERT INTO {{control}}.[target_heads] ([target_authority_id], [generation], [generation_id], [target_uuid],
    [owner_operation_id], [terminal_receipt_sha256])
VALUES (?, ?, ?, ?, ?, NULL);
-- name: insert_checkpoint
INSERT INTO {{control}}.[checkpoints] ([scope_family_id], [covered_until]) VALUES (?, ?);
-- name: activation
SELECT a.[release_id], a.[receipt], a.[receipt_sha256], a.[plan_bundle], a.[plan_bundle_bytes_sha256]
FROM {{control}}.[activations] AS a
WHERE a.[deployment_id] = ? AND a.[plan_bundle_sha256] = ?;
-- name: plans
SELECT a.[receipt], a.[receipt_sha256], e.[dag_run_id], s.[summary_schema]
FROM {{control}}.[activations] AS a
LEFT JOIN {{control}}.[executions] AS e
    ON e.[deployment_id] = a.[deployment_id] AND e.[plan_bundle_sha256] = a.[plan_bundle_sha256]
LEFT JOIN {{control}}.[summaries] AS s
    ON s.[workflow_execution_binding_sha256] = e.[workflow_execution_binding_sha256]
WHERE a.[deployment_id] = ?
ORDER BY a.[stored_at], a.[plan_bundle_sha256];
-- name: insert_activation
INSERT INTO {{control}}.[activations] ([deployment_id], [plan_bundle_sha256], [release_id], [receipt],
    [receipt_sha256], [plan_bundle], [plan_bundle_bytes_sha256], [stored_at])
VALUES (?, ?, ?, ?, ?, ?, ?, SYSUTCDATETIME());
-- name: insert_activation_document
INSERT INTO {{control}}.[activation_documents] ([deployment_id], [plan_bundle_sha256], [schema_id], [digest])
VALUES (?, ?, ?, ?);
-- name: activation_documents
SELECT d.[schema_id], d.[digest], d.[bytes], d.[bytes_sha256]
FROM {{control}}.[activation_documents] AS a
INNER JOIN {{control}}.[documents] AS d ON d.[schema_id] = a.[schema_id] AND d.[digest] = a.[digest]
WHERE a.[deployment_id] = ? AND a.[plan_bundle_sha256] = ?
ORDER BY d.[schema_id], d.[digest];
