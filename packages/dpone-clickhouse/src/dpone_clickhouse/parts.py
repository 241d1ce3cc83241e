"""What a table holds, as a digest that every write changes and no background merge does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.canonical import digest_of

if TYPE_CHECKING:
    from dpone_clickhouse.connection import Connection, Tag

# A merge keeps a partition's rows, its highest block number and its data version. An INSERT or an attached part
# takes a new, higher block number; dropping or replacing parts changes rows or blocks; a mutation raises the
# version. So these say "the same content" without refusing a table because it merged in the background.
_PARTS_SQL = """
SELECT p.partition_id, sum(p.rows), max(p.max_block_number), max(p.data_version)
FROM system.parts AS p INNER JOIN system.tables AS t ON t.database = p.database AND t.name = p.table
WHERE p.active AND p.rows > 0 AND t.uuid = {uuid:UUID}
GROUP BY p.partition_id ORDER BY p.partition_id
"""


def parts_digest(connection: Connection, uuid: str, tag: Tag) -> str | None:
    """Digest the active parts of the table with this UUID, whatever its name; None where there is no such table."""
    if not connection.scalar(
        "SELECT count() FROM system.tables WHERE uuid = {uuid:UUID}", tag, {"uuid": uuid}
    ):
        return None
    rows = connection.rows(_PARTS_SQL, tag, {"uuid": uuid})
    return digest_of(
        [[partition, int(count), int(block), int(version)] for partition, count, block, version in rows]
    )


def table_rows(connection: Connection, uuid: str, tag: Tag) -> int:
    """Rows of the active parts of the table with this UUID."""
    return int(
        connection.scalar(
            "SELECT sum(p.rows) FROM system.parts AS p"
            " INNER JOIN system.tables AS t ON t.database = p.database AND t.name = p.table"
            " WHERE p.active AND t.uuid = {uuid:UUID}",
            tag,
            {"uuid": uuid},
        )
    )
