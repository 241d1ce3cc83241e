"""Reading SQL Server's catalog, and the DDL epochs of what a model depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from dpone_contracts.catalog import CatalogSnapshot, ClosureBudget
    from dpone_contracts.relations import SqlRelation


class CatalogReader(Protocol):
    """Observes the read-dependency closure of a model."""

    @effect(EffectKind.READ)
    def snapshot(self, roots: tuple[SqlRelation, ...], budget: ClosureBudget) -> CatalogSnapshot:
        """Everything that the named relations depend on; what can't be read is said in `unreadable`."""
        ...


class DdlFreeze(Protocol):
    """The epoch of a target: it moves when anybody changes the target or an object of its read closure."""

    @effect(EffectKind.COMMIT)
    def cover(self, target: SqlRelation, closure_object_ids: tuple[int, ...]) -> EffectResult[int]:
        """Cover the target and the closure; the value is the epoch (1 for a new target, one more when the set grew)."""
        ...

    @effect(EffectKind.READ)
    def epoch(self, target: SqlRelation) -> int | None:
        """The epoch of a target that is covered."""
        ...
