"""What forbids a mutation before dbt starts: the target, its surroundings and the scratch names, as findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpone_contracts.errors import DponeError
from dpone_contracts.payload_types import collation_admitted
from dpone_contracts.row_encoding import FieldKind, RowEncodingError
from dpone_mssql.batches import Statements
from dpone_mssql.connection import LOCK_TIMEOUT, SqlServerError, read_committed
from dpone_mssql.literals import local_name
from dpone_mssql.names import BACKUP_SUFFIX, TEMP_SUFFIX, TEST_VIEW_SUFFIX, schema_columns, target_relation

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.relations import SqlRelation
    from dpone_mssql.columns import Column
    from dpone_mssql.connection import Session, SqlServerConfig
    from dpone_mssql.control_schema import ControlNames

Findings = tuple[tuple[str, str], ...]

UNVERIFIED = "DPONE_PREFLIGHT_UNVERIFIED"
UNFIT = "DPONE_TARGET_UNFIT"
DRIFT = "DPONE_TARGET_SCHEMA_DRIFT"
SCRATCH = "DPONE_SCRATCH_CONFLICT"
SERVER_WITH_LEDGER = 16
"""SQL Server 2022 is major version 16: the first whose `sys.tables` has ledger columns."""

_TABLE_FEATURES = (
    "temporal",
    "memory-optimized",
    "external",
    "FileTable",
    "graph node",
    "graph edge",
    "replicated",
    "tracked by change data capture",
)
_COLUMN_FEATURES = (
    "identity",
    "computed",
    "sparse",
    "column set",
    "generated always",
    "masked",
    "encrypted",
    "with a default",
    "rowguidcol",
)


@dataclass
class _Found:
    findings: list[tuple[str, str]] = field(default_factory=list)

    def add(self, code: str, observed: str) -> None:
        self.findings.append((code, observed))


def preflight(config: SqlServerConfig, names: ControlNames, target: PlanTarget) -> Findings:
    """Observe everything; what a lock or a permission keeps from being read is a finding of its own."""
    found = _Found()
    try:
        relation, columns = target_relation(target), schema_columns(target)
    except DponeError as error:
        return ((error.code, error.observed),)
    except RowEncodingError as error:
        return ((DRIFT, str(error)),)
    try:
        read_committed(config, lambda session: _observe(session, names, target, relation, columns, found))
    except SqlServerError as error:
        what = "a lock was not granted in time" if error.number == LOCK_TIMEOUT else str(error)
        found.add(UNVERIFIED, f"{relation}: {what}; what was not read is not absent")
    return tuple(found.findings)


def _observe(
    session: Session,
    names: ControlNames,
    target: PlanTarget,
    relation: SqlRelation,
    columns: tuple[Column, ...],
    found: _Found,
) -> None:
    sql = Statements("catalog/target.sql", control=names.schema)
    version = _database(session, sql, names, target, relation, found)
    _scratch(session, sql, relation, found)
    object_id = _table(session, sql, relation, found)
    if object_id is None:
        return
    _features(session, sql, relation, object_id, version, found)
    _columns(session, sql, relation, object_id, columns, found)
    epoch = session.rows(sql["epoch"], object_id)
    if [int(row[0]) for row in epoch] != [target.ddl_epoch]:
        seen = str(epoch[0][0]) if epoch else "none"
        found.add("DPONE_DDL_EPOCH_MOVED", f"{relation}: epoch {seen}, certified {target.ddl_epoch}")
    _budgets(session, sql, target, found)


def _budgets(session: Session, sql: Statements, target: PlanTarget, found: _Found) -> None:
    """Hold the budgets of log and version store; without the right to see them nothing starts."""
    if 1 not in session.rows(sql["server_state"])[0]:
        found.add(
            UNVERIFIED,
            "no VIEW SERVER STATE for this principal: log, version store and sessions are not visible",
        )
        return
    used, most = (
        int(session.rows(sql["version_store"])[0][0]),
        target.resource_policy.max_mssql_version_store_bytes,
    )
    if used > most:
        found.add("DPONE_BUDGET_EXCEEDED", f"the version store holds {used} bytes, policy admits {most}")
    free = session.rows(sql["log_space"])
    wanted = target.resource_policy.min_mssql_log_free_bytes
    if not free or free[0][0] is None:
        found.add(UNVERIFIED, "the free space of the transaction log can't be read")
    elif int(free[0][0]) < wanted:
        found.add("DPONE_BUDGET_EXCEEDED", f"{int(free[0][0])} bytes of log are free, policy wants {wanted}")


def _database(
    session: Session,
    sql: Statements,
    names: ControlNames,
    target: PlanTarget,
    relation: SqlRelation,
    found: _Found,
) -> int:
    name, read_only, delayed, _, version = session.rows(sql["database"])[0]
    if not (str(name) == relation.database == target.mssql_control_database):
        found.add(
            "DPONE_DATABASE_DIFFERS",
            f"connected to {name}; target in {relation.database}, control state in {target.mssql_control_database}",
        )
    if (target.mssql_control_schema, target.mssql_image_schema) != (names.control, names.images):
        found.add("DPONE_DATABASE_DIFFERS", "the plan names other control and image schemas than this store")
    if read_only or delayed:
        found.add(UNFIT, f"{name} is read-only or has delayed durability")
    return int(version)


def _scratch(session: Session, sql: Statements, relation: SqlRelation, found: _Found) -> None:
    for suffix in (TEMP_SUFFIX, BACKUP_SUFFIX, TEST_VIEW_SUFFIX):
        if session.rows(sql["object"], relation.schema, relation.name + suffix):
            found.add(SCRATCH, f"{relation}{suffix} is there; dbt would drop it")
    view = relation.name + TEST_VIEW_SUFFIX
    for schema, name in session.rows(sql["temp_dependants"], relation.schema, view):
        found.add(SCRATCH, f"{schema}.{name} depends on dbt's temp view; dbt would drop it")


def _table(session: Session, sql: Statements, relation: SqlRelation, found: _Found) -> int | None:
    rows = session.rows(sql["object"], relation.schema, relation.name)
    if len(rows) != 1 or str(rows[0][1]).strip() != "U":
        found.add("DPONE_TARGET_ABSENT", f"{relation} is no existing physical table, or is not visible")
        return None
    name = local_name(relation)
    granted = session.rows(sql["permissions"], name, name, name, name)[0]
    lacking = [
        what
        for what, has in zip(("SELECT", "INSERT", "UPDATE", "VIEW DEFINITION"), granted, strict=True)
        if has != 1
    ]
    if lacking:
        found.add(UNVERIFIED, f"{relation}: no {', '.join(lacking)} for this principal")
    return int(rows[0][0])


def _features(
    session: Session, sql: Statements, relation: SqlRelation, object_id: int, version: int, found: _Found
) -> None:
    flags = session.rows(sql["table"], object_id)
    seen = [name for name, flag in zip(_TABLE_FEATURES, flags[0], strict=True) if flag] if flags else []
    if version >= SERVER_WITH_LEDGER and any(row[0] for row in session.rows(sql["ledger"], object_id)):
        seen.append("ledger")
    seen += [f"trigger {name}" for (name,) in session.rows(sql["triggers"], object_id)]
    seen += [f"cascading foreign key {name}" for (name,) in session.rows(sql["cascades"], object_id)]
    if session.rows(sql["row_security"], object_id)[0][0]:
        seen.append("row-level security")
    for name, kind, ignores_duplicates in session.rows(sql["indexes"], object_id):
        if ignores_duplicates:
            seen.append(f"index {name} with IGNORE_DUP_KEY")
        if "COLUMNSTORE" in str(kind):
            seen.append(f"columnstore index {name}")
        if str(name).startswith("dbt_idx_"):
            seen.append(f"index {name}, which dbt manages and would drop")
    for what in seen:
        found.add(UNFIT, f"{relation}: {what}")


def _columns(
    session: Session,
    sql: Statements,
    relation: SqlRelation,
    object_id: int,
    columns: tuple[Column, ...],
    found: _Found,
) -> None:
    rows = session.rows(sql["columns"], object_id)
    there = {str(row[0]): row for row in rows}
    if list(there) != [column.name for column in columns]:
        found.add(DRIFT, f"{relation}: columns are not those of the plan, in its order")
    for column in columns:
        if column.name in there:
            _column(relation, column, there[column.name], found)


def _column(relation: SqlRelation, column: Column, row: tuple[Any, ...], found: _Found) -> None:
    _, kind, length, precision, scale, nullable, collation, *flags = row
    if (str(kind), int(length), int(precision), int(scale)) != column.catalog_type or bool(
        nullable
    ) != column.nullable:
        found.add(
            DRIFT, f"{relation}.{column.name}: not {column.source_type} as planned, or of other nullability"
        )
    for name, flag in zip(_COLUMN_FEATURES, flags, strict=True):
        if flag:
            found.add(UNFIT, f"{relation}.{column.name} is {name}")
    if column.field.kind is FieldKind.TEXT and not collation_admitted(column.source_type, str(collation)):
        found.add(UNFIT, f"{relation}.{column.name}: bytes under collation {collation} are not UTF-8")
