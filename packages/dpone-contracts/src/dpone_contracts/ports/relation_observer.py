"""What one engine says of a whole relation when a baseline is adopted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.payload_types import WritableColumn


@dataclass(frozen=True, slots=True)
class RelationObservation:
    """One relation, observed whole.

    `schema_sha256` covers names, types and nullability in order, `physical_sha256` the engine's full physical
    definition, `content_sha256` the multiset of rows (`dpone_row_v1` in key order), `duplicate_keys` the number of keys that
    stand more than once, `uuid` the ClickHouse UUID (None in SQL Server). `first_event` and `last_event` are instants with
    six fractional digits, None for an empty relation.
    """

    relation_id: str
    schema_sha256: str
    physical_sha256: str
    content_sha256: str
    row_count: int
    duplicate_keys: int
    first_event: str | None
    last_event: str | None
    uuid: str | None


class RelationObserver(Protocol):
    """Reads one relation of an engine; both engines' adapters implement it."""

    @effect(EffectKind.READ)
    def observe(
        self, relation_id: str, columns: Sequence[WritableColumn], key: Sequence[str], event_time: str
    ) -> RelationObservation:
        """Observe a relation by its id (`database.schema.table` or `database.table`); raises `DponeError` if absent."""
        ...
