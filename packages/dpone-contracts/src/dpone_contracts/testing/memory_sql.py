"""SQL Server in memory: targets, images, the fenced scope mutation and the build that runs it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.canonical import sha256_text
from dpone_contracts.effects import Applied, EffectResult, NotApplied
from dpone_contracts.ports.model_build import BuildExit, RenderedBatch
from dpone_contracts.ports.scope_mutation import BuildEvidence, Fate, ImageObservation, SessionEvidence
from dpone_contracts.relations import SqlRelation
from dpone_contracts.testing.memory_control import RefusedError
from dpone_contracts.testing.memory_rows import TargetRows
from dpone_contracts.testing.memory_state import require_fence

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.model_build import BuildRequest
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.memory_control import ControlRows, MemoryControl
    from dpone_contracts.testing.memory_rows import Row


@dataclass(slots=True)
class MemorySqlServer:
    """The model database beside its control rows.

    `tables` are targets by resource id, `inputs` what each model's SQL would compute, by unique id. `failing`
    models roll back; with `tests_pass` False the gate fails after every model committed.
    """

    control: MemoryControl
    tables: dict[str, list[Row]] = field(default_factory=dict)
    inputs: dict[str, list[Row]] = field(default_factory=dict)
    images: dict[SqlRelation, list[Row]] = field(default_factory=dict)
    temps: set[str] = field(default_factory=set)
    rendered: dict[str, tuple[OperationPlan, PlanTarget, AdmittedOperation]] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    tests_pass: bool = True


def image_of(target: PlanTarget, kind: str, attempt_binding_sha256: str) -> SqlRelation:
    """The image relation of an attempt."""
    name = f"{kind}_{attempt_binding_sha256.removeprefix('sha256:')[:32]}"
    return SqlRelation(target.mssql_control_database, target.mssql_image_schema, name)


@dataclass(frozen=True, slots=True)
class MemoryScopeMutation:
    """`ScopeMutation` over a server."""

    server: MemorySqlServer

    def preflight(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
    ) -> tuple[tuple[str, str], ...]:
        """An absent target or a leftover temp relation."""
        resource = target.target_resource_id
        absent = (
            () if resource in self.server.tables else (("DPONE_TARGET_ABSENT", f"{resource} is not there"),)
        )
        left = (
            (("DPONE_SCRATCH_CONFLICT", f"{resource} has a temp relation"),)
            if resource in self.server.temps
            else ()
        )
        return (*absent, *left)

    def create_images(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
        admitted: AdmittedOperation,
    ) -> EffectResult[None]:
        """Create both empty images behind the fence."""
        fenced = self.server.control.commit(lambda rows: require_fence(rows, admitted.attempt))
        if isinstance(fenced, Applied):
            for kind in ("before", "after"):
                self.server.images.setdefault(image_of(target, kind, admitted.attempt.digest), [])
        return fenced

    def render(self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> RenderedBatch:
        """A batch that names its operation and attempt."""
        sql = json.dumps({"attempt": admitted.attempt.digest, "operation": plan.operation_id})
        sha256 = sha256_text(sql.encode())
        self.server.rendered[sha256] = (plan, target, admitted)
        resource = target.target_resource_id
        return RenderedBatch(plan.model_unique_id, sql, sha256, resource, f"{resource}__dbt_tmp")

    def evidence(self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> BuildEvidence:
        """What the rows show; a continued operation's mutation is that of its first attempt."""
        rows = self.server.control.rows
        receipt = rows.build_receipts.get(plan.operation_id)
        attempt = admitted.attempt.digest
        if receipt is not None:
            attempt = ModelBuildReceipt.from_bytes(receipt).attempt_binding_sha256
        fate = rows.fates.get(attempt)
        live = attempt in self.server.control.live_attempts
        return BuildEvidence(
            operation_id=plan.operation_id,
            attempt_binding_sha256=attempt,
            reachable=True,
            intent_recorded=attempt in rows.intents,
            fate=None if fate is None else Fate(fate),
            receipt=receipt,
            before_image=self._observe(plan, target, "before", attempt),
            after_image=self._observe(plan, target, "after", attempt),
            temp_exists=target.target_resource_id in self.server.temps,
            sessions=SessionEvidence.LIVE if live else SessionEvidence.GONE,
            recovery_fork=self.server.control.store.recovery_fork,
        )

    def current_scope(self, plan: OperationPlan, target: PlanTarget) -> tuple[int, str]:
        """The rows of the scope, and their digest."""
        columns = TargetRows.of(target)
        rows = [row for row in self.server.tables[target.target_resource_id] if columns.in_scope(plan, row)]
        return len(rows), columns.digest(rows)

    def abandon(self, admitted: AdmittedOperation) -> EffectResult[Fate]:
        """Make ABANDONED the attempt's fate unless it has one."""
        own = admitted.attempt.digest
        return self.server.control.commit(lambda rows: Fate(rows.fates.setdefault(own, Fate.ABANDONED.value)))

    def _observe(self, plan: OperationPlan, target: PlanTarget, kind: str, attempt: str) -> ImageObservation:
        relation = image_of(target, kind, attempt)
        rows = self.server.images.get(relation)
        if rows is None:
            return ImageObservation(relation, exists=False, row_count=None, content_sha256=None)
        digest = TargetRows.of(target, plan).digest(rows)
        return ImageObservation(relation, exists=True, row_count=len(rows), content_sha256=digest)


