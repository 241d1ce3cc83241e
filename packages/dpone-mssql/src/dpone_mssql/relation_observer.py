"""`RelationObserver` of SQL Server: one relation whole, at the adoption of a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.canonical import digest_of
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.relation_observer import RelationObservation
from dpone_contracts.relations import SqlRelation
from dpone_mssql.batches import Statements
from dpone_mssql.catalog import spelled_type
from dpone_mssql.columns import Column, column_list
from dpone_mssql.connection import read_consistently
from dpone_mssql.images import content_of
from dpone_mssql.literals import local_name, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.canonical import Json
    from dpone_contracts.payload_types import WritableColumn
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames

SCHEMA_SUBJECT = "dpone.semantic-refresh-mssql-relation-schema.v1"
PHYSICAL_SUBJECT = "dpone.semantic-refresh-mssql-relation-physical.v1"


class MssqlRelationObserver:
    """Observes tables of one database under a held SERIALIZABLE read."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._sql = Statements("catalog/target.sql", control=names.schema)

    def observe(
        self, relation_id: str, columns: Sequence[WritableColumn], key: Sequence[str], event_time: str
    ) -> RelationObservation:
        """Observe `database.schema.table`; raises DponeError where it is absent or has other columns."""
        relation = SqlRelation.from_id(relation_id)
        planned = tuple(Column.of(column) for column in columns)
        by_name = {column.name: column for column in planned}
        return read_consistently(
            self._config,
            lambda tx: self._observe(tx, relation, planned, tuple(by_name[name] for name in key), event_time),
        )

    def _observe(
        self,
        tx: Transaction,
        relation: SqlRelation,
        columns: tuple[Column, ...],
        key: tuple[Column, ...],
        event_time: str,
    ) -> RelationObservation:
        found = tx.rows(self._sql["object"], relation.schema, relation.name)
        if len(found) != 1 or str(found[0][1]).strip() != "U":
            raise DponeError("DPONE_TARGET_ABSENT", f"{relation} is no table here", {})
        object_id, table = int(found[0][0]), local_name(relation)
        catalog = tx.rows(self._sql["columns"], object_id)
        shape: list[Json] = [
            [str(row[0]), spelled_type(str(row[1]), int(row[2]), int(row[3]), int(row[4])), bool(row[5])]
            for row in catalog
        ]
        wanted = [[column.name, column.source_type, column.nullable] for column in columns]
        if shape != wanted:
            raise DponeError("DPONE_TARGET_SCHEMA_DRIFT", f"{relation}: columns are not the planned ones", {})
        indexes: list[Json] = [
            [str(name), str(kind), bool(ignores)]
            for name, kind, ignores in tx.rows(self._sql["indexes"], object_id)
        ]
        physical: dict[str, Json] = {
            "schema": PHYSICAL_SUBJECT,
            "columns": shape,
            "collations": [None if row[6] is None else str(row[6]) for row in catalog],
            "indexes": indexes,
        }
        keys, event = column_list(key), quote_name(event_time)
        duplicates, first, last = tx.rows(
            f"SELECT (SELECT COUNT_BIG(*) FROM (SELECT {keys} FROM {table} GROUP BY {keys} "
            f"HAVING COUNT_BIG(*) > 1) AS d), "
            f"CONVERT(nvarchar(26), CONVERT(datetime2(6), MIN({event})), 121), "
            f"CONVERT(nvarchar(26), CONVERT(datetime2(6), MAX({event})), 121) FROM {table};"
        )[0]
        rows, content = content_of(tx, table, columns, key)
        return RelationObservation(
            relation_id=str(relation),
            schema_sha256=digest_of({"schema": SCHEMA_SUBJECT, "columns": shape}),
            physical_sha256=digest_of(physical),
            content_sha256=content,
            row_count=rows,
            duplicate_keys=int(duplicates),
            first_event=_instant(first),
            last_event=_instant(last),
            uuid=None,
        )


def _instant(value: object) -> str | None:
    return None if value is None else str(value).replace(" ", "T") + "Z"
