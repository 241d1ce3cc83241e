-- name: newest
SELECT TOP (1) r.[index_epoch], r.[revocation_index_sha256]
FROM {{control}}.[revocation_indexes] AS r WITH (UPDLOCK, HOLDLOCK)
WHERE r.[trust_domain] = ?
ORDER BY r.[index_epoch] DESC;
-- name: insert
INSERT INTO {{control}}.[revocation_indexes] ([trust_domain], [index_epoch], [revocation_index_sha256])
VALUES (?, ?, ?);
