"""One dbt build and test gate of a workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpone_contracts.effects import EffectKind, effect


@dataclass(frozen=True, slots=True)
class RenderedBatch:
    """The exact T-SQL that the strategy inserts for one model, bound by its digest."""

    model_unique_id: str
    sql: str
    sha256: str
    target: str
    """`[database].[schema].[name]` of the planned target; dbt's own relation must be it."""
    temp: str
    """`[database].[schema].[name]` of the planned dbt temp relation."""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What dbt shall run: exact models, no ancestors, then their tests.

    Models without a batch are not built; with no batch at all only the tests of `tested_models` run.
    """

    workflow_execution_binding_sha256: str
    batches: tuple[RenderedBatch, ...]
    tested_models: tuple[str, ...]
    timeout_seconds: int
    query_timeout_seconds: int


@dataclass(frozen=True, slots=True)
class BuildExit:
    """How the process ended: a projection, never evidence of a commit.

    `finished` is false when the process was killed or timed out; `node_status` is by unique id as dbt
    printed it; `tests_passed` is None where the tests did not run.
    """

    finished: bool
    exit_code: int | None
    node_status: dict[str, str]
    tests_passed: bool | None
    log_path: str


class ModelBuild(Protocol):
    """Runs dbt as a child process and reaps it before it returns."""

    @effect(EffectKind.READ)
    def expect(self) -> None:
        """Get ready: a build will probably be asked for. Nothing is sent to any engine, and it may come to nothing."""
        ...

    @effect(EffectKind.COMMIT)
    def build(self, request: BuildRequest) -> BuildExit:
        """Run the gate once; there is no retry."""
        ...
