from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from dpone_contracts import standalone_verify
from dpone_contracts.bindings import AttemptBinding, AttemptContinuationReceipt
from dpone_contracts.canonical import canonical_bytes, digest_of
from dpone_contracts.chain import (
    certificate_fault,
    continuation_fault,
    one_authority_faults,
    replacement_faults,
    verify_folder,
)
from dpone_contracts.document import Part, admit_document, document_class, load_document
from dpone_contracts.receipts import (
    BaselineAdoptionReceipt,
    RouteLiveCertificationReceipt,
    RuntimeAssuranceReceipt,
    TrustedAttemptTerminationReceipt,
)
from dpone_contracts.registry import DOCUMENTS
from dpone_contracts.scalars import instant

if TYPE_CHECKING:
    from dpone_contracts.plans import WorkflowReplacementPlan
    from dpone_contracts.summaries import FailedWorkflowSummary

VECTORS = Path(__file__).parent / "vectors" / "published-0.74"
FILES = sorted(path for path in VECTORS.glob("*/*.json"))
SCRIPT = Path(standalone_verify.__file__)


def read(name: str) -> Any:
    return admit_document((VECTORS / "valid" / f"{name}.json").read_bytes())


def folder() -> dict[str, bytes]:
    return standalone_verify.read_folder(VECTORS / "valid")


def changed(name: str, **fields: object) -> bytes:
    """A stored document with other fields and its own digests made right again."""
    document = read(name)
    kept = {
        key: value
        for key, value in document.to_plain().items()
        if key not in ("schema", document.DIGEST_FIELD)
    }
    data: bytes = type(document).build(**{**kept, **fields}).to_bytes()
    return data


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_models_and_standalone_verifier_answer_alike(path: Path) -> None:
    data = path.read_bytes()
    assert standalone_verify.judge(path.name, data).answer == type(load_document(data)).__name__.lower()


def test_the_published_story_is_verified_in_any_order() -> None:
    files = folder()
    backwards = dict(reversed(files.items()))
    assert verify_folder(files).verdict == "verified"
    assert verify_folder(backwards) == verify_folder(files)


@pytest.mark.parametrize(
    ("name", "replacement", "broken"),
    [
        ("workflow-plan.normal-day1.json", None, "resolves"),
        ("attempt-binding.normal-day1-competitor-price-event.json", b"{}", "schema-id"),
        ("operation-plan.normal-day1-competitor-price-event.json", b"not json", "utf-8-json"),
    ],
)
def test_a_missing_or_ruined_file_breaks_the_chain(name: str, replacement: bytes | None, broken: str) -> None:
    files = folder()
    if replacement is None:
        del files[name]
    else:
        files[name] = replacement
    report = verify_folder(files)
    assert report.verdict == "broken"
    assert report.first_broken is not None
    assert broken in {report.first_broken[2], *(link.rule for link in report.links)}


def test_one_changed_byte_is_found_where_it_is() -> None:
    files = folder()
    name = "sealed-artifact-manifest.replacement-day1-competitor-price-event.json"
    files[name] = files[name].replace(b'"provider": "s3"', b'"provider": "s4"')
    report = verify_folder(files)
    assert report.first_broken == (name, "artifact_manifest_sha256", "own-digest")


def test_an_empty_folder_proves_nothing() -> None:
    assert verify_folder({}).verdict == "broken"


def test_readable_evidence_of_the_preview_is_inadmissible_not_broken() -> None:
    files = folder()
    name = "route-live-certification-receipt.text-bidi-override.json"
    files[name] = (VECTORS / "lenient" / name).read_bytes()
    assert verify_folder(files).verdict == "inadmissible"


def test_documents_that_name_each_other_must_agree() -> None:
    files = folder()
    files["other.json"] = changed(
        "attempt-binding.normal-day1-competitor-price-event", workflow_execution_id="x", dag_run_id="x"
    )
    report = verify_folder(files)
    assert report.first_broken == (
        "other.json",
        "workflow_execution_binding_sha256",
        "agrees:workflow_execution_id",
    )


def test_a_deployment_has_one_release() -> None:
    receipt = read("baseline-adoption-receipt.certified-initial-load-competitor-price-event")
    fields = {k: v for k, v in receipt.to_plain().items() if k not in ("schema", receipt.DIGEST_FIELD)}
    other = BaselineAdoptionReceipt.build(**{**fields, "release_id": "sha256:" + "1" * 64})
    assert list(one_authority_faults([receipt, receipt])) == []
    assert list(one_authority_faults([receipt, other])) == [(other, "release_id")]


