"""Names of one operation's relations and locks in SQL Server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError
from dpone_contracts.relations import SqlRelation
from dpone_mssql.columns import Column

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan

TEMP_SUFFIX = "__dbt_tmp"
BACKUP_SUFFIX = "__dbt_backup"
TEST_VIEW_SUFFIX = "__dbt_tmp__dbt_tmp_vw"


@dataclass(frozen=True, slots=True)
class MutationNames:
    """Where one attempt's mutation reads and writes; `before` and `after` are its image relations."""

    target: SqlRelation
    temp: SqlRelation
    before: SqlRelation
    after: SqlRelation
    operation_lock: str


def target_relation(target: PlanTarget) -> SqlRelation:
    """Read the target's three-part name; raises DponeError for a name that its id can't tell apart."""
    parts = target.baseline_receipt.mssql_relation_id.split(".")
    if len(parts) != 3 or not all(parts) or target.target_resource_id != ".".join(parts):
        raise DponeError(
            "DPONE_TARGET_NAME_UNSUPPORTED",
            "the target's id is not database.schema.name",
            {"target_resource_id": target.target_resource_id},
        )
    return SqlRelation(*parts)


def image_relation(
    target: PlanTarget, kind: str, operation_id: str, attempt_binding_sha256: str
) -> SqlRelation:
    """Name an image relation of an attempt: 24 hex digits of the operation, 16 of the attempt."""
    operation = operation_id.removeprefix("sha256:")[:24]
    attempt = attempt_binding_sha256.removeprefix("sha256:")[:16]
    return SqlRelation(
        target.mssql_control_database, target.mssql_image_schema, f"dpone_sr_{kind}_{operation}_{attempt}"
    )


def operation_lock(operation_id: str) -> str:
    """Name the application lock that a running mutation of an operation holds."""
    return f"dpone:operation:{operation_id.removeprefix('sha256:')}"


def mutation_names(target: PlanTarget, attempt: AttemptBinding) -> MutationNames:
    """Name everything of one attempt."""
    relation = target_relation(target)
    return MutationNames(
        target=relation,
        temp=SqlRelation(relation.database, relation.schema, relation.name + TEMP_SUFFIX),
        before=image_relation(target, "before", attempt.operation_id, attempt.digest),
        after=image_relation(target, "after", attempt.operation_id, attempt.digest),
        operation_lock=operation_lock(attempt.operation_id),
    )


def schema_columns(target: PlanTarget) -> tuple[Column, ...]:
    """Return the target's columns in table order."""
    return tuple(Column.of(column) for column in target.writable_columns)


def key_columns(plan: OperationPlan, target: PlanTarget) -> tuple[Column, ...]:
    """Return the effective key's columns in plan order."""
    by_name = {column.name: column for column in schema_columns(target)}
    return tuple(by_name[column.name] for column in plan.effective_key_columns)
