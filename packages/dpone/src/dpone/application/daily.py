"""One day of a deployment: the stage over the present heads, its activation, and going forward day by day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone.application.activation import (
    Activated,
    activate,
    list_in_index,
    not_promotable,
    promote,
    stored_projection,
)
from dpone.application.baseline import adopted_baseline
from dpone.application.budgets import require_concurrency, require_reservations
from dpone.application.next_day import NextDay, Verdict, closing_time, next_day
from dpone.application.planned import planned_days
from dpone_contracts.errors import DponeError
from dpone_contracts.identity import DeploymentStage, ModelAuthorities, TargetHead, scope_family_id
from dpone_contracts.scalars import instant

if TYPE_CHECKING:
    from dpone.application.activation import ActivationServices
    from dpone.application.deployment import DeploymentInputs, ModelInputs
    from dpone.application.planned import PlannedDay
    from dpone_contracts.receipts import BaselineAdoptionReceipt
    from dpone_contracts.scope import DayScope


@dataclass(frozen=True, slots=True)
class Advanced:
    """What `advance` found and, where it planned a day or found one planned, its activation."""

    decision: NextDay
    activated: Activated | None


def activate_day(
    services: ActivationServices, inputs: DeploymentInputs, day: DayScope, *, promoting: bool
) -> Activated:
    """Activate one closed day over the present heads; the day's plan that stands is reused.

    With `promoting` the index becomes the one that schedulers parse. Raises `DponeError`: the guard, a day that is not
    closed or was published before, a model without an adopted baseline, documents that permit no plan, a plan over the
    workflow's budgets, an open plan of another day that forbids the promotion.
    """
    services.guard.require_allowed(services.activations.identity())
    closes = closing_time(day, inputs.platform.closed_day_lag_days)
    if instant(services.clock.now()) < instant(closes):
        raise DponeError("DPONE_DAY_NOT_CLOSED", f"{day.start_text} closes at {closes}")
    open_plans = [plan for plan in _plans(services, inputs) if not plan.standing.is_terminal]
    if promoting:
        _require_promotable(open_plans, day)
    there = next((plan for plan in open_plans if plan.scope_start == day.start_text), None)
    if there is not None:
        return _promoted(services, _found(services, inputs, there.plan_bundle_sha256), promoting=promoting)
    baselines = _baselines(services, inputs)
    models = {
        name: _authorities(services, model, baselines[name], day) for name, model in inputs.models.items()
    }
    require_reservations(models.values(), inputs.resources)
    require_concurrency(len(models), inputs.proofs.topology.dag_policy, inputs.resources)
    stage = DeploymentStage(
        proofs=inputs.proofs,
        platform=inputs.platform,
        release=inputs.release,
        deployment=inputs.descriptor,
        scope=day,
        workflow_mode="normal",
        models=models,
    )
    activated = activate(services, stage, (*inputs.documents, *baselines.values()))
    return _promoted(services, activated, promoting=promoting)


def advance(services: ActivationServices, inputs: DeploymentInputs, *, promoting: bool) -> Advanced:
    """Plan the first uncovered closed day, or say why there is nothing to plan.

    Where a day is planned already nothing is changed: its index, had a crash kept it from being written, is written
    now, the same bytes. Raises `DponeError` DPONE_ADVANCE_BLOCKED where an operator must decide first.
    """
    services.guard.require_allowed(services.activations.identity())
    coverage = {
        name: _covered_until(services, inputs.models[name], baseline)
        for name, baseline in _baselines(services, inputs).items()
    }
    decision = next_day(
        coverage, _plans(services, inputs), services.clock.now(), inputs.platform.closed_day_lag_days
    )
    match decision.verdict:
        case Verdict.PLAN:
            return Advanced(decision, activate_day(services, inputs, decision.day, promoting=promoting))
        case Verdict.ALREADY_PLANNED:
            assert decision.plan_bundle_sha256 is not None
            there = _found(services, inputs, decision.plan_bundle_sha256)
            return Advanced(decision, _promoted(services, there, promoting=promoting))
        case Verdict.NOT_CLOSED:
            return Advanced(decision, None)
        case Verdict.BLOCKED:
            plan = decision.plan_bundle_sha256
            raise DponeError(
                "DPONE_ADVANCE_BLOCKED",
                f"{decision.day.start_text}: {decision.reason}",
                {**coverage, **({} if plan is None else {"plan_bundle_sha256": plan})},
            )


def _plans(services: ActivationServices, inputs: DeploymentInputs) -> list[PlannedDay]:
    days = planned_days(services.activations, inputs.descriptor.deployment_id)
    return [day for day in days if day.workflow_name == inputs.proofs.workflow_name]


def _require_promotable(open_plans: list[PlannedDay], day: DayScope) -> None:
    """Refuse before anything is written."""
    for plan in open_plans:
        if plan.scope_start != day.start_text:
            raise not_promotable(plan.plan_bundle_sha256)


def _promoted(services: ActivationServices, activated: Activated, *, promoting: bool) -> Activated:
    if promoting:
        promote(services, activated)
    return activated


def _found(services: ActivationServices, inputs: DeploymentInputs, plan_bundle_sha256: str) -> Activated:
    bundle, projection = stored_projection(
        services.activations, inputs.descriptor.deployment_id, plan_bundle_sha256
    )
    return list_in_index(services, bundle, projection)


def _baselines(services: ActivationServices, inputs: DeploymentInputs) -> dict[str, BaselineAdoptionReceipt]:
    deployment_id = inputs.descriptor.deployment_id
    return {
        name: adopted_baseline(services.frozen, services.documents, deployment_id, name)
        for name in inputs.models
    }


def _covered_until(
    services: ActivationServices, model: ModelInputs, baseline: BaselineAdoptionReceipt
) -> str:
    checkpoint = services.activations.checkpoint(_family(model, baseline))
    if checkpoint is None:
        raise DponeError(
            "DPONE_BASELINE_NOT_ADOPTED", "the store has no checkpoint", {"model": baseline.model_unique_id}
        )
    return checkpoint.covered_until


def _family(model: ModelInputs, baseline: BaselineAdoptionReceipt) -> str:
    return scope_family_id(baseline.model_unique_id, baseline, model.proofs.key_template.digest)


def _authorities(
    services: ActivationServices, model: ModelInputs, baseline: BaselineAdoptionReceipt, day: DayScope
) -> ModelAuthorities:
    scope = services.activations.scope_head(_family(model, baseline), day.start_text)
    if scope is not None:
        raise DponeError(
            "DPONE_SCOPE_HEAD_MOVED",
            f"{day.start_text} is published already; only a replay refreshes it again",
            {"model": baseline.model_unique_id, "scope_revision": str(scope.scope_revision)},
        )
    return ModelAuthorities(
        baseline=baseline,
        head=_head(services, baseline),
        owner_generation=model.held.owner_generation,
        resource_policy=model.resource_policy,
        artifact_authority=model.held.artifact_authority,
        route=model.route,
        writer_assurance=model.writer_assurance,
        ddl_assurance=model.ddl_assurance,
        utc_assurance=model.utc_assurance if _needs_utc(model) else None,
        publication_database=model.held.publication_database,
        publication_table=model.held.publication_table,
    )


def _needs_utc(model: ModelInputs) -> bool:
    """Whether a plan names the UTC assurance; a baseline names one in any case."""
    return any(column.utc_assurance_required for column in model.proofs.key_template.columns)


def _head(services: ActivationServices, baseline: BaselineAdoptionReceipt) -> TargetHead:
    head = services.activations.target_head(baseline.clickhouse_target_authority_id)
    if head is None:
        return TargetHead.of_baseline(baseline)
    return TargetHead(
        generation=head.generation,
        generation_id=head.generation_id,
        operation_id=head.owner_operation_id,
        target_uuid=head.target_uuid,
        terminal_receipt_sha256=head.terminal_receipt_sha256,
    )
