CREATE UNIQUE CLUSTERED INDEX [ix_dpone_scope] ON #dpone_scope ({{key_columns}});