@pytest.mark.parametrize(
    ("at", "rule"),
    [
        ("2026-07-20T23:59:59Z", "certificate-unexpired"),
        ("2026-07-21T00:00:00Z", None),
        ("2026-10-02T14:05:08Z", None),
        ("2026-10-02T14:05:09Z", "certificate-unrevoked"),
        ("2026-12-31T23:59:59Z", "certificate-unexpired"),
    ],
)
def test_a_certificate_is_current_within_its_window_until_it_is_revoked(at: str, rule: str | None) -> None:
    route: RouteLiveCertificationReceipt = read("route-live-certification-receipt.pass")
    revocation: RouteLiveCertificationReceipt = read("route-live-certification-receipt.revoked")
    assert certificate_fault(route, instant(at), [revocation, route]) == rule


def test_only_a_passed_certificate_is_current() -> None:
    at = instant("2026-08-01T00:00:00Z")
    fail: RouteLiveCertificationReceipt = read("route-live-certification-receipt.fail")
    revoked: RuntimeAssuranceReceipt = read("runtime-assurance-receipt.revoked-utc-semantics")
    assert certificate_fault(fail, at) == "certificate-passed"
    assert certificate_fault(revoked, at) == "certificate-passed"


def test_a_revocation_of_the_labs_route_is_no_certificate() -> None:
    revoked = read("route-live-certification-receipt.revoked").to_plain()
    on_lab = {**revoked["coordinates"], "environment": standalone_verify.DISPOSABLE_ENVIRONMENT}
    kept = {name: value for name, value in revoked.items() if not name.startswith(("schema", "route_cert"))}
    receipt = RouteLiveCertificationReceipt.build(**{**kept, "coordinates": on_lab})
    assert certificate_fault(receipt, instant("2026-08-01T00:00:00Z")) == "certificate-passed"


def continuation() -> tuple[AttemptContinuationReceipt, AttemptBinding, TrustedAttemptTerminationReceipt]:
    return (
        read("attempt-continuation-receipt.day1-competitor-price-event"),
        read("attempt-binding.normal-day1-competitor-price-event"),
        read("trusted-attempt-termination-receipt.failed"),
    )


def test_the_immediate_successor_of_an_ended_attempt_continues_it() -> None:
    assert continuation_fault(*continuation()) is None


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"try_number": 3}, "next-try"),
        ({"pod_uid": "f47af0ad-0c1c-4830-8837-c45c3b64d168"}, "another-pod"),
        ({"task_id": "semantic_refresh__other"}, "same-task"),
        ({"fencing_epoch": 502}, "same-attempt"),
        ({"verified_at": "2026-08-09T04:53:02.110347Z"}, "ended-before-verified"),
    ],
)
def test_nothing_else_continues_an_attempt(fields: dict[str, object], rule: str) -> None:
    receipt, attempt, ended = continuation()
    kept = receipt.to_plain()
    for name in (
        "schema",
        "continuation_receipt_sha256",
        "clickhouse_quiescence_observation_sha256",
        "engine_quiescence_receipt_sha256",
    ):
        del kept[name]
    assert continuation_fault(AttemptContinuationReceipt.build(**{**kept, **fields}), attempt, ended) == rule


def test_a_replacement_follows_the_outcomes_of_the_failed_summary() -> None:
    summary: FailedWorkflowSummary = read("failed-workflow-summary.normal-day1")
    plans = [read(f"operation-plan.normal-day1-competitor-{name}-event") for name in ("price", "stock")]
    models = {plan.operation_id: plan.model_unique_id for plan in plans}
    follows: WorkflowReplacementPlan = read("workflow-replacement-plan.replacement-day1")
    blocked: WorkflowReplacementPlan = read("workflow-replacement-plan.blocked")
    assert list(replacement_faults(follows, summary, models)) == []
    assert list(replacement_faults(blocked, summary, models)) == [
        ("replacement_actions", "outcomes-of-summary")
    ]


