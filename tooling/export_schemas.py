"""Write the JSON Schemas of all documents to schemas/, or check that the files there are current."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dpone_contracts.json_schemas import schema_files

FOLDER = Path(__file__).parents[1] / "schemas"


def main() -> None:
    """Export or check; exit code 1 when a checked file is missing, stale or not ours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail on drift")
    options = parser.parse_args()
    wanted = schema_files()
    found = {path.name: path.read_bytes() for path in FOLDER.glob("*.json")}
    drifted = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if options.check:
        for name in drifted:
            print(f"schemas/{name} is not what the models give", file=sys.stderr)
        sys.exit(1 if drifted else 0)
    FOLDER.mkdir(exist_ok=True)
    for name in drifted:
        if name in wanted:
            (FOLDER / name).write_bytes(wanted[name])
        else:
            (FOLDER / name).unlink()
    print(f"{len(wanted)} files, {len(drifted)} changed")


if __name__ == "__main__":
    main()
