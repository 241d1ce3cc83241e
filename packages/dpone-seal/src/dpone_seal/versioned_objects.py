"""What the create-only store needs of any object store, and the three things that a create can answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Created:
    """The object is there under this exact version."""

    version: str


@dataclass(frozen=True, slots=True)
class Exists:
    """Something was there already, and nothing of this create is."""


@dataclass(frozen=True, slots=True)
class Declined:
    """The store said no before it wrote anything: a catalogue code and what was seen."""

    code: str
    observed: str
    evidence: Mapping[str, str] = field(default_factory=dict)


CreateAnswer: TypeAlias = Created | Exists | Declined


class StoreInDoubtError(Exception):
    """A request was sent and nothing tells what became of it; for reads: the answer is missing."""


class VersionedObjects(Protocol):
    """Objects by key, each with exact versions. Every method may raise `StoreInDoubtError`."""

    def create(self, key: str, data: bytes) -> CreateAnswer:
        """Create the object unless its key is taken, in one conditional request.

        A transport may repeat a request that got no answer (aiohttp does, for PUT): the condition makes that
        harmless, and whoever stands under the key then decides.
        """
        ...

    def head(self, key: str) -> str | None:
        """The current version of a key, None where the store shows none."""
        ...

    def get(self, key: str, version: str) -> bytes | None:
        """The bytes of one version, None where the store has no such version."""
        ...

    def versions(self, key: str) -> tuple[str, ...]:
        """All versions that a key ever had and still has."""
        ...
