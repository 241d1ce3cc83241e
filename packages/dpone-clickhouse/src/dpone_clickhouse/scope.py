"""The scope of an operation as a condition on the target's event-time column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.scope import DayScope

from dpone_clickhouse.names import literal, qualified, quoted

if TYPE_CHECKING:
    from dpone_contracts.plans import OperationPlan

    from dpone_clickhouse.target import TargetTable


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


def scope_sql(plan: OperationPlan, target: TargetTable) -> str:
    """A query of one row: rows of the target inside the plan's scope."""
    event_time = next(column for column in target.columns if column.name == target.event_time)
    scope = DayScope.parse(plan.scope_start, plan.scope_end)
    condition = scope_condition(scope, event_time.name, event_time.target_type)
    return f"SELECT count() FROM {qualified(target.relation)} WHERE {condition}"
