"""Composition roots: the only place that builds adapters, lazily."""
