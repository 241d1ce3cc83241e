"""mypy, strict, over everything: all sources at once, then each tests folder (their conftest modules share a name)."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run mypy for each group; exit 1 when one has an error."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    sources = [str(path) for path in sorted(ROOT.glob("packages/*/src"))]
    groups = [[*sources, "tooling", "noxfile.py", "conftest.py"]]
    groups += [
        [str(path)]
        for path in (*sorted(ROOT.glob("packages/*/tests")), ROOT / "tests-integration")
        if any(path.rglob("*.py"))
    ]
    return max(subprocess.run(["mypy", *group], cwd=ROOT, check=False).returncode for group in groups)


if __name__ == "__main__":
    sys.exit(main())
