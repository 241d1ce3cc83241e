"""Lays the lab's catalog into a new PostgreSQL database, and marks each start of the endpoint."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

_FIRST = "10_internal.sql"


def install(connection: psycopg.Connection[Any], database: str) -> None:
    """Create the lab's schemas, views and functions in an empty database; the caller commits.

    ``database`` is the name that T-SQL sees. Needs a superuser, for event triggers.
    """
    folder = files("dpone_lab.sqlserver.catalog") / "sql"
    scripts = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda e: e.name
    )
    for script in scripts:
        connection.execute(script.read_bytes())
        if script.name == _FIRST:
            language = files("dpone_lab.sqlserver.language") / "functions.sql"
            connection.execute(language.read_bytes())
    connection.execute("INSERT INTO _lab.database_facts (name) VALUES (%s)", (database,))
    connection.execute("INSERT INTO _lab.server_facts DEFAULT VALUES")


def mark_started(connection: psycopg.Connection[Any], *, row_versioning: bool = False) -> None:
    """Record that the endpoint started now, and whether readers wait for writers.

    They show as `sys.dm_os_sys_info.sqlserver_start_time` and `sys.databases.is_read_committed_snapshot_on`.
    """
    connection.execute(
        "UPDATE _lab.server_facts SET sqlserver_start_time = clock_timestamp() AT TIME ZONE 'UTC'"
    )
    connection.execute("UPDATE _lab.database_facts SET is_read_committed_snapshot_on = %s", (row_versioning,))
