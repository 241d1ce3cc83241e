"""Write the tables of fields into the standalone verifier from the models, or check that they are current."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from dpone_contracts import scalars
from dpone_contracts.document import Document, document_class
from dpone_contracts.json_schemas import schema_of, tidied
from dpone_contracts.registry import DOCUMENTS

SCRIPT = Path(__file__).parents[1] / "packages/dpone-contracts/src/dpone_contracts/standalone_verify.py"
LINE_LENGTH = 110
BEGIN, END = "# <generated> by tooling/standalone_tables.py\n", "# </generated>\n"

SCALARS = {
    "sha": scalars.Sha256Text,
    "uuid": scalars.Uuid,
    "id": scalars.Identifier,
    "text": scalars.Text,
    "key": scalars.ObjectKey,
    "version": scalars.ObjectVersion,
    "model": scalars.ModelId,
    "node": scalars.NodeId,
    "selector": scalars.ExactSelector,
    "producer": scalars.Producer,
    "day": scalars.UtcDay,
    "seconds": scalars.UtcSeconds,
    "micros": scalars.UtcMicros,
    "instant": scalars.UtcInstant,
    "n0": scalars.Count,
    "n1": scalars.Positive,
    "true": scalars.OnlyTrue,
    "false": scalars.OnlyFalse,
}
# Documents in the order of the identity chain: the first broken one is named in this order.
CHAIN = [
    "sqlserver-lifecycle-policy",
    "model-definition-proof",
    "mutation-closure",
    "read-dependency-proof",
    "effective-key-template",
    "deadline-policy",
    "seal-policy",
    "workflow-resource-policy",
    "platform-policy",
    "workflow-profile",
    "dbt-semantic-refresh-topology-template",
    "dbt-execution-pack",
    "proof-bundle",
    "release-descriptor",
    "deployment-descriptor",
    "trust-policy",
    "revocation-index",
    "runtime-assurance-policy",
    "writer-measurement",
    "ddl-freeze-measurement",
    "utc-measurement",
    "route-live-certification-receipt",
    "runtime-assurance-receipt",
    "baseline-adoption-receipt",
    "dbt-semantic-refresh-resource-policy",
    "operation-plan",
    "workflow-plan",
    "workflow-replacement-plan",
    "dbt-semantic-refresh-plan-bundle",
    "v2-dag-projection",
    "activation-receipt",
    "deployment-index",
    "document-signature",
    "workflow-execution-binding",
    "compiler-runtime-authority-bundle",
    "attempt-binding",
    "model-build-receipt",
    "trusted-attempt-termination-receipt",
    "attempt-continuation-receipt",
    "build-gate-receipt",
    "seal-authorization-receipt",
    "sealed-artifact-manifest",
    "content-record",
    "prepared-receipt",
    "commit-intent",
    "exchange-receipt",
    "predecessor-receipt",
    "outcome-observation",
    "publication-receipt",
    "empty-scope-receipt",
    "failed-workflow-summary",
    "durable-workflow-summary",
    "clickhouse-failed-scratch-cleanup-receipt",
    "mssql-failed-precommit-cleanup-ack",
]
# Types whose schema is that of another: told apart by where they stand.
PLACES = {
    ("AttemptBinding", "pod_uid"): "pod",
    ("AttemptContinuationReceipt", "pod_uid"): "pod",
    ("BaselineAdoptionReceipt", "coverage_start"): "cover",
    ("BaselineAdoptionReceipt", "coverage_end"): "cover",
    ("TrustedAttemptTerminationReceipt", "map_index"): "n-1",
    ("ContainerTermination", "exit_code"): "int",
    ("ProjectOverlay", "models"): "{id,tree}",
    **{
        (part, name): "cleanup"
        for part, names in {
            "AbsentShadow": ("name",),
            "AbsentStaging": ("name",),
            "ScratchCleanupReceipt": ("workflow_execution_id",),
            "ReleasedAllocation": ("reservation_id",),
            "ResourceAllocationClosure": ("reservation_id",),
        }.items()
        for name in names
    },
}


def key_of(schema: dict[str, Any]) -> str:
    """Return what identifies the schema of a scalar."""
    return repr(
        sorted((name, schema[name]) for name in schema if name not in ("title", "description", "default"))
    )


def code_of(node: dict[str, Any], known: dict[str, str]) -> str:
    """Write one field's type as the verifier reads it."""
    if "$ref" in node:
        return cast("str", node["$ref"]).rsplit("/", 1)[1]
    if "anyOf" in node:
        return "~" + code_of(next(item for item in node["anyOf"] if item != {"type": "null"}), known)
    if (key := key_of(node)) in known:
        return known[key]
    match node:
        case {"const": 0} | {"type": "integer", "minimum": 0, "maximum": 0}:
            return "zero"
        case {"const": bool() as value}:
            return str(value).lower()
        case {"const": str() as value}:
            return f"={value}"
        case {"enum": values}:
            return "=" + "|".join(values)
        case {"type": "null"}:
            return "null"
        case {"type": "boolean"}:
            return "bool"
        case {"type": "array", "prefixItems": items}:
            return f"({','.join(code_of(item, known) for item in items)})"
        case {"type": "array", "items": item}:
            return ("[+" if node.get("minItems") else "[") + code_of(item, known)
        case {"type": "object", "propertyNames": name, "additionalProperties": item}:
            return f"{{{code_of(name, known)},{code_of(item, known)}}}"
        case {"type": "string"}:
            return "str"
        case _:
            raise ValueError(f"no code for {node}")


