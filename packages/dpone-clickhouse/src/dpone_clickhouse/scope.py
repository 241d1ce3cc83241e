"""The scope of an operation as a condition on the target's event-time column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_clickhouse.names import literal, quoted
from dpone_contracts.scope import DayScope

if TYPE_CHECKING:
    from dpone_clickhouse.target import TargetTable
    from dpone_contracts.plans import OperationPlan


def scope_condition(scope: DayScope, column: str, target_type: str) -> str:
    """`[start, end)` in the column's own type, so that the primary key and partitions can answer it."""
    if target_type == "Date":
        start, end = (f"toDate({literal(moment.date().isoformat())})" for moment in (scope.start, scope.end))
    else:
        start, end = (
            f"toDateTime64({literal(moment.strftime('%Y-%m-%d 00:00:00'))}, 6, 'UTC')"
            for moment in (scope.start, scope.end)
        )
    return f"{quoted(column)} >= {start} AND {quoted(column)} < {end}"


def scope_of(plan: OperationPlan, target: TargetTable) -> str:
    """The condition of rows inside the plan's scope."""
    event_time = next(column for column in target.columns if column.name == target.event_time)
    return scope_condition(
        DayScope.parse(plan.scope_start, plan.scope_end), event_time.name, event_time.target_type
    )
