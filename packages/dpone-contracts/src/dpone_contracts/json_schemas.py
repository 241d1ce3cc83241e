"""Closed JSON Schemas (2020-12) of all documents, generated from the models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic.json_schema import GenerateJsonSchema

from dpone_contracts.canonical import sha256_text
from dpone_contracts.document import Document, document_class
from dpone_contracts.registry import DOCUMENTS, PUBLISHED

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
INDEX_NAME: Final = "index.json"


def file_name(schema_id: str) -> str:
    """Return the name of a schema's file."""
    return f"{schema_id}.schema.json"


def schema_of(kind: type[Document]) -> dict[str, Any]:
    """Generate the closed schema of one document."""
    generated = kind.model_json_schema(by_alias=True, mode="validation", schema_generator=GenerateJsonSchema)
    return {"$schema": DIALECT, "$id": f"urn:{kind.SCHEMA}", **tidied(generated), "title": kind.SCHEMA}


def schema_files() -> Mapping[str, bytes]:
    """Return every schema file and the index with their digests, by file name."""
    files: dict[str, bytes] = {}
    entries = []
    for schema_id in sorted(DOCUMENTS):
        kind = cast("type[Document]", document_class(schema_id))
        data = _pretty(schema_of(kind))
        files[file_name(schema_id)] = data
        entries.append(
            {
                "digest_field": kind.DIGEST_FIELD,
                "file": file_name(schema_id),
                "published": schema_id in PUBLISHED,
                "schema": schema_id,
                "sha256": sha256_text(data),
            }
        )
    files[INDEX_NAME] = _pretty({"schemas": entries})
    return files


def _pretty(value: object) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")


def tidied(node: Any) -> Any:
    """Drop what pydantic adds for forms: titles of fields, and null as the default of what may be absent."""
    if isinstance(node, list):
        return [tidied(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "patternProperties" in node:
        # Keys of a pattern: said of every key, so that no other key is left open.
        ((pattern, value),) = node["patternProperties"].items()
        names = {"type": "string", **node.get("propertyNames", {}), "pattern": pattern}
        rest = {
            name: item for name, item in node.items() if name not in ("patternProperties", "propertyNames")
        }
        return tidied({**rest, "propertyNames": names, "additionalProperties": value})
    kept = {}
    for name, item in node.items():
        if name in ("properties", "$defs"):
            kept[name] = {key: tidied(value) for key, value in item.items()}
        elif name == "title" or (name == "default" and item is None):
            continue
        elif name == "pattern":
            # `$` lets a line feed pass in some dialects.
            kept[name] = item[:-1] + r"(?![\s\S])" if item.endswith("$") else item
        else:
            kept[name] = tidied(item)
    return kept
