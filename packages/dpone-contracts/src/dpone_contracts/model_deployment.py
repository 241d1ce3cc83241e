"""What a deployment holds for one model beside its proofs: relations, budgets, artifacts, coverage, and who vouches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpone_contracts.document import Document, Fault, broken
from dpone_contracts.plan_bundle import ArtifactAuthority
from dpone_contracts.scalars import (
    Epoch,
    Identifier,
    ModelId,
    Positive,
    Sha256Text,
    UtcDay,
    WhenPresent,
    instant,
)


class ModelDeployment(Document):
    """One model of a deployment: what is adopted, where it is published, and the receipts that are relied on."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-model-deployment.v1"
    DIGEST_FIELD: ClassVar[str] = "model_deployment_sha256"

    schema_id: Literal["dpone.semantic-refresh-model-deployment.v1"] = Field(alias="schema")
    model_deployment_sha256: Sha256Text
    deployment_id: Sha256Text
    model_unique_id: ModelId
    owner_generation: Epoch
    baseline_kind: Literal["certified_initial_load", "adopted_complete_relation_conformant"]
    baseline_generation: Positive
    coverage_start: UtcDay
    coverage_end: UtcDay
    mssql_relation_id: Identifier
    source_relation_id: Identifier
    publication_database: Identifier
    publication_table: Identifier
    artifact_authority: ArtifactAuthority
    resource_policy_sha256: Sha256Text
    route_certification_receipt_sha256: Sha256Text
    writer_exclusivity_assurance_receipt_sha256: Sha256Text
    ddl_freeze_assurance_receipt_sha256: Sha256Text
    utc_semantics_assurance_receipt_sha256: Annotated[Sha256Text | None, WhenPresent] = None

    def _rules(self) -> Iterator[Fault]:
        if instant(self.coverage_start) >= instant(self.coverage_end):
            yield broken("coverage-not-empty", "coverage ends before or where it starts", "coverage_end")
