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

# One row for the table {name}, also where it is absent: (UUID, rows, bytes on disk, free on its policy's fullest disk).
_HELD_SQL = """
WITH
    (SELECT (toString(uuid), storage_policy) FROM system.tables WHERE database = {database:String} AND name = {name:String}) AS found,
    (SELECT (sum(rows), sum(bytes_on_disk)) FROM system.parts WHERE active AND database = {database:String} AND table = {name:String}) AS size,
    (SELECT min(unreserved_space) FROM system.disks WHERE name IN (
        SELECT arrayJoin(disks) FROM system.storage_policies WHERE policy_name = found.2)) AS free
SELECT found.1, size.1, size.2, free
"""


@dataclass(frozen=True, slots=True)
class Held:
    """What a table holds, what its disks have left (bytes), and which table it is."""

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
    """Read the figures of a table by its name in one statement: they are asked for before every chunk."""
    parameters = {"database": relation.database, "name": relation.name}
    ((uuid, rows, size, free),) = connection.rows(_HELD_SQL, tag, parameters)
    return Held(int(rows), int(size), int(free or 0), uuid or None)
