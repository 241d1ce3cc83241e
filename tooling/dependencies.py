"""deptry for every member: what it imports is what it declares."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run deptry in each member; exit 1 when one has a finding."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    failed = [
        member.parent.name
        for member in sorted((ROOT / "packages").glob("*/pyproject.toml"))
        if subprocess.run(
            ["deptry", "src", "--config", "pyproject.toml", "--no-ansi"], cwd=member.parent, check=False
        ).returncode
    ]
    if failed:
        print(f"undeclared or unused dependencies in: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