def broken_folders() -> dict[str, dict[str, bytes]]:
    whole = folder()
    lenient = {path.name: path.read_bytes() for path in (VECTORS / "lenient").glob("*.json")}
    invalid = {path.name: path.read_bytes() for path in (VECTORS / "invalid").glob("*.json")}
    return {
        "whole": whole,
        "without a plan": {
            name: data for name, data in whole.items() if "operation-plan.normal-day2" not in name
        },
        "lenient": {**whole, **lenient},
        "invalid": invalid,
        "later try": {**whole, "try.json": later_try()},
    }


def later_try() -> bytes:
    document = json.loads(
        (VECTORS / "valid" / "attempt-continuation-receipt.day1-competitor-price-event.json").read_bytes()
    )
    kind = document_class(document["schema"])
    assert kind is not None
    document["try_number"] = 7
    document.pop(kind.DIGEST_FIELD)
    document[kind.DIGEST_FIELD] = digest_of(document)
    return canonical_bytes(document)


@pytest.mark.parametrize("name", list(broken_folders()))
def test_the_script_gives_the_verdict_of_the_package(name: str, tmp_path: Path) -> None:
    files = broken_folders()[name]
    for file, data in files.items():
        (tmp_path / file).write_bytes(data)
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(tmp_path), "--format", "json"]
    ran = subprocess.run(command, capture_output=True, check=False, text=True)
    found, wanted = json.loads(ran.stdout), verify_folder(files).to_json()
    assert ran.returncode == (0 if wanted["verdict"] == "verified" else 1)
    assert found["verdict"] == wanted["verdict"]
    assert found["links"] == wanted["links"]
    assert [(d["file"], d["answer"]) for d in found["documents"]] == [
        (d["file"], d["answer"]) for d in wanted["documents"]
    ]
    assert (found["first_broken"] or {}).get("file") == (wanted["first_broken"] or {}).get("file")


def test_the_script_needs_nothing_but_python() -> None:
    source = SCRIPT.read_text(encoding="utf-8")
    imported = {
        line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))
    }
    assert imported <= sys.stdlib_module_names


def test_the_script_refuses_wrong_usage(tmp_path: Path) -> None:
    for arguments in ([], [str(tmp_path / "absent")], [str(tmp_path), "--at", "yesterday"]):
        ran = subprocess.run(
            [sys.executable, "-I", "-S", str(SCRIPT), *arguments], capture_output=True, check=False
        )
        assert ran.returncode == 2


def parts_of(kind: type[Part], seen: set[type[Part]]) -> set[type[Part]]:
    if kind not in seen:
        seen.add(kind)
        waiting: list[Any] = [field.annotation for field in kind.model_fields.values()]
        while waiting:
            annotation = waiting.pop()
            waiting.extend(get_args(annotation))
            if isinstance(annotation, type) and issubclass(annotation, Part):
                parts_of(annotation, seen)
    return seen


def test_every_model_with_rules_has_its_rules_in_the_script() -> None:
    seen: set[type[Part]] = set()
    for schema in DOCUMENTS:
        kind = document_class(schema)
        assert kind is not None
        parts_of(kind, seen)
    with_rules = {part.__name__ for part in seen if part._rules is not Part._rules}
    assert with_rules - standalone_verify.RULES.keys() == set()
    assert {part.__name__ for part in seen} == standalone_verify.PARTS.keys()


def test_what_an_attempt_began_its_admitted_successor_may_finish() -> None:
    files = folder()
    receipt: AttemptContinuationReceipt = read("attempt-continuation-receipt.day2-competitor-price-event")
    original = "attempt-binding.normal-day2-competitor-price-event"
    successor = {"try_number": receipt.try_number, "pod_uid": receipt.pod_uid, "fencing_epoch": 900}
    attempt = AttemptBinding.from_bytes(changed(original, **successor))
    manifest = read("sealed-artifact-manifest.normal-day2-competitor-price-event")
    seal = {"attempt_binding_sha256": attempt.digest}
    files["attempt.json"] = attempt.to_bytes()
    files["manifest.json"] = changed("sealed-artifact-manifest.normal-day2-competitor-price-event", **seal)
    assert manifest.attempt_binding_sha256 != attempt.digest
    assert verify_folder(files).verdict == "verified"
    del files["attempt-continuation-receipt.day2-competitor-price-event.json"]
    broken = verify_folder(files)
    assert broken.first_broken == (
        "manifest.json",
        "seal_authorization_receipt_sha256",
        "agrees:attempt_binding_sha256",
    )
