"""Read everything that a server shows of one target: definition, parts, writers, followers, filters, work in progress."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_clickhouse.connection import StatementRefusedError
from dpone_clickhouse.names import literal, qualified, quoted
from dpone_contracts.errors import DponeError
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from dpone_clickhouse.connection import Connection, Tag

ACCESS_DENIED = 497

# Tables that hold rows of their own, or are only read by name: none of them writes, filters or follows.
_INERT = (
    r"View|\w*MergeTree|StripeLog|TinyLog|Log|Memory|Null|Set|Join|File|URL|S3|Executable\w*|GenerateRandom|"
    r"EmbeddedRocksDB|KeeperMap|System\w*"
)

BY_PATTERN = ("Merge", "Proxy")
"""Engines that may name a table by a pattern: Merge, and a table function that is kept as a table (Proxy)."""

# Kinds of queries that write nothing and change nothing.
_READING = ("Select", "Explain", "Show", "Describe", "Exists", "Use", "Set", "KillQuery")

_NAME = r"(?:`(?:[^`\\]|\\.)*`|[A-Za-z0-9_]+)"
_HEADER = re.compile(rf"\s*(?:CREATE|ATTACH)\s+(?:[A-Z]+\s+)+?{_NAME}\.{_NAME}\s+")
_INSERT_INTO = re.compile(
    rf"\s*INSERT\s+INTO\s+(?:TABLE\s+)?(?!FUNCTION\b)(?:{_NAME}\s*\.\s*)?({_NAME})\s*(?:\(|SELECT\b|WITH\b|VALUES\b|FORMAT\b|SETTINGS\b)",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"`((?:[^`\\]|\\.)*)`|'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([A-Za-z_][A-Za-z0-9_]*)"
)


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """One row of `system.columns`."""

    name: str
    type_name: str
    default_kind: str
    default_expression: str
    codec: str
    in_partition_key: bool


@dataclass(frozen=True, slots=True)
class TableRow:
    """The target's row of `system.tables`; `definition` is its create query after the name."""

    uuid: str
    database_engine: str
    engine: str
    definition: str
    partition_key: str
    sorting_key: str
    primary_key: str
    sampling_key: str
    storage_policy: str
    row_count: int
    byte_count: int


@dataclass(frozen=True, slots=True)
class Follower:
    """Another table that names the target: its engine with arguments, or the create query where it has none."""

    relation: ClickHouseRelation
    engine: str
    definition: str
    writes_to_target: bool


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that the physical authority of a target follows from; tuples are sorted.

    `row_policies` is None where the principal may not list them, `sees_every_table` false where tables are hidden from
    it: what a principal may not see it is shown as absent. `row_filtered` tells whether a plan for this principal
    filters rows. `settings` are (code, what was seen) of settings that change what statements mean.
    """

    relation: ClickHouseRelation
    settings: tuple[tuple[str, str], ...]
    sees_every_table: bool
    table: TableRow
    columns: tuple[ColumnRow, ...]
    topology: tuple[tuple[str, ...], ...]
    projections: tuple[str, ...]
    indices: tuple[str, ...]
    followers: tuple[Follower, ...]
    dependents: tuple[str, ...]
    row_policies: tuple[str, ...] | None
    row_filtered: bool
    pending_mutations: tuple[str, ...]
    lightweight_deletes: tuple[str, ...]
    patch_parts: tuple[str, ...]
    parts_without_a_column: tuple[str, ...]
    active_writers: tuple[str, ...]
    async_inserts: int


def table_row(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> TableRow | None:
    """Read a table's own row, None where no table has the name."""
    rows = connection.rows(
        """
        SELECT toString(t.uuid), d.engine, t.engine, t.create_table_query, t.partition_key, t.sorting_key,
               t.primary_key, t.sampling_key, t.storage_policy, ifNull(t.total_rows, 0), ifNull(t.total_bytes, 0)
        FROM system.tables AS t INNER JOIN system.databases AS d ON d.name = t.database
        WHERE t.database = {database:String} AND t.name = {name:String}
        """,
        tag,
        _name(relation),
    )
    if not rows:
        return None
    uuid, database_engine, engine, create, partition, sorting, primary, sampling, policy, count, size = rows[
        0
    ]
    return TableRow(
        uuid,
        database_engine,
        engine,
        definition_of(create),
        partition,
        sorting,
        primary,
        sampling,
        policy,
        count,
        size,
    )


