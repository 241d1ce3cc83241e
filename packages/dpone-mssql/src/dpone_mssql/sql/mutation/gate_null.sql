IF EXISTS (SELECT 1 FROM {{relation}} AS r WHERE {{in_scope}} AND ({{is_null}})) THROW {{null}}, 1;
