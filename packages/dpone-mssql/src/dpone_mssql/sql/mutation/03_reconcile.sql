-- A receipt that is there already is this very mutation's, images included, or the batch stops; it is never repeated.
IF EXISTS (
    SELECT 1 FROM {{control}}.[build_receipts] AS r WITH (UPDLOCK, HOLDLOCK) WHERE r.[operation_id] = {{operation}}
)
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM {{control}}.[build_receipts] AS r
        INNER JOIN {{control}}.[attempt_fates] AS f ON f.[attempt_binding_sha256] = r.[attempt_binding_sha256]
        WHERE r.[operation_id] = {{operation}} AND r.[operation_plan_sha256] = {{plan}}
            AND r.[attempt_binding_sha256] = {{attempt}} AND f.[fate] = N'COMMITTED'
            AND r.[bytes_sha256] = HASHBYTES('SHA2_256', r.[bytes])
    )
        THROW {{receipt}}, 1;
    IF OBJECT_ID({{before_text}}, N'U') IS NULL OR OBJECT_ID({{after_text}}, N'U') IS NULL THROW {{image}}, 1;
    {{before_digest}}
    {{after_digest}}
    SELECT @target_rows = COUNT_BIG(*) FROM {{before}};
    SELECT @result_rows = COUNT_BIG(*) FROM {{after}};
    -- The receipt's own text carries both digests and counts: they must stand in it exactly.
    IF NOT EXISTS (
        SELECT 1 FROM {{control}}.[build_receipts] AS r
        WHERE r.[operation_id] = {{operation}}
            AND CHARINDEX('"after_image_row_count":' + CONVERT(varchar(20), @result_rows)
                + ',"after_image_sha256":"sha256:' + LOWER(CONVERT(varchar(64), @after_sha256, 2)) + '"',
                CONVERT(varchar(max), r.[bytes])) > 0
            AND CHARINDEX('"before_image_row_count":' + CONVERT(varchar(20), @target_rows)
                + ',"before_image_sha256":"sha256:' + LOWER(CONVERT(varchar(64), @before_sha256, 2)) + '"',
                CONVERT(varchar(max), r.[bytes])) > 0
    )
        THROW {{image}}, 2;
END
ELSE
BEGIN
