"""The platform's policies: closed, digested, without defaults, so that a missing limit is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from dpone_contracts.closure import Several
from dpone_contracts.document import Document, Fault, Part, broken, without
from dpone_contracts.effective_key import KeyColumn, key_digests
from dpone_contracts.scalars import Count, Identifier, Positive, Sha256Text
from dpone_contracts.template_pack import DagPolicy


class ReadLimits(Part):
    """The bounds of a read-dependency closure."""

    max_depth: Positive
    max_nodes: Positive
    max_edges: Positive
    max_definition_bytes: Positive


class PlatformPolicy(Document):
    """What the platform admits; binds the policies that hold for every workflow of an environment."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-platform-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "platform_policy_digest"

    schema_id: Literal["dpone.semantic-refresh-platform-policy.v1"] = Field(alias="schema")
    platform_policy_digest: Sha256Text
    environment: Identifier
    archetype: Literal["scope_stable_event_fact"]
    missing_key_policy: Literal["ignore_missing"]
    read_limits: ReadLimits
    closed_day_lag_days: Count
    max_models_per_workflow: Positive
    scope_image_namespace_policy_sha256: Sha256Text
    deadline_policy_sha256: Sha256Text
    seal_policy_sha256: Sha256Text
    workflow_resource_policy_sha256: Sha256Text


class WorkflowResourcePolicy(Document):
    """The budgets of one workflow over all its models, by the five allocated kinds, and its concurrency."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-workflow-resource-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "workflow_resource_policy_sha256"

    schema_id: Literal["dpone.semantic-refresh-workflow-resource-policy.v1"] = Field(alias="schema")
    workflow_resource_policy_sha256: Sha256Text
    max_clickhouse_staging_bytes: Positive
    max_prepared_models: Positive
    max_retained_generation_bytes: Positive
    max_sealed_extract_bytes: Positive
    max_shadow_bytes: Positive
    max_concurrent_prepares: Positive
    max_disk_bytes: Positive
    min_clickhouse_free_bytes: Positive


class PollingPolicy(Part):
    """How an outcome is observed again: bounded, exponential, with jitter; never repeats a mutating statement."""

    max_attempts: Positive
    initial_delay_milliseconds: Positive
    max_delay_milliseconds: Positive
    multiplier_percent: Positive
    jitter_percent: Count

    def _rules(self) -> Iterator[Fault]:
        if self.initial_delay_milliseconds > self.max_delay_milliseconds:
            yield broken("delays-grow", "the first delay is above the longest", "initial_delay_milliseconds")
        if self.multiplier_percent < 100:
            yield broken("delays-grow", "delays shrink", "multiplier_percent")
        if self.jitter_percent > 100:
            yield broken("bounds", "jitter of more than the delay", "jitter_percent")


class DeadlinePolicy(Document):
    """Every deadline of a workflow, in seconds unless the name says otherwise; none extends an authority."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-deadline-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "deadline_policy_sha256"

    schema_id: Literal["dpone.semantic-refresh-deadline-policy.v1"] = Field(alias="schema")
    deadline_policy_sha256: Sha256Text
    overall_seconds: Positive
    admission_seconds: Positive
    execution_seconds: Positive
    statement_seconds: Positive
    lock_timeout_milliseconds: Positive
    artifact_seconds: Positive
    preparation_seconds: Positive
    commit_seconds: Positive
    publication_seconds: Positive
    polling: PollingPolicy

    def _rules(self) -> Iterator[Fault]:
        if self.statement_seconds > self.execution_seconds:
            yield broken("deadlines-nest", "a statement outlives the execution", "statement_seconds")
        if self.lock_timeout_milliseconds > self.statement_seconds * 1000:
            yield broken("deadlines-nest", "a lock wait outlives its statement", "lock_timeout_milliseconds")
        for name in (
            "admission_seconds",
            "execution_seconds",
            "artifact_seconds",
            "preparation_seconds",
            "commit_seconds",
            "publication_seconds",
        ):
            if getattr(self, name) > self.overall_seconds:
                yield broken("deadlines-nest", "outlives the overall deadline", name)


