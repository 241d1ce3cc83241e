"""A table under refresh on a real engine: created, covered, adopted and activated, ready to be admitted and built."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, TypeVar

from dpone_contracts.bindings import AttemptContinuationReceipt
from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.effects import Applied
from dpone_contracts.ports.activation_store import ActivationRecord
from dpone_contracts.ports.refresh_state import AllocationAmounts, WorkerIdentity
from dpone_contracts.receipts import TrustedAttemptTerminationReceipt
from dpone_contracts.relations import SqlRelation
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle, made_up
from dpone_mssql.activation import MssqlActivationStore
from dpone_mssql.catalog import MssqlDdlFreeze
from dpone_mssql.connection import Session
from dpone_mssql.literals import binary, digest_text, local_name
from dpone_mssql.scope_mutation import MssqlScopeMutation
from dpone_mssql.state import MssqlRefreshState

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import Admission, AdmittedOperation
    from dpone_contracts.ports.scope_mutation import BuildEvidence
    from dpone_mssql.connection import Row, SqlServerConfig
    from dpone_mssql.control_schema import ControlNames

POD = "cf66ab73-a0ba-441d-9199-3a434e3852a3"
NEXT_POD = "64a4c26e-8769-4759-9d9d-2ba78255c9a1"
T = TypeVar("T")


@dataclass
class Refreshed:
    """One workflow of models whose tables stand on the engine; `models` are named anew for every workflow."""

    config: SqlServerConfig
    names: ControlNames
    example: Example
    models: tuple[ExampleModel, ...]

    @property
    def state(self) -> MssqlRefreshState:
        """The control state."""
        return MssqlRefreshState(self.config, self.names)

    @property
    def activations(self) -> MssqlActivationStore:
        """The deployment authorities."""
        return MssqlActivationStore(self.config, self.names)

    @property
    def mutation(self) -> MssqlScopeMutation:
        """The mutation."""
        return MssqlScopeMutation(self.config, self.names)

    @property
    def plan(self) -> OperationPlan:
        """The first model's plan."""
        return self.example.bundle.operation_plans[0]

    @property
    def target(self) -> PlanTarget:
        """The first model's target."""
        return self.example.bundle.targets[0]

    @property
    def table(self) -> str:
        """The first model's table, quoted."""
        return f"[mart].[{self.models[0].name}]"

    @property
    def temp(self) -> str:
        """The first model's dbt temp relation, quoted."""
        return f"[mart].[{self.models[0].name}__dbt_tmp]"

    def sql(self, text: str) -> list[Row]:
        """Run one batch in a session of its own."""
        with Session(self.config) as session:
            return session.rows(text)

    def record(self) -> ActivationRecord:
        """Write the activation of the bundle."""
        bundle = self.example.bundle
        store = self.activations.identity()
        receipt = ActivationReceipt.build(
            status="ACTIVE",
            release_id=self.plan.release_id,
            deployment_id=self.plan.deployment_id,
            store_authority_id=store.store_id,
            recovery_fork=store.recovery_fork,
            authority_receipt_sha256=made_up("authority"),
            pre_release_bundle_sha256=bundle.pre_release_bundle_sha256,
            package_artifacts_sha256=bundle.package_artifacts_sha256,
            plan_bundle_sha256=bundle.digest,
            workflow_plan_sha256=bundle.workflow_plan.digest,
            dag_projection_sha256=made_up("projection"),
            workflow_name=bundle.workflow_plan.workflow_name,
            scope_start=bundle.workflow_plan.scope_start,
            scope_end=bundle.workflow_plan.scope_end,
            persisted_at="2026-08-09T01:00:00.000000Z",
        )
        documents = tuple(sorted((b.SCHEMA, b.digest, b.to_bytes()) for b in self.example.baselines))
        return ActivationRecord(
            self.plan.release_id,
            self.plan.deployment_id,
            bundle.digest,
            receipt.to_bytes(),
            bundle.to_bytes(),
            documents,
        )

    def adopt(self) -> None:
        """Adopt every baseline."""
        for baseline, plan in zip(self.example.baselines, self.example.bundle.operation_plans, strict=True):
            applied(self.activations.adopt_baseline(baseline, plan.scope_family_id))

    def worker(self, dag_run_id: str, *, try_number: int = 1, pod_uid: str = POD) -> WorkerIdentity:
        """Name a worker of a run."""
        return WorkerIdentity(dag_run_id, "dbt_build_test", try_number, pod_uid, "worker/o'brien")

    def admit(self, dag_run_id: str = "run-1") -> EffectResult[Admission]:
        """Bind the plan to a run and try to admit it."""
        binding = self.example.binding(dag_run_id)
        applied(self.state.bind_execution(binding, self.example.bundle, dag_run_id))
        amounts = {
            plan.operation_id: AllocationAmounts(10, 1, 30, 40, 50)
            for plan in self.example.bundle.operation_plans
        }
        return self.state.admit(binding, self.example.bundle, self.worker(dag_run_id), amounts)

    def started(self) -> AdmittedOperation:
        """Admit, create the images and record the intent of the first model."""
        admission = applied(self.admit())
        admitted = next(o for o in admission.operations if o.operation_id == self.plan.operation_id)
        applied(self.mutation.create_images(self.plan, self.target, admitted))
        applied(self.state.record_intent(admitted.attempt))
        return admitted

    def run_batch(self, admitted: AdmittedOperation, model_sql: str, *, commit: bool = True) -> None:
        """Do what dbt does: the temp relation and the batch in one transaction, then drop the temp relation."""
        batch = self.mutation.render(self.plan, self.target, admitted)
        with Session(self.config) as session:
            session.rows("BEGIN TRANSACTION;")
            session.rows(f"SELECT * INTO {self.temp} FROM ({model_sql}) AS model_result;")
            session.rows(batch.sql)
            session.rows("IF @@TRANCOUNT > 0 COMMIT TRANSACTION;" if commit else "ROLLBACK TRANSACTION;")
        self.sql(f"DROP TABLE IF EXISTS {self.temp};")

    def continuation(
        self, admitted: AdmittedOperation
    ) -> tuple[AttemptContinuationReceipt, TrustedAttemptTerminationReceipt]:
        """Write what hands a built operation to the next try."""
        attempt = admitted.attempt
        built = self.sql(
            "SELECT r.[receipt_sha256] FROM [dpone_control].[build_receipts] AS r "
            f"WHERE r.[operation_id] = {binary(attempt.operation_id)};"
        )[0][0]
        termination = TrustedAttemptTerminationReceipt.build(
            attempt_binding_sha256=attempt.digest,
            cluster_id="cluster",
            container_terminations=[
                {
                    "container_id": "containerd://1",
                    "exit_code": 137,
                    "finished_at": "2026-08-09T02:00:00.000000Z",
                    "name": "base",
                    "reason": "Error",
                }
            ],
            dag_id="dag",
            map_index=-1,
            namespace="jobs",
            observed_at="2026-08-09T02:00:01.000000Z",
            observer_attestation_sha256=made_up("attestation"),
            observer_authority="observer",
            observer_policy_sha256=made_up("policy"),
            observer_signature_sha256=made_up("signature"),
            operation_ids=[attempt.operation_id],
            pod_name="pod",
            pod_resource_version="1",
            pod_uid=attempt.pod_uid,
            run_id=attempt.dag_run_id,
            task_id=attempt.task_id,
            terminal_phase="Failed",
            try_number=attempt.try_number,
            verification_status="VERIFIED",
            workflow_execution_binding_sha256=attempt.workflow_execution_binding_sha256,
            workflow_execution_id=attempt.workflow_execution_id,
        )
        receipt = AttemptContinuationReceipt.build(
            after_image_sha256=made_up("after"),
            build_receipt_sha256=digest_text(bytes(built)),
            clickhouse_cluster_authority_id="clickhouse-example",
            clickhouse_query_id_prefix="prefix-",
            fencing_epoch=attempt.fencing_epoch,
            guard_resource_id=admitted.guard_resource_id,
            mssql_active_session_count=0,
            mssql_guard_lock_status="EXCLUSIVE_ACQUIRED",
            operation_id=attempt.operation_id,
            operation_plan_sha256=attempt.operation_plan_sha256,
            original_attempt_binding_sha256=attempt.digest,
            original_attempt_termination_receipt_sha256=termination.digest,
            pod_uid=NEXT_POD,
            status="VERIFIED",
            task_id=attempt.task_id,
            try_number=attempt.try_number + 1,
            verified_at="2026-08-09T02:00:02.000000Z",
            workflow_execution_binding_sha256=attempt.workflow_execution_binding_sha256,
        )
        return receipt, termination

    def evidence(self, admitted: AdmittedOperation) -> BuildEvidence:
        """Read the evidence of the first model's mutation."""
        return self.mutation.evidence(self.plan, self.target, admitted)


