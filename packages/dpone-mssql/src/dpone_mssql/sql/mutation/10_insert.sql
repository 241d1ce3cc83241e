INSERT INTO {{target}} ({{columns}})
SELECT {{source_columns}}
FROM #dpone_scope AS s
WHERE NOT EXISTS (SELECT 1 FROM {{target}} AS t WHERE {{same_key}} AND {{target_in_scope}});
SET @inserted_rows = @@ROWCOUNT;
IF @updated_rows + @inserted_rows <> @source_rows THROW {{count}}, 1;
