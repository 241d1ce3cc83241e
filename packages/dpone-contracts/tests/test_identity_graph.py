"""The identity graph, derived from the fields of the models themselves."""

from __future__ import annotations

from functools import cache
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any, get_args

import pytest

from dpone_contracts.document import Document, Part, document_class
from dpone_contracts.registry import DOCUMENTS
from dpone_contracts.standalone_verify import REFERENCES, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# Digest fields that hold another document under a name that is not that document's own.
OTHER_NAMES = {
    "baseline_receipt_sha256": "baseline-adoption-receipt",
    "resource_policy_digest": "dpone.dbt-semantic-refresh-resource-policy",
    "target_head_terminal_receipt_sha256": "publication-receipt",
    "authority_receipt_sha256": "deployment-descriptor",
    "artifact_authority_sha256": "",
}
# Fields that lead to an earlier operation, workflow or certificate: another instance of the same kind.
LINEAGE = (
    "predecessor_",
    "replaces_",
    "scope_predecessor_",
    "target_predecessor_",
    "target_head_",
    "revoked_",
    "original_",
)

# What only a run knows (specification, *Identity*): DagRun, try, pod, fence, clock, count, artifact, outcome.
RUN_FACTS = {
    "dag_run_id", "run_id", "workflow_execution_id", "task_id", "try_number", "map_index", "pod_uid", "pod_name", "owner_id",
    "fencing_epoch", "verified_at", "observed_at", "finished_at", "created_at", "recorded_at", "published_at", "persisted_at",
    "committed_at", "prepared_at", "intended_at", "journal_version", "journal_state", "mssql_outcome", "terminal_phase",
    "exit_code", "object_key", "provider_version", "artifact_prefix_used", "chunk_count", "total_rows", "total_bytes",
    "row_count", "byte_count", "inserted_row_count", "updated_row_count", "source_row_count", "after_image_row_count",
    "before_image_row_count", "after_image_sha256", "before_image_sha256", "staged_rows", "shadow_uuid", "recovery_fork",
}  # fmt: skip

KINDS = {kind_of(schema): schema for schema in DOCUMENTS}


def parts_in(annotation: Any) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for inner in get_args(annotation):
        yield from parts_in(inner)


def fields_of(kind: type[Part]) -> Iterator[tuple[str, str]]:
    """Every field of a document and its parts, with the document that stands there when it is a nested one."""
    for name, field in kind.model_fields.items():
        nested = ""
        for part in parts_in(field.annotation):
            if issubclass(part, Document) and part.SCHEMA in DOCUMENTS:
                nested = kind_of(part.SCHEMA)
            else:
                yield from fields_of(part)
        yield name, nested


@cache
def own_names() -> dict[str, str]:
    """Which kind has which digest field, where only one kind has it."""
    names: dict[str, list[str]] = {"operation_id": ["operation-plan"], "operation_ids": ["operation-plan"]}
    for name, schema in KINDS.items():
        kind = document_class(schema)
        assert kind is not None
        names.setdefault(kind.DIGEST_FIELD, []).append(name)
    return {field: kinds[0] for field, kinds in names.items() if len(kinds) == 1}


def targets_of(field: str, holder: str) -> set[str]:
    """The kinds of document that a digest field leads to."""
    named = REFERENCES.get(field, OTHER_NAMES.get(field, own_names().get(field, "")))
    kinds = {{"operation": "operation-plan", "self": holder}.get(kind, kind) for kind in named.split("|")}
    return kinds & KINDS.keys()


def held(kind: str, *, lineage: bool = False) -> set[str]:
    """The kinds of document whose digests a kind holds, not those that lead to an earlier instance."""
    model = document_class(KINDS[kind])
    assert model is not None
    found: set[str] = set()
    for field, nested in fields_of(model):
        if lineage or not field.startswith(LINEAGE):
            found |= {nested} if nested else targets_of(field, kind)
    return found - {kind}


def reachable(kind: str) -> set[str]:
    found: set[str] = set()
    waiting = [kind]
    while waiting:
        for target in held(waiting.pop()) - found:
            found.add(target)
            waiting.append(target)
    return found


def facts_of(kind: str) -> set[str]:
    model = document_class(KINDS[kind])
    assert model is not None
    return {name for name, _ in fields_of(model)}


def test_the_graph_is_acyclic() -> None:
    order = list(TopologicalSorter({kind: held(kind) for kind in KINDS}).static_order())
    chain = [
        "model-definition-proof", "operation-plan", "workflow-plan", "workflow-replacement-plan",
        "workflow-execution-binding", "attempt-binding", "seal-authorization-receipt", "sealed-artifact-manifest",
    ]  # fmt: skip
    assert [kind for kind in order if kind in chain] == chain


def test_the_graph_sees_the_chain() -> None:
    assert held("operation-plan") >= {
        "model-definition-proof",
        "mutation-closure",
        "release-descriptor",
        "deployment-descriptor",
    }
    assert held("workflow-plan") >= {"operation-plan"}
    assert held("workflow-replacement-plan") >= {"workflow-plan"}
    assert held("workflow-execution-binding") >= {"workflow-plan", "workflow-replacement-plan"}
    assert held("attempt-binding") >= {"workflow-execution-binding", "operation-plan"}
    assert held("v2-dag-projection") >= {"dpone.dbt-semantic-refresh-plan-bundle", "workflow-plan"}


def test_no_fact_of_a_run_reaches_an_operation_id() -> None:
    for kind in {"operation-plan"} | reachable("operation-plan"):
        assert not facts_of(kind) & RUN_FACTS, kind
    later = {
        "workflow-plan",
        "workflow-execution-binding",
        "attempt-binding",
        "sealed-artifact-manifest",
        "v2-dag-projection",
    }
    assert not reachable("operation-plan") & later


def test_the_facts_of_a_run_are_fields_of_the_documents_of_a_run() -> None:
    known = {fact for kind in KINDS for fact in facts_of(kind)}
    assert len(RUN_FACTS & known) > 30


@pytest.mark.parametrize("kind", ["release-descriptor", "deployment-descriptor", "proof-bundle"])
def test_release_and_deployment_depend_on_no_plan_projection_or_execution(kind: str) -> None:
    later = {
        "operation-plan", "workflow-plan", "workflow-replacement-plan", "dpone.dbt-semantic-refresh-plan-bundle",
        "v2-dag-projection", "activation-receipt", "deployment-index", "workflow-execution-binding", "attempt-binding",
    }  # fmt: skip
    assert not reachable(kind) & later
    assert not facts_of(kind) & RUN_FACTS


def test_a_workflow_plan_holds_no_recovery_digest() -> None:
    assert "recovery_plan_digest" not in facts_of("workflow-plan")
    assert "workflow_replacement_plan_sha256" not in facts_of("workflow-plan")


def test_the_projection_knows_no_run() -> None:
    assert not facts_of("v2-dag-projection") & {
        "dag_run_id",
        "attempt_binding_sha256",
        "fencing_epoch",
        "workflow_execution_id",
    }
    assert not reachable("v2-dag-projection") & {"workflow-execution-binding", "attempt-binding"}


def test_every_reference_of_the_verifier_leads_to_a_kind_of_document() -> None:
    named = {kind for kinds in REFERENCES.values() for kind in kinds.split("|")}
    assert named - {"operation", "self"} <= KINDS.keys()
