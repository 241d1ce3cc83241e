"""The guard that this release ships: no production route is activated and no new run is admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from dpone_contracts.ports.guard import StoreIdentity


class ProductionGuard:
    """Always refuses, whatever the store says of itself (specification, seal, ClickHouse, and state publication)."""

    def require_allowed(self, store: StoreIdentity) -> None:
        """Raise `DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE` before any write."""
        raise DponeError(
            "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE",
            "release 0.74 has no exact-UUID retention controller and no live certification",
            {"store_id": store.store_id, "database": store.database},
        )
