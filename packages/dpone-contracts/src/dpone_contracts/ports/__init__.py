"""Ports: one Protocol a file, every method marked with its effect."""
