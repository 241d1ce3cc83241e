"""Versioned objects in S3 through fsspec's s3fs: conditional creates, exact versions, doubt kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import ClientConnectorError
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError
from fsspec.asyn import sync
from s3fs import S3FileSystem

from dpone_contracts.errors import DponeError
from dpone_seal.versioned_objects import CreateAnswer, Created, Declined, Exists, StoreInDoubtError

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from dpone_contracts.redaction import Redacted

_NOT_FOUND = 404
_RETAIN_UNTIL = "dpone-retain-until"
_CLIENT_ERRORS = range(400, 500)


@dataclass(frozen=True, slots=True)
class S3Connection:
    """Where the store is and how long it may take to answer; keys None: the environment's credential chain."""

    endpoint_url: str | None
    region: str
    access_key: Redacted[str] | None
    secret_key: Redacted[str] | None
    connect_timeout_seconds: int
    read_timeout_seconds: int

    def open(self) -> S3FileSystem:
        """A file system that neither retries nor caches."""
        system = S3FileSystem(
            key=self.access_key and self.access_key.reveal(),
            secret=self.secret_key and self.secret_key.reveal(),
            client_kwargs={"endpoint_url": self.endpoint_url, "region_name": self.region},
            config_kwargs={
                "connect_timeout": self.connect_timeout_seconds,
                "read_timeout": self.read_timeout_seconds,
                "retries": {"total_max_attempts": 1},
            },
            skip_instance_cache=True,
            use_listings_cache=False,
        )
        system.retries = 1
        return system


@dataclass(frozen=True, slots=True)
class StorePolicy:
    """What the seal policy wants of every object, asserted on every answer.

    `server_side_encryption` is `AES256` or `aws:kms`, None where we encrypt; `kms_key_id` belongs to the latter.
    `retain_until` is a UTC instant; with `object_lock` the store keeps the object until then, else the instant
    stands in its metadata for whoever cleans up.
    """

    server_side_encryption: str | None
    kms_key_id: str | None
    retain_until: dt.datetime
    object_lock: bool

    def request(self) -> dict[str, Any]:
        """The arguments of a create."""
        wanted = {
            "ServerSideEncryption": self.server_side_encryption,
            "SSEKMSKeyId": self.kms_key_id,
            "ObjectLockMode": "GOVERNANCE" if self.object_lock else None,
            "ObjectLockRetainUntilDate": self.retain_until if self.object_lock else None,
            "Metadata": {_RETAIN_UNTIL: self.retain_until.isoformat()},
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def findings(self, answer: Mapping[str, Any]) -> tuple[str, ...]:
        """What an answer about an object lacks of the policy."""
        encryption, key_id = answer.get("ServerSideEncryption"), answer.get("SSEKMSKeyId")
        locked = answer.get("ObjectLockRetainUntilDate")
        lacking = {
            "server-side encryption": self.server_side_encryption not in (None, encryption),
            "KMS key": self.kms_key_id not in (None, key_id),
            "object lock": self.object_lock and (locked is None or locked < self.retain_until),
            "retention": not self.object_lock and _RETAIN_UNTIL not in answer.get("Metadata", {}),
        }
        return tuple(name for name, lacks in lacking.items() if lacks)


@dataclass(frozen=True, slots=True)
class S3Objects:
    """Objects of one bucket with versioning. A 412 means taken, a 409 that nothing landed; the rest is doubt."""

    system: S3FileSystem
    bucket: str
    policy: StorePolicy

    def create(self, key: str, data: bytes) -> CreateAnswer:
        """One PUT with `If-None-Match: *`."""
        try:
            answer = self._call("put_object", Key=key, Body=data, IfNoneMatch="*", **self.policy.request())
        except _StatusError as error:
            return _declined(error)
        return Created(_version_of(answer))

    def head(self, key: str) -> str | None:
        """The current version; raises DPONE_ARTIFACT_STORE_UNFIT where the object lacks what the policy wants."""
        answer = self._found("head_object", Key=key)
        if answer is None:
            return None
        self._require_policy(key, answer)
        return _version_of(answer)

    def get(self, key: str, version: str) -> bytes | None:
        """The bytes of a version."""
        answer = self._found("get_object", Key=key, VersionId=version)
        if answer is None:
            return None
        self._require_policy(key, answer)
        if answer.get("VersionId") != version:
            raise StoreInDoubtError("the store answered with another version")
        try:
            return bytes(sync(self.system.loop, answer["Body"].read))
        except Exception as error:  # any failure of the transport leaves the same doubt
            raise StoreInDoubtError(f"reading the body: {type(error).__name__}") from error

    def versions(self, key: str) -> tuple[str, ...]:
        """All versions and delete markers of a key."""
        answer = self._found("list_object_versions", Prefix=key) or {}
        listed = [*answer.get("Versions", []), *answer.get("DeleteMarkers", [])]
        return tuple(str(each["VersionId"]) for each in listed if each["Key"] == key)

    def _require_policy(self, key: str, answer: Mapping[str, Any]) -> None:
        if findings := self.policy.findings(answer):
            raise DponeError(
                "DPONE_ARTIFACT_STORE_UNFIT", f"an object lacks {', '.join(findings)}", {"key": key}
            )

    def _found(self, method: str, **arguments: object) -> dict[str, Any] | None:
        try:
            return self._call(method, **arguments)
        except _StatusError as error:
            if error.status == _NOT_FOUND or error.code in ("NoSuchVersion", "InvalidArgument"):
                return None
            raise StoreInDoubtError(f"{method}: {error.status} {error.code}") from error

    def _call(self, method: str, **arguments: object) -> dict[str, Any]:
        try:
            return dict(self.system.call_s3(method, Bucket=self.bucket, **arguments))
        except Exception as error:  # s3fs translates errors of many kinds; the original is the cause
            original = error.__cause__ or error
            if isinstance(original, ClientError):
                status = original.response["ResponseMetadata"]["HTTPStatusCode"]
                if status in _CLIENT_ERRORS:
                    raise _StatusError(status, str(original.response["Error"].get("Code"))) from None
            if _was_not_sent(original):
                raise _StatusError(None, "no connection") from None
            raise StoreInDoubtError(f"{method}: {type(original).__name__}") from error


def _version_of(answer: Mapping[str, Any]) -> str:
    """The version that an answer names; a store that names none can be asked for nothing exactly."""
    version = str(answer.get("VersionId"))
    if version in ("None", "null"):
        raise StoreInDoubtError("the store answered without a version")
    return version


def _was_not_sent(error: BaseException) -> bool:
    """Whether no connection was made; botocore's EndpointConnectionError covers a reset connection too."""
    if isinstance(error, EndpointConnectionError):
        return isinstance(error.kwargs.get("error"), ClientConnectorError)
    return isinstance(error, ConnectTimeoutError)


class _StatusError(Exception):
    """The store refused a request: HTTP status (None: nothing was sent) and its code."""

    def __init__(self, status: int | None, code: str) -> None:
        super().__init__(status, code)
        self.status = status
        self.code = code


def _declined(error: _StatusError) -> CreateAnswer:
    evidence = {"status": str(error.status), "store_code": error.code}
    match error.status:
        case 412:
            return Exists()
        case 409:
            return Declined("DPONE_ARTIFACT_CONCURRENT_CREATE", "another create was under way", evidence)
        case None:
            return Declined("DPONE_ARTIFACT_STORE_UNAVAILABLE", "no connection to the store", evidence)
        case _:
            return Declined("DPONE_ARTIFACT_STORE_REFUSED", f"status {error.status}, {error.code}", evidence)
