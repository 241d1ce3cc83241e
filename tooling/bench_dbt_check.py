"""Measures `check` and `explain` on a generated project of many models: seconds by stage, as ratios to reading the manifest.

Reading the manifest alone (JSON to the plain values that the proofs take) is the baseline of every stage. Seconds are
those of the processor: what else the machine does then changes no figure.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpone.cli.explanation import explain_v2
from dpone_dbt_proof.jinja_closure import MacroIndex, model_closure
from dpone_dbt_proof.manifest import MANIFEST_SCHEMA, Manifest, parse_manifest
from dpone_dbt_proof.mutation_closure import prove_closure, workflows
from dpone_dbt_proof.project_proof import ProofScope, prove_project
from dpone_dbt_proof.tsql import read_query
from measurements import keep_steps

if TYPE_CHECKING:
    from collections.abc import Callable

RAW = (
    "with latest as (\n    select s.*, row_number() over (partition by s.sale_id order by s.version desc) as recency\n"
    "    from raw.sales as s where s.shop_id = {number}\n)\n"
    "select {{{{ money('l.amount') }}}} as amount, l.sold_at, l.sale_id from latest as l where l.recency = 1"
)


def manifest(models: int) -> bytes:
    """Write a manifest of one workflow of so many event models, each with a macro and a test."""
    nodes: dict[str, Any] = {}
    for number in range(models):
        name = f"event_{number}"
        raw = RAW.format(number=number)
        common = {"package_name": "shop", "language": "sql", "database": "shop", "schema": "mart"}
        nodes[f"model.shop.{name}"] = {
            **common,
            "unique_id": f"model.shop.{name}",
            "resource_type": "model",
            "name": name,
            "alias": name,
            "fqn": ["shop", name],
            "original_file_path": f"models/{name}.sql",
            "raw_code": raw,
            "compiled_code": raw.replace("{{ money('l.amount') }}", "cast(l.amount as decimal(18, 4))"),
            "config": {
                "materialized": "incremental",
                "incremental_strategy": "dpone_scope_merge",
                "on_schema_change": "fail",
                "contract": {"enforced": True},
                "unique_key": ["sold_at", "sale_id"],
                "meta": {"dpone": {"publish": {"enabled": True, "profile": "p", "workflow": "w"}}},
            },
            "columns": {
                column: {"name": column, "data_type": kind, "constraints": [{"type": "not_null"}]}
                for column, kind in {
                    "amount": "decimal(18,4)",
                    "sold_at": "datetime2(6)",
                    "sale_id": "int",
                }.items()
            },
        }
        nodes[f"test.shop.test_{number}"] = {
            **common,
            "unique_id": f"test.shop.test_{number}",
            "resource_type": "test",
            "name": f"test_{number}",
            "fqn": ["shop", f"test_{number}"],
            "original_file_path": f"tests/test_{number}.sql",
            "depends_on": {"nodes": [f"model.shop.{name}"], "macros": []},
        }
    macro = "{% macro money(x) %}cast({{ x }} as decimal(18, 4)){% endmacro %}"
    document = {
        "metadata": {
            "dbt_schema_version": MANIFEST_SCHEMA,
            "dbt_version": "1.10.13",
            "adapter_type": "sqlserver",
        },
        "nodes": nodes,
        **{group: {} for group in ("sources", "unit_tests", "exposures")},
        "macros": {
            "macro.shop.money": {
                "unique_id": "macro.shop.money",
                "package_name": "shop",
                "name": "money",
                "original_file_path": "macros/money.sql",
                "macro_sql": macro,
            }
        },
    }
    return json.dumps(document).encode()


def measure(models: int) -> dict[str, float]:
    """Return seconds by stage; `check` and `explain` are whole commands on a manifest that has been read."""
    content = manifest(models)
    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        result = work()
        seconds[stage] = round(time.process_time() - started, 3)
        return result

    read: Manifest = timed("manifest", lambda: parse_manifest(content))
    nodes = read.of_type("model")
    timed("mutation closure", lambda: [prove_closure(read, flow) for flow in workflows(read, None)])
    index = MacroIndex(read)
    timed("jinja", lambda: [model_closure(read, index, node) for node in nodes])
    timed("t-sql", lambda: [read_query(node.compiled_code or "", "shop") for node in nodes])
    proof = timed("check", lambda: prove_project(read, scope=ProofScope.DEFINITION))
    flow = proof.workflows[0]
    timed("explain", lambda: [explain_v2(read, flow, model) for model in flow.models[:1]])
    seconds["explain"] += seconds["check"]  # The command proves the project first.
    if proof.status.value != "PROVEN":
        raise AssertionError("the generated project is not proven")
    return seconds


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument(
        "--write-manifest", type=Path, help="write the generated manifest and measure nothing"
    )
    given = parser.parse_args()
    models = given.models
    if given.write_manifest is not None:
        given.write_manifest.write_bytes(manifest(models))
        return
    seconds = measure(models)
    keep_steps("dbt_check", {"models": models, "processor_seconds": seconds})
    for stage, spent in seconds.items():
        print(
            f"{stage:18} {spent:8.3f} s  ratio to the manifest {spent / seconds['manifest']:6.1f}  {models} models"
        )


if __name__ == "__main__":
    main()
