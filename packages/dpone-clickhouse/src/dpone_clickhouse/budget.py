"""Budgets of a prepared generation, checked before each step against what the server reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from dpone_clickhouse.connection import Connection, Tag
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.relations import ClickHouseRelation

STAGING, SHADOW, RETAINED = "clickhouse_staging_bytes", "shadow_bytes", "retained_generation_bytes"

# One statement, because it is asked for before every chunk: what the table holds, which disks its policy may write to,
# and what each disk has left. Joined here: a subquery for each figure costs the server as much as a statement.
_HELD_SQL = """
SELECT
    toString(uuid), ifNull(total_rows, 0), ifNull(total_bytes, 0), storage_policy,
    (SELECT groupArray((policy_name, disks)) FROM system.storage_policies),
    (SELECT groupArray((name, unreserved_space)) FROM system.disks)
FROM system.tables WHERE database = {database:String} AND name = {name:String}
"""


@dataclass(frozen=True, slots=True)
class Held:
    """What a table holds, what the fullest of its disks has left (bytes), and which table it is; no UUID where it is absent."""

    rows: int
    size: int
    free: int
    uuid: str | None


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


def held_by(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> Held:
    """Read the figures of a table by its name; free is what the fullest disk of its policy has left."""
    rows = connection.rows(_HELD_SQL, tag, {"database": relation.database, "name": relation.name})
    if not rows:
        return Held(0, 0, 0, None)
    ((uuid, row_count, size, policy, policies, left),) = rows
    unreserved = dict(left)
    disks = [disk for name, volume in policies if name == policy for disk in volume]
    free = min((unreserved[disk] for disk in disks if disk in unreserved), default=0)
    return Held(int(row_count), int(size), int(free), str(uuid))
