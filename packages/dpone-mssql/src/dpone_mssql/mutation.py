"""Renders the fenced scope mutation of one operation: pure text from plan, target and attempt, nothing is sent."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.ports.model_build import RenderedBatch
from dpone_contracts.row_encoding import ROW_ENCODING
from dpone_mssql.batches import places, render
from dpone_mssql.columns import (
    column_list,
    is_null,
    out_of_domain,
    planned_rows,
    row_bytes,
    same_bytes,
    same_key,
)
from dpone_mssql.gates import GATES
from dpone_mssql.literals import binary, local_name, quote_name, quote_relation, text
from dpone_mssql.names import key_columns, mutation_names, schema_columns
from dpone_mssql.rowtext import content_digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_mssql.columns import Column
    from dpone_mssql.names import MutationNames

SCOPE_TABLE = "#dpone_scope"


def render_mutation(
    plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation, *, lock_timeout_ms: int
) -> RenderedBatch:
    """Render the batch in the specification's order; raises DponeError or RowEncodingError for a target without one."""
    names = mutation_names(target, admitted.attempt)
    columns, key = schema_columns(target), key_columns(plan, target)
    payload = tuple(column for column in columns if column not in key)
    event_time = next(column for column in key if column.name == plan.event_time_column)
    filled = {
        **{name: gate.thrown for name, gate in GATES.items()},
        **_identities(plan, target, admitted),
        **_relations(target, names),
        **_budgets(target),
        "lock_timeout_ms": str(lock_timeout_ms),
        "column_count": str(len(columns)),
        "planned_columns": planned_rows(columns),
        "columns": column_list(columns),
        "source_columns": column_list(columns, "s"),
        "key_columns": column_list(key),
        "keys": column_list(key, "r"),
        "row_bytes": row_bytes(columns, "r"),
        "event_time": f"r.{event_time.quoted}",
        "in_scope": in_scope(plan, event_time, "r"),
        "target_in_scope": in_scope(plan, event_time, "t"),
        "same_key": same_key(key),
        "same_bytes": same_bytes(payload),
        "assignments": ", ".join(f"t.{column.quoted} = s.{column.quoted}" for column in payload),
        "is_null": is_null(columns, "r"),
        "out_of_domain": out_of_domain(columns, "r"),
        "before_digest": content_digest(columns, key, quoted_local(names, "before"), "@before_sha256"),
        "after_digest": content_digest(columns, key, quoted_local(names, "after"), "@after_sha256"),
    }
    filled["receipt_head"], filled["receipt_tail"] = receipt_pieces(plan, target, admitted, names)
    source, there = {"relation": SCOPE_TABLE}, {"relation": filled["target"]}
    steps = [
        _step("01_session", filled),
        _step("02_fence", filled),
        _step("03_reconcile", filled),
        _step("04_fate", filled),
        _step("05_types", filled),
        _step("06_lock_target", filled),
        *_gates("target", {**filled, **there}),
        _step("07_before_image", filled),
        _step("gate_scope", {**filled, "relation": filled["before"], "scope": filled["scope_target"]}),
        _step("08_source", {**filled, "null": filled["null_source"]}),
        *_gates("source", {**filled, **source}),
        _step("gate_scope", {**filled, **source, "scope": filled["scope_source"]}),
        _step("08_index", filled),
        _step("09_update" if payload else "09_match", filled),
        _step("10_insert", filled),
        *_gates("result", {**filled, **there}),
        _step("11_result", filled),
        _step("12_after_image", filled),
        _step("gate_scope", {**filled, "relation": filled["after"], "scope": filled["scope_result"]}),
        _step("13_log_budget", filled),
        _step("14_receipt", filled),
        _step("15_end", filled),
    ]
    sql = "\n".join(step.strip() for step in steps)
    return RenderedBatch(
        model_unique_id=plan.model_unique_id,
        sql=sql,
        sha256="sha256:" + sha256(sql.encode("utf-8")).hexdigest(),
        target=quote_relation(names.target),
        temp=quote_relation(names.temp),
    )


def quoted_local(names: MutationNames, kind: str) -> str:
    """Quote an image relation within its database."""
    return local_name(names.before if kind == "before" else names.after)