def column_rows(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> tuple[ColumnRow, ...]:
    """Read a table's columns in their order."""
    return tuple(
        ColumnRow(name, type_name, kind, expression, codec, bool(partition))
        for name, type_name, kind, expression, codec, partition in connection.rows(
            """
            SELECT name, type, default_kind, default_expression, compression_codec, is_in_partition_key
            FROM system.columns WHERE database = {database:String} AND table = {name:String} ORDER BY position
            """,
            tag,
            _name(relation),
        )
    )


def observe(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> Observation:
    """Read the whole; raise `DponeError` when the target is absent."""
    table = table_row(connection, relation, tag)
    if table is None:
        raise DponeError("DPONE_CLICKHOUSE_TARGET_ABSENT", f"no table {relation}")
    columns = column_rows(connection, relation, tag)
    return Observation(
        relation=relation,
        settings=connection.setting_findings(tag),
        sees_every_table=_may(connection, "SHOW", tag),
        table=table,
        columns=columns,
        topology=_topology(connection, tag),
        projections=_named(connection, relation, tag, "SELECT name FROM system.projections"),
        indices=_named(
            connection,
            relation,
            tag,
            "SELECT concat(name, ' ', type_full, ' ', expr, ' ', toString(granularity)) AS name"
            " FROM system.data_skipping_indices",
        ),
        followers=_followers(connection, relation, tag),
        dependents=_dependents(connection, relation, tag),
        row_policies=row_policies(connection, (relation,), tag),
        row_filtered=row_filtered(connection, relation, tag),
        pending_mutations=_named(
            connection, relation, tag, "SELECT mutation_id AS name FROM system.mutations", "NOT is_done"
        ),
        lightweight_deletes=_named(
            connection,
            relation,
            tag,
            "SELECT name FROM system.parts",
            "active AND has_lightweight_delete",
        ),
        patch_parts=_named(
            connection,
            relation,
            tag,
            "SELECT name FROM system.parts",
            "active AND startsWith(name, 'patch-')",
        ),
        parts_without_a_column=_named(
            connection,
            relation,
            tag,
            "SELECT name FROM system.parts_columns",
            f"active GROUP BY name HAVING uniqExact(column) < {len(columns)}",
        ),
        active_writers=active_writers(connection, relation, tag),
        async_inserts=async_inserts(connection, relation, tag),
    )


def row_policies(
    connection: Connection, relations: tuple[ClickHouseRelation, ...], tag: Tag
) -> tuple[str, ...] | None:
    """Name every row policy on any of the names, or on all tables; None where none is shown to who may not list them."""
    databases = sorted({relation.database for relation in relations})
    tables = sorted(relation.name for relation in relations)
    try:
        rows = connection.rows(
            """
            SELECT name FROM system.row_policies
            WHERE has(arrayConcat({databases:Array(String)}, ['', '*']), database)
              AND has(arrayConcat({tables:Array(String)}, ['', '*']), table)
            ORDER BY name
            """,
            tag,
            {"databases": databases, "tables": tables},
        )
    except StatementRefusedError as refused:
        if refused.code == ACCESS_DENIED:
            return None
        raise
    # Whoever may not list policies is shown their own, and of others an empty list.
    if not rows and not _may(connection, "SHOW ROW POLICIES", tag):
        return None
    return tuple(name for (name,) in rows)


def row_filtered(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> bool:
    """Tell whether a plain read by this principal is planned with a row filter."""
    plan = connection.rows(f"EXPLAIN PLAN actions = 1 SELECT * FROM {qualified(relation)}", tag)
    return any("row level filter" in str(line).lower() for (line,) in plan)


def active_writers(connection: Connection, target: ClickHouseRelation, tag: Tag) -> tuple[str, ...]:
    """(kind and id) of running statements that name the target and neither are plain reads nor insert elsewhere."""
    kinds = ", ".join(literal(kind) for kind in _READING)
    rows = connection.rows(
        f"""
        SELECT concat(toString(query_kind), ' ', query_id) AS named, query FROM system.processes
        WHERE toString(query_kind) NOT IN ({kinds})
          AND (position(query, {{name:String}}) > 0 OR position(query, {{escaped:String}}) > 0)
        ORDER BY named
        """,
        tag,
        {"name": target.name, "escaped": quoted(target.name)[1:-1]},
    )
    return tuple(
        named
        for named, query in rows
        if mentions(query, target.name) and not inserts_elsewhere(query, target.name)
    )


def async_inserts(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> int:
    """Count the entries that wait in the asynchronous insert queue for the target."""
    return int(
        connection.scalar(
            "SELECT count() FROM system.asynchronous_inserts"
            " WHERE database IN ({database:String}, '') AND table = {name:String}",
            tag,
            _name(relation),
        )
    )


def definition_of(create_query: str) -> str:
    """Cut the verb and the name off a create query; what is left is equal for tables of one design."""
    header = _HEADER.match(create_query)
    return create_query[header.end() :] if header else create_query


def mentions(definition: str, name: str) -> bool:
    """Tell whether a definition holds the name as an identifier or text literal, alone or behind its database."""
    return any(
        text == name or text.endswith(f".{name}")
        for token in _TOKEN.finditer(definition)
        for text in (_unescaped(group) for group in token.groups() if group is not None)
    )


def _may(connection: Connection, privilege: str, tag: Tag) -> bool:
    """Tell whether the principal holds a privilege on everything, without a part that is revoked."""
    return bool(connection.scalar(f"CHECK GRANT {privilege} ON *.*", tag))


def inserts_elsewhere(query: str, name: str) -> bool:
    """Tell whether a statement plainly inserts into a table of another name; whatever else it is, it may write."""
    into = _INSERT_INTO.match(query)
    return into is not None and _unescaped(into[1].strip("`")) != name


def _followers(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> tuple[Follower, ...]:
    """Every other table that may name the target; always those that may name it by a pattern."""
    rows = connection.rows(
        """
        SELECT database, name, engine, if(engine_full = '', create_table_query, engine_full) AS definition,
               target_database = {database:String} AND target_table = {name:String} AS writes
        FROM system.tables
        WHERE NOT (database = {database:String} AND name = {name:String})
          AND (NOT match(engine, {inert:String}) OR writes)
        ORDER BY database, name
        """,
        tag,
        {**_name(relation), "inert": f"^(?:{_INERT})$"},
    )
    return tuple(
        Follower(ClickHouseRelation(database, name), engine, definition_of(create), bool(writes))
        for database, name, engine, create, writes in rows
        if engine in BY_PATTERN or writes or mentions(definition_of(create), relation.name)
    )


def _dependents(connection: Connection, relation: ClickHouseRelation, tag: Tag) -> tuple[str, ...]:
    ((databases, tables, loading_databases, loading_tables),) = connection.rows(
        """
        SELECT dependencies_database, dependencies_table, loading_dependent_database, loading_dependent_table
        FROM system.tables WHERE database = {database:String} AND name = {name:String}
        """,
        tag,
        _name(relation),
    )
    pairs = [*zip(databases, tables, strict=True), *zip(loading_databases, loading_tables, strict=True)]
    return tuple(sorted({str(ClickHouseRelation(database, name)) for database, name in pairs}))


def _topology(connection: Connection, tag: Tag) -> tuple[tuple[str, ...], ...]:
    rows = connection.rows(
        "SELECT cluster, toString(shard_num), toString(replica_num), host_name, toString(port) FROM system.clusters"
        " ORDER BY cluster, shard_num, replica_num",
        tag,
    )
    return tuple(tuple(row) for row in rows)


def _named(
    connection: Connection, relation: ClickHouseRelation, tag: Tag, select: str, condition: str = "1"
) -> tuple[str, ...]:
    rows = connection.rows(
        f"{select} WHERE database = {{database:String}} AND table = {{name:String}} AND {condition}",
        tag,
        _name(relation),
    )
    return tuple(sorted(name for (name,) in rows))


def _name(relation: ClickHouseRelation) -> dict[str, str]:
    return {"database": relation.database, "name": relation.name}


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
