"""One small world for the identity tests: proofs, policies and authorities of two models, from the published vectors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dpone_contracts.descriptors import DeploymentDescriptor, ProofBundle, ReleaseDescriptor
from dpone_contracts.document import Document, admit_document
from dpone_contracts.identity import (
    DeploymentStage,
    ModelAuthorities,
    TargetHead,
    compile_release,
    compile_topology,
)
from dpone_contracts.plan_bundle import ArtifactAuthority, ResourcePolicy
from dpone_contracts.policies import (
    DeadlinePolicy,
    PlatformPolicy,
    SealPolicy,
    WorkflowProfile,
    WorkflowResourcePolicy,
    template_of,
)
from dpone_contracts.scope import DayScope

if TYPE_CHECKING:
    from dpone_contracts.projection import DagProjection
    from dpone_contracts.receipts import (
        BaselineAdoptionReceipt,
        RouteLiveCertificationReceipt,
        RuntimeAssuranceReceipt,
    )

VALID = Path(__file__).parent / "vectors" / "published-0.74" / "valid"
PRICE, STOCK = "model.pricing.competitor_price_event", "model.pricing.competitor_stock_event"
SCOPE = DayScope.parse("2026-08-08T00:00:00Z", "2026-08-09T00:00:00Z")


def read(name: str) -> Any:
    """Load a published vector."""
    return admit_document((VALID / f"{name}.json").read_bytes())


def sha(digit: str) -> str:
    """A digest that stands for something outside of this world."""
    return "sha256:" + digit * 64


def with_fields(document: Document, **fields: object) -> Any:
    """Build a document anew with other fields."""
    kept = {
        name: value
        for name, value in document.to_plain().items()
        if name not in ("schema", document.DIGEST_FIELD)
    }
    return type(document).build(**{**kept, **fields})


def short(model: str) -> str:
    """The vectors' name of a model."""
    return model.rsplit(".", 1)[1].replace("_", "-")


def published() -> dict[str, Any]:
    """The published projection of a normal day, as plain values."""
    return cast("dict[str, Any]", json.loads((VALID / "v2-dag-projection.normal.json").read_bytes()))


def profile() -> WorkflowProfile:
    """The workflow's static DAG policy."""
    topology = published()["topology"]
    return WorkflowProfile.build(
        profile_name="mssql_to_clickhouse_mart",
        workflow_name=topology["workflow_name"],
        dag_id=topology["dag_id"],
        dag_policy=topology["dag_policy"],
    )


def deadlines() -> DeadlinePolicy:
    """Every deadline of the workflow."""
    return DeadlinePolicy.build(
        overall_seconds=14_400,
        admission_seconds=120,
        execution_seconds=3600,
        statement_seconds=1800,
        lock_timeout_milliseconds=30_000,
        artifact_seconds=1800,
        preparation_seconds=3600,
        commit_seconds=300,
        publication_seconds=120,
        polling={
            "max_attempts": 20,
            "initial_delay_milliseconds": 250,
            "max_delay_milliseconds": 10_000,
            "multiplier_percent": 200,
            "jitter_percent": 20,
        },
    )


def seal() -> SealPolicy:
    """How after-images are sealed."""
    return SealPolicy.build(
        artifact_format="dpone_parquet_v1",
        content_encoding="dpone_row_v1",
        content_chunk_rows=8192,
        max_chunk_rows=1_048_576,
        max_chunk_bytes=268_435_456,
        row_group_rows=131_072,
        compression="zstd",
        compression_level=3,
        provider="s3",
        provider_profile="s3_create_only_versioned_kms_object_lock_v1",
        encryption_policy_sha256=sha("1"),
        max_artifact_bytes=5_368_709_120,
        retention_policy_id="keep-35-days",
        retention_policy_sha256=sha("2"),
        retention_days=35,
    )


def resources() -> WorkflowResourcePolicy:
    """Budgets of the workflow."""
    return WorkflowResourcePolicy.build(
        max_clickhouse_staging_bytes=6_442_450_944,
        max_prepared_models=2,
        max_retained_generation_bytes=137_438_953_472,
        max_sealed_extract_bytes=10_737_418_240,
        max_shadow_bytes=137_438_953_472,
        max_concurrent_prepares=2,
        max_disk_bytes=549_755_813_888,
        min_clickhouse_free_bytes=274_877_906_944,
    )


def platform() -> PlatformPolicy:
    """The platform's policies, each with its own digest."""
    return PlatformPolicy.build(
        environment="production",
        archetype="scope_stable_event_fact",
        missing_key_policy="ignore_missing",
        read_limits={"max_depth": 8, "max_nodes": 64, "max_edges": 256, "max_definition_bytes": 1_048_576},
        closed_day_lag_days=1,
        max_models_per_workflow=32,
        scope_image_namespace_policy_sha256=sha("3"),
        deadline_policy_sha256=deadlines().digest,
        seal_policy_sha256=seal().digest,
        workflow_resource_policy_sha256=resources().digest,
    )


