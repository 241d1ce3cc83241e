IF EXISTS (SELECT 1 FROM {{relation}} AS r WHERE NOT ({{in_scope}}) OR ({{event_time}} IS NULL)) THROW {{scope}}, 1;
