"""The exact versions of everything that is installed, without addresses.

`uv.lock` names registry hosts, so it is not committed. This writes the same versions into
`tool.uv.constraint-dependencies` of the root pyproject.toml, or checks that they agree with a fresh resolution.

    python tooling/pins.py --check     fail when the resolution and the committed pins differ
    python tooling/pins.py --write     resolve anew and write the pins
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "pyproject.toml"
BLOCK = re.compile(r"^constraint-dependencies = \[\n(?:  .*\n)*\]\n", re.MULTILINE)


def resolved() -> list[str]:
    """`name==version` of every third-party package of the current lock, sorted, one line a version."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    pins = set()
    for package in lock["package"]:
        if "registry" not in package["source"]:
            continue
        markers = package.get("resolution-markers")
        pin = f"{package['name']}=={package['version']}"
        pins.add(f"{pin} ; {' or '.join(sorted(f'({marker})' for marker in markers))}" if markers else pin)
    return sorted(pins)


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    text = PROJECT.read_text()
    if asked.write:
        PROJECT.write_text(BLOCK.sub("constraint-dependencies = [\n]\n", text))
        (ROOT / "uv.lock").unlink(missing_ok=True)
    subprocess.run(["uv", "lock", "-q"], cwd=ROOT, check=True)
    pins = resolved()
    if asked.write:
        block = "constraint-dependencies = [\n" + "".join(f'  "{pin}",\n' for pin in pins) + "]\n"
        PROJECT.write_text(BLOCK.sub(lambda _match: block, PROJECT.read_text()))
        return 0
    committed = tomllib.loads(text)["tool"]["uv"]["constraint-dependencies"]
    drift = sorted(set(pins) ^ set(committed))
    for pin in drift:
        print(f"{'not committed' if pin in pins else 'not resolved'}: {pin}")
    if drift:
        print("run: python tooling/pins.py --write")
    return 1 if drift else 0


if __name__ == "__main__":
    sys.exit(main())
