"""Judge an observation: the digest of the physical authority, and everything that must be absent, by name.

Admitted is a plain MergeTree table of an Atomic database that nothing but the fenced publisher writes, whose rows
nobody filters, and that nothing follows by name (specification, seal, ClickHouse, and state publication).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpone_clickhouse.observation import BY_PATTERN, mentions
from dpone_clickhouse.types import spelled_as_planned
from dpone_contracts.canonical import digest_of
from dpone_contracts.ports.publisher import PhysicalAuthority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_clickhouse.observation import Follower, Observation
    from dpone_clickhouse.target import TargetTable

Finding = tuple[str, str]

_FOLLOWER_CODES = {
    "Alias": "DPONE_CLICKHOUSE_ALIAS",
    "Buffer": "DPONE_CLICKHOUSE_BUFFER",
    "Dictionary": "DPONE_CLICKHOUSE_DICTIONARY",
    "Distributed": "DPONE_CLICKHOUSE_DISTRIBUTED",
    "LiveView": "DPONE_CLICKHOUSE_MATERIALIZED_VIEW",
    "MaterializedView": "DPONE_CLICKHOUSE_MATERIALIZED_VIEW",
    "Merge": "DPONE_CLICKHOUSE_MERGE_TABLE",
    "WindowView": "DPONE_CLICKHOUSE_WINDOW_VIEW",
    **dict.fromkeys(
        ("AzureQueue", "FileLog", "Kafka", "NATS", "RabbitMQ", "S3Queue"), "DPONE_CLICKHOUSE_QUEUE_ENGINE"
    ),
}
_TTL = re.compile(r"(?<![\w`'])TTL\s")
_REFRESH = re.compile(r"(?<![\w`'])REFRESH\s+(?:EVERY|AFTER)\s")
_TEXT_LITERAL = re.compile(r"'((?:[^'\\]|\\.)*)'")


def judged(
    observation: Observation, target: TargetTable, parts_digest: str, *, policies_from_plan: bool
) -> PhysicalAuthority:
    """Form the authority of an observation.

    `policies_from_plan` is for an engine without access storage, where listing policies is denied and none can be
    made: the plan of a read then has to show that nothing is filtered.
    """
    table = observation.table
    return PhysicalAuthority(
        relation=observation.relation,
        uuid=table.uuid,
        digest=authority_digest(observation),
        parts_digest=parts_digest,
        row_count=table.row_count,
        byte_count=table.byte_count,
        refusals=tuple(refusals(observation, target, policies_from_plan=policies_from_plan)),
    )


def authority_digest(observation: Observation) -> str:
    """Digest everything but rows, parts and UUID; mechanisms that are absent are in it as absent."""
    table = observation.table
    return digest_of(
        {
            "cluster_topology": [list(row) for row in observation.topology],
            "columns": [
                [column.name, column.type_name, column.default_kind, column.default_expression, column.codec]
                for column in observation.columns
            ],
            "database_engine": table.database_engine,
            "definition": table.definition,
            "dependents": list(observation.dependents),
            "engine": table.engine,
            "followers": [
                [str(follower.relation), follower.engine, follower.definition]
                for follower in observation.followers
            ],
            "indices": list(observation.indices),
            "partition_key": table.partition_key,
            "primary_key": table.primary_key,
            "projections": list(observation.projections),
            "relation": str(observation.relation),
            "row_policies": list(observation.row_policies or ()),
            "sampling_key": table.sampling_key,
            "sorting_key": table.sorting_key,
            "storage_policy": table.storage_policy,
        }
    )


def refusals(observation: Observation, target: TargetTable, *, policies_from_plan: bool) -> Iterator[Finding]:
    """Yield (code, named object) of everything that must not be there."""
    yield from observation.settings
    if not observation.sees_every_table:
        yield ("DPONE_CLICKHOUSE_METADATA_UNVERIFIED", "tables may be hidden from the principal")
    yield from _design(observation)
    yield from _columns(observation, target)
    for follower in observation.followers:
        yield from _follower(follower, observation.relation.name)
    named = {str(follower.relation) for follower in observation.followers}
    yield from (("DPONE_CLICKHOUSE_DEPENDANT", name) for name in observation.dependents if name not in named)
    yield from _filters(observation, policies_from_plan=policies_from_plan)
    yield from (("DPONE_CLICKHOUSE_MUTATION_PENDING", name) for name in observation.pending_mutations)
    yield from (
        ("DPONE_CLICKHOUSE_LIGHTWEIGHT_DELETE", f"part {name}") for name in observation.lightweight_deletes
    )
    yield from (("DPONE_CLICKHOUSE_PATCH_PART", f"part {name}") for name in observation.patch_parts)
    yield from (
        ("DPONE_CLICKHOUSE_PART_LACKS_COLUMN", f"part {name}") for name in observation.parts_without_a_column
    )
    yield from (("DPONE_CLICKHOUSE_WRITER_ACTIVE", named) for named in observation.active_writers)
    if observation.async_inserts:
        yield (
            "DPONE_CLICKHOUSE_ASYNC_INSERTS",
            f"{observation.async_inserts} queued for {observation.relation}",
        )


def _design(observation: Observation) -> Iterator[Finding]:
    table, relation = observation.table, observation.relation
    if table.database_engine != "Atomic":
        yield (
            "DPONE_CLICKHOUSE_DATABASE_NOT_ATOMIC",
            f"database {relation.database} is {table.database_engine}",
        )
    if table.engine != "MergeTree":
        yield ("DPONE_CLICKHOUSE_ENGINE_REFUSED", f"{relation} is {table.engine}, not MergeTree")
    if _TTL.search(_TEXT_LITERAL.sub("''", table.definition)):
        yield ("DPONE_CLICKHOUSE_TTL", f"{relation} has a TTL")
    yield from (("DPONE_CLICKHOUSE_PROJECTION", name) for name in observation.projections)


def _columns(observation: Observation, target: TargetTable) -> Iterator[Finding]:
    found = {column.name: column for column in observation.columns}
    if found.keys() != set(target.names):
        yield ("DPONE_CLICKHOUSE_COLUMNS_DIFFER", "the columns are not the planned ones")
    for column in target.columns:
        seen = found.get(column.name)
        if seen is not None and spelled_as_planned(seen.type_name) != column.target_type:
            yield (
                "DPONE_CLICKHOUSE_COLUMNS_DIFFER",
                f"column {column.name} is {seen.type_name}, not {column.target_type}",
            )
    for there in observation.columns:
        if there.default_kind:
            yield (
                "DPONE_CLICKHOUSE_COLUMN_EXPRESSION",
                f"column {there.name} has a {there.default_kind} expression",
            )


def _follower(follower: Follower, name: str) -> Iterator[Finding]:
    if follower.engine == "MaterializedView" and _REFRESH.search(follower.definition):
        yield ("DPONE_CLICKHOUSE_REFRESHABLE_VIEW", str(follower.relation))
    elif (
        not follower.writes_to_target
        and follower.engine in BY_PATTERN
        and not _pattern_covers(follower, name)
    ):
        return
    else:
        yield (_FOLLOWER_CODES.get(follower.engine, "DPONE_CLICKHOUSE_DEPENDANT"), str(follower.relation))


def _pattern_covers(follower: Follower, name: str) -> bool:
    """Tell whether a pattern may match the name: a Merge table's last literal, any word of a table function.

    A pattern that can't be read may.
    """
    function = follower.definition.rpartition(") AS ")[2]
    literals = [text.replace("\\\\", "\\") for text in _TEXT_LITERAL.findall(function)]
    if follower.engine == "Merge":
        return not literals or _may_match(literals[-1], name)
    return mentions(function, name) or any(_may_match(pattern, name) for pattern in literals)


def _may_match(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True


def _filters(observation: Observation, *, policies_from_plan: bool) -> Iterator[Finding]:
    if observation.row_policies is None:
        if not policies_from_plan:
            yield ("DPONE_CLICKHOUSE_ROW_POLICY_UNVERIFIED", "the principal may not list row policies")
    else:
        yield from (("DPONE_CLICKHOUSE_ROW_POLICY", name) for name in observation.row_policies)
    if observation.row_filtered and not observation.row_policies:
        yield (
            "DPONE_CLICKHOUSE_ROW_POLICY",
            f"reads of {observation.relation} are filtered for this principal",
        )
