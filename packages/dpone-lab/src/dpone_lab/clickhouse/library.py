"""Find, or fetch with the npm client, the shared library behind the `server` face."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

LIBRARY_VARIABLE = "DPONE_CLICKHOUSE_LIB"
NPM_PACKAGE = "@chdb/lib-linux-x64-gnu"
NPM_VERSION = "26.7.3-stable.1"
_MEMBER = "package/libchdb.so"


class LibraryUnavailableError(Exception):
    """No server library: says where it was looked for, or why fetching it failed."""


def default_cache() -> Path:
    """Return the cache directory of a checkout's lab, `.cache/clickhouse` under the working directory."""
    return Path.cwd() / ".cache" / "clickhouse"


def find(cache: Path | None = None) -> Path:
    """Return the library named by the environment or kept in the cache; raise `LibraryUnavailableError`."""
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        path = Path(named)
        if not path.is_file():
            raise LibraryUnavailableError(f"{LIBRARY_VARIABLE} names {path}, which is no file")
        return path
    cached = _cached(cache or default_cache())
    if not cached.is_file():
        raise LibraryUnavailableError(
            f"neither {LIBRARY_VARIABLE} nor {cached} names the ClickHouse server library"
        )
    return cached


def fetch(cache: Path | None = None) -> Path:
    """Fetch the pinned library with `npm pack` into the cache unless it is there; return its path."""
    target = _cached(cache or default_cache())
    if target.is_file():
        return target
    npm = shutil.which("npm")
    if npm is None:
        raise LibraryUnavailableError("npm is not installed; it fetches the ClickHouse server library")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        packed = subprocess.run(
            [npm, "pack", "--silent", f"{NPM_PACKAGE}@{NPM_VERSION}"],
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        if packed.returncode != 0:
            raise LibraryUnavailableError(
                f"npm pack {NPM_PACKAGE}@{NPM_VERSION} failed: {packed.stderr.strip()[-400:]}"
            )
        archive = next(Path(work).glob("*.tgz"))
        with tarfile.open(archive) as package:
            package.extract(_MEMBER, work, filter="data")
        (Path(work) / _MEMBER).rename(target)
    return target


def _cached(cache: Path) -> Path:
    return cache / NPM_VERSION / "libchdb.so"
