"""Proofs about dbt models: selection, mutation closure, Jinja and T-SQL read closure, lifecycle."""
