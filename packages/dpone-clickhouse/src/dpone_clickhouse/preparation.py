"""Fill staging with sealed bytes, build the shadow beside the target, and prove it row by row."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_clickhouse import shadow as sql
from dpone_clickhouse.connection import AnswerLostError, StatementRefusedError
from dpone_clickhouse.failures import effect_failed, in_doubt, reading, reason_of, settled
from dpone_clickhouse.names import qualified
from dpone_clickhouse.observation import column_rows, table_row
from dpone_clickhouse.parts import identical_partitions, parts_digest, table_rows
from dpone_clickhouse.row_text import page_sql
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.publisher import ShadowBuild, ShadowProof
from dpone_contracts.row_encoding import ROWS_PER_BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_clickhouse.connection import Connection, Tag
    from dpone_clickhouse.observation import TableRow
    from dpone_clickhouse.target import TargetTable
    from dpone_contracts.ports.publisher import Scratch
    from dpone_contracts.relations import ClickHouseRelation

PARTITION, FULL = "partition", "full"
_PAGE_BYTES = 32 << 20
_MAX_BLOCKS = 64


@dataclass(frozen=True, slots=True)
class ShadowPlan:
    """Which partitions of the target are attached as they are, and which are built again."""

    strategy: str
    attached: tuple[str, ...]
    rebuilt: tuple[str, ...]
    staged: tuple[str, ...]

    @property
    def rebuilt_rows(self) -> str:
        """The condition of target and shadow rows that were built again."""
        return sql.in_partitions(self.rebuilt) if self.strategy == PARTITION else "1"

    @property
    def attached_rows(self) -> str:
        """The condition of all other rows."""
        return sql.outside_partitions(self.rebuilt) if self.strategy == PARTITION else "0"


def load(
    connection: Connection, target: TargetTable, scratch: Scratch, rows_before: int, data: bytes, tag: Tag
) -> EffectResult[int]:
    """Insert one Parquet chunk into staging, which held `rows_before`; the value is the server's count of rows written."""
    try:
        return Applied(connection.insert_parquet(qualified(scratch.staging), target.names, data, tag))
    except AnswerLostError as fault:
        return effect_failed(fault)
    except StatementRefusedError as fault:
        held = settled(lambda: table_rows(connection, scratch.staging_uuid, tag))
        if isinstance(held, Unknown):
            return held
        # A refused INSERT may have written blocks before it was refused.
        return NotApplied(reason_of(fault)) if held == rows_before else in_doubt(fault)


def content(
    connection: Connection, target: TargetTable, relation: ClickHouseRelation, tag: Tag
) -> tuple[int, str]:
    """(row count, `dpone_row_v1` content digest) of a table, its texts digested in the server page by page.

    Pages go on behind the last key, so a second row of one key can fall between two of them. Rows are counted apart
    from that: such a table has another number of rows than its digest is of, and is equal to no image.
    """
    rows = rows_inside(connection, relation, "1", tag)
    blocks = _blocks_of_a_page(connection, relation, tag)
    limit = None if rows <= blocks * ROWS_PER_BLOCK else blocks
    whole = hashlib.sha256()
    last: Sequence[str] | None = None
    while True:
        query = page_sql(relation, target.columns, target.key_columns, limit, after=last is not None)
        parameters = {f"last{place}": text for place, text in enumerate(last or ())}
        page = connection.rows(query, tag, parameters)
        for _, digest, *_ in page:
            whole.update(bytes.fromhex(digest))
        if limit is None or len(page) < limit or page[-1][0] < ROWS_PER_BLOCK:
            return rows, f"sha256:{whole.hexdigest()}"
        last = page[-1][-1]


