"""Versioned objects of an fsspec filesystem that creates only and shows versions as s3fs does."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_seal.versioned_directory import NotStoredError
from dpone_seal.versioned_objects import CreateAnswer, Created, Declined, Exists, StoreInDoubtError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class FileSystemObjects:
    """A key is a path. `FileExistsError` means taken, `NotStoredError` that nothing landed; any other error is doubt."""

    system: AbstractFileSystem

    def create(self, key: str, data: bytes) -> CreateAnswer:
        """Create unless the key is taken."""
        try:
            answer = self.system.pipe_file(key, data, mode="create")
        except FileExistsError:
            return Exists()
        except NotStoredError as error:
            full = error.errno in _NO_ROOM
            return Declined(
                "DPONE_ARTIFACT_STORE_FULL" if full else "DPONE_ARTIFACT_STORE_REFUSED", _words(error)
            )
        except OSError as error:
            raise StoreInDoubtError(_words(error)) from error
        if not answer or "VersionId" not in answer:
            raise StoreInDoubtError("the store created an object without a version")
        return Created(answer["VersionId"])

    def head(self, key: str) -> str | None:
        """The version of a key."""
        try:
            version: str | None = self.system.info(key).get("VersionId")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreInDoubtError(_words(error)) from error
        return version

    def get(self, key: str, version: str) -> bytes | None:
        """The bytes of a version."""
        try:
            return bytes(self.system.cat_file(key, version_id=version))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreInDoubtError(_words(error)) from error

    def versions(self, key: str) -> tuple[str, ...]:
        """All versions of a key."""
        try:
            return tuple(each["VersionId"] for each in self.system.object_version_info(key))
        except OSError as error:
            raise StoreInDoubtError(_words(error)) from error


def _words(error: OSError) -> str:
    """What the system calls the error: the path in its own text is none of a report's business."""
    return os.strerror(error.errno or errno.EIO)
