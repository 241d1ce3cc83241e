"""Support for tests against an engine; no production module imports it."""
