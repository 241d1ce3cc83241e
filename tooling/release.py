"""One version everywhere in a release.

python tooling/release.py --check          every member, pin and changelog agrees
python tooling/release.py --set 0.75.0     set the version in every member and pin
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMBERS = sorted((ROOT / "packages").glob("*/pyproject.toml"))
NAMES = [member.parent.name for member in MEMBERS]
PIN = re.compile(rf'"((?:{"|".join(sorted(NAMES, key=len, reverse=True))})(?:\[[a-z-]+\])?)==([0-9][^"]*)"')
RANGE = re.compile(r'"dpone-contracts>=([0-9]+\.[0-9]+),<([0-9]+\.[0-9]+)"')
VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


def contracts_range(version: str) -> str:
    """The compatible range of contracts that a member of this version asks for."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return f'"dpone-contracts>={major}.{minor},<{major}.{minor + 1}"'


def set_version(version: str) -> None:
    """Write the version into the root, every member, every pin and every contracts range."""
    for path in [ROOT / "pyproject.toml", *MEMBERS]:
        text = VERSION.sub(f'version = "{version}"', path.read_text(), count=1)
        text = PIN.sub(lambda match: f'"{match[1]}=={version}"', text)
        path.write_text(RANGE.sub(contracts_range(version), text))


def disagreements() -> list[str]:
    """Everything that does not carry the root's version."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    found = []
    for path in MEMBERS:
        text = path.read_text()
        where = path.relative_to(ROOT)
        if tomllib.loads(text)["project"]["version"] != version:
            found.append(f"{where}: version is not {version}")
        found += [f"{where}: pin {name}=={pinned}" for name, pinned in PIN.findall(text) if pinned != version]
        found += [
            f"{where}: contracts range {low},{high}"
            for low, high in RANGE.findall(text)
            if contracts_range(version) != f'"dpone-contracts>={low},<{high}"'
        ]
        if f"## {version}" not in (path.parent / "CHANGELOG.md").read_text():
            found.append(f"{path.parent.name}/CHANGELOG.md: no section {version}")
    return found


def main() -> int:
    """Set or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--set", metavar="VERSION")
    asked = parser.parse_args()
    if asked.set:
        set_version(asked.set)
        return 0
    found = disagreements()
    print("\n".join(found) if found else "one version everywhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
