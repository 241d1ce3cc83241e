-- From here on this attempt either commits all of it, or a reconciler may write ABANDONED under the same key.
IF EXISTS (
    SELECT 1 FROM {{control}}.[attempt_fates] AS f WITH (UPDLOCK, HOLDLOCK)
    WHERE f.[attempt_binding_sha256] = {{attempt}}
)
    THROW {{fate}}, 1;
INSERT INTO {{control}}.[attempt_fates] ([attempt_binding_sha256], [fate], [transaction_id], [recorded_at])
VALUES ({{attempt}}, N'COMMITTED', CURRENT_TRANSACTION_ID(), SYSUTCDATETIME());
