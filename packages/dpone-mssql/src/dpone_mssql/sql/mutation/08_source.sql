-- The model's whole result, counted; then its rows of the canonical scope alone.
SELECT @temp_rows = COUNT_BIG(*), @temp_bytes = ISNULL(SUM({{row_bytes}}), 0) FROM {{temp}} AS r;
IF @temp_rows > {{max_dbt_temp_rows}} THROW {{temp_budget}}, 1;
IF @temp_bytes > {{max_dbt_temp_bytes}} THROW {{temp_budget}}, 2;
IF EXISTS (SELECT 1 FROM {{temp}} AS r WHERE {{event_time}} IS NULL) THROW {{null}}, 2;
SELECT {{columns}} INTO #dpone_scope FROM {{temp}} AS r WHERE {{in_scope}};
SET @source_rows = @@ROWCOUNT;
IF @source_rows > {{max_source_scope_rows}} THROW {{source_budget}}, 1;
