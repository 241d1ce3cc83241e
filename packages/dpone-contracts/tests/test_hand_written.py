"""Documents that people write: the closed list, their rules, and that sealing refuses exactly as validating does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dpone_contracts import standalone_verify
from dpone_contracts.canonical import canonical_bytes, digest_of
from dpone_contracts.document import DocumentError, Valid, document_class, load_document
from dpone_contracts.errors import DponeError
from dpone_contracts.hand_written import (
    HAND_WRITTEN,
    AttestedControls,
    ReleaseSettings,
    RouteResult,
    sealed_bytes,
)
from dpone_contracts.registry import DOCUMENTS

sys.path.insert(0, str(Path(__file__).parent))
import identity_story as story

DIGEST = "sha256:" + "5e" * 32
SETTINGS: dict[str, Any] = {
    "schema": ReleaseSettings.SCHEMA,
    "asset_uris": {"model.a.x": "clickhouse://c/mart/x", "model.a.y": "clickhouse://c/mart/y"},
    "connection_ref": "mssql",
    "database": "Dwh",
    "model_schema": "mart",
    "login_timeout_seconds": 15,
    "query_timeout_seconds": 60,
    "timeout_seconds": 600,
}
ATTESTED: dict[str, Any] = {
    "schema": AttestedControls.SCHEMA,
    "environment": "production",
    "external_job_inventory_sha256": DIGEST,
    "organizational_control_sha256": DIGEST,
    "effective_from": "2026-08-01T00:00:00Z",
    "expires_at": "2026-09-01T00:00:00Z",
    "producer_version": "certifier 1",
}
ROUTE: dict[str, Any] = {
    "schema": RouteResult.SCHEMA,
    "status": "PASS",
    "certification_policy_sha256": DIGEST,
    "tested_at": "2026-07-31T00:00:00Z",
    "effective_from": "2026-08-01T00:00:00Z",
    "expires_at": "2026-09-01T00:00:00Z",
    "failure_matrix_sha256": DIGEST,
    "live_environment_sha256": DIGEST,
    "live_evidence_sha256": DIGEST,
    "coordinates": {
        "environment": "production",
        "load_strategy": "semantic_refresh_v2",
        "source_connector": "mssql",
        "source_connector_version": "0.74.0",
        "sink_connector": "clickhouse",
        "sink_connector_version": "0.74.0",
        **dict.fromkeys(
            (
                "source_capability_sha256",
                "sink_capability_sha256",
                "capability_policy_sha256",
                "route_policy_sha256",
                "runtime_image_digest",
                "toolchain_sha256",
            ),
            DIGEST,
        ),
    },
}
UNTESTED = {name: value for name, value in ROUTE.items() if not name.startswith(("live_", "failure_"))}


def text(plain: dict[str, Any]) -> bytes:
    """As a person writes it: indented, in any order."""
    return json.dumps(plain, indent=4).encode()


@pytest.mark.parametrize("plain", [SETTINGS, ATTESTED, ROUTE, {**UNTESTED, "status": "UNVERIFIED"}])
def test_a_file_without_a_digest_becomes_the_valid_document_that_holds_it(plain: dict[str, Any]) -> None:
    sealed = sealed_bytes(text(plain))
    loaded = load_document(sealed)
    assert isinstance(loaded, Valid)
    kept = loaded.document.to_plain()
    assert kept.pop(loaded.document.DIGEST_FIELD) == loaded.document.digest
    assert kept == plain
    assert sealed_bytes(sealed) == sealed


@pytest.mark.parametrize(
    "document",
    [
        story.platform(),
        story.deadlines(),
        story.seal(),
        story.resources(),
        story.profile(),
        story.deployment(),
    ],
    ids=lambda document: document.SCHEMA,
)
def test_every_policy_seals_to_its_own_bytes(document: Any) -> None:
    plain = document.to_plain()
    del plain[document.DIGEST_FIELD]
    assert sealed_bytes(text(plain)) == document.to_bytes()


@pytest.mark.parametrize(
    ("change", "code", "path", "rule"),
    [
        ({"timeout_seconds": 1.5}, "DPONE_DOCUMENT_TEXT", "timeout_seconds", "no-floats"),
        ({"timeout_seconds": 0}, "DPONE_DOCUMENT_FIELD", "timeout_seconds", "bounds"),
        ({"timeout_seconds": 2**63}, "DPONE_DOCUMENT_SPELLING", "timeout_seconds", "int64"),
        ({"colour": "red"}, "DPONE_DOCUMENT_FIELD", "colour", "closed-document"),
        ({"cls": "red"}, "DPONE_DOCUMENT_FIELD", "cls", "closed-document"),
        ({"database": None}, "DPONE_DOCUMENT_FIELD", "database", "no-null"),
        ({"database": " Dwh"}, "DPONE_DOCUMENT_SPELLING", "database", "no-outer-blanks"),
        ({"query_timeout_seconds": 601}, "DPONE_DOCUMENT_RULE", "query_timeout_seconds", "deadlines-nest"),
        (
            {"release_settings_sha256": DIGEST},
            "DPONE_DOCUMENT_DIGEST",
            "release_settings_sha256",
            "own-digest",
        ),
        ({"schema": "dpone.unknown.v1"}, "DPONE_DOCUMENT_SCHEMA", "schema", "schema-id"),
        (
            {"asset_uris": dict.fromkeys(SETTINGS["asset_uris"], "clickhouse://c/mart/x")},
            "DPONE_DOCUMENT_RULE",
            "asset_uris",
            "one-asset-a-model",
        ),
    ],
)
def test_a_fault_is_named_by_path_and_rule(change: dict[str, Any], code: str, path: str, rule: str) -> None:
    with pytest.raises(DocumentError) as refused:
        sealed_bytes(text({**SETTINGS, **change}))
    assert (refused.value.code, refused.value.path, refused.value.rule) == (code, path, rule)


@pytest.mark.parametrize("data", [b"{", b'{"schema":"a","schema":"a"}', b"[]", b'{"schema":1}', b"\xff"])
def test_what_is_no_document_is_refused_as_validating_refuses_it(data: bytes) -> None:
    with pytest.raises(DocumentError) as refused:
        sealed_bytes(data)
    loaded = load_document(data)
    assert not isinstance(loaded, Valid)
    assert refused.value.faults == loaded.faults


@pytest.mark.parametrize("name", sorted(SETTINGS.keys() - {"schema"}))
def test_no_setting_of_a_release_has_a_default(name: str) -> None:
    with pytest.raises(DocumentError) as refused:
        sealed_bytes(text({key: value for key, value in SETTINGS.items() if key != name}))
    assert (refused.value.path, refused.value.rule) == (name, "required-field")


@pytest.mark.parametrize("schema", sorted(DOCUMENTS.keys() - HAND_WRITTEN))
def test_what_a_command_or_a_run_states_is_not_sealed(schema: str) -> None:
    with pytest.raises(DponeError) as refused:
        sealed_bytes(text({"schema": schema}))
    assert refused.value.code == "DPONE_DOCUMENT_NOT_HAND_WRITTEN"


def test_the_closed_list_names_known_kinds_and_no_receipt_plan_proof_signature_or_measurement() -> None:
    assert DOCUMENTS.keys() >= HAND_WRITTEN
    made = (
        "receipt",
        "plan",
        "proof",
        "signature",
        "measurement",
        "summary",
        "binding",
        "manifest",
        "bundle",
    )
    for schema in HAND_WRITTEN:
        assert not any(word in schema.removeprefix("dpone.dbt-semantic-refresh-") for word in made)
        assert document_class(schema) is not None


@pytest.mark.parametrize(
    "missing", ["failure_matrix_sha256", "live_environment_sha256", "live_evidence_sha256"]
)
@pytest.mark.parametrize("status", ["PASS", "FAIL"])
def test_a_live_result_names_all_its_evidence(status: str, missing: str) -> None:
    plain = {name: value for name, value in ROUTE.items() if name != missing}
    with pytest.raises(DocumentError) as refused:
        sealed_bytes(text({**plain, "status": status}))
    assert (refused.value.path, refused.value.rule) == (missing, "fields-by-status")


def test_an_unverified_route_names_no_evidence() -> None:
    with pytest.raises(DocumentError) as refused:
        sealed_bytes(text({**ROUTE, "status": "UNVERIFIED"}))
    assert refused.value.rule == "fields-by-status"


@pytest.mark.parametrize(
    ("plain", "rule"),
    [
        (SETTINGS, ""),
        ({**SETTINGS, "query_timeout_seconds": 601}, "deadlines-nest"),
        ({**SETTINGS, "asset_uris": dict.fromkeys(SETTINGS["asset_uris"], "a")}, "one-asset-a-model"),
        (ATTESTED, ""),
        ({**ATTESTED, "expires_at": ATTESTED["effective_from"]}, "window-not-empty"),
        (ROUTE, ""),
        ({**ROUTE, "status": "UNVERIFIED"}, "fields-by-status"),
        ({**ROUTE, "tested_at": "2026-08-02T00:00:00Z"}, "tested-before-effective"),
    ],
)
def test_the_standalone_verifier_holds_the_same_rules(plain: dict[str, Any], rule: str) -> None:
    kind = document_class(plain["schema"])
    assert kind is not None
    whole = {**plain, kind.DIGEST_FIELD: digest_of(plain)}
    said = {each[1] for each in standalone_verify.RULES[kind.__name__](whole)}
    assert said == ({rule} if rule else set())
    loaded = load_document(canonical_bytes(whole))
    assert (set() if isinstance(loaded, Valid) else {fault.rule for fault in loaded.faults}) == said
