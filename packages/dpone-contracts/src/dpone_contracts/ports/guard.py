"""The guard in front of activation and new-run admission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpone_contracts.effects import EffectKind, effect


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """What a control store says of itself.

    `store_id` is the random id that it was installed with; `schema_version` the version of its control
    schema; `database` its name; `recovery_fork` the recovery fork of the database, which a restore
    changes; `disposable_marker` the random id of a disposable lab database, or None for a real one.
    """

    store_id: str
    schema_version: int
    server: str
    database: str
    recovery_fork: str
    disposable_marker: str | None


class ActivationGuard(Protocol):
    """Decides whether this release may activate a route or admit a new run (specification, seal, last paragraph)."""

    @effect(EffectKind.READ)
    def require_allowed(self, store: StoreIdentity) -> None:
        """Return, or raise `DponeError` DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE before any write."""
        ...
