from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from dpone_contracts.canonical import sha256_text
from dpone_contracts.document import document_class
from dpone_contracts.json_schemas import file_name, schema_files, schema_of
from dpone_contracts.registry import DOCUMENTS, PUBLISHED

VECTORS = Path(__file__).parent / "vectors" / "published-0.74"
INDEX: dict[str, Any] = json.loads((VECTORS / "index.json").read_bytes())
ENTRIES = [
    entry for entry in [*INDEX["documents"], *INDEX["preview_accepts"]] if "json_schema_valid" in entry
]

# What the preview took and a schema, without any Python of ours, refuses.
REFUSED_BY_SCHEMA = {
    "attempt-binding.integer-over-64-bits",
    "attempt-binding.pod-uid-not-a-uuid",
    "attempt-binding.text-line-feed",
    "attempt-binding.text-lone-high-surrogate",
    "attempt-continuation-receipt.later-try-not-later",
    "baseline-adoption-receipt.coverage-not-on-days",
    "clickhouse-failed-scratch-cleanup-receipt.scratch-padded-text",
    "mutation-closure.wildcard-selector",
    "operation-plan.day-basic-format",
    "operation-plan.day-fraction-zeros",
    "operation-plan.day-not-quite-midnight",
    "operation-plan.id-not-a-model",
    "route-live-certification-receipt.text-bidi-override",
    "runtime-assurance-receipt.instant-underscore-separator",
    "seal-authorization-receipt.instant-basic-format",
    "seal-authorization-receipt.text-delete-control",
    "sealed-artifact-manifest.chunk-outside-prefix",
    "sqlserver-lifecycle-policy.one-for-true",
    "trusted-attempt-termination-receipt.instant-seven-digits",
    "trusted-attempt-termination-receipt.succeeded-with-exit-1",
    "v2-dag-projection.projection-extra-plan-field",
    "v2-dag-projection.projection-producer-not-bound",
    "workflow-execution-binding.text-zero-width",
    "workflow-plan.day-line-feed-separator",
    "workflow-plan.day-week-date",
    "workflow-plan.text-line-separator",
}


@pytest.fixture(scope="module")
def validators() -> dict[str, Any]:
    found = {}
    for schema in DOCUMENTS:
        kind = document_class(schema)
        assert kind is not None
        found[schema] = Draft202012Validator(schema_of(kind))
    return found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_a_schema_alone_is_at_least_as_strict_as_the_published_one(
    entry: dict[str, Any], validators: dict[str, Any]
) -> None:
    accepts = validators[entry["schema"]].is_valid(json.loads((VECTORS / entry["file"]).read_bytes()))
    if not entry["json_schema_valid"] or Path(entry["file"]).stem in REFUSED_BY_SCHEMA:
        assert not accepts
    elif entry.get("valid"):
        assert accepts


@pytest.mark.parametrize("schema", sorted(DOCUMENTS))
def test_a_schema_is_well_formed_and_every_object_in_it_is_closed(
    schema: str, validators: dict[str, Any]
) -> None:
    described = validators[schema].schema
    Draft202012Validator.check_schema(described)

    def walk(node: Any, *, rule: bool = False) -> None:
        if isinstance(node, dict):
            if node.get("type") == "object" and not rule:
                assert node.get("additionalProperties") is False or "propertyNames" in node
            for name, item in node.items():
                walk(item, rule=rule or name in ("oneOf", "allOf", "if", "then", "contains"))
        elif isinstance(node, list):
            for item in node:
                walk(item, rule=rule)

    walk(described)


COMMITTED = Path(__file__).parents[3] / "schemas"


@pytest.mark.skipif(not COMMITTED.exists(), reason="the wheel's own environment has no repository")
def test_the_committed_schemas_are_what_the_models_give() -> None:
    assert {path.name: path.read_bytes() for path in COMMITTED.glob("*.json")} == schema_files()


def test_the_index_names_every_schema_with_the_digest_of_its_file() -> None:
    files = schema_files()
    entries = json.loads(files["index.json"])["schemas"]
    assert [entry["schema"] for entry in entries] == sorted(DOCUMENTS)
    for entry in entries:
        assert entry["file"] == file_name(entry["schema"])
        assert entry["sha256"] == sha256_text(files[entry["file"]])
        assert entry["published"] == (entry["schema"] in PUBLISHED)


@pytest.mark.parametrize(
    "text", ["a\n", "a\u200bb", "\u202ea", " a", "a ", "a\u00a0b", "", "a\u2028b", "a\x7f", "a\u00adb"]
)
def test_a_schema_refuses_text_that_hides_something(text: str, validators: dict[str, Any]) -> None:
    document = json.loads(
        (VECTORS / "valid/attempt-binding.normal-day1-competitor-price-event.json").read_bytes()
    )
    assert validators[document["schema"]].is_valid(document)
    document["owner_id"] = text
    assert not validators[document["schema"]].is_valid(document)
