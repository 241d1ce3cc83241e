"""The create-only store of canonical documents beside the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from dpone_contracts.document import Document


class DocumentStore(Protocol):
    """Keeps documents by (schema, digest); the same bytes may be stored again, other bytes never."""

    @effect(EffectKind.COMMIT)
    def persist(self, operation_id: str | None, document: Document) -> EffectResult[str]:
        """Store a document for an operation (None: for the workflow or deployment); the value is its digest."""
        ...

    @effect(EffectKind.READ)
    def read(self, schema: str, digest: str) -> bytes | None:
        """The stored canonical bytes, digest verified, or None where no such document is."""
        ...

    @effect(EffectKind.READ)
    def list_for(self, operation_id: str) -> tuple[tuple[str, str], ...]:
        """(schema, digest) of every document of an operation, in the order of storing."""
        ...
