"""The stages of a plan as data: the runner executes them, `explain` and `status` render the same objects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StageKind(StrEnum):
    """What a stage does (architecture, one picture)."""

    ADMIT = "ADMIT"
    BUILD = "BUILD"
    SEAL = "SEAL"
    PREPARE = "PREPARE"
    COMMIT = "COMMIT"
    PUBLISH = "PUBLISH"
    SUMMARISE = "SUMMARISE"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage, the task that runs it and the model that it belongs to (None: the workflow)."""

    kind: StageKind
    task_id: str
    model_unique_id: str | None


BUILD_TASK = "semantic_refresh__dbt_build_test"
SUMMARY_TASK = "semantic_refresh__durable_workflow_summary"


def stages_of(models: Sequence[str]) -> tuple[Stage, ...]:
    """One admission and build, parallel prepares, sequential commits with one publication each, one summary.

    `models` are dbt unique ids in the plan's order.
    """
    slug = {model: model.replace(".", "_") for model in models}
    prepare = {model: f"semantic_refresh__prepare__{slug[model]}" for model in models}
    commit = {
        model: f"semantic_refresh__commit__{number:04}__{slug[model]}" for number, model in enumerate(models)
    }
    return (
        Stage(StageKind.ADMIT, BUILD_TASK, None),
        Stage(StageKind.BUILD, BUILD_TASK, None),
        *(
            Stage(kind, prepare[model], model)
            for model in models
            for kind in (StageKind.SEAL, StageKind.PREPARE)
        ),
        *(
            Stage(kind, commit[model], model)
            for model in models
            for kind in (StageKind.COMMIT, StageKind.PUBLISH)
        ),
        Stage(StageKind.SUMMARISE, SUMMARY_TASK, None),
    )
