"""What `dpone dbt explain` says of one model: everything that publishing it will mean, from proofs and stages alone."""

from __future__ import annotations

import json
from graphlib import CycleError
from typing import TYPE_CHECKING, Any, Final

from dpone.application.stages import stages_of
from dpone.cli.proof_reports import place
from dpone_contracts.identity import commit_order
from dpone_dbt_proof.mutation_closure import STRATEGY
from dpone_dbt_proof.proof_bundle import reason_plain

if TYPE_CHECKING:
    from dpone_dbt_proof.manifest import Manifest
    from dpone_dbt_proof.project_proof import ModelProof, V1Model, WorkflowProof

EXPLAIN_SCHEMA: Final = "dpone.dbt-explain.v1"
REPLAY: Final = "Replay updates and inserts; it never removes rows that the new input lacks."
_MUTABLE: Final = "MUTABLE_VALUE"


def explain_v2(manifest: Manifest, workflow: WorkflowProof, model: ModelProof) -> dict[str, Any]:
    """Describe a V2 model as plain JSON."""
    node = manifest.nodes[model.unique_id]
    contract = model.contract
    times = [
        column
        for column in contract.columns
        if column.source_type == "datetime2(6)" and column.role != _MUTABLE
    ]
    return {
        "schema": EXPLAIN_SCHEMA,
        "unique_id": model.unique_id,
        "workflow": workflow.workflow.name,
        "workflow_mode": workflow.workflow.mode,
        "archetype": "scope_stable_event_fact",
        "scope": "one UTC day, start inclusive, end exclusive",
        "target": node.relation_name,
        "effective_key": list(contract.key),
        "event_time": contract.event_time,
        "missing_key_policy": "ignore_missing",
        "columns": [
            {
                "name": column.name,
                "role": column.role,
                "source_type": column.source_type,
                "target_type": column.target_type,
                "nullable": column.nullable,
            }
            for column in contract.columns
        ],
        "reads": list(model.reads),
        "depends_on": list(workflow.dependencies[model.unique_id]),
        "macros": list(model.macros.macro_ids),
        "selectors": list(workflow.closure.selection.selectors) if workflow.closure else [],
        "read_only": list(workflow.closure.selection.test_ids) if workflow.closure else [],
        "lifecycle": {
            "materialization": node.config.get("materialized"),
            "strategy": node.config.get("incremental_strategy"),
            "platform_strategy": STRATEGY,
            "branch": "existing table only; no full refresh, hooks, grants, docs, indexes or schema change",
        },
        "utc_assurance": f"required for {', '.join(column.name for column in times)}"
        if times
        else "not required",
        "writer_assurance": "required at activation: certified writer exclusivity and DDL freeze of the target",
        "publication": "not activated; a compile holds no release and no deployment",
        "recovery": "nothing to recover: no run exists",
        "stages": [
            {"kind": stage.kind.value, "task_id": stage.task_id, "model": stage.model_unique_id}
            for stage in stages_of(_order(workflow))
            if stage.model_unique_id in (None, model.unique_id)
        ],
        "replay": REPLAY,
        "status": model.status.value,
        "reasons": [reason_plain(reason) for reason in model.reasons],
    }


def _order(workflow: WorkflowProof) -> list[str]:
    """Return the models as a topology commits them; a cycle is refused elsewhere and has no order."""
    try:
        return commit_order(workflow.dependencies)
    except CycleError:
        return sorted(workflow.dependencies)


def explain_v1(model: V1Model) -> dict[str, Any]:
    """Describe a V1 model: its workflow and selector stay as they are."""
    return {
        "schema": EXPLAIN_SCHEMA,
        "unique_id": model.unique_id,
        "workflow": model.workflow,
        "workflow_mode": "v1",
        "selectors": [model.selector],
    }


def as_json(explanation: dict[str, Any]) -> str:
    """Return the explanation as one JSON document."""
    return json.dumps(explanation, indent=2, ensure_ascii=False)


def as_text(explanation: dict[str, Any], model: ModelProof | None) -> str:
    """Return the explanation for people."""
    if model is None:
        selector = explanation["selectors"][0]
        return (
            f"{explanation['unique_id']}\n  Workflow    {explanation['workflow']} (v1), selector {selector}"
        )
    lines = [explanation["unique_id"]]
    lines += [f"  {label:<11} {text}" for label, text in _facts(explanation)]
    lines.append("  Columns")
    for column in explanation["columns"]:
        target = column["target_type"] or "no admitted type"
        lines.append(
            f"    {column['name']:<28} {column['source_type']:<16} -> {target:<24} {column['role'].lower()}"
        )
    lines.append("  Stages")
    lines += [f"    {stage['kind']:<10} {stage['task_id']}" for stage in explanation["stages"]]
    lines.append(f"  {explanation['replay']}")
    lines.append(f"  Proof       {explanation['status']}")
    lines += [f"    {place(reason)}{reason.code}: {reason.message}" for reason in model.reasons]
    return "\n".join(lines)


def _facts(explanation: dict[str, Any]) -> list[tuple[str, str]]:
    lifecycle = explanation["lifecycle"]
    return [
        ("Workflow", f"{explanation['workflow']} ({explanation['workflow_mode']})"),
        ("Archetype", explanation["archetype"]),
        ("Scope", explanation["scope"]),
        ("Target", str(explanation["target"])),
        ("Key", ", ".join(explanation["effective_key"]) or "none"),
        ("Event time", str(explanation["event_time"])),
        ("Reads", ", ".join(explanation["reads"]) or "nothing"),
        ("After", ", ".join(explanation["depends_on"]) or "no model of the workflow"),
        ("Macros", ", ".join(explanation["macros"]) or "none"),
        ("Selectors", ", ".join(explanation["selectors"])),
        ("Lifecycle", f"{lifecycle['materialization']}, {lifecycle['strategy']}: {lifecycle['branch']}"),
        ("UTC", explanation["utc_assurance"]),
        ("Writers", explanation["writer_assurance"]),
        ("Publication", explanation["publication"]),
        ("Recovery", explanation["recovery"]),
    ]
