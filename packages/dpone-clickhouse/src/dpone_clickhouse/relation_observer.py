"""`RelationObserver` of ClickHouse: one relation whole, at the adoption of a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_clickhouse.authority import authority_digest, refusals
from dpone_clickhouse.connection import Connection, Tag
from dpone_clickhouse.failures import reading
from dpone_clickhouse.names import OBSERVER_PREFIX, column_list, qualified, quoted
from dpone_clickhouse.observation import observe
from dpone_clickhouse.parts import parts_digest
from dpone_clickhouse.preparation import content
from dpone_clickhouse.target import TargetTable
from dpone_clickhouse.types import TargetColumn, spelled_as_planned
from dpone_contracts.canonical import digest_of
from dpone_contracts.effects import EffectKind, effect
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.relation_observer import RelationObservation
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.payload_types import WritableColumn

SCHEMA_SUBJECT = "dpone.semantic-refresh-clickhouse-relation-schema.v1"


class ClickHouseRelationObserver:
    """Observes tables that the publisher would admit; `policies_from_plan` as for `ClickHousePublisher`."""

    def __init__(self, connection: Connection, *, policies_from_plan: bool = False) -> None:
        self._connection = connection
        self._policies_from_plan = policies_from_plan

    @effect(EffectKind.READ)
    def observe(
        self, relation_id: str, columns: Sequence[WritableColumn], key: Sequence[str], event_time: str
    ) -> RelationObservation:
        """Observe `database.table`; raises `DponeError` where it is absent or no target could be of its design."""
        database, _, name = relation_id.partition(".")
        table = TargetTable(
            ClickHouseRelation(database, name),
            tuple(TargetColumn(c.name, c.source_type, c.target_type, c.nullable) for c in columns),
            tuple(key),
            event_time,
        )
        tag = Tag(OBSERVER_PREFIX, "baseline")
        with reading():
            return self._observe(table, tag)

    def _observe(self, table: TargetTable, tag: Tag) -> RelationObservation:
        observation = observe(self._connection, table.relation, tag)
        for code, seen in refusals(observation, table, policies_from_plan=self._policies_from_plan):
            raise DponeError(code, seen)
        before = parts_digest(self._connection, observation.table.uuid, tag)
        keys, event = column_list(table.key), f"toDateTime64({quoted(table.event_time)}, 6, 'UTC')"
        ((duplicates, first, last),) = self._connection.rows(
            f"""
            SELECT
                (SELECT count() FROM (SELECT 1 FROM {qualified(table.relation)} GROUP BY {keys} HAVING count() > 1)),
                toString(min({event})), toString(max({event}))
            FROM {qualified(table.relation)}
            """,
            tag,
        )
        rows, digest = content(self._connection, table, table.relation, tag)
        if before is None or parts_digest(self._connection, observation.table.uuid, tag) != before:
            raise DponeError(
                "DPONE_CLICKHOUSE_TARGET_CHANGED", f"{table.relation} was written while it was observed"
            )
        shape = [[column.name, spelled_as_planned(column.type_name)] for column in observation.columns]
        return RelationObservation(
            relation_id=str(table.relation),
            schema_sha256=digest_of({"columns": shape, "schema": SCHEMA_SUBJECT}),
            physical_sha256=authority_digest(observation),
            content_sha256=digest,
            row_count=rows,
            duplicate_keys=int(duplicates),
            first_event=_instant(first) if rows else None,
            last_event=_instant(last) if rows else None,
            uuid=observation.table.uuid,
        )


def _instant(text: str) -> str:
    return f"{text.replace(' ', 'T')}Z"
