"""An fsspec filesystem over a local directory: objects are created once, whole, durable, and each has a version.

fsspec's own `LocalFileSystem` can't carry artifacts: `pipe_file(mode="create")` asks whether the file exists and then
overwrites it, nothing is made durable, a killed writer leaves half a file, and there are no versions.
"""

from __future__ import annotations

import errno
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from fsspec import AbstractFileSystem

_MAGIC = b"dpone-object-1"
_SUFFIX = ".object"


class NotStoredError(OSError):
    """A create failed before its object could have become visible: nothing of it is there, nor will be."""


@dataclass(frozen=True, slots=True)
class _Held:
    version: str
    retain_until: str
    data: bytes


class VersionedDirectory(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """One file an object, `<path>.object` below `root`: a line with its version and retention, then its bytes.

    A file is written aside, made durable, and linked to its name: `link` fails where the name is taken, so a
    half-written or overwritten object cannot exist. Versions are shown as s3fs shows them (`VersionId`).
    """

    protocol = "dpone-local"
    cachable = False

    def __init__(self, root: str, retain_until: str = "-", **options: Any) -> None:
        super().__init__(**options)
        self.root = Path(root)
        self.retain_until = retain_until

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> dict[str, str]:
        """Create an object; FileExistsError where the name is taken, NotStoredError where nothing was created.

        Any other error leaves open whether the object is there for good. `mode` must be `create`.
        """
        if mode != "create":
            raise PermissionError(errno.EPERM, "objects are created once: mode must be 'create'")
        file, version = self._file(path), uuid4().hex
        aside = self.root / f".aside-{version}"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            header = b"%b %b %b\n" % (_MAGIC, version.encode(), self.retain_until.encode())
            _write_durably(aside, header + value)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise NotStoredError(error.errno, os.strerror(error.errno or errno.EIO)) from error
        try:
            file.hardlink_to(aside)
        finally:
            aside.unlink(missing_ok=True)
        self._sync_directories(file)
        return {"VersionId": version}

    def cat_file(
        self,
        path: str,
        start: int | None = None,
        end: int | None = None,
        version_id: str | None = None,
        **_: Any,
    ) -> bytes:
        """The bytes of the version, or of the one that is there; FileNotFoundError where it isn't."""
        held = self._read(path)
        if version_id not in (None, held.version):
            raise FileNotFoundError(errno.ENOENT, "no such version", path)
        return held.data[start:end]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, type, size and, for an object, its version and until when it must be kept."""
        name = self._strip_protocol(path)
        if (self.root / name).is_dir() and not self._file(name).exists():
            return _directory(name)
        held = self._read(name)
        return {
            "name": name,
            "type": "file",
            "size": len(held.data),
            "VersionId": held.version,
            "RetainUntil": held.retain_until,
        }

    def object_version_info(self, path: str) -> list[dict[str, str]]:
        """The one version of an object, or none."""
        try:
            held = self._read(path)
        except FileNotFoundError:
            return []
        return [{"Key": self._strip_protocol(path), "VersionId": held.version}]

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:  # noqa: FBT001, FBT002 - fsspec's signature
        """What lies directly below a path; an object itself where the path is one."""
        folder = self.root / self._strip_protocol(path)
        found = []
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = entry.relative_to(self.root).as_posix()
            if entry.is_dir():
                found.append(_directory(name))
            elif name.endswith(_SUFFIX):
                found.append(self.info(name.removesuffix(_SUFFIX)))
        found = found or [self.info(path)]
        return found if detail else [each["name"] for each in found]

    def _open(self, path: str, mode: str = "rb", **options: Any) -> io.BytesIO:
        if mode != "rb":
            raise PermissionError(errno.EPERM, "objects are created whole: pipe_file(…, mode='create')")
        return io.BytesIO(self.cat_file(path, version_id=options.get("version_id")))

    def _file(self, path: str) -> Path:
        name = self._strip_protocol(path)
        if ".." in name.split("/"):
            raise PermissionError(errno.EPERM, "a path leads out of the store")
        return self.root / f"{name}{_SUFFIX}"

    def _read(self, path: str) -> _Held:
        try:
            line, _, data = self._file(path).read_bytes().partition(b"\n")
        except NotADirectoryError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        match line.split(b" "):
            case [magic, version, retain_until] if magic == _MAGIC:
                return _Held(version.decode("ascii"), retain_until.decode("ascii"), data)
            case _:
                raise OSError(errno.EBADMSG, "a file of another format stands there")

    def _sync_directories(self, file: Path) -> None:
        """Make the new name durable, and those of directories that creating it may have made."""
        for directory in file.parents:
            _sync(directory)
            if directory == self.root:
                return


def _directory(name: str) -> dict[str, Any]:
    return {"name": name, "type": "directory", "size": 0}


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