def receipt_pieces(
    plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation, names: MutationNames
) -> tuple[str, str]:
    """Write the T-SQL text of the receipt's members before and after its own digest, in canonical key order."""
    attempt = admitted.attempt
    known: dict[str, str | int] = {
        "after_image_relation_id": quote_relation(names.after),
        "attempt_binding_sha256": attempt.digest,
        "before_image_relation_id": quote_relation(names.before),
        "ddl_epoch": target.ddl_epoch,
        "effective_key_mapping_sha256": plan.effective_key_mapping_sha256,
        "fencing_epoch": attempt.fencing_epoch,
        "model_unique_id": plan.model_unique_id,
        "operation_id": plan.operation_id,
        "operation_plan_sha256": plan.digest,
        "row_encoding": ROW_ENCODING,
        "schema": ModelBuildReceipt.SCHEMA,
        "scope_end": plan.scope_end,
        "scope_start": plan.scope_start,
        "strategy_template_sha256": target.strategy_template_sha256,
        "target_relation_id": quote_relation(names.target),
        "workflow_execution_binding_sha256": attempt.workflow_execution_binding_sha256,
        "writable_schema_sha256": target.writable_schema_sha256,
    }
    computed = {
        "after_image_row_count": _number("@result_rows"),
        "after_image_sha256": _digest("@after_sha256"),
        "before_image_row_count": _number("@target_rows"),
        "before_image_sha256": _digest("@before_sha256"),
        "inserted_row_count": _number("@inserted_rows"),
        "recovery_fork": "'\"' + CONVERT(varchar(36), @recovery_fork) + '\"'",
        "source_row_count": _number("@source_rows"),
        "updated_row_count": _number("@updated_rows"),
    }
    members = {name: _literal(json.dumps(value)) for name, value in known.items()} | computed
    own = ModelBuildReceipt.DIGEST_FIELD
    head = sorted(name for name in members if name < own)
    tail = sorted(name for name in members if name > own)
    return _members(head, members), _members(tail, members)


def _members(names: Sequence[str], members: Mapping[str, str]) -> str:
    """Join members: the max type first, or the sum would be cut at 8,000 bytes."""
    written = (f"{_literal(json.dumps(name) + ':')} + {members[name]}" for name in names)
    return "CONVERT(varchar(max), '')\n    + " + " + ','\n    + ".join(written)


def _literal(ascii_text: str) -> str:
    return "'" + ascii_text.replace("'", "''") + "'"


def _number(variable: str) -> str:
    return f"CONVERT(varchar(20), {variable})"


def _digest(variable: str) -> str:
    return f"'\"sha256:' + LOWER(CONVERT(varchar(64), {variable}, 2)) + '\"'"


def _identities(plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> dict[str, str]:
    attempt = admitted.attempt
    return {
        "attempt": binary(attempt.digest),
        "execution": binary(attempt.workflow_execution_binding_sha256),
        "operation": binary(plan.operation_id),
        "plan": binary(plan.digest),
        "ddl_epoch": str(target.ddl_epoch),
        "fencing_epoch": str(attempt.fencing_epoch),
        "owner": text(attempt.owner_id),
        "guard_resource": text(admitted.guard_resource_id),
    }


def _relations(target: PlanTarget, names: MutationNames) -> dict[str, str]:
    relations = {
        "target": names.target,
        "temp": names.temp,
        "before": names.before,
        "after": names.after,
    }
    quoted = {kind: local_name(relation) for kind, relation in relations.items()}
    return {
        **quoted,
        **{f"{kind}_text": text(name) for kind, name in quoted.items()},
        "control": quote_name(target.mssql_control_schema),
        "database": text(names.target.database),
        "operation_lock": text(names.operation_lock),
    }


def _budgets(target: PlanTarget) -> dict[str, str]:
    names = (
        "max_source_scope_rows",
        "max_target_scope_rows",
        "max_dbt_temp_rows",
        "max_dbt_temp_bytes",
        "max_before_image_rows",
        "max_before_image_bytes",
        "max_after_image_rows",
        "max_after_image_bytes",
        "max_scope_image_total_bytes",
        "max_transaction_log_bytes",
    )
    return {name: str(getattr(target.resource_policy, name)) for name in names}


def in_scope(plan: OperationPlan, event_time: Column, alias: str) -> str:
    """Write the predicate that a row's event time lies in the plan's [start, end)."""
    start, end = (
        f"CAST('{instant.removesuffix('Z').removesuffix('T00:00:00')}' AS {event_time.source_type})"
        for instant in (plan.scope_start, plan.scope_end)
    )
    return f"{alias}.{event_time.quoted} >= {start} AND {alias}.{event_time.quoted} < {end}"


def _gates(phase: str, filled: Mapping[str, str]) -> tuple[str, str]:
    gates = {name: filled[f"{name}_{phase}"] for name in ("null", "duplicate", "domain")}
    return _step("gate_null", {**filled, **gates}), _step("gate_keys", {**filled, **gates})


def _step(name: str, filled: Mapping[str, str]) -> str:
    path = f"mutation/{name}.sql"
    return render(path, **{place: filled[place] for place in places(path)})
