"""Frozen receipts and the projection index in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpone_contracts.canonical import sha256_text
from dpone_contracts.effects import Applied, EffectResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.projection import DagProjection


@dataclass(slots=True)
class MemoryFrozenBytes:
    """`FrozenBytes` in a dictionary."""

    held: dict[str, bytes] = field(default_factory=dict)

    def freeze(self, name: str, data: bytes) -> EffectResult[bytes]:
        """The bytes that were first."""
        return Applied(self.held.setdefault(name, data))

    def frozen(self, name: str) -> bytes | None:
        """The bytes under a name."""
        return self.held.get(name)


@dataclass(slots=True)
class MemoryIndex:
    """`ProjectionIndex` that keeps every index by what it lists, in the order of publishing; `promoted` is parsed."""

    published: dict[str, tuple[str, ...]] = field(default_factory=dict)
    promoted: str | None = None

    def publish(
        self, current: Sequence[DagProjection], unfinished: Sequence[DagProjection]
    ) -> EffectResult[str]:
        """Keep the digests of what is listed, the current ones first."""
        listed = tuple(projection.digest for projection in (*current, *unfinished))
        name = sha256_text("\n".join(listed).encode())
        self.published.setdefault(name, listed)
        return Applied(name)

    def promote(self, index: str) -> EffectResult[None]:
        """Remember it as the parsed one."""
        self.promoted = index
        return Applied(None)