def _blocks_of_a_page(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> int:
    """As many blocks as hold about `_PAGE_BYTES` of uncompressed rows."""
    ((rows, size),) = connection.rows(
        "SELECT sum(rows), sum(data_uncompressed_bytes) FROM system.parts"
        " WHERE database = {database:String} AND table = {name:String} AND active",
        tag,
        {"database": relation.database, "name": relation.name},
    )
    of_a_block = ROWS_PER_BLOCK * int(size) // max(int(rows), 1)
    return max(1, min(_MAX_BLOCKS, _PAGE_BYTES // max(of_a_block, 1)))


def plan_shadow(connection: Connection, target: TargetTable, scratch: Scratch, tag: Tag) -> ShadowPlan:
    """Choose: where rows of one key share a partition, only staged partitions are touched; elsewhere all are."""
    partition_columns = [c.name for c in column_rows(connection, target.relation, tag) if c.in_partition_key]
    there = _partitions(connection, target.relation, tag)
    staged = _partitions(connection, scratch.staging, tag)
    if not sql.partitions_follow_key(partition_columns, target):
        return ShadowPlan(FULL, (), tuple(sorted({*there, *staged})), staged)
    attached = tuple(partition for partition in there if partition not in staged)
    return ShadowPlan(PARTITION, attached, staged, staged)


def build(
    connection: Connection, target: TargetTable, scratch: Scratch, plan: ShadowPlan, tag: Tag
) -> EffectResult[ShadowBuild]:
    """Fill the empty shadow: attached partitions, staging, then the target's unstaged rows of what is rebuilt.

    An interrupted build is not resumed: a shadow that holds rows is refused, scratch is made anew.
    """
    with reading():
        held = table_rows(connection, scratch.shadow_uuid, tag)
    if held:
        return NotApplied(
            Reason("DPONE_CLICKHOUSE_SCRATCH_CONFLICT", f"{scratch.shadow} holds {held} rows already")
        )
    statements = [
        *(sql.attach_sql(scratch.shadow, target.relation, partition) for partition in plan.attached),
        *(sql.attach_sql(scratch.shadow, scratch.staging, partition) for partition in plan.staged),
        sql.keep_unstaged_sql(target, scratch.shadow, scratch.staging, plan.rebuilt_rows),
    ]
    for statement in statements:
        try:
            connection.run(statement, tag, **sql.COMPARING)
        except (StatementRefusedError, AnswerLostError) as fault:
            # The shadow is partly filled: neither built nor empty, and only fit to be dropped.
            return in_doubt(fault)
    rows = settled(lambda: table_rows(connection, scratch.shadow_uuid, tag))
    if isinstance(rows, Unknown):
        return rows
    return Applied(ShadowBuild(plan.strategy, plan.attached, plan.rebuilt, rows))


def prove(
    connection: Connection,
    target: TargetTable,
    scratch: Scratch,
    build: ShadowBuild,
    target_uuid: str,
    tag: Tag,
) -> ShadowProof:
    """Compare the whole shadow with what it must be, both directions; no write may happen on either meanwhile."""
    plan = ShadowPlan(build.strategy, build.attached_partitions, build.rebuilt_partitions, ())
    before = _digests(connection, target_uuid, scratch, tag)
    table = table_row(connection, target.relation, tag)
    if table is None or table.uuid != target_uuid:
        raise DponeError("DPONE_TARGET_UUID_DRIFT", f"{target.relation} is not {target_uuid}")
    rebuilt = rows_inside(connection, scratch.shadow, plan.rebuilt_rows, tag)
    attached = rows_inside(connection, scratch.shadow, plan.attached_rows, tag)
    staged = rows_inside(connection, scratch.staging, "1", tag)
    differences = _rebuilt_differences(connection, target, scratch, plan, table.sorting_key, tag)
    differences += _attached_differences(connection, target, scratch, plan, table, tag)
    after = _digests(connection, target_uuid, scratch, tag)
    if after != before:
        raise DponeError(
            "DPONE_CLICKHOUSE_TARGET_CHANGED", f"{target.relation} or its shadow was written meanwhile"
        )
    return ShadowProof(rebuilt, attached, staged, differences, *after)


def _rebuilt_differences(
    connection: Connection,
    target: TargetTable,
    scratch: Scratch,
    plan: ShadowPlan,
    sorting_key: str,
    tag: Tag,
) -> int:
    """Differences of what was built again: staged keys against staging, all other keys against the target."""
    condition = plan.rebuilt_rows
    if target.key_fits_exact_set and _rebuilt_by_place(
        connection, target, scratch, condition, sorting_key, tag
    ):
        return 0
    return int(connection.scalar(sql.by_count_sql(target, scratch.shadow, scratch.staging, condition), tag))


def _rebuilt_by_place(
    connection: Connection, target: TargetTable, scratch: Scratch, condition: str, sorting_key: str, tag: Tag
) -> bool:
    """Tell whether staged rows, and kept rows, stand in the shadow place by place, and nothing beside them."""
    staged_keys = sql.key_staged(target, scratch.staging)
    unstaged = f"{condition} AND NOT {staged_keys}"
    kept = rows_inside(connection, target.relation, unstaged, tag)
    staged = rows_inside(connection, scratch.staging, "1", tag)
    if rows_inside(connection, scratch.shadow, condition, tag) != kept + staged:
        return False
    if kept == 0:
        return _same_places(
            connection, target, (scratch.shadow, condition), (scratch.staging, "1"), staged, sorting_key, tag
        )
    # Each pasting ends with its shorter side. Both being as long as expected, and the shadow holding no row more
    # than both together, no side can be longer than the other.
    of_staging = ((scratch.shadow, f"{condition} AND {staged_keys}"), (scratch.staging, "1"), staged)
    of_target = ((scratch.shadow, unstaged), (target.relation, unstaged), kept)
    return all(
        _same_places(connection, target, *sides, sorting_key, tag) for sides in (of_staging, of_target)
    )


def _attached_differences(
    connection: Connection,
    target: TargetTable,
    scratch: Scratch,
    plan: ShadowPlan,
    table: TableRow,
    tag: Tag,
) -> int:
    """Differences of everything else, partitions that only one side has included.

    Partitions that are the same files under the same definition hold the same rows and are not read. All others are:
    parts that merged since they were attached, or whatever else happened to either side.
    """
    if plan.strategy == FULL:
        return 0
    same: tuple[str, ...] = ()
    shadow_row = table_row(connection, scratch.shadow, tag)
    if shadow_row is not None and shadow_row.definition == table.definition:
        columns = len(target.columns)
        same = identical_partitions(connection, target.relation, scratch.shadow, columns, tag)
    known = {*same, *plan.rebuilt}
    left = {
        partition
        for relation in (target.relation, scratch.shadow)
        for partition in _partitions(connection, relation, tag)
        if partition not in known
    }
    if not left:
        return 0
    condition = sql.in_partitions(sorted(left))
    sorting_key = table.sorting_key
    shadow, there = (scratch.shadow, condition), (target.relation, condition)
    rows = rows_inside(connection, *there, tag)
    if rows_inside(connection, *shadow, tag) == rows and _same_places(
        connection, target, shadow, there, rows, sorting_key, tag
    ):
        return 0
    return int(connection.scalar(sql.same_rows_sql(target, scratch.shadow, target.relation, condition), tag))


def _same_places(
    connection: Connection,
    target: TargetTable,
    left: tuple[ClickHouseRelation, str],
    right: tuple[ClickHouseRelation, str],
    rows: int,
    sorting_key: str,
    tag: Tag,
) -> bool:
    """Tell whether both sides have these many rows in common places; false may only mean that ties came differently."""
    query = sql.by_place_sql(target, left, right, sorting_key)
    ((places, different),) = connection.rows(query, tag, None, **sql.COMPARING)
    return (int(places), int(different)) == (rows, 0)


def _digests(connection: Connection, target_uuid: str, scratch: Scratch, tag: Tag) -> tuple[str, str]:
    target = parts_digest(connection, target_uuid, tag)
    shadow = parts_digest(connection, scratch.shadow_uuid, tag)
    if target is None or shadow is None:
        raise DponeError("DPONE_TARGET_UUID_DRIFT", "the target or its shadow is gone")
    return target, shadow


def _partitions(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> tuple[str, ...]:
    rows = connection.rows(
        "SELECT DISTINCT partition_id FROM system.parts"
        " WHERE database = {database:String} AND table = {name:String} AND active AND rows > 0 ORDER BY partition_id",
        tag,
        {"database": relation.database, "name": relation.name},
    )
    return tuple(partition for (partition,) in rows)


def partition_bytes(
    connection: Connection, relation: ClickHouseRelation, partition_ids: tuple[str, ...], tag: Tag
) -> int:
    """Bytes on disk of some partitions of a table."""
    return int(
        connection.scalar(
            "SELECT sum(bytes_on_disk) FROM system.parts WHERE database = {database:String} AND table = {name:String}"
            " AND active AND has({partitions:Array(String)}, partition_id)",
            tag,
            {"database": relation.database, "name": relation.name, "partitions": list(partition_ids)},
        )
    )


def rows_inside(connection: Connection, relation: ClickHouseRelation, condition: str, tag: Tag) -> int:
    """Count a table's rows for which the condition holds."""
    return int(connection.scalar(sql.count_sql(relation, condition), tag, None, **sql.COMPARING))


def rows_outside(connection: Connection, relation: ClickHouseRelation, condition: str, tag: Tag) -> int:
    """Count a table's rows for which the condition doesn't hold."""
    return int(connection.scalar(sql.count_sql(relation, f"NOT ({condition})"), tag))
