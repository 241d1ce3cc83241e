"""What a deployment stage leaves outside of the control store: frozen receipts, projections, index, promotion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.projection import DagProjection


class FrozenBytes(Protocol):
    """Receipts as they were planned, so that a lost acknowledgement is answered with the same bytes."""

    @effect(EffectKind.PUBLISH)
    def freeze(self, name: str, data: bytes) -> EffectResult[bytes]:
        """Put bytes under a name that has none; the value is what stands there: the first bytes, for ever."""
        ...

    @effect(EffectKind.READ)
    def frozen(self, name: str) -> bytes | None:
        """The bytes that stand under a name."""
        ...


class ProjectionIndex(Protocol):
    """Where schedulers read projections from."""

    @effect(EffectKind.PUBLISH)
    def publish(
        self, current: Sequence[DagProjection], unfinished: Sequence[DagProjection]
    ) -> EffectResult[str]:
        """Create projections and their immutable index, verify every byte; the value is where the index is.

        The same bytes again are Applied, other bytes under a name NotApplied.
        """
        ...

    @effect(EffectKind.PUBLISH)
    def promote(self, index: str) -> EffectResult[None]:
        """Make a published index the one that schedulers parse; Applied where nothing is promoted from here."""
        ...
