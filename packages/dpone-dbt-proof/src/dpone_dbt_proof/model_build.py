"""The dbt adapter of the `ModelBuild` port: one `dbt build` of exact models and their tests, never retried."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.model_build import BuildExit
from dpone_dbt_proof.dbt_process import DbtProcess
from dpone_dbt_proof.platform_project import materialise
from dpone_dbt_proof.selection import INDIRECT_SELECTION, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_contracts.ports.model_build import BuildRequest
    from dpone_dbt_proof.dbt_process import DbtExit
    from dpone_dbt_proof.manifest import Manifest
    from dpone_dbt_proof.platform_project import AuthorProject, SqlServerConnection
    from dpone_dbt_proof.selection import Selection


class BuildSelectionError(DponeError):
    """dbt would run something beside the requested models and their tests."""

    def __init__(self, observed: str) -> None:
        super().__init__("DPONE_BUILD_SELECTION", observed)


class DbtModelBuild:
    """Builds models of one proven project under the platform's root.

    `manifest` is that of the compile which the proofs were made from. `directory` is private to the worker; every
    call has a folder of its own there, with project, target and log, until the caller deletes it. `password` is asked for when dbt starts
    and goes into the child's environment only.
    """

    def __init__(
        self,
        author: AuthorProject,
        manifest: Manifest,
        connection: SqlServerConnection,
        password: Callable[[], str],
        directory: Path,
    ) -> None:
        self._author = author
        self._manifest = manifest
        self._connection = connection
        self._password = password
        self._directory = directory
        self._expecting: DbtProcess | None = None

    def expect(self) -> None:
        """Start dbt, which takes seconds to import, so that it waits for its command; it ends with this process."""
        if self._expecting is None:
            self._expecting = DbtProcess()

    def _process(self) -> DbtProcess:
        started, self._expecting = self._expecting, None
        return started or DbtProcess()

    def build(self, request: BuildRequest) -> BuildExit:
        """Run the gate; raises `BuildSelectionError` or `PlatformProjectError` before dbt is started."""
        models = [batch.model_unique_id for batch in request.batches]
        selection = select(self._manifest, models, request.tested_models)
        beside = set(selection.node_ids) - {*selection.model_ids, *selection.test_ids}
        if beside:
            raise BuildSelectionError(f"the selection also holds {', '.join(sorted(beside))}")
        self._directory.mkdir(parents=True, exist_ok=True)
        attempt = Path(mkdtemp(prefix="dbt-", dir=self._directory))
        project = materialise(attempt / "project", self._author, request.batches)
        ended = self._process().run(
            build_arguments(selection, "build" if request.batches else "test"),
            project=project.directory,
            profiles=project.directory,
            output=attempt,
            environment=self._connection.environment(self._password(), request.query_timeout_seconds),
            timeout_seconds=request.timeout_seconds,
        )
        return build_exit(ended, selection)


def build_arguments(selection: Selection, verb: str = "build") -> list[str]:
    """Return dbt's command: unit tests, models and data tests by exact selector, and nothing near them.

    `dbt build` runs a unit test only together with its model: where all are built already the verb is `test`.
    """
    return [
        verb,
        *("--select", *selection.selectors),
        *("--indirect-selection", INDIRECT_SELECTION),
        *("--threads", "1"),
        "--no-partial-parse",
        "--no-fail-fast",
    ]


def build_exit(ended: DbtExit, selection: Selection) -> BuildExit:
    """Describe how dbt ended; tests passed only when every selected one ran and none failed or was skipped."""
    status = {result.unique_id: result.status for result in ended.results}
    ran = [status[key] for key in selection.test_ids if key in status]
    whole = ended.finished and len(ran) == len(selection.test_ids)
    failed = any(outcome not in ("pass", "success", "warn") for outcome in ran)
    return BuildExit(
        finished=ended.finished,
        exit_code=ended.exit_code,
        node_status=status,
        tests_passed=False if failed else True if whole else None,
        log_path=str(ended.log_path),
    )
