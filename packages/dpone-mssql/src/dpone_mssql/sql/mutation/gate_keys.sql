IF EXISTS (
    SELECT {{keys}} FROM {{relation}} AS r WHERE {{in_scope}}
    GROUP BY {{keys}}
    HAVING COUNT_BIG(*) > 1
)
    THROW {{duplicate}}, 1;
IF EXISTS (SELECT 1 FROM {{relation}} AS r WHERE {{in_scope}} AND ({{out_of_domain}})) THROW {{domain}}, 1;
