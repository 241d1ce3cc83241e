"""Release, deployment and activation: what the compiler proved, under which identities it is deployed, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from dpone_contracts.canonical import Path, digest_checked
from dpone_contracts.closure import Many, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, broken, nested
from dpone_contracts.payload_types import WritableColumn, writable_schema_digest
from dpone_contracts.policies import EffectiveKeyTemplate
from dpone_contracts.proofs import (
    ModelDefinitionProof,
    MutationClosure,
    ProofStatus,
    ReadDependencyProof,
    SqlServerLifecyclePolicy,
)
from dpone_contracts.scalars import (
    Identifier,
    ModelId,
    ObjectKey,
    Positive,
    Sha256Text,
    UtcDay,
    UtcMicros,
    Uuid,
)
from dpone_contracts.scope import scope_rules
from dpone_contracts.template_pack import ExecutionPack, Topology


class ModelProofs(Part):
    """All that the repository proves of one model."""

    model_unique_id: ModelId
    definition: ModelDefinitionProof
    read_dependencies: ReadDependencyProof
    key_template: EffectiveKeyTemplate
    event_time_column: Identifier
    writable_columns: Several[WritableColumn]
    writable_schema_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        for name in ("definition", "read_dependencies"):
            if getattr(self, name).model_unique_id != self.model_unique_id:
                yield broken("one-model", "the proof of another model", name, "model_unique_id")
        if self.read_dependencies.compiled_sql_sha256 != self.definition.compiled_sql_sha256:
            yield broken("one-model", "the proof of another text", "read_dependencies", "compiled_sql_sha256")
        event_time = [c for c in self.key_template.columns if c.name == self.event_time_column]
        if not event_time or not event_time[0].pair.is_event_time:
            yield broken(
                "event-time-is-key",
                "the event-time column is not a key column of a time",
                "event_time_column",
            )


class ProofBundle(Document):
    """The authority-free result of compilation: no release, no deployment, no run."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-proof-bundle.v1"
    DIGEST_FIELD: ClassVar[str] = "pre_release_bundle_sha256"

    schema_id: Literal["dpone.semantic-refresh-proof-bundle.v1"] = Field(alias="schema")
    pre_release_bundle_sha256: Sha256Text
    status: ProofStatus
    workflow_name: Identifier
    package_artifacts_sha256: Sha256Text
    mutation_closure: MutationClosure
    lifecycle_policy: SqlServerLifecyclePolicy
    topology: Topology
    execution_pack: ExecutionPack
    models: Several[ModelProofs]

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digests of all nested proofs."""
        yield from nested(MutationClosure, plain["mutation_closure"], "mutation_closure")
        yield from nested(SqlServerLifecyclePolicy, plain["lifecycle_policy"], "lifecycle_policy")
        yield from nested(Topology, plain["topology"], "topology")
        yield from nested(ExecutionPack, plain["execution_pack"], "execution_pack")
        for index, model in enumerate(plain["models"]):
            at = ("models", index)
            yield from nested(ModelDefinitionProof, model["definition"], *at, "definition")
            yield from nested(ReadDependencyProof, model["read_dependencies"], *at, "read_dependencies")
            yield from nested(EffectiveKeyTemplate, model["key_template"], *at, "key_template")
            yield (*at, "writable_schema_sha256"), writable_schema_digest(model["writable_columns"])

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Compute status and schema digests where they are absent."""
        for model in plain["models"]:
            model.setdefault("writable_schema_sha256", writable_schema_digest(model["writable_columns"]))
        found = [plain["mutation_closure"]["status"]]
        for model in plain["models"]:
            found += [model["definition"]["status"], model["read_dependencies"]["status"]]
        plain.setdefault("status", joined_status(found))

    def _rules(self) -> Iterator[Fault]:
        models = tuple(model.model_unique_id for model in self.models)
        yield from sorted_set(models, "models")
        if models != self.mutation_closure.selected_mutating_node_ids:
            yield broken("proofs-cover-models", "not the mutating nodes of the closure", "models")
        if set(self.topology.model_unique_ids) != set(models):
            yield broken(
                "proofs-cover-models", "not the models of the bundle", "topology", "model_unique_ids"
            )
        if self.topology.workflow_name != self.workflow_name:
            yield broken("one-workflow", "names another workflow", "topology", "workflow_name")
        statuses = [self.mutation_closure.status]
        for model in self.models:
            statuses += [model.definition.status, model.read_dependencies.status]
        if self.status != joined_status(statuses):
            yield broken("weakest-proof", "not the weakest of its proofs", "status")


def joined_status(statuses: Sequence[str]) -> ProofStatus:
    """Return the status of several proofs together: the worst of them."""
    if "NONCONFORMANT" in statuses:
        return "NONCONFORMANT"
    return "UNVERIFIED" if "UNVERIFIED" in statuses else "PROVEN"


