"""The local store is an ordinary fsspec filesystem that nobody can overwrite, change or delete through."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dpone_seal.versioned_directory import VersionedDirectory


@pytest.fixture
def system(tmp_path: Path) -> VersionedDirectory:
    found: VersionedDirectory = fsspec.filesystem("dpone-local", root=str(tmp_path))
    found.pipe_file("seal/a", b"0123456789", mode="create")
    found.pipe_file("seal/a/b", b"inner", mode="create")
    return found


def test_objects_are_read_by_any_user_of_fsspec(system: VersionedDirectory, tmp_path: Path) -> None:
    assert system.cat_file("seal/a") == b"0123456789"
    assert system.cat_file("seal/a", start=2, end=-3) == b"23456"
    assert system.find("") == ["seal/a", "seal/a/b"]
    listed = [(each["name"], each["type"]) for folder in ("", "seal") for each in system.ls(folder)]
    assert listed == [("seal", "directory"), ("seal/a", "directory"), ("seal/a", "file")]
    with fsspec.open("dpone-local://seal/a/b", root=str(tmp_path)) as file:
        assert file.read() == b"inner"


def test_a_version_is_shown_and_another_is_not_there(system: VersionedDirectory) -> None:
    version = system.info("seal/a")["VersionId"]
    assert system.object_version_info("seal/a") == [{"Key": "seal/a", "VersionId": version}]
    assert system.cat_file("seal/a", version_id=version) == b"0123456789"
    with pytest.raises(FileNotFoundError):
        system.cat_file("seal/a", version_id="f" * 32)
    with pytest.raises(FileNotFoundError):
        system.info("seal/absent")
    assert system.object_version_info("seal/absent") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda system: system.pipe_file("seal/a", b"other"),
        lambda system: system.pipe("seal/a", b"other"),
        lambda system: system.pipe_file("seal/a", b"other", mode="create"),
        lambda system: system.open("seal/a", "wb"),
        lambda system: system.open("seal/a", "ab"),
        lambda system: system.open("seal/new", "xb"),
        lambda system: system.touch("seal/a"),
        lambda system: system.rm("seal/a"),
        lambda system: system.mv("seal/a", "seal/new"),
        lambda system: system.pipe_file("../outside", b"x", mode="create"),
    ],
)
def test_nothing_is_overwritten_changed_or_removed(
    system: VersionedDirectory, tmp_path: Path, change: Callable[[Any], object]
) -> None:
    before = {path: path.read_bytes() for path in tmp_path.parent.rglob("*") if path.is_file()}
    with pytest.raises((OSError, NotImplementedError)):
        change(system)
    assert {path: path.read_bytes() for path in tmp_path.parent.rglob("*") if path.is_file()} == before


def test_a_writer_killed_at_any_moment_leaves_a_whole_object_or_none(tmp_path: Path) -> None:
    script = (
        "import sys, fsspec\n"
        "store = fsspec.filesystem('dpone-local', root=sys.argv[1])\n"
        "number = 0\n"
        "while True:\n"
        "    store.pipe_file(f'seal/{number}', b'x' * 1_000_000, mode='create')\n"
        "    number += 1\n"
        "    print(number, flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(3)][-1]
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
    writer.wait()
    system = fsspec.filesystem("dpone-local", root=str(tmp_path))
    names = system.ls("seal", detail=False)
    assert {f"seal/{number}" for number in range(acknowledged)} <= set(names)
    assert all(system.cat_file(name) == b"x" * 1_000_000 for name in names)
