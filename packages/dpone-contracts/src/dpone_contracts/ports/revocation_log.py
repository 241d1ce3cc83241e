"""Which revocation indexes a control store has seen: an older one is not believed again."""

from __future__ import annotations

from typing import Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect


class RevocationLog(Protocol):
    """The append-only memory of revocation indexes by trust domain."""

    @effect(EffectKind.COMMIT)
    def remember(self, trust_domain: str, epoch: int, revocation_index_sha256: str) -> EffectResult[int]:
        """Keep an index that was verified; the value is its epoch, and the same index again is Applied.

        NotApplied: DPONE_REVOCATION_INDEX_ROLLED_BACK below an epoch that was seen, DPONE_REVOCATION_INDEX_CONFLICT
        for another index of the same epoch.
        """
        ...
