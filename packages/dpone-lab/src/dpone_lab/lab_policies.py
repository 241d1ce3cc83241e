"""The platform's policies as the lab has them: every limit named, none defaulted."""

from __future__ import annotations

from typing import Final

from dpone_contracts.identity import DISPOSABLE_ENVIRONMENT
from dpone_contracts.plan_bundle import ArtifactAuthority, ResourcePolicy
from dpone_contracts.policies import (
    DeadlinePolicy,
    PlatformPolicy,
    SealPolicy,
    WorkflowProfile,
    WorkflowResourcePolicy,
)
from dpone_lab.certification import lab_digest

MIB: Final = 1024 * 1024
GIB: Final = 1024 * MIB
ENVIRONMENT: Final = DISPOSABLE_ENVIRONMENT
WORKFLOW: Final = "flight_events"
PROFILE: Final = "mssql_to_clickhouse_mart"
ARTIFACT_PREFIX: Final = "sealed"
LOGIN_SECONDS: Final = 15
RETAIN_UNTIL: Final = "2099-12-31T00:00:00Z"


def deadlines() -> DeadlinePolicy:
    """Deadlines of a day that takes seconds, on a machine that may be slow.

    The overall one is a day: the fault matrix puts an admission back for hours and plays on from it.
    """
    return DeadlinePolicy.build(
        overall_seconds=86_400,
        admission_seconds=600,
        execution_seconds=1_800,
        statement_seconds=120,
        lock_timeout_milliseconds=10_000,
        artifact_seconds=1_800,
        preparation_seconds=1_800,
        commit_seconds=900,
        publication_seconds=900,
        polling={
            "max_attempts": 5,
            "initial_delay_milliseconds": 100,
            "max_delay_milliseconds": 2_000,
            "multiplier_percent": 200,
            "jitter_percent": 20,
        },
    )


def seal_policy() -> SealPolicy:
    """Chunks of at most 64 MiB of rows, kept a day."""
    return SealPolicy.build(
        artifact_format="dpone_parquet_v1",
        content_encoding="dpone_row_v1",
        content_chunk_rows=8_192,
        max_chunk_rows=131_072,
        max_chunk_bytes=64 * MIB,
        row_group_rows=131_072,
        compression="zstd",
        compression_level=1,
        provider="local",
        provider_profile="local_create_only_versioned_v1",
        encryption_policy_sha256=lab_digest("AES-256-GCM with a key of the lab's directory"),
        max_artifact_bytes=4 * GIB,
        retention_policy_id="lab-one-day",
        retention_policy_sha256=lab_digest("retention of one day"),
        retention_days=1,
    )


def workflow_resources() -> WorkflowResourcePolicy:
    """Budgets of the whole workflow."""
    return WorkflowResourcePolicy.build(
        max_clickhouse_staging_bytes=4 * GIB,
        max_prepared_models=2,
        max_retained_generation_bytes=8 * GIB,
        max_sealed_extract_bytes=8 * GIB,
        max_shadow_bytes=8 * GIB,
        max_concurrent_prepares=2,
        max_disk_bytes=32 * GIB,
        min_clickhouse_free_bytes=64 * MIB,
    )


def model_resources() -> ResourcePolicy:
    """Budgets of one model's day."""
    return ResourcePolicy.build(
        max_source_scope_rows=2_000_000,
        max_target_scope_rows=2_000_000,
        max_dbt_temp_rows=4_000_000,
        max_dbt_temp_bytes=4 * GIB,
        max_before_image_rows=2_000_000,
        max_before_image_bytes=2 * GIB,
        max_after_image_rows=2_000_000,
        max_after_image_bytes=2 * GIB,
        max_scope_image_total_bytes=4 * GIB,
        max_transaction_log_bytes=8 * GIB,
        min_mssql_log_free_bytes=64 * MIB,
        max_mssql_version_store_bytes=4 * GIB,
        max_mssql_scope_lock_seconds=60,
        max_statement_seconds=120,
        max_clickhouse_staging_bytes=2 * GIB,
        max_clickhouse_shadow_bytes=4 * GIB,
        max_clickhouse_retained_backup_bytes=4 * GIB,
        max_clickhouse_total_transient_bytes=8 * GIB,
    )


def platform_policy() -> PlatformPolicy:
    """What the lab admits."""
    return PlatformPolicy.build(
        environment=ENVIRONMENT,
        archetype="scope_stable_event_fact",
        missing_key_policy="ignore_missing",
        read_limits={"max_depth": 8, "max_nodes": 200, "max_edges": 1_000, "max_definition_bytes": 1 * MIB},
        closed_day_lag_days=0,
        max_models_per_workflow=8,
        scope_image_namespace_policy_sha256=lab_digest("image names of operation and attempt"),
        deadline_policy_sha256=deadlines().digest,
        seal_policy_sha256=seal_policy().digest,
        workflow_resource_policy_sha256=workflow_resources().digest,
    )


def workflow_profile() -> WorkflowProfile:
    """The sample workflow's DAG policy."""
    return WorkflowProfile.build(
        profile_name=PROFILE,
        workflow_name=WORKFLOW,
        dag_id="DAG__lab__flight_events__refresh",
        dag_policy={
            "schedule": None,
            "start_date": "2013-01-01",
            "timezone": "UTC",
            "catchup": False,
            "max_active_runs": 1,
            "max_active_tasks": 2,
            "owner": "lab",
            "tags": ["dpone", "lab"],
        },
    )


def artifact_authority(model: str) -> ArtifactAuthority:
    """Where a model's artifacts go: the lab's local store, one prefix a model."""
    policy = seal_policy()
    return ArtifactAuthority(
        provider=policy.provider,
        provider_profile=policy.provider_profile,
        endpoint_authority_id="file://lab",
        bucket_or_container_authority_id="lab/objects",
        kms_key_authority_id="lab/artifact.key",
        artifact_prefix=f"{ARTIFACT_PREFIX}/{WORKFLOW}/{model.rsplit('.', maxsplit=1)[-1]}",
        writer_scope=f"lab-writer/{model.rsplit('.', maxsplit=1)[-1]}",
        capability_evidence_sha256=lab_digest("create-only probe"),
        encryption_policy_sha256=policy.encryption_policy_sha256,
        max_artifact_bytes=policy.max_artifact_bytes,
        retention_policy_id=policy.retention_policy_id,
        retention_policy_sha256=policy.retention_policy_sha256,
        retention_days=policy.retention_days,
        retention_issued_at="2026-01-01T00:00:00Z",
        retention_until=RETAIN_UNTIL,
    )
