"""Runs the endpoint as a process of its own: one JSON line on stdout when it is ready, SIGTERM or SIGINT ends it."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
from pathlib import Path

import psycopg

from dpone_lab.sqlserver.cluster import ClusterInUseError
from dpone_lab.sqlserver.server import Endpoint


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal comes; 0 after a clean end, 1 when it can't start (one line on stderr)."""
    parser = argparse.ArgumentParser(prog="python -m dpone_lab.sqlserver", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="directory of the database; made when absent"
    )
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0 chooses a free one")
    parser.add_argument(
        "--password-file", type=Path, required=True, help="file with the password of login sa"
    )
    parser.add_argument("--database", default="lab", help="name of the database")
    parser.add_argument(
        "--read-committed-snapshot", action="store_true", help="readers don't wait for writers"
    )
    parser.add_argument("--fault-control", type=Path, help="control file of wire faults")
    parser.add_argument("--log", type=Path, help="file for the endpoint's own log")
    options = parser.parse_args(arguments)
    if options.log is not None:
        logging.basicConfig(filename=options.log, level=logging.DEBUG, format="%(asctime)s %(message)s")
    # Signals are taken by sigwait below; threads started from here on inherit the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    endpoint = Endpoint(
        options.data,
        options.password_file.read_text().strip(),
        database=options.database,
        port=options.port,
        row_versioning=options.read_committed_snapshot,
        faults=options.fault_control,
    )
    try:
        endpoint.start()
    except (OSError, RuntimeError, psycopg.Error) as error:
        reason = "the data directory is in use" if isinstance(error, ClusterInUseError) else str(error)
        sys.stderr.write(f"cannot start the SQL Server endpoint: {reason}\n")
        return 1
    ready = {"ready": True, "port": endpoint.port, "pid": os.getpid(), "database": options.database}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    endpoint.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
