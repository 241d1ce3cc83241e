"""Parses a folder of DAG files as the scheduler does, with sockets and databases forbidden; writes the serialised DAGs.

Run as a process of its own: `python airflow_parse.py FOLDER OUTPUT`, AIRFLOW_HOME set.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FORBIDDEN = ("socket.", "sqlite3.connect", "subprocess.Popen", "os.system")

SEEN: list[str] = []


def forbid(event: str, _: object) -> None:
    """Note and stop it; no OSError, which somebody could take for a network that is down."""
    if event.startswith(FORBIDDEN):
        SEEN.append(event)
        raise RuntimeError(f"{event} while a DAG is parsed")


def main(folder: str, output: str) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.serialization.serialized_objects import DagSerialization

    sys.addaudithook(forbid)
    bag = DagBag(folder)
    dags = {dag_id: DagSerialization.to_dict(dag) for dag_id, dag in sorted(bag.dags.items())}
    report = {"errors": bag.import_errors, "dags": dags, "forbidden": SEEN}
    Path(output).write_text(json.dumps(report, sort_keys=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
