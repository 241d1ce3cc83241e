"""The one operator of a semantic-refresh DAG; imports Airflow, so only materialisation imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from dpone_airflow_pack.worker import TaskWork, worker_identity

if TYPE_CHECKING:
    from collections.abc import Mapping

_STATIC_IDENTITY = frozenset(
    {"dag_projection_sha256", "plan_bundle_sha256", "task_kind", "model_unique_id", "operation_id"}
)


class SemanticRefreshOperator(BaseOperator):  # type: ignore[misc]  # Airflow is not typed for mypy
    """Runs one projected task; its static identity stands in the serialised DAG.

    Without `get_serialized_fields` two plans would give equal DAGs; with template fields, identities could render.
    """

    template_fields = ()

    def __init__(
        self, *, work: TaskWork, dag_projection_sha256: str, operation_id: str | None, **airflow: Any
    ) -> None:
        super().__init__(**airflow)
        self.dag_projection_sha256 = dag_projection_sha256
        self.plan_bundle_sha256 = work.plan_bundles[-1]
        self.task_kind = work.kind
        self.model_unique_id = work.model_unique_id
        self.operation_id = operation_id
        self._work = work

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Airflow's fields and the static identity."""
        return frozenset(super().get_serialized_fields() | _STATIC_IDENTITY)

    def execute(self, context: Mapping[str, Any]) -> None:
        """Hand the actual DagRun over to the injected stages; nothing is returned, so nothing becomes an XCom."""
        self._work.run(worker_identity(context))
