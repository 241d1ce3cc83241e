"""Versioned objects in memory, for tests and simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

from dpone_seal.versioned_objects import CreateAnswer, Created, Exists


@dataclass(slots=True)
class MemoryObjects:
    """Objects of one process."""

    held: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def create(self, key: str, data: bytes) -> CreateAnswer:
        """Create unless the key is taken."""
        version, _ = self.held.setdefault(key, (fresh := uuid4().hex, data))
        return Created(version) if version == fresh else Exists()

    def head(self, key: str) -> str | None:
        """The version of a key."""
        held = self.held.get(key)
        return held[0] if held else None

    def get(self, key: str, version: str) -> bytes | None:
        """The bytes of a version."""
        held = self.held.get(key)
        return held[1] if held and held[0] == version else None

    def versions(self, key: str) -> tuple[str, ...]:
        """The one version of a key, or none."""
        return tuple(held[0] for held in [self.held.get(key)] if held)
