from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from dpone_contracts.document import Document, DocumentError, Valid, document_class, load_document
from dpone_contracts.plan_bundle import ResourcePolicy
from dpone_contracts.policies import (
    DeadlinePolicy,
    EffectiveKeyTemplate,
    PlatformPolicy,
    SealPolicy,
    WorkflowProfile,
    WorkflowResourcePolicy,
)
from dpone_contracts.scope import DayScope

sys.path.insert(0, str(Path(__file__).parent))
import identity_story as story

DEADLINES: dict[str, Any] = {
    "overall_seconds": 7200,
    "admission_seconds": 60,
    "execution_seconds": 3600,
    "statement_seconds": 1800,
    "lock_timeout_milliseconds": 30_000,
    "artifact_seconds": 1800,
    "preparation_seconds": 3600,
    "commit_seconds": 300,
    "publication_seconds": 120,
    "polling": {
        "max_attempts": 20,
        "initial_delay_milliseconds": 250,
        "max_delay_milliseconds": 10_000,
        "multiplier_percent": 200,
        "jitter_percent": 20,
    },
}


@pytest.mark.parametrize("document", [story.platform(), story.profile(), DeadlinePolicy.build(**DEADLINES)])
def test_a_policy_is_a_document_like_any_other(document: Document) -> None:
    loaded = load_document(document.to_bytes())
    assert isinstance(loaded, Valid)
    assert loaded.document == document
    assert document_class(document.SCHEMA) is type(document)


@pytest.mark.parametrize(
    "kind",
    [
        PlatformPolicy,
        WorkflowResourcePolicy,
        DeadlinePolicy,
        SealPolicy,
        WorkflowProfile,
        ResourcePolicy,
        EffectiveKeyTemplate,
    ],
    ids=lambda k: k.__name__,
)
def test_a_policy_has_no_defaults(kind: type[Document]) -> None:
    assert all(field.is_required() for field in kind.model_fields.values())


@pytest.mark.parametrize("name", [name for name in DEADLINES if name != "polling"])
def test_a_missing_limit_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(DocumentError) as caught:
        DeadlinePolicy.build(**{key: value for key, value in DEADLINES.items() if key != name})
    assert caught.value.path == name
    assert caught.value.rule == "required-field"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"statement_seconds": 3601}, "deadlines-nest"),
        ({"lock_timeout_milliseconds": 1_800_001}, "deadlines-nest"),
        ({"commit_seconds": 7201}, "deadlines-nest"),
        ({"polling": {**DEADLINES["polling"], "max_delay_milliseconds": 249}}, "delays-grow"),
        ({"polling": {**DEADLINES["polling"], "multiplier_percent": 99}}, "delays-grow"),
        ({"polling": {**DEADLINES["polling"], "jitter_percent": 101}}, "bounds"),
        ({"overall_seconds": 0}, "bounds"),
    ],
)
def test_deadlines_fit_into_each_other(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(DocumentError) as caught:
        DeadlinePolicy.build(**{**DEADLINES, **changes})
    assert caught.value.rule == rule


def test_building_refuses_what_is_not_plain_json_with_its_path() -> None:
    with pytest.raises(DocumentError) as caught:
        DeadlinePolicy.build(**{**DEADLINES, "overall_seconds": 7200.0})
    assert (caught.value.code, caught.value.path) == ("DPONE_DOCUMENT_TEXT", "overall_seconds")


def test_an_error_names_code_path_rule_and_reason_and_all_faults() -> None:
    with pytest.raises(DocumentError) as caught:
        DeadlinePolicy.build(**{**DEADLINES, "overall_seconds": "x", "admission_seconds": None})
    assert [fault.path for fault in caught.value.faults] == [("overall_seconds",), ("admission_seconds",)]
    assert str(caught.value) == (
        "DPONE_DOCUMENT_FIELD dpone.semantic-refresh-deadline-policy.v1 at overall_seconds: "
        "not of the field's type (type)"
    )


def test_a_document_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        story.platform().environment = "test"


def test_a_scope_is_one_utc_day() -> None:
    scope = DayScope.of(date(2026, 8, 31))
    assert (scope.start_text, scope.end_text) == ("2026-08-31T00:00:00Z", "2026-09-01T00:00:00Z")
    assert DayScope.parse(scope.start_text, scope.end_text) == scope
    assert scope.next().start_text == scope.end_text
    assert scope < scope.next()
    with pytest.raises(ValueError, match="midnight"):
        DayScope(datetime(2026, 8, 31, 1, tzinfo=UTC))
    with pytest.raises(ValueError, match="one day long"):
        DayScope.parse("2026-08-31T00:00:00Z", "2026-09-02T00:00:00Z")


def test_a_document_that_is_validated_without_loading_is_verified_too() -> None:
    plain = story.platform().to_plain()
    assert PlatformPolicy.model_validate(plain) == story.platform()
    with pytest.raises(ValueError, match="not the digest of its subject"):
        PlatformPolicy.model_validate({**plain, "closed_day_lag_days": 7})
    with pytest.raises(ValueError, match="64 bits"):
        PlatformPolicy.model_validate({**plain, "closed_day_lag_days": 2**63})
