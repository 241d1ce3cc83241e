"""From a URL and a seal policy's choices to the store of one prefix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit
from urllib.request import url2pathname

from dpone_contracts.errors import DponeError
from dpone_seal.create_only import CreateOnlyStore
from dpone_seal.encryption import StoreEncrypted, aes_gcm
from dpone_seal.filesystem_objects import FileSystemObjects
from dpone_seal.memory_objects import MemoryObjects
from dpone_seal.versioned_directory import VersionedDirectory

if TYPE_CHECKING:
    import datetime as dt

    from dpone_seal.versioned_objects import VersionedObjects


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What a deployment says of its object store.

    `url` is `file:///directory`, `memory:` (tests) or `s3://bucket?region=…&endpoint=…`; credentials of S3 come
    from the environment's chain. Either the store encrypts (`server_side_encryption`, S3 only) or we do, with the
    key under `key_reference` (`env:NAME`, `file:/path`). Retention ends at the UTC instant `retain_until`.
    """

    url: str
    key_reference: str | None
    server_side_encryption: str | None
    kms_key_id: str | None
    retain_until: dt.datetime
    object_lock: bool
    connect_timeout_seconds: int
    read_timeout_seconds: int


def open_store(settings: StoreSettings, prefix: str) -> CreateOnlyStore:
    """The store of one prefix; nothing is connected to before `probe`.

    Raises DPONE_ARTIFACT_STORE_UNFIT where nobody would encrypt, and DPONE_USAGE for an unknown URL.
    """
    if settings.key_reference is not None:
        return CreateOnlyStore(_objects(settings), prefix, aes_gcm(settings.key_reference))
    if settings.server_side_encryption is None or not settings.url.startswith("s3:"):
        raise DponeError("DPONE_ARTIFACT_STORE_UNFIT", "neither the store nor a key reference encrypts")
    return CreateOnlyStore(_objects(settings), prefix, StoreEncrypted())


def _objects(settings: StoreSettings) -> VersionedObjects:
    parts = urlsplit(settings.url)
    match parts.scheme:
        case "file":
            directory = url2pathname(parts.path)
            return FileSystemObjects(VersionedDirectory(directory, settings.retain_until.isoformat()))
        case "memory":
            return MemoryObjects()
        case "s3":
            return _s3(
                settings, parts.netloc, {name: values[0] for name, values in parse_qs(parts.query).items()}
            )
        case other:
            raise DponeError("DPONE_USAGE", f"no object store is reached by {other or 'no'}: URLs")


def _s3(settings: StoreSettings, bucket: str, options: dict[str, str]) -> VersionedObjects:
    from dpone_seal.s3_objects import S3Connection, S3Objects, StorePolicy  # noqa: PLC0415 - s3fs takes a second

    connection = S3Connection(
        endpoint_url=options.get("endpoint"),
        region=options.get("region", ""),
        access_key=None,
        secret_key=None,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        read_timeout_seconds=settings.read_timeout_seconds,
    )
    policy = StorePolicy(
        settings.server_side_encryption, settings.kms_key_id, settings.retain_until, settings.object_lock
    )
    return S3Objects(connection.open(), bucket, policy)
