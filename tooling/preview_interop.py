"""Show that the published preview loads documents of ours.

`write DIR` (our environment) writes the documents of the identity story; `load DIR` (an environment of its own that
holds the published dpone 0.74.0 and nothing of ours) loads every document of a published kind with the preview's own
decoders and compares digests. `load` also takes an evidence folder of the demo.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TESTS = Path(__file__).parents[1] / "packages/dpone-contracts/tests"
PREFIX = "dpone.semantic-refresh-"
# Decoded inside of the preview's services only: their schemas are compared by the vectors.
NOT_DECODED = {"clickhouse-failed-scratch-cleanup-receipt", "mssql-failed-precommit-cleanup-ack"}


def write(folder: Path) -> int:
    """Write one document of each kind that the identity story makes."""
    sys.path.insert(0, str(TESTS))
    story = importlib.import_module("identity_story")
    identity = importlib.import_module("dpone_contracts.identity")
    worker = importlib.import_module("dpone_contracts.worker_stage")
    bundle = identity.compile_plan_bundle(story.stage())
    execution = worker.bind_execution(bundle, "scheduled__2026-08-09T04:30:00+00:00")
    task = worker.TaskTry(
        "semantic_refresh__dbt_build_test", 1, "f47af0ad-0c1c-4830-8837-c45c3b64d168", "worker"
    )
    documents = [
        *bundle.operation_plans,
        bundle.workflow_plan,
        identity.compile_projection(bundle, story.proofs()),
        execution,
        *(worker.bind_attempt(execution, plan, task, 501) for plan in bundle.operation_plans),
        worker.compile_authority_bundle(bundle, execution, story.deployment()),
        *(target.baseline_receipt for target in bundle.targets),
        story.proofs().mutation_closure,
        story.proofs().lifecycle_policy,
        *(model.definition for model in story.proofs().models),
        *(model.read_dependencies for model in story.proofs().models),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for number, document in enumerate(documents):
        (folder / f"{number:02d}.json").write_bytes(document.to_bytes())
    print(f"{len(documents)} documents in {folder}")
    return 0


def decoders() -> Mapping[str, Callable[[bytes], Any]]:
    """Find the preview's decoders by the schema id that each class states."""
    found: dict[str, Callable[[bytes], Any]] = {}
    contracts = importlib.import_module("dpone.contracts")
    for module_info in pkgutil.iter_modules(contracts.__path__):
        if not module_info.name.startswith("semantic_refresh_"):
            continue
        module = importlib.import_module(f"dpone.contracts.{module_info.name}")
        schemas = [v for k, v in vars(module).items() if k.endswith("_SCHEMA") and isinstance(v, str)]
        for kind in vars(module).values():
            own = isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "from_json")
            if own and len(schemas) >= 1:
                found.update({schema: kind.from_json for schema in schemas if schema not in found})
    projection = importlib.import_module("dpone_airflow_pack.semantic_refresh_dag_projection")
    found[f"{PREFIX}v2-dag-projection.v1"] = lambda data: projection.validate_semantic_refresh_dag_projection(
        json.loads(data)
    )
    return found


def load(folder: Path) -> int:
    """Load every document of a published kind; exit code 1 when the preview refuses one."""
    known, refused, loaded = decoders(), 0, 0
    for path in sorted(folder.rglob("*.json")):
        data = path.read_bytes()
        schema = json.loads(data)["schema"]
        if schema not in known:
            skipped = schema.removeprefix(PREFIX).removesuffix(".v1") in NOT_DECODED
            print(f"{'not decoded' if skipped else 'not published'}  {path.name} {schema}")
            continue
        try:
            known[schema](data)
        except Exception as error:  # noqa: BLE001 - whatever the preview raises is a refusal
            refused += 1
            print(f"REFUSED  {path.name} {schema}: {error}")
        else:
            loaded += 1
    print(f"{loaded} loaded, {refused} refused")
    return int(refused > 0 or loaded == 0)


def main() -> None:
    """Write or load."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("write", "load"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    sys.exit(write(options.folder) if options.command == "write" else load(options.folder))


if __name__ == "__main__":
    main()