class SealPolicy(Document):
    """How an after-image is sealed: chunking, writer, encryption and bounded retention."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-seal-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "seal_policy_sha256"

    schema_id: Literal["dpone.semantic-refresh-seal-policy.v1"] = Field(alias="schema")
    seal_policy_sha256: Sha256Text
    artifact_format: Literal["dpone_parquet_v1"]
    content_encoding: Literal["dpone_row_v1"]
    content_chunk_rows: Positive
    max_chunk_rows: Positive
    max_chunk_bytes: Positive
    row_group_rows: Positive
    compression: Literal["zstd"]
    compression_level: Positive
    provider: Identifier
    provider_profile: Identifier
    encryption_policy_sha256: Sha256Text
    max_artifact_bytes: Positive
    retention_policy_id: Identifier
    retention_policy_sha256: Sha256Text
    retention_days: Positive

    def _rules(self) -> Iterator[Fault]:
        if self.max_chunk_rows % self.content_chunk_rows:
            yield broken(
                "chunks-align", "an object does not end where a content chunk ends", "max_chunk_rows"
            )
        if self.row_group_rows > self.max_chunk_rows:
            yield broken("chunks-align", "a row group is larger than an object", "row_group_rows")
        if self.max_chunk_bytes > self.max_artifact_bytes:
            yield broken("chunks-align", "an object is larger than an artifact", "max_chunk_bytes")


class KeyTemplateColumn(KeyColumn):
    """A key column before a deployment holds an assurance for it."""

    utc_assurance_required: bool

    def _assurance_rules(self, *, needed: bool) -> Iterator[Fault]:
        if self.utc_assurance_required != needed:
            yield broken(
                "utc-assurance", "datetime2(6), and no other type, needs one", "utc_assurance_required"
            )


class EffectiveKeyTemplate(Document):
    """The key of a model as the repository knows it."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-effective-key-template.v1"
    DIGEST_FIELD: ClassVar[str] = "effective_key_template_sha256"

    schema_id: Literal["dpone.semantic-refresh-effective-key-template.v1"] = Field(alias="schema")
    effective_key_template_sha256: Sha256Text
    columns: Several[KeyTemplateColumn]

    def _rules(self) -> Iterator[Fault]:
        names = [column.name.casefold() for column in self.columns]
        if len(set(names)) != len(names):
            yield broken("unique-names", "two key columns have one name (case does not count)", "columns")

    def columns_for(self, assurances: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the columns of a plan: `assurances` holds the UTC receipt of each column that needs one."""
        return [
            {
                **without(column.to_plain(), "utc_assurance_required"),
                **(
                    {"utc_assurance_sha256": assurances[column.name]} if column.utc_assurance_required else {}
                ),
            }
            for column in self.columns
        ]


def template_of(columns: Sequence[Mapping[str, Any]]) -> EffectiveKeyTemplate:
    """Return the template of a plan's key columns (receipts are left out)."""
    described = [
        {
            **without(column, "utc_assurance_sha256"),
            "utc_assurance_required": column["source_type"] == "datetime2(6)",
        }
        for column in columns
    ]
    template = EffectiveKeyTemplate.build(columns=described)
    assert template.digest == key_digests(columns)[1]
    return template


class WorkflowProfile(Document):
    """The static part of a workflow's DAG: the only authority for its timing and concurrency."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-workflow-profile.v1"
    DIGEST_FIELD: ClassVar[str] = "profile_sha256"

    schema_id: Literal["dpone.semantic-refresh-workflow-profile.v1"] = Field(alias="schema")
    profile_sha256: Sha256Text
    profile_name: Identifier
    workflow_name: Identifier
    dag_id: Identifier
    dag_policy: DagPolicy
