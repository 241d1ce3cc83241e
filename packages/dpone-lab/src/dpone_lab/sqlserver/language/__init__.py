"""T-SQL of the lab: one batch text becomes a tree, each of its statements one PostgreSQL statement."""