def applied(result: EffectResult[T]) -> T:
    """Return the value of an effect that must have been applied."""
    assert isinstance(result, Applied), result
    return result.value


def refreshed(
    config: SqlServerConfig,
    names: ControlNames,
    models: tuple[ExampleModel, ...],
    *,
    rows: str | None = None,
    limits: dict[str, int] | None = None,
    activate: bool = True,
) -> Refreshed:
    """Create the models' tables under new names, cover, adopt and activate them; `rows` is a VALUES list for the first."""
    number = token_hex(4)
    fresh = tuple(ExampleModel(f"{model.name}_{number}", model.columns, model.key) for model in models)
    with Session(config) as session:
        database = str(session.rows("SELECT DB_NAME();")[0][0])
        if session.rows("SELECT SCHEMA_ID(N'mart');")[0][0] is None:
            session.rows("CREATE SCHEMA [mart];")
        for model in fresh:
            session.rows(f"DROP TABLE IF EXISTS [mart].[{model.name}];")
            session.rows(table_of(model))
        if rows is not None:
            session.rows(f"INSERT INTO [mart].[{fresh[0].name}] VALUES {rows};")
    freeze = MssqlDdlFreeze(config, names)
    epochs = {applied(freeze.cover(SqlRelation(database, "mart", model.name), ())) for model in fresh}
    assert len(epochs) == 1
    example = example_bundle(
        fresh, database=database, workflow=f"workflow-{number}", ddl_epoch=epochs.pop(), limits=limits
    )
    found = Refreshed(config, names, example, fresh)
    if activate:
        found.adopt()
        applied(found.activations.activate(found.record()))
    return found


def table_of(model: ExampleModel) -> str:
    """Write CREATE TABLE of a model's target."""
    columns = ", ".join(
        f"[{name}] {kind} {'NULL' if nullable else 'NOT NULL'}" for name, kind, nullable in model.columns
    )
    name = local_name(SqlRelation("", "mart", model.name))
    return f"CREATE TABLE {name} ({columns});"
