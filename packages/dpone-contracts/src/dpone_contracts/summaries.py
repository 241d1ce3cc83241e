"""Workflow summaries: the one terminal document of a workflow, fully complete or failed before commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from dpone_contracts.closure import UNIQUE, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken, lax
from dpone_contracts.scalars import Identifier, Positive, Sha256Text


class FailedModel(Part):
    """The reconciled SQL Server outcome of one model; unknown is no outcome of a failed summary."""

    operation_id: Sha256Text
    attempt_binding_sha256: Sha256Text
    mssql_outcome: Literal["NOT_INVOKED", "ROLLED_BACK", "COMMITTED_WITH_IMAGES"]
    mssql_evidence_sha256: Sha256Text


class FailedWorkflowSummary(Document):
    """Terminates a workflow that failed before any ClickHouse commit, every outcome known."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-failed-workflow-summary.v1"
    DIGEST_FIELD: ClassVar[str] = "terminal_summary_sha256"

    schema_id: Literal["dpone.semantic-refresh-failed-workflow-summary.v1"] = Field(alias="schema")
    terminal_summary_sha256: Sha256Text
    status: Literal["FAILED_PRE_COMMIT"]
    workflow_id: Identifier
    workflow_plan_sha256: Sha256Text
    workflow_execution_binding_sha256: Sha256Text
    expected_operation_ids: Several[Sha256Text] = Field(json_schema_extra=UNIQUE)
    models: Several[FailedModel]

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.expected_operation_ids, "expected_operation_ids")
        if tuple(model.operation_id for model in self.models) != self.expected_operation_ids:
            yield broken("outcomes-cover-operations", "one outcome an expected operation, sorted", "models")
        if len({model.attempt_binding_sha256 for model in self.models}) != len(self.models):
            yield lax("distinct-evidence", "two models share one attempt_binding_sha256", "models")


class Publication(Part):
    """The terminal evidence of one published model."""

    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    workflow_execution_binding_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    artifact_manifest_sha256: Sha256Text
    clickhouse_terminal_receipt_sha256: Sha256Text
    terminal_receipt_sha256: Sha256Text
    target_generation: Positive
    scope_revision: Positive
    status: Literal["COMPLETE"]


class DurableWorkflowSummary(Document):
    """Terminates a workflow whose every model is published; the only ground for an Asset event."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-durable-workflow-summary.v1"
    DIGEST_FIELD: ClassVar[str] = "terminal_summary_sha256"

    schema_id: Literal["dpone.semantic-refresh-durable-workflow-summary.v1"] = Field(alias="schema")
    terminal_summary_sha256: Sha256Text
    status: Literal["FULLY_COMPLETE"]
    workflow_execution_id: Identifier
    workflow_execution_binding_sha256: Sha256Text
    workflow_plan_sha256: Sha256Text
    expected_operation_ids: Several[Sha256Text] = Field(json_schema_extra=UNIQUE)
    publications: Several[Publication]

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.expected_operation_ids, "expected_operation_ids")
        if (
            tuple(publication.operation_id for publication in self.publications)
            != self.expected_operation_ids
        ):
            reason = "one publication an expected operation, sorted by operation"
            yield broken("outcomes-cover-operations", reason, "publications")
        for name in (
            "operation_plan_sha256",
            "attempt_binding_sha256",
            "artifact_manifest_sha256",
            "clickhouse_terminal_receipt_sha256",
            "terminal_receipt_sha256",
        ):
            if len({getattr(publication, name) for publication in self.publications}) != len(
                self.publications
            ):
                yield lax("distinct-evidence", f"two models share one {name}", "publications")
        if len({publication.scope_revision for publication in self.publications}) != 1:
            yield lax("one-revision", "publications of several revisions", "publications")
        for index, publication in enumerate(self.publications):
            if publication.workflow_execution_binding_sha256 != self.workflow_execution_binding_sha256:
                reason = "differs from the summary's"
                yield broken(
                    "one-execution", reason, "publications", index, "workflow_execution_binding_sha256"
                )
