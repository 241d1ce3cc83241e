"""Disposable local profile of dpone: engines, fault injection and a sample project."""
