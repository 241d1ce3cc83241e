-- name: find
SELECT d.[bytes], d.[bytes_sha256]
FROM {{control}}.[documents] AS d
WHERE d.[schema_id] = ? AND d.[digest] = ?;
-- name: find_for_write
SELECT d.[bytes]
FROM {{control}}.[documents] AS d WITH (UPDLOCK, HOLDLOCK)
WHERE d.[schema_id] = ? AND d.[digest] = ?;
-- name: insert
INSERT INTO {{control}}.[documents] ([schema_id], [digest], [bytes], [bytes_sha256], [stored_at])
VALUES (?, ?, ?, ?, SYSUTCDATETIME());
-- name: linked
SELECT o.[ordinal]
FROM {{control}}.[operation_documents] AS o WITH (UPDLOCK, HOLDLOCK)
WHERE o.[operation_id] = ? AND o.[schema_id] = ? AND o.[digest] = ?;
-- name: link
INSERT INTO {{control}}.[operation_documents] ([operation_id], [ordinal], [schema_id], [digest])
SELECT CAST(? AS binary(32)), ISNULL(MAX(o.[ordinal]), 0) + 1, CAST(? AS nvarchar(128)), CAST(? AS binary(32))
FROM {{control}}.[operation_documents] AS o WITH (UPDLOCK, HOLDLOCK)
WHERE o.[operation_id] = ?;
-- name: list
SELECT o.[schema_id], o.[digest]
FROM {{control}}.[operation_documents] AS o
WHERE o.[operation_id] = ?
ORDER BY o.[ordinal];
