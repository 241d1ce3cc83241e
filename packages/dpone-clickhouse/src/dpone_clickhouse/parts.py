"""What a table holds, as a digest that every write changes and no background merge does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.canonical import digest_of

if TYPE_CHECKING:
    from dpone_clickhouse.connection import Connection, Tag
    from dpone_contracts.relations import ClickHouseRelation

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


# A part is immutable: what it reads as follows from its files, the table's definition, and what is laid over it.
_FILES_SQL = """
SELECT table, partition_id, arraySort(groupArray((
    rows, bytes_on_disk, hash_of_all_files, hash_of_uncompressed_files, uncompressed_hash_of_compressed_files)))
FROM system.parts
WHERE database = {database:String} AND has({tables:Array(String)}, table) AND active AND rows > 0
GROUP BY table, partition_id
"""
_OVERLAID_SQL = """
SELECT
    (SELECT count() FROM system.mutations
     WHERE database = {database:String} AND has({tables:Array(String)}, table) AND NOT is_done)
    + (SELECT count() FROM system.parts
       WHERE database = {database:String} AND has({tables:Array(String)}, table) AND active
         AND (startsWith(name, 'patch-') OR has_lightweight_delete))
    + (SELECT count() FROM (
        SELECT 1 FROM system.parts_columns
        WHERE database = {database:String} AND has({tables:Array(String)}, table) AND active AND rows > 0
        GROUP BY table, name HAVING uniqExact(column) < {columns:UInt64}))
"""


def identical_partitions(
    connection: Connection, left: ClickHouseRelation, right: ClickHouseRelation, columns: int, tag: Tag
) -> tuple[str, ...]:
    """Partitions that are the same files in two tables of one database and of one definition, part by part.

    None are where anything but files decides what is read: an unfinished mutation, a patch part, a delete mask, a
    part without one of the columns. The caller has compared the definitions.
    """
    parameters = {"database": left.database, "tables": [left.name, right.name]}
    if connection.scalar(_OVERLAID_SQL, tag, {**parameters, "columns": columns}):
        return ()
    files: dict[str, dict[str, object]] = {left.name: {}, right.name: {}}
    for table, partition, parts in connection.rows(_FILES_SQL, tag, parameters):
        files[table][partition] = parts
    mine, theirs = files[left.name], files[right.name]
    return tuple(sorted(partition for partition in mine if mine[partition] == theirs.get(partition)))


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
