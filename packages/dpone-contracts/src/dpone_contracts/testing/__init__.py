"""In-memory ports, conformance suites and golden vectors for tests; production code may not import this."""
