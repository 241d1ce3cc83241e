"""Budgets of a prepared generation, checked before each step against what the server reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from dpone_clickhouse.connection import Connection, Tag
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.relations import ClickHouseRelation

STAGING, SHADOW, RETAINED = "clickhouse_staging_bytes", "shadow_bytes", "retained_generation_bytes"

_FREE_SQL = """
SELECT min(free) FROM
(
    SELECT d.unreserved_space AS free
    FROM system.storage_policies AS p ARRAY JOIN p.disks AS disk
    INNER JOIN system.disks AS d ON d.name = disk
    WHERE p.policy_name = (SELECT storage_policy FROM system.tables WHERE database = {database:String} AND name = {name:String})
)
"""


def allocated(admitted: AdmittedOperation, kind: str) -> int:
    """Bytes that the operation holds of one kind; a missing allocation is an error, none has a default."""
    for _, held, amount in admitted.allocations:
        if held == kind:
            return amount
    raise DponeError("DPONE_CLICKHOUSE_BUDGET", f"the operation holds no allocation of {kind}")


def exceeded(what: str, needed: int, limit: int, unit: str = "bytes") -> Reason | None:
    """Name a budget that a step would break, with both figures; None when it holds."""
    if needed <= limit:
        return None
    return Reason(
        "DPONE_CLICKHOUSE_BUDGET",
        f"{what}: {needed} {unit} needed, {limit} allowed",
        {"needed": str(needed), "allowed": str(limit)},
    )


def free_bytes(connection: Connection, target: ClickHouseRelation, tag: Tag) -> int:
    """Unreserved bytes of the fullest disk of the target's storage policy."""
    return int(connection.scalar(_FREE_SQL, tag, {"database": target.database, "name": target.name}))