class ReleaseDescriptor(Document):
    """A release is what it contains: `release_id` is the digest of proofs, packages, policies and toolchain."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-release-descriptor.v1"
    DIGEST_FIELD: ClassVar[str] = "release_id"

    schema_id: Literal["dpone.semantic-refresh-release-descriptor.v1"] = Field(alias="schema")
    release_id: Sha256Text
    product_version: Identifier
    pre_release_bundle_sha256: Sha256Text
    package_artifacts_sha256: Sha256Text
    platform_policy_digest: Sha256Text
    sqlserver_lifecycle_policy_sha256: Sha256Text
    toolchain_sha256: Sha256Text


class DeploymentDescriptor(Document):
    """A deployment is one release in one environment on exact engines: `deployment_id` is the digest of that."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-deployment-descriptor.v1"
    DIGEST_FIELD: ClassVar[str] = "deployment_id"

    schema_id: Literal["dpone.semantic-refresh-deployment-descriptor.v1"] = Field(alias="schema")
    deployment_id: Sha256Text
    release_id: Sha256Text
    environment: Identifier
    binding_set_ref: Identifier
    connection_registry_ref: Identifier
    credential_runtime_ref: Identifier
    mssql_connection_authority_id: Identifier
    mssql_database: Identifier
    mssql_control_database: Identifier
    mssql_control_schema: Identifier
    mssql_image_schema: Identifier
    clickhouse_cluster_authority_id: Identifier
    clickhouse_database: Identifier
    artifact_store_authority_id: Identifier
    profile_sha256: Sha256Text
    runtime_policy_sha256: Sha256Text
    compiler_policy_sha256: Sha256Text

    @property
    def authority_receipt_sha256(self) -> str:
        """Digest the whole descriptor, its id included: what a plan bundle names as its authority."""
        return digest_checked(self.to_plain())


class ActivationReceipt(Document):
    """The create-only record of one activated plan bundle; `persisted_at` is frozen when activation is planned.

    `recovery_fork` is the control database's fork then: receipts of a restored database prove nothing.
    """

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-activation-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "activation_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-activation-receipt.v1"] = Field(alias="schema")
    activation_receipt_sha256: Sha256Text
    status: Literal["ACTIVE"]
    release_id: Sha256Text
    deployment_id: Sha256Text
    store_authority_id: Identifier
    recovery_fork: Uuid
    authority_receipt_sha256: Sha256Text
    pre_release_bundle_sha256: Sha256Text
    package_artifacts_sha256: Sha256Text
    plan_bundle_sha256: Sha256Text
    workflow_plan_sha256: Sha256Text
    dag_projection_sha256: Sha256Text
    workflow_name: Identifier
    scope_start: UtcDay
    scope_end: UtcDay
    persisted_at: UtcMicros

    def _rules(self) -> Iterator[Fault]:
        yield from scope_rules(self.scope_start, self.scope_end)


class IndexedProjection(Part):
    """One projection file of a deployment: exact path, size in bytes and digests."""

    dag_id: Identifier
    workflow_name: Identifier
    scope_start: UtcDay
    path: ObjectKey
    size_bytes: Positive
    file_sha256: Sha256Text
    dag_projection_sha256: Sha256Text
    plan_bundle_sha256: Sha256Text
    workflow_plan_sha256: Sha256Text


class DeploymentIndex(Document):
    """The immutable list of a deployment's projections; `current` names the one that each DAG starts next runs from."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-deployment-index.v1"
    DIGEST_FIELD: ClassVar[str] = "deployment_index_sha256"

    schema_id: Literal["dpone.semantic-refresh-deployment-index.v1"] = Field(alias="schema")
    deployment_index_sha256: Sha256Text
    release_id: Sha256Text
    deployment_id: Sha256Text
    projections: Many[IndexedProjection]
    current: dict[Identifier, Sha256Text]

    def _rules(self) -> Iterator[Fault]:
        places = [(p.dag_id, p.scope_start, p.dag_projection_sha256) for p in self.projections]
        yield from sorted_set(places, "projections")
        paths = [projection.path for projection in self.projections]
        if len(set(paths)) != len(paths):
            yield broken("one-path-a-projection", "two projections have one path", "projections")
        for index, path in enumerate(paths):
            if path.startswith("/") or ".." in path.split("/") or "\\" in path:
                yield broken("exact-key", "the path leaves the index's folder", "projections", index, "path")
        known = {(p.dag_id, p.dag_projection_sha256) for p in self.projections}
        if not set(self.current.items()) <= known or self.current.keys() != {
            p.dag_id for p in self.projections
        }:
            yield broken("current-is-listed", "one listed projection a DAG", "current")
