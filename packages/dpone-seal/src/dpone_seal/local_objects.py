"""Versioned objects in a local directory: atomic creation, durable before it is acknowledged."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from dpone_seal.versioned_objects import CreateAnswer, Created, Declined, Exists, StoreInDoubtError

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"dpone-object-1"
_SUFFIX = ".object"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class LocalObjects:
    """One file an object, `<key>.object`: a line with its version and retention, then its bytes.

    A file is written aside, made durable, and linked to its name: `link` fails where the name is taken, so a
    half-written or overwritten object cannot exist.
    """

    root: Path
    retain_until: str = "-"

    def create(self, key: str, data: bytes) -> CreateAnswer:
        """Create unless the key is taken."""
        path, version = self._path(key), uuid4().hex
        aside = self.root / f".aside-{version}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_durably(
                aside, b"%b %b %b\n%b" % (_MAGIC, version.encode(), self.retain_until.encode(), data)
            )
        except OSError as error:
            aside.unlink(missing_ok=True)
            full = error.errno in _NO_ROOM
            code = "DPONE_ARTIFACT_STORE_FULL" if full else "DPONE_ARTIFACT_STORE_REFUSED"
            return Declined(code, os.strerror(error.errno or errno.EIO))
        try:
            path.hardlink_to(aside)
        except FileExistsError:
            return Exists()
        except OSError as error:
            raise StoreInDoubtError(os.strerror(error.errno or errno.EIO)) from error
        finally:
            aside.unlink(missing_ok=True)
        self._sync_directories(path)
        return Created(version)

    def head(self, key: str) -> str | None:
        """The version of a key."""
        held = self._read(key)
        return held[0] if held else None

    def retention(self, key: str) -> str | None:
        """Until when a key's object must be kept."""
        held = self._read(key)
        return held[2] if held else None

    def get(self, key: str, version: str) -> bytes | None:
        """The bytes of a version."""
        held = self._read(key)
        return held[1] if held and held[0] == version else None

    def versions(self, key: str) -> tuple[str, ...]:
        """The one version of a key, or none."""
        version = self.head(key)
        return () if version is None else (version,)

    def _path(self, key: str) -> Path:
        return self.root / f"{key}{_SUFFIX}"

    def _read(self, key: str) -> tuple[str, bytes, str] | None:
        try:
            line, _, data = self._path(key).read_bytes().partition(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreInDoubtError(os.strerror(error.errno or errno.EIO)) from error
        match line.split(b" "):
            case [magic, version, retain_until] if magic == _MAGIC:
                return version.decode("ascii"), data, retain_until.decode("ascii")
            case _:
                raise StoreInDoubtError("a file of another format stands there")

    def _sync_directories(self, path: Path) -> None:
        """Make the new name durable, and those of directories that creating it may have made."""
        try:
            for directory in path.parents:
                _sync(directory)
                if directory == self.root:
                    return
        except OSError as error:
            raise StoreInDoubtError(os.strerror(error.errno or errno.EIO)) from error


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