def proofs() -> ProofBundle:
    """What the repository proves of both models."""
    projection = published()
    topology = projection["topology"]
    compiled = compile_topology(
        profile(),
        topology["dependencies"],
        topology["logical_output_asset_uris"],
        topology["project_config_overlay"]["models"],
    )
    models = []
    for model, target, plan in zip(
        (PRICE, STOCK),
        projection["plan_bundle"]["targets"],
        projection["plan_bundle"]["operation_plans"],
        strict=True,
    ):
        definition = read(f"model-definition-proof.proven-{short(model)}")
        dependencies = read(f"read-dependency-proof.proven-{short(model)}")
        models.append(
            {
                "model_unique_id": model,
                "definition": definition,
                "read_dependencies": with_fields(
                    dependencies, compiled_sql_sha256=definition.compiled_sql_sha256
                ),
                "key_template": template_of(plan["effective_key_columns"]),
                "event_time_column": plan["event_time_column"],
                "writable_columns": target["writable_columns"],
            }
        )
    return ProofBundle.build(
        workflow_name=topology["workflow_name"],
        package_artifacts_sha256=projection["package_artifacts_sha256"],
        mutation_closure=read("mutation-closure.proven"),
        lifecycle_policy=read("sqlserver-lifecycle-policy.current"),
        topology=compiled,
        execution_pack=projection["template_pack"]["dbt_execution_pack"],
        models=models,
    )


def release() -> ReleaseDescriptor:
    """The release that contains the proofs."""
    return compile_release(proofs(), platform(), product_version="0.74.0", toolchain_sha256=sha("4"))


def deployment() -> DeploymentDescriptor:
    """The release in production."""
    return DeploymentDescriptor.build(
        release_id=release().release_id,
        environment="production",
        binding_set_ref="bindings/competitive_pricing@12",
        connection_registry_ref="connections/registry@88",
        credential_runtime_ref="credentials/runtime@5",
        mssql_connection_authority_id="mssql-pricing-primary",
        mssql_database="PricingMart",
        mssql_control_database="PricingControl",
        mssql_control_schema="dpone_control",
        mssql_image_schema="dpone_images",
        clickhouse_cluster_authority_id="clickhouse-pricing-eu1",
        clickhouse_database="pricing",
        artifact_store_authority_id="bucket/pricing-sealed",
        profile_sha256=profile().digest,
        runtime_policy_sha256=sha("5"),
        compiler_policy_sha256=sha("6"),
    )


def authorities(model: str) -> ModelAuthorities:
    """What the deployment holds for a model before the first publication."""
    index = (PRICE, STOCK).index(model)
    target = published()["plan_bundle"]["targets"][index]
    kind = ("certified-initial-load", "adopted-complete-relation-conformant")[index]
    baseline: BaselineAdoptionReceipt = with_fields(
        read(f"baseline-adoption-receipt.{kind}-{short(model)}"),
        release_id=release().release_id,
        deployment_id=deployment().deployment_id,
    )
    route: RouteLiveCertificationReceipt = read("route-live-certification-receipt.pass")
    writer: RuntimeAssuranceReceipt = read(
        f"runtime-assurance-receipt.certified-writer-exclusivity-{short(model)}"
    )
    ddl: RuntimeAssuranceReceipt = read(f"runtime-assurance-receipt.certified-ddl-freeze-{short(model)}")
    utc = (
        None if model == PRICE else read(f"runtime-assurance-receipt.certified-utc-semantics-{short(model)}")
    )
    return ModelAuthorities(
        baseline=baseline,
        head=TargetHead.of_baseline(baseline),
        owner_generation=3,
        resource_policy=ResourcePolicy.from_plain(target["resource_policy"]),
        artifact_authority=ArtifactAuthority.model_validate(target["artifact_authority"]),
        route=route,
        writer_assurance=writer,
        ddl_assurance=ddl,
        utc_assurance=utc,
        publication_database="pricing",
        publication_table=target["publication_target_table"],
    )


def stage(**changes: object) -> DeploymentStage:
    """The input of a normal day's plans, with some parts changed."""
    normal = DeploymentStage(
        proofs=proofs(),
        platform=platform(),
        release=release(),
        deployment=deployment(),
        scope=SCOPE,
        workflow_mode="normal",
        models={model: authorities(model) for model in (PRICE, STOCK)},
    )
    return replace(normal, **changes)  # type: ignore[arg-type]


def published_projection() -> DagProjection:
    """The published projection as a document."""
    return cast("DagProjection", read("v2-dag-projection.normal"))
