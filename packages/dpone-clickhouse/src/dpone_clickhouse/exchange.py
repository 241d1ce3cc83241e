"""EXCHANGE TABLES once, believed only after the UUID map was read back; and the burn that any other delivery fails on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpone_clickhouse.connection import AnswerLostError, StatementRefusedError
from dpone_clickhouse.failures import in_doubt, reading, reason_of, settled
from dpone_clickhouse.names import qualified
from dpone_clickhouse.scratch import uuids
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason, Unknown
from dpone_contracts.ports.publisher import UuidMap
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from collections.abc import Container

    from dpone_clickhouse.connection import Connection, Tag
    from dpone_clickhouse.failures import Fault
    from dpone_clickhouse.names import AttemptNames
    from dpone_contracts.ports.publisher import Scratch


def uuid_map(
    connection: Connection, target: ClickHouseRelation, shadow: ClickHouseRelation, tag: Tag
) -> UuidMap:
    """Which UUID stands under which of the two names right now."""
    there = uuids(connection, (target, shadow), tag)
    return UuidMap(there.get(target), there.get(shadow))


def exchange(
    connection: Connection, target: ClickHouseRelation, scratch: Scratch, expected_target_uuid: str, tag: Tag
) -> EffectResult[UuidMap]:
    """Exchange target and shadow once.

    Applied needs the successor map. NotApplied needs the predecessor map *and* the server's own refusal of the one
    request that was sent, or no connection to send it over: then nothing is under way. All else is Unknown.
    """
    predecessor = UuidMap(expected_target_uuid, scratch.shadow_uuid)
    successor = UuidMap(scratch.shadow_uuid, expected_target_uuid)
    with reading():
        before = uuid_map(connection, target, scratch.shadow, tag)
    if before != predecessor:
        return NotApplied(_drift(before, expected_target_uuid, scratch))
    fault: Fault | None = None
    try:
        connection.run_one_shot(f"EXCHANGE TABLES {qualified(target)} AND {qualified(scratch.shadow)}", tag)
    except (StatementRefusedError, AnswerLostError) as failed:
        fault = failed
    try:
        after = uuid_map(connection, target, scratch.shadow, tag)
    except (StatementRefusedError, AnswerLostError) as unreadable:
        return _doubt(reason_of(fault or unreadable))
    if after == successor:
        return Applied(after)
    if after != predecessor:
        return _doubt(_mixed(after))
    match fault:
        case StatementRefusedError() | AnswerLostError(sent=False):
            return NotApplied(reason_of(fault))
        case AnswerLostError():
            return _doubt(reason_of(fault))
        case None:
            # Acknowledged and not there: somebody else exchanged back.
            return _doubt(_mixed(after))


def burn(
    connection: Connection,
    target: ClickHouseRelation,
    scratch: Scratch,
    expected_target_uuid: str,
    names: AttemptNames,
    tag: Tag,
) -> EffectResult[Scratch]:
    """Give what stands under the shadow's name another one of the attempt's, which no EXCHANGE was ever sent with.

    That is the shadow, or after the exchange the predecessor, and whichever it is when the rename takes effect: an
    EXCHANGE that lands between the look and the rename changes which, not that one of them moves. A burn that was
    done before is found by exact UUID, under whatever name it gave.
    """
    pair, own = (expected_target_uuid, scratch.shadow_uuid), names.shadows(target.database)
    with reading():
        moved = _burned(connection, target, scratch, pair, tag)
        there = uuids(connection, (target, scratch.shadow, *own), tag)
    if moved is not None:
        return Applied(moved)
    if {there.get(target), there.get(scratch.shadow)} != set(pair):
        return NotApplied(_mixed(UuidMap(there.get(target), there.get(scratch.shadow))))
    fresh = _fresh_name(scratch.shadow, own, there)
    if fresh is None:
        return NotApplied(Reason("DPONE_CLICKHOUSE_SCRATCH_CONFLICT", "the attempt has no fresh name left"))
    fault: Fault | None = None
    try:
        connection.run_one_shot(f"RENAME TABLE {qualified(scratch.shadow)} TO {qualified(fresh)}", tag)
    except (StatementRefusedError, AnswerLostError) as failed:
        fault = failed
    renamed = settled(lambda: _burned(connection, target, scratch, pair, tag))
    if isinstance(renamed, Unknown):
        return renamed
    if renamed is not None:
        return Applied(renamed)
    match fault:
        case StatementRefusedError() | AnswerLostError(sent=False):
            return NotApplied(reason_of(fault))
        case AnswerLostError():
            return in_doubt(fault)
        case None:
            return Unknown(Reason("DPONE_CLICKHOUSE_OUTCOME_UNKNOWN", f"{scratch.shadow} still stands"))


def _burned(
    connection: Connection, target: ClickHouseRelation, scratch: Scratch, pair: tuple[str, str], tag: Tag
) -> Scratch | None:
    """The scratch under its burned name: one of the pair under the target's, the other elsewhere, the sent name free."""
    rows = connection.rows(
        "SELECT name, toString(uuid) FROM system.tables WHERE database = {database:String}"
        " AND (has({pair:Array(UUID)}, uuid) OR name = {sent:String})",
        tag,
        {"database": target.database, "pair": list(pair), "sent": scratch.shadow.name},
    )
    there = {str(name): str(uuid) for name, uuid in rows}
    beside = there.keys() - {target.name}
    if set(there.values()) != set(pair) or target.name not in there or scratch.shadow.name in there:
        return None
    (name,) = beside
    return replace(scratch, shadow=ClickHouseRelation(target.database, name))


def active_queries(connection: Connection, prefix: str, tag: Tag) -> tuple[str, ...]:
    """Query ids (log comments, where the engine gives ids of its own) with the prefix that still run."""
    rows = connection.rows(
        """
        SELECT if(startsWith(query_id, {prefix:String}), query_id, Settings['log_comment']) AS named
        FROM system.processes
        WHERE startsWith(query_id, {prefix:String}) OR startsWith(Settings['log_comment'], {prefix:String})
        ORDER BY named
        """,
        tag,
        {"prefix": prefix},
    )
    return tuple(named for (named,) in rows)


def _fresh_name(
    current: ClickHouseRelation, own: tuple[ClickHouseRelation, ...], taken: Container[ClickHouseRelation]
) -> ClickHouseRelation | None:
    """The attempt's first free name behind the current one, which may be another attempt's.

    Its own first name is taken where it prepared a shadow, and its predecessor's receipt turned out to stand.
    """
    later = own[own.index(current) + 1 :] if current in own else own
    return next((name for name in later if name not in taken), None)


def _drift(seen: UuidMap, expected_target_uuid: str, scratch: Scratch) -> Reason:
    return Reason(
        "DPONE_TARGET_UUID_DRIFT",
        "target and shadow are not the tables that were prepared",
        {
            "expected_target": expected_target_uuid,
            "expected_shadow": scratch.shadow_uuid,
            "observed_target": str(seen.target_uuid),
            "observed_shadow": str(seen.shadow_uuid),
        },
    )


def _doubt(reason: Reason) -> Unknown:
    """An EXCHANGE that the map does not settle, with what was seen; only behind a burned name can the map settle it."""
    return Unknown(
        Reason("DPONE_EXCHANGE_UNKNOWN", reason.observed, {**reason.evidence, "code": reason.code})
    )


def _mixed(seen: UuidMap) -> Reason:
    return Reason(
        "DPONE_CORRUPTION_UUID_MAP",
        "the UUID map is neither the predecessor's nor the successor's",
        {"target": str(seen.target_uuid), "shadow": str(seen.shadow_uuid)},
    )
