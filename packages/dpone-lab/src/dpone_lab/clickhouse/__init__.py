"""The lab's ClickHouse: a real engine in a process of its own, spoken to over HTTP on loopback.

Two faces serve the same protocol. `chdb` is the embedded engine of the `chdb` distribution behind a thin HTTP
face written here; `server` is the HTTP server of a real ClickHouse library, where one is installed. Both are
started as ``python -m dpone_lab.clickhouse`` or, from Python, with `process.start`.
"""
