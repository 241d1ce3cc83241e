-- Every column is a key: matched rows have nothing to update and are counted.
SELECT @updated_rows = COUNT_BIG(*)
FROM {{target}} AS t
INNER JOIN #dpone_scope AS s ON {{same_key}}
WHERE {{target_in_scope}};
