"""The composition root of a DAG file: `globals().update(load_dags(index, services="module:function"))`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from dpone_airflow_pack.dag import build_dag
from dpone_airflow_pack.index import read_index
from dpone_airflow_pack.release import installed_members, require_one_release

if TYPE_CHECKING:
    from os import PathLike

    from airflow.sdk import DAG

    from dpone_airflow_pack.worker import Stages


@dataclass(frozen=True, slots=True)
class _LazyStages:
    """Makes the stages on the worker: parsing a DAG file imports no service, adapter or driver."""

    services: str

    def __call__(self) -> Stages:
        from dpone.application.tasks import TaskStages  # noqa: PLC0415 - lazy by design

        return TaskStages(resolve_name(self.services)())


def load_dags(index_file: str | PathLike[str], services: str) -> dict[str, DAG]:
    """The DAGs of a local deployment index, by DAG id.

    `index_file` is what `write_index` returned: its name pins its content. `services` names, as `module:function`,
    the platform's function without arguments that composes the `Services` of a run; only workers import it.
    Raises `DponeError`: DPONE_RELEASE_SKEW, DPONE_DEPLOYMENT_INDEX_REFUSED.
    """
    require_one_release(installed_members())
    factory = _LazyStages(services)
    dags = (build_dag(found, factory) for found in read_index(Path(index_file)))
    return {dag.dag_id: dag for dag in dags}
