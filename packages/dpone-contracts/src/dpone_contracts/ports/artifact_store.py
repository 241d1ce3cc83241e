"""Sealed chunks: encoding, and the create-only versioned object store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.ports.image_reader import ImageBatch


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """One Parquet chunk before it is stored: bytes, their SHA-256, rows, and the row-digest blocks that it holds.

    `block_sha256` are the `dpone_row_v1` chunk digests of its rows in order; a chunk holds whole blocks, but
    for the last one.
    """

    ordinal: int
    data: bytes
    sha256: str
    row_count: int
    block_sha256: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as the store has it, read back: key, exact version, size and SHA-256 of the stored plaintext bytes."""

    key: str
    version: str
    byte_count: int
    sha256: str


class ChunkEncoder(Protocol):
    """Turns ordered image batches into `dpone_parquet_v1` chunks, streaming."""

    @effect(EffectKind.READ)
    def writer_options(self) -> dict[str, str | int | bool]:
        """Everything that decides about the written form, pinned; the serializer's identity."""
        ...

    @effect(EffectKind.READ)
    def encode(self, target: PlanTarget, batches: Iterable[ImageBatch]) -> Iterator[EncodedChunk]:
        """Chunks in row order, ordinals from 1; nothing for an empty image."""
        ...


class ArtifactStore(Protocol):
    """Create-only objects with exact versions, strongly read after write."""

    @effect(EffectKind.READ)
    def probe(self) -> None:
        """Prove at start-up that a second create of a key fails and versions are exact; raise `DponeError` otherwise."""
        ...

    @effect(EffectKind.PUBLISH)
    def create(self, key: str, data: bytes, sha256: str) -> EffectResult[StoredObject]:
        """Create if absent and read back by exact version; an existing equal object is Applied, another is NotApplied."""
        ...

    @effect(EffectKind.READ)
    def stat(self, key: str) -> StoredObject | None:
        """The object under a key with its version and digest, or None where the store shows none."""
        ...

    @effect(EffectKind.READ)
    def read(self, key: str, version: str) -> bytes:
        """The bytes of one exact version."""
        ...
