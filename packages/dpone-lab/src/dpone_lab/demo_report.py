"""The demo's report as an account that a person reads."""

from __future__ import annotations

from typing import Any

_SHOWN = (
    "model-build-receipt",
    "sealed-artifact-manifest",
    "content-record",
    "prepared-receipt",
    "attempt-continuation-receipt",
    "exchange-receipt",
    "publication-receipt",
    "durable-workflow-summary",
)


def account(report: dict[str, Any]) -> str:
    """Stages, receipts, digests, UUIDs and the comparison, as lines."""
    lines = ["", f"dpone lab demo, {report['profile']}", ""]
    for run in report["runs"]:
        lines += _run(run)
    lines += ["documents", *_documents(report["documents"]), ""]
    lines += ["what each database must hold, and holds", *_comparison(report["comparison"]), ""]
    lines += ["steps", *(f"  {step['seconds']:6.1f} s  {step['step']}" for step in report["steps"]), ""]
    lines.append(f"verdict: {str(report['verdict']).lower()}")
    return "\n".join(lines)


def _run(run: dict[str, Any]) -> list[str]:
    lines = [f"{run['day']}  DagRun {run['dag_run_id']}", f"  plan bundle {run['plan_bundle_sha256']}"]
    for attempt in run["tries"]:
        end = "killed with SIGKILL" if attempt["killed"] else f"exit {attempt['exit_code']}"
        lines.append(f"  try {attempt['try_number']}, pid {attempt['pid']}: {end}")
        lines += [
            f"    {stage['stage']:<10} {_seconds(stage['seconds'])}  {stage['model'] or 'workflow'}"
            for stage in attempt["stages"]
        ]
    return [*lines, ""]


def _seconds(seconds: float | None) -> str:
    return "ended here" if seconds is None else f"{seconds:8.2f} s"


def _documents(documents: list[dict[str, Any]]) -> list[str]:
    lines = []
    for document in documents:
        kind = document["schema"].removeprefix("dpone.semantic-refresh-").removesuffix(".v1")
        if kind in _SHOWN:
            lines.append(f"  {kind:<30} {document['digest']}")
        if kind == "exchange-receipt":
            content = document["content"]
            lines.append(
                f"    {content['target_relation']}: {content['predecessor_uuid']} -> {content['successor_uuid']}"
            )
    lines.append(f"  and {len(documents)} in all; --evidence DIR keeps every one as a file")
    return lines


def _comparison(comparison: list[dict[str, Any]]) -> list[str]:
    lines = []
    for day in comparison:
        for model in day["models"]:
            lines.append(
                f"  {day['day']}  {model['model']}: {model['source_rows']} source rows, {model['inserted']} inserted, "
                f"{model['updated']} updated, {model['unchanged_in_scope']} unchanged, "
                f"{model['kept_without_input']} kept without input, {model['outside_scope']} outside the day"
            )
            lines += [
                f"    {engine}: {found['rows']} rows, {found['missing']} missing, {found['unexpected']} unexpected"
                for engine, found in model["engines"].items()
            ]
    return lines
