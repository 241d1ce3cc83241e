-- The first touch of the target locks all of it to the end: an unhinted read would be stale under row versioning.
SELECT @target_rows = COUNT_BIG(*), @target_bytes = ISNULL(SUM({{row_bytes}}), 0)
FROM {{target}} AS r WITH (TABLOCKX, HOLDLOCK)
WHERE {{in_scope}};
IF @target_rows > {{max_target_scope_rows}} THROW {{target_budget}}, 1;
IF @target_rows > {{max_before_image_rows}} THROW {{image_budget}}, 1;
IF @target_bytes > {{max_before_image_bytes}} THROW {{image_budget}}, 2;
