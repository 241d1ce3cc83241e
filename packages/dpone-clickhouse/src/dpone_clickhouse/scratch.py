"""Staging and shadow of an attempt: made under exact names, found again by them, removed by exact UUID only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_clickhouse.connection import AnswerLostError, StatementRefusedError
from dpone_clickhouse.failures import effect_failed, in_doubt, reading, settled
from dpone_clickhouse.names import SHADOW_PREFIX, STAGING_PREFIX, qualified
from dpone_clickhouse.observation import row_policies, table_row
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason, Unknown
from dpone_contracts.ports.publisher import Scratch
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone_clickhouse.connection import Connection, Tag
    from dpone_clickhouse.failures import Fault
    from dpone_clickhouse.names import AttemptNames


_TABLES = "system.tables"


def uuids(
    connection: Connection, relations: Iterable[ClickHouseRelation], tag: Tag
) -> dict[ClickHouseRelation, str]:
    """Read which UUID stands under which of these names now; absent names are left out."""
    wanted = tuple(relations)
    rows = connection.rows(
        "SELECT database, name, toString(uuid) FROM system.tables"
        " WHERE has({databases:Array(String)}, database) AND has({names:Array(String)}, name)",
        tag,
        {
            "databases": sorted({relation.database for relation in wanted}),
            "names": sorted({relation.name for relation in wanted}),
        },
    )
    found = {ClickHouseRelation(database, name): uuid for database, name, uuid in rows}
    return {relation: found[relation] for relation in wanted if relation in found}


def create(
    connection: Connection, target: ClickHouseRelation, names: AttemptNames, tag: Tag
) -> EffectResult[Scratch]:
    """Create empty staging and shadow of the target's exact design; names that exist are NotApplied.

    Only an empty staging of that design with no shadow beside it, the attempt's own half, is made anew.
    """
    staging, shadow = names.staging(target.database), names.shadow(target.database)
    with reading():
        there = uuids(connection, (staging, *names.shadows(target.database)), tag)
        policies = row_policies(connection, (staging, shadow), tag)
    if set(there) == {staging} and _is_unused(connection, target, staging, tag):
        # The attempt was cut off between its two CREATEs: nothing is lost with an empty half of its own.
        dropped = drop(connection, target, staging, there.pop(staging), tag)
        if not isinstance(dropped, Applied):
            return dropped
    if there:
        held = ", ".join(str(relation) for relation in there)
        return NotApplied(Reason("DPONE_CLICKHOUSE_SCRATCH_CONFLICT", f"{held} exists already"))
    if policies:
        return NotApplied(Reason("DPONE_CLICKHOUSE_ROW_POLICY", f"{policies[0]} covers the scratch names"))
    made = False
    for relation in (staging, shadow):
        try:
            connection.run(f"CREATE TABLE {qualified(relation)} AS {qualified(target)}", tag)
        except (StatementRefusedError, AnswerLostError) as fault:
            # Half of the scratch is neither there nor absent.
            return in_doubt(fault) if made else _not_made(connection, relation, fault, tag)
        made = True
    return _read_back(connection, target, staging, shadow, tag)


def find(connection: Connection, target: ClickHouseRelation, names: AttemptNames, tag: Tag) -> Scratch | None:
    """Find the attempt's scratch by its exact names; None unless both relations are there."""
    staging, shadows = names.staging(target.database), names.shadows(target.database)
    there = uuids(connection, (staging, *shadows), tag)
    shadow = next((relation for relation in shadows if relation in there), None)
    if staging not in there or shadow is None:
        return None
    return Scratch(staging, there[staging], shadow, there[shadow])


