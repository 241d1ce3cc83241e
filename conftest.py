"""Settings of every test run: generated examples are not timed on shared machines; and a disk that can be filled."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

settings.register_profile("dpone", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dpone")


@pytest.fixture
def small_disk() -> Iterator[Callable[[int], Path]]:
    """Mount a file system of so many MiB on a directory of its own; skips where the machine doesn't let us."""
    mounted: list[Path] = []

    def mount(megabytes: int) -> Path:
        place = Path(tempfile.mkdtemp(prefix="small-disk-"))
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(place)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            place.rmdir()
            pytest.skip("a small file system can't be mounted: there is no mount")
        if done.returncode:
            place.rmdir()
            pytest.skip(f"a small file system can't be mounted: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # noqa: S607 - wherever the system has it
        place.rmdir()
