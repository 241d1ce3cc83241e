"""The shadow's SQL: which partitions a scope touches, how the rest is attached, and what proves the whole.

The expected shadow is the multiset (target rows whose effective key isn't staged) + (staged rows). Two forms
compare exactly, the cheaper one first:

* *by place*: both sides in one order, row beside row. Equal at every place and equal in number means equal as
  multisets, whatever the order was. Unequal may only be a tie in another order, so it is asked again by count.
* *by count*: every distinct row with its multiplicity on each side (`GROUP BY` every column keeps NULL, defaults,
  -0.0 and duplicates apart), then by key: where the key is staged the shadow must equal staging, elsewhere the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_clickhouse.names import column_list, literal, qualified, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_clickhouse.target import TargetTable
    from dpone_contracts.relations import ClickHouseRelation

COMPARING = {
    # The optimizer would drop the order of a subquery, which is what PASTE JOIN compares by.
    "query_plan_remove_redundant_sorting": "0",
    # A set as large as a day is asked by hash; sorting it for the primary index costs more than it saves.
    "use_index_for_in_with_subqueries": "0",
}


def partitions_follow_key(partition_columns: Sequence[str], target: TargetTable) -> bool:
    """Tell whether rows of one effective key always lie in one partition, so that a scope touches few of them."""
    return bool(partition_columns) and set(partition_columns) <= set(target.key)


def in_partitions(partition_ids: Sequence[str]) -> str:
    """The condition of rows in any of these partitions."""
    return f"_partition_id IN ({_literals(partition_ids)})" if partition_ids else "0"


def outside_partitions(partition_ids: Sequence[str]) -> str:
    """The condition of rows in none of these partitions."""
    return f"_partition_id NOT IN ({_literals(partition_ids)})" if partition_ids else "1"


def attach_sql(destination: ClickHouseRelation, source: ClickHouseRelation, partition_id: str) -> str:
    """Hard-link one partition of `source` into `destination`."""
    return f"ALTER TABLE {qualified(destination)} ATTACH PARTITION ID {literal(partition_id)} FROM {qualified(source)}"


def key_staged(target: TargetTable, staging: ClickHouseRelation) -> str:
    """The condition of rows whose effective key is staged."""
    key = column_list(target.key)
    return f"({key}) IN (SELECT {key} FROM {qualified(staging)})"


def keep_unstaged_sql(
    target: TargetTable, shadow: ClickHouseRelation, staging: ClickHouseRelation, rebuilt: str
) -> str:
    """Insert the target's rows of the rebuilt partitions whose effective key isn't staged."""
    columns = column_list(target.names)
    return (
        f"INSERT INTO {qualified(shadow)} ({columns}) SELECT {columns} FROM {qualified(target.relation)}"
        f" WHERE {rebuilt} AND NOT {key_staged(target, staging)}"
    )


def by_place_sql(
    target: TargetTable,
    left: tuple[ClickHouseRelation, str],
    right: tuple[ClickHouseRelation, str],
    sorting_key: str,
) -> str:
    """A query of one row: (places that both sides have, places where they differ); sides are (table, condition)."""
    columns = column_list(target.names)
    order = ", ".join(part for part in (sorting_key, column_list(target.key)) if part)
    differs = " OR ".join(_differs(column.name, nullable=column.nullable) for column in target.columns)
    sides = [
        f"(SELECT {columns} FROM {qualified(relation)} WHERE {condition} ORDER BY {order}) AS {name}"
        for name, (relation, condition) in zip(("l", "r"), (left, right), strict=True)
    ]
    return f"SELECT count(), countIf({differs}) FROM {sides[0]} PASTE JOIN {sides[1]}"


def by_count_sql(
    target: TargetTable, shadow: ClickHouseRelation, staging: ClickHouseRelation, condition: str
) -> str:
    """A query of one row: rows, with multiplicity, that differ between the shadow and what is expected of it.

    `condition` picks the same partitions of target and shadow; staging counts whole.
    """
    columns, key = column_list(target.names), column_list(target.key)
    return f"""
SELECT sum(if(staged > 0, from_staging, from_target))
FROM
(
    SELECT
        sum(in_staging) AS staged,
        sum(abs(in_shadow - in_staging)) AS from_staging,
        sum(abs(in_shadow - in_target)) AS from_target
    FROM
    (
        SELECT
            {columns},
            toInt64(countIf(side = 1)) AS in_shadow,
            toInt64(countIf(side = 2)) AS in_staging,
            toInt64(countIf(side = 3)) AS in_target
        FROM
        (
            SELECT {columns}, 1 AS side FROM {qualified(shadow)} WHERE {condition}
            UNION ALL
            SELECT {columns}, 2 AS side FROM {qualified(staging)}
            UNION ALL
            SELECT {columns}, 3 AS side FROM {qualified(target.relation)} WHERE {condition}
        )
        GROUP BY {columns}
    )
    GROUP BY {key}
)
"""


def same_rows_sql(
    target: TargetTable, left: ClickHouseRelation, right: ClickHouseRelation, condition: str
) -> str:
    """A query of one row: rows, with multiplicity, that one of two tables has and the other lacks."""
    columns = column_list(target.names)
    return f"""
SELECT sum(abs(surplus))
FROM
(
    SELECT sum(sign) AS surplus
    FROM
    (
        SELECT {columns}, 1 AS sign FROM {qualified(left)} WHERE {condition}
        UNION ALL
        SELECT {columns}, -1 AS sign FROM {qualified(right)} WHERE {condition}
    )
    GROUP BY {columns}
)
"""


def count_sql(relation: ClickHouseRelation, condition: str) -> str:
    """A query of one row: how many rows satisfy the condition."""
    return f"SELECT count() FROM {qualified(relation)} WHERE {condition}"


def _differs(name: str, *, nullable: bool) -> str:
    left, right = f"l.{quoted(name)}", f"r.{quoted(name)}"
    return f"NOT ({left} <=> {right})" if nullable else f"{left} != {right}"


def _literals(texts: Sequence[str]) -> str:
    return ", ".join(literal(text) for text in texts)
