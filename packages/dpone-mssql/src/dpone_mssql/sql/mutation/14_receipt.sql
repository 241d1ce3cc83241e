-- The receipt as canonical JSON: ASCII pieces in key order, its own digest over the text without it.
SELECT @recovery_fork = LOWER(CONVERT(nvarchar(36), d.[recovery_fork_guid]))
FROM sys.database_recovery_status AS d
WHERE d.[database_id] = DB_ID();
SET @receipt_head = {{receipt_head}};
SET @receipt_tail = {{receipt_tail}};
SET @receipt_sha256 = HASHBYTES('SHA2_256', CONVERT(varbinary(max), '{' + @receipt_head + ',' + @receipt_tail + '}'));
SET @receipt = CONVERT(varbinary(max), '{' + @receipt_head + ',"model_build_receipt_sha256":"sha256:'
    + LOWER(CONVERT(varchar(64), @receipt_sha256, 2)) + '",' + @receipt_tail + '}');
IF @receipt IS NULL OR @receipt_sha256 IS NULL THROW {{receipt}}, 2;
INSERT INTO {{control}}.[build_receipts] ([operation_id], [operation_plan_sha256], [attempt_binding_sha256], [fate],
    [receipt_sha256], [bytes], [bytes_sha256])
VALUES ({{operation}}, {{plan}}, {{attempt}}, N'COMMITTED', @receipt_sha256, @receipt, HASHBYTES('SHA2_256', @receipt));
DROP TABLE #dpone_scope;
END;
