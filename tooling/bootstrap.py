"""From a fresh machine with Python and git to the demo or the tests, in one command.

    python3 tooling/bootstrap.py demo      one UTC day of real events, end to end, on the disposable lab
    python3 tooling/bootstrap.py test      every check that CI runs
    python3 tooling/bootstrap.py env       only prepare the environment

It needs Python 3.11-3.13 and a package index. It installs uv into a virtual environment of its own when uv is not
there, asks the system for the ODBC driver manager and FreeTDS, and leaves everything else inside the checkout.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".cache" / "tools"
DEBIAN_PACKAGES = ("libodbc2", "tdsodbc")
FREETDS_PATTERN = "/usr/lib/*/odbc/libtdsodbc.so"

CHECKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pins", ("python", "tooling/pins.py", "--check")),
    ("release", ("python", "tooling/release.py", "--check")),
    ("schemas", ("python", "tooling/export_schemas.py", "--check")),
    ("verifier", ("python", "tooling/standalone_tables.py", "--check")),
    ("errors", ("python", "tooling/error_catalogue.py", "--check")),
    ("graph", ("python", "tooling/state_graph.py", "--check")),
    ("reasons", ("python", "tooling/proof_reasons.py", "--check")),
    ("ruff", ("ruff", "check", ".")),
    ("format", ("ruff", "format", "--check", ".")),
    ("types", ("python", "tooling/typecheck.py")),
    ("imports", ("lint-imports",)),
    ("dependencies", ("python", "tooling/dependencies.py")),
    ("tests", ("pytest", "-q", "-n", "2", "--dist", "loadgroup")),
)


def say(text: str) -> None:
    """Tell progress on stderr."""
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)


def missing_system_parts() -> list[str]:
    """Debian packages whose files are not on this machine."""
    missing = []
    try:
        ctypes.CDLL("libodbc.so.2")
    except OSError:
        missing.append("libodbc2")
    if not list(Path("/").glob(FREETDS_PATTERN.lstrip("/"))):
        missing.append("tdsodbc")
    return missing


def ensure_system_parts() -> None:
    """Install the ODBC driver manager and FreeTDS, or say how."""
    missing = missing_system_parts()
    if not missing:
        return
    install = ["apt-get", "install", "-y", "-qq", *DEBIAN_PACKAGES]
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") is None or (as_root and shutil.which("sudo") is None):
        sys.exit(
            f"bootstrap: missing {', '.join(missing)}; install unixODBC (libodbc.so.2) and FreeTDS's ODBC driver, then run this again"
        )
    say(f"installing {', '.join(DEBIAN_PACKAGES)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"], install):
        done = subprocess.run([*as_root, *command], env=environment, stdout=sys.stderr, check=False)
        if done.returncode:
            sys.exit(
                f"bootstrap: `{' '.join(command)}` failed with {done.returncode}; run it as root, then run this again"
            )


def require(command: list[str], what: str) -> None:
    """Run an installation, or end with what failed; its own message stands above."""
    if code := subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False).returncode:
        sys.exit(
            f"bootstrap: {what} could not be installed (exit {code} of `{Path(command[0]).name} {command[1]}`); "
            "see its message above (package index, certificates, disk), then run this again"
        )


def uv() -> str:
    """Path of uv, installed beside the checkout's own files when the machine has none."""
    found = shutil.which("uv")
    if found:
        return found
    here = TOOLS / "bin" / "uv"
    if not here.exists():
        say("installing uv")
        venv.create(TOOLS, with_pip=True)
        require([str(TOOLS / "bin" / "pip"), "install", "-q", "uv"], "uv")
    return str(here)


def fetch_clickhouse_library(tool: str) -> None:
    """Get the real ClickHouse server's library through npm, so that its tests run beside the embedded engine's."""
    if shutil.which("npm") is None:
        say("no npm: the tests of the real ClickHouse server will be skipped, and say so")
        return
    say("fetching the ClickHouse server library through npm")
    fetch = "from dpone_lab.clickhouse import library; library.fetch()"
    if subprocess.run([tool, "run", "--no-sync", "python", "-c", fetch], cwd=ROOT, check=False).returncode:
        say("the library could not be fetched: its tests will be skipped, and say so")


def run_checks(tool: str) -> int:
    """Run every check, go on after a failure, and name what failed."""
    failed = []
    for name, command in CHECKS:
        say(f"{name}: {' '.join(command)}")
        started = time.monotonic()
        code = subprocess.run([tool, "run", "--no-sync", *command], cwd=ROOT, check=False).returncode
        say(f"{name}: {'ok' if code == 0 else f'exit {code}'} in {time.monotonic() - started:.0f} s")
        if code:
            failed.append(name)
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def main() -> int:
    """Prepare, then do what was asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("demo", "test", "env"))
    asked, rest = parser.parse_known_args()
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        sys.exit(f"bootstrap: Python 3.11 to 3.13 is needed, this is {sys.version.split()[0]}")
    ensure_system_parts()
    tool = uv()
    say("resolving and installing the pinned environment")
    # Compiled here, once: where the environment forbids writing bytecode, every process would compile dbt again.
    require([tool, "sync", "-q", "--compile-bytecode", "--python", sys.executable], "the pinned environment")
    if asked.what == "demo":
        return subprocess.run(
            [tool, "run", "--no-sync", "dpone", "lab", "demo", *rest], cwd=ROOT, check=False
        ).returncode
    if asked.what == "env":
        return 0
    fetch_clickhouse_library(tool)
    return run_checks(tool)


if __name__ == "__main__":
    sys.exit(main())
