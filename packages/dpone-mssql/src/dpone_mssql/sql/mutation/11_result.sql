SELECT @result_rows = COUNT_BIG(*), @result_bytes = ISNULL(SUM({{row_bytes}}), 0)
FROM {{target}} AS r
WHERE {{in_scope}};
IF @result_rows <> @target_rows + @inserted_rows THROW {{count}}, 2;
IF @result_rows > {{max_after_image_rows}} THROW {{image_budget}}, 3;
IF @result_bytes > {{max_after_image_bytes}} THROW {{image_budget}}, 4;
IF @target_bytes + @result_bytes > {{max_scope_image_total_bytes}} THROW {{image_budget}}, 5;
-- Each source row stands in the target byte for byte. Counted, not IF EXISTS: its row goal would choose a nested loop.
SELECT @different_rows = COUNT_BIG(*)
FROM #dpone_scope AS s
WHERE NOT EXISTS (SELECT 1 FROM {{target}} AS t WHERE {{same_key}} AND {{target_in_scope}} AND {{same_bytes}});
IF @different_rows <> 0 THROW {{bytes}}, 1;
