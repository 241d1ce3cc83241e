"""What a workflow reserves over all its models, against the workflow's own limits: a pure decision."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.refresh_state import AllocationAmounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone_contracts.plan_bundle import ArtifactAuthority, ResourcePolicy
    from dpone_contracts.policies import WorkflowResourcePolicy
    from dpone_contracts.template_pack import DagPolicy


class Reserving(Protocol):
    """One model's own limits: a target of a plan, or what the deployment holds for it before there is a plan."""

    @property
    def resource_policy(self) -> ResourcePolicy:
        """The budgets of the model's operation."""
        ...

    @property
    def artifact_authority(self) -> ArtifactAuthority:
        """Where the model's artifact goes, and how large it may be."""
        ...


def amounts_of(model: Reserving) -> AllocationAmounts:
    """What an operation reserves, from its model's resource policy."""
    policy = model.resource_policy
    return AllocationAmounts(
        clickhouse_staging_bytes=policy.max_clickhouse_staging_bytes,
        prepared_models=1,
        retained_generation_bytes=policy.max_clickhouse_retained_backup_bytes,
        sealed_extract_bytes=model.artifact_authority.max_artifact_bytes,
        shadow_bytes=policy.max_clickhouse_shadow_bytes,
    )


def require_reservations(models: Iterable[Reserving], limits: WorkflowResourcePolicy) -> None:
    """Refuse a workflow whose models together reserve more of a kind, or of ClickHouse's disks, than it may.

    Raises `DponeError` DPONE_BUDGET_EXCEEDED with kind, needed and allowed. What other workflows hold is not counted:
    the policy is one workflow's, and its guard lets one run of it hold allocations at a time.
    """
    kept = tuple(models)
    reserved = [amounts_of(model) for model in kept]
    for kind in sorted(field.name for field in fields(AllocationAmounts)):
        _require(kind, sum(getattr(amounts, kind) for amounts in reserved), getattr(limits, f"max_{kind}"))
    transient = sum(model.resource_policy.max_clickhouse_total_transient_bytes for model in kept)
    _require("disk_bytes", transient, limits.max_disk_bytes)


def require_concurrency(models: int, dag: DagPolicy, limits: WorkflowResourcePolicy) -> None:
    """Refuse a DAG that would run more PREPARE tasks at once than the workflow may.

    Prepares are the only tasks of a projection that run side by side, so the projection's own `max_active_tasks` bounds
    them. Raises `DponeError` DPONE_BUDGET_EXCEEDED.
    """
    _require("concurrent_prepares", min(models, dag.max_active_tasks), limits.max_concurrent_prepares)


def _require(kind: str, needed: int, allowed: int) -> None:
    if needed > allowed:
        raise DponeError(
            "DPONE_BUDGET_EXCEEDED",
            f"the workflow needs {needed} of {kind}, its policy allows {allowed}",
            {"kind": kind, "needed": str(needed), "allowed": str(allowed)},
        )
