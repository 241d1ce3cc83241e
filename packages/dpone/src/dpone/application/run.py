"""Run an activated plan: the stages of the plan, in order, each reading what is already proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dpone.application.admission import admit
from dpone.application.build import build
from dpone.application.commit import commit
from dpone.application.prepare import mark_prepared, prepare
from dpone.application.publication import publish
from dpone.application.seal import seal
from dpone.application.stages import Stage, StageKind, stages_of
from dpone.application.summary import summarise

if TYPE_CHECKING:
    from dpone.application.operation import Run
    from dpone.application.services import Services
    from dpone_contracts.ports.refresh_state import WorkerIdentity
    from dpone_contracts.summaries import DurableWorkflowSummary


def run_workflow(
    services: Services, deployment_id: str, plan_bundle_sha256: str, worker: WorkerIdentity
) -> DurableWorkflowSummary:
    """Execute every stage of the activated plan and return the durable summary.

    Started again after a crash it goes on from the journal and repeats nothing that is proven.
    """
    progress = services.progress
    progress.stage(StageKind.ADMIT, None, "started")
    run = admit(services, deployment_id, plan_bundle_sha256, worker)
    progress.stage(StageKind.ADMIT, None, "done")
    stages = stages_of([operation.model for operation in run.operations])
    for stage in stages[1:-1]:
        progress.stage(stage.kind, stage.model_unique_id, "started")
        _execute(services, run, stage)
        progress.stage(stage.kind, stage.model_unique_id, "done")
    progress.stage(StageKind.SUMMARISE, None, "started")
    summary = summarise(services, run)
    progress.stage(StageKind.SUMMARISE, None, "done")
    return summary


def _execute(services: Services, run: Run, stage: Stage) -> None:
    operation = next((o for o in run.operations if o.model == stage.model_unique_id), run.operations[0])
    match stage.kind:
        case StageKind.BUILD:
            build(services, run)
        case StageKind.SEAL:
            seal(services, run, operation)
        case StageKind.PREPARE:
            prepare(services, operation, seal(services, run, operation))
        case StageKind.COMMIT:
            mark_prepared(services, run)
            commit(services, operation)
        case StageKind.PUBLISH:
            publish(services, operation)
        case StageKind.ADMIT | StageKind.SUMMARISE:
            raise AssertionError(stage.kind)
        case _:
            assert_never(stage.kind)
