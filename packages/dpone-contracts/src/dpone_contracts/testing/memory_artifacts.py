"""Artifact store, chunk encoder and image reader in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING

from dpone_contracts.canonical import sha256_text
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.artifact_store import EncodedChunk, StoredObject
from dpone_contracts.ports.image_reader import ImageBatch
from dpone_contracts.row_encoding import ROWS_PER_BLOCK, block_digests, digest_text, encode_row
from dpone_contracts.testing.memory_rows import TargetRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.relations import SqlRelation
    from dpone_contracts.testing.memory_rows import Row
    from dpone_contracts.testing.memory_sql import MemorySqlServer


@dataclass(slots=True)
class MemoryArtifactStore:
    """`ArtifactStore` of one prefix."""

    prefix: str
    held: dict[str, tuple[StoredObject, bytes]] = field(default_factory=dict)
    versions: Iterator[int] = field(default_factory=lambda: count(1))

    def probe(self) -> None:
        """Memory creates only."""

    def create(self, key: str, data: bytes, sha256: str) -> EffectResult[StoredObject]:
        """Create unless the key is taken by other bytes."""
        self._require_key(key)
        if sha256_text(data) != sha256:
            raise DponeError(
                "DPONE_ARTIFACT_DIGEST_MISMATCH", "bytes to store have another digest", {"key": key}
            )
        fresh = (StoredObject(key, f"v{next(self.versions)}", len(data), sha256), data)
        stored, _ = self.held.setdefault(key, fresh)
        if stored.sha256 == sha256:
            return Applied(stored)
        return NotApplied(Reason("DPONE_ARTIFACT_CONFLICT", "other bytes stand under the key", {"key": key}))

    def stat(self, key: str) -> StoredObject | None:
        """The object under a key."""
        self._require_key(key)
        held = self.held.get(key)
        return held[0] if held else None

    def read(self, key: str, version: str) -> bytes:
        """The bytes of one version."""
        held = self.held.get(key)
        if held is None or held[0].version != version:
            raise DponeError("DPONE_ARTIFACT_MISSING", "no such version", {"key": key, "version": version})
        return held[1]

    def _require_key(self, key: str) -> None:
        exact = key.isascii() and key.isprintable() and " " not in key and len(key) <= 900
        steps = key.removeprefix(f"{self.prefix}/").split("/")
        if not exact or not key.startswith(f"{self.prefix}/") or {"", ".", ".."} & set(steps):
            raise DponeError("DPONE_ARTIFACT_KEY_REFUSED", "not an exact key under the prefix", {"key": key})


@dataclass(frozen=True, slots=True)
class MemoryChunkEncoder:
    """`ChunkEncoder` whose chunks are JSON, one block of rows each."""

    def writer_options(self) -> dict[str, str | int | bool]:
        """What decides about the written form."""
        return {"format": "json"}

    def encode(self, target: PlanTarget, batches: Iterable[ImageBatch]) -> Iterator[EncodedChunk]:
        """Chunks in row order."""
        columns, rows = TargetRows.of(target), _rows_of(batches)
        ordinals = count(1)
        while block := list(islice(rows, ROWS_PER_BLOCK)):
            data = columns.to_bytes(block)
            digests = block_digests(encode_row(columns.fields, row) for row in block)
            blocks = tuple(digest_text(raw) for raw in digests)
            yield EncodedChunk(next(ordinals), data, sha256_text(data), len(block), blocks)


def _rows_of(batches: Iterable[ImageBatch]) -> Iterator[Row]:
    following = 0
    for batch in batches:
        if (batch.first_row, len(batch.data)) != (following, batch.row_count):
            raise DponeError(
                "DPONE_ROW_BATCH_UNEXPECTED", f"row {batch.first_row} where {following} follows", {}
            )
        yield from batch.data
        following += batch.row_count


@dataclass(frozen=True, slots=True)
class MemoryImageReader:
    """`ImageReader` over the images of a server; a batch's data is a list of rows."""

    server: MemorySqlServer

    def batches(
        self,
        plan: OperationPlan,
        target: PlanTarget,
        image: SqlRelation,
        rows_per_batch: int,
    ) -> Iterator[ImageBatch]:
        """All rows, ordered."""
        rows = TargetRows.of(target, plan).ordered(self.server.images[image])
        for start in range(0, len(rows), rows_per_batch):
            part = rows[start : start + rows_per_batch]
            yield ImageBatch(start, len(part), part)