@dataclass(frozen=True, slots=True)
class MemoryModelBuild:
    """`ModelBuild` that runs rendered batches one after the other, each all or nothing."""

    server: MemorySqlServer

    def expect(self) -> None:
        """Nothing takes long here."""

    def build(self, request: BuildRequest) -> BuildExit:
        """Run the gate once."""
        status = {batch.model_unique_id: self._run(batch) for batch in request.batches}
        built = all(each == "success" for each in status.values())
        return BuildExit(
            finished=True,
            exit_code=0 if built and self.server.tests_pass else 1,
            node_status=status,
            tests_passed=self.server.tests_pass if built else None,
            log_path="memory",
        )

    def _run(self, batch: RenderedBatch) -> str:
        plan, target, admitted = self.server.rendered[batch.sha256]
        tables, images = dict(self.server.tables), dict(self.server.images)
        result = self.server.control.commit(lambda rows: _mutate(self.server, rows, plan, target, admitted))
        if isinstance(result, NotApplied):
            self.server.tables, self.server.images = tables, images
            return "error"
        return "success"


def _mutate(
    server: MemorySqlServer,
    rows: ControlRows,
    plan: OperationPlan,
    target: PlanTarget,
    admitted: AdmittedOperation,
) -> None:
    """The mutation in the specification's order; raises to roll everything back."""
    attempt = admitted.attempt
    require_fence(rows, attempt)
    if plan.operation_id in rows.build_receipts:
        return
    if rows.fates.setdefault(attempt.digest, Fate.COMMITTED.value) != Fate.COMMITTED.value:
        raise RefusedError("DPONE_MUTATION_ATTEMPT_ENDED", "the attempt was abandoned")
    columns = TargetRows.of(target, plan)
    table = server.tables[target.target_resource_id]
    before = [row for row in table if columns.in_scope(plan, row)]
    source = {
        columns.key_of(row): row for row in server.inputs[plan.model_unique_id] if columns.in_scope(plan, row)
    }
    known = {columns.key_of(row) for row in before}
    updated = len(known & set(source))
    kept = [row for row in table if columns.key_of(row) not in source]
    server.tables[target.target_resource_id] = kept + list(source.values())
    after = [row for row in server.tables[target.target_resource_id] if columns.in_scope(plan, row)]
    images = {"before": before, "after": after}
    relations = {kind: image_of(target, kind, attempt.digest) for kind in images}
    for kind, image in images.items():
        server.images[relations[kind]] = image
    if plan.model_unique_id in server.failing:
        raise RefusedError("DPONE_MUTATION_COUNT_MISMATCH", "told to fail")
    receipt = ModelBuildReceipt.build(
        after_image_relation_id=relations["after"].bracketed,
        after_image_row_count=len(after),
        after_image_sha256=columns.digest(after),
        attempt_binding_sha256=attempt.digest,
        before_image_relation_id=relations["before"].bracketed,
        before_image_row_count=len(before),
        before_image_sha256=columns.digest(before),
        ddl_epoch=target.ddl_epoch,
        effective_key_mapping_sha256=plan.effective_key_mapping_sha256,
        fencing_epoch=attempt.fencing_epoch,
        inserted_row_count=len(source) - updated,
        model_unique_id=plan.model_unique_id,
        operation_id=plan.operation_id,
        operation_plan_sha256=plan.digest,
        recovery_fork=server.control.store.recovery_fork,
        row_encoding="dpone_row_v1",
        scope_end=plan.scope_end,
        scope_start=plan.scope_start,
        source_row_count=len(source),
        strategy_template_sha256=target.strategy_template_sha256,
        target_relation_id=target.target_resource_id,
        updated_row_count=updated,
        workflow_execution_binding_sha256=attempt.workflow_execution_binding_sha256,
        writable_schema_sha256=target.writable_schema_sha256,
    )
    rows.build_receipts[plan.operation_id] = receipt.to_bytes()
