"""The target as this adapter needs it: relation, business columns in order, effective key, event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_clickhouse.types import TargetColumn
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan

_EXACT_SET_BYTES = 32


@dataclass(frozen=True, slots=True)
class TargetTable:
    """One target: `columns` are all business columns in writable order, `key` names the effective key in row order."""

    relation: ClickHouseRelation
    columns: tuple[TargetColumn, ...]
    key: tuple[str, ...]
    event_time: str

    def __post_init__(self) -> None:
        names = self.names
        if (
            len(set(names)) != len(names)
            or not set(self.key) <= set(names)
            or self.event_time not in self.key
        ):
            raise ValueError("key columns are business columns, and event time is one of them")

    @property
    def names(self) -> tuple[str, ...]:
        """The business columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def key_columns(self) -> tuple[TargetColumn, ...]:
        """The effective key's columns, in row order."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in self.key)

    @property
    def key_fits_exact_set(self) -> bool:
        """Tell whether `IN` over the key compares values: up to 32 bytes ClickHouse keeps them, beyond that a hash."""
        widths = [column.fixed_bytes for column in self.key_columns]
        return None not in widths and sum(width for width in widths if width is not None) <= _EXACT_SET_BYTES


def table_of(target: PlanTarget, plan: OperationPlan | None = None) -> TargetTable:
    """Read a plan's target; the effective key is in the plan's order, in table order where nothing is ordered by it."""
    columns = target.writable_columns
    in_table = tuple(column.name for column in columns if column.writable_role != "MUTABLE_VALUE")
    return TargetTable(
        relation=ClickHouseRelation(target.publication_database, target.publication_target_table),
        columns=tuple(
            TargetColumn(column.name, column.source_type, column.target_type, column.nullable)
            for column in columns
        ),
        key=in_table if plan is None else tuple(column.name for column in plan.effective_key_columns),
        event_time=next(
            column.name for column in columns if column.writable_role == "EFFECTIVE_KEY_EVENT_TIME"
        ),
    )
