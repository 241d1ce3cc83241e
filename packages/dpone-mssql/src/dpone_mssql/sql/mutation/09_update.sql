-- Every matched row is written: a comparison by collation would take `a ` for `A`.
UPDATE t SET {{assignments}}
FROM {{target}} AS t
INNER JOIN #dpone_scope AS s ON {{same_key}}
WHERE {{target_in_scope}};
SET @updated_rows = @@ROWCOUNT;