def _place(schema: str) -> int:
    name = schema.removeprefix("dpone.").removeprefix("semantic-refresh-").rsplit(".", 1)[0]
    return CHAIN.index(name) if name in CHAIN else len(CHAIN)


def tables() -> str:
    """Generate both tables, documents in the order of the identity chain."""
    known = {
        key_of(tidied(TypeAdapter(kind).json_schema())): name for name, kind in reversed(SCALARS.items())
    }
    parts: dict[str, str] = {}
    lines = ["SCHEMAS: dict[str, tuple[str, str]] = {"]
    # A kind that the chain does not place yet comes last.
    for schema in sorted(DOCUMENTS, key=lambda item: (_place(item), item)):
        kind = cast("type[Document]", document_class(schema))
        entry = f'    "{schema}": ("{kind.__name__}", "{kind.DIGEST_FIELD}"),'
        names = [f'        "{name}",' for name in (kind.__name__, kind.DIGEST_FIELD)]
        lines += [entry] if len(entry) <= LINE_LENGTH else [f'    "{schema}": (', *names, "    ),"]
        described = schema_of(kind)
        for name, part in {**described.get("$defs", {}), kind.__name__: described}.items():
            fields = []
            for field, node in part["properties"].items():
                code = PLACES.get((name, field)) or code_of(node, known)
                fields.append(f"{field}{'' if field in part.get('required', ()) else '?'}:{code}")
            parts[name] = " ".join(fields)
    lines += ["}", "PARTS: dict[str, str] = {"]
    for name, fields_text in sorted(parts.items()):
        wrapped = textwrap.wrap(fields_text, 104, break_long_words=False, break_on_hyphens=False)
        lines += [f'    "{name}": """', *(f"        {line}" for line in wrapped), '    """,']
    return "\n".join([*lines, "}"]) + "\n"


def main() -> None:
    """Write or check; exit code 1 when a checked table is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail on drift")
    options = parser.parse_args()
    text = SCRIPT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    current = before + BEGIN + tables() + END + after
    if options.check:
        if current != text:
            print(f"{SCRIPT.name} holds other fields than the models", file=sys.stderr)
        sys.exit(int(current != text))
    SCRIPT.write_text(current, encoding="utf-8")


if __name__ == "__main__":
    main()