def drop(
    connection: Connection, target: ClickHouseRelation, relation: ClickHouseRelation, uuid: str, tag: Tag
) -> EffectResult[None]:
    """Drop one scratch relation if exactly this UUID stands under its name; Applied once it is proven absent.

    DROP goes by name: a scratch name is never used twice, and only the guard's holder creates or renames under it.
    """
    refusal = _not_scratch(target, relation)
    if refusal is not None:
        return NotApplied(refusal)
    with reading():
        there = uuids(connection, (relation, target), tag)
    if there.get(target) == uuid:
        return NotApplied(Reason("DPONE_CLICKHOUSE_SCRATCH_CONFLICT", f"{uuid} is the target's generation"))
    if relation in there and there[relation] != uuid:
        return NotApplied(
            Reason(
                "DPONE_CLICKHOUSE_SCRATCH_CONFLICT",
                f"{relation} is another table",
                {"expected": uuid, "observed": there[relation]},
            )
        )
    refused: Fault | None = None
    if relation in there:
        try:
            # The server's size guard is for tables that are dropped by mistake; this one is proven.
            connection.run(f"DROP TABLE {qualified(relation)} SYNC", tag, max_table_size_to_drop="0")
        except AnswerLostError as fault:
            if not fault.sent:
                return effect_failed(fault)
        except StatementRefusedError as fault:
            refused = fault
    left = settled(lambda: _remains(connection, uuid, tag))
    if isinstance(left, Unknown):
        return left
    if left == _TABLES and refused is not None:
        return effect_failed(refused)
    if left:
        # Also behind a refusal: SYNC may give up waiting for a table that is dropped already.
        return Unknown(
            Reason("DPONE_CLICKHOUSE_OUTCOME_UNKNOWN", f"{relation} is still in {left}", {"uuid": uuid})
        )
    return Applied(None)


def _is_unused(
    connection: Connection, target: ClickHouseRelation, relation: ClickHouseRelation, tag: Tag
) -> bool:
    """Tell whether a relation is empty and of the target's exact design."""
    with reading():
        row, wanted = (table_row(connection, name, tag) for name in (relation, target))
    return (
        row is not None and wanted is not None and row.row_count == 0 and row.definition == wanted.definition
    )


def _not_made(
    connection: Connection, relation: ClickHouseRelation, fault: Fault, tag: Tag
) -> NotApplied | Unknown:
    """How a CREATE failed: also a refused one, that was killed or timed out, may have left its table."""
    failed = effect_failed(fault)
    if isinstance(failed, Unknown) or isinstance(fault, AnswerLostError):
        return failed
    there = settled(lambda: uuids(connection, (relation,), tag))
    if isinstance(there, Unknown):
        return there
    return in_doubt(fault) if relation in there else failed


def _read_back(
    connection: Connection,
    target: ClickHouseRelation,
    staging: ClickHouseRelation,
    shadow: ClickHouseRelation,
    tag: Tag,
) -> EffectResult[Scratch]:
    there = settled(lambda: {each: table_row(connection, each, tag) for each in (target, staging, shadow)})
    if isinstance(there, Unknown):
        return there
    wanted = there[target]
    for relation in (staging, shadow):
        row = there[relation]
        if row is None or wanted is None or row.definition != wanted.definition:
            # Made, and to be dropped before anything else: neither the scratch that was asked for nor none.
            return Unknown(
                Reason(
                    "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN",
                    f"{relation} is not of the target's design",
                    {"code": "DPONE_CLICKHOUSE_SCRATCH_DIFFERS"},
                )
            )
    made_staging, made_shadow = there[staging], there[shadow]
    assert made_staging is not None
    assert made_shadow is not None
    return Applied(Scratch(staging, made_staging.uuid, shadow, made_shadow.uuid))


def _not_scratch(target: ClickHouseRelation, relation: ClickHouseRelation) -> Reason | None:
    if relation.database == target.database and relation.name.startswith((STAGING_PREFIX, SHADOW_PREFIX)):
        return None
    return Reason("DPONE_CLICKHOUSE_SCRATCH_CONFLICT", f"{relation} is no scratch name beside {target}")


def _remains(connection: Connection, uuid: str, tag: Tag) -> str:
    """Say where a UUID still is: among the tables, or among the dropped ones that could be taken back."""
    for table in (_TABLES, "system.dropped_tables"):
        if connection.scalar(f"SELECT count() FROM {table} WHERE uuid = {{uuid:UUID}}", tag, {"uuid": uuid}):
            return table
    return ""
