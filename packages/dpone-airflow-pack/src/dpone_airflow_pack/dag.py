"""Materialises the Airflow DAG of a projection: its tasks, its static policy, and nothing that is not in it."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING

from dpone_airflow_pack.worker import StagesFactory, TaskWork
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from airflow.sdk import DAG, Asset

    from dpone_airflow_pack.index import CurrentProjection
    from dpone_contracts.projection import DagProjection, ProjectedTask


def build_dag(found: CurrentProjection, factory: StagesFactory) -> DAG:
    """One build, parallel prepares, sequential commits and one summary, which alone has outlets.

    `factory` makes the stages on the worker; it is not called here. No task is retried by Airflow: what a failed
    task left is for evidence to say.
    """
    # Importing the pack must not import Airflow.
    import pendulum  # noqa: PLC0415
    from airflow.sdk import DAG, CronTriggerTimetable  # noqa: PLC0415

    from dpone_airflow_pack.operators import SemanticRefreshOperator  # noqa: PLC0415

    projection = found.projection
    policy, tasks = projection.topology.dag_policy, projection.task_projection
    outlets = _outlets(projection)
    zone = pendulum.timezone(policy.timezone)
    # Given a text, Airflow chooses the timetable's kind by its own configuration.
    schedule = None if policy.schedule is None else CronTriggerTimetable(policy.schedule, timezone=zone)
    dag = DAG(
        dag_id=projection.topology.dag_id,
        schedule=schedule,
        start_date=datetime.combine(date.fromisoformat(policy.start_date), time(), zone),
        catchup=policy.catchup,
        max_active_runs=policy.max_active_runs,
        max_active_tasks=policy.max_active_tasks,
        tags=list(policy.tags),
        # Airflow's configuration has defaults for both; a run keeps the projection that it began with.
        max_consecutive_failed_dag_runs=0,
        disable_bundle_versioning=False,
    )
    every = (tasks.dbt_task, *tasks.prepare_tasks, *tasks.commit_tasks, tasks.summary_task)
    made = {
        task.task_id: SemanticRefreshOperator(
            dag=dag,
            task_id=task.task_id,
            owner=policy.owner,
            trigger_rule=task.trigger_rule,
            retries=0,
            do_xcom_push=False,
            outlets=outlets if task is tasks.summary_task else [],
            work=_work(task, found, factory),
            dag_projection_sha256=projection.digest,
            operation_id=task.operation_id,
        )
        for task in every
    }
    for task in every:
        made[task.task_id].set_upstream([made[upstream] for upstream in task.upstream_task_ids])
    return dag


def _work(task: ProjectedTask, found: CurrentProjection, factory: StagesFactory) -> TaskWork:
    deployment_id = found.projection.deployment_id
    return TaskWork(task.task_kind, deployment_id, found.plan_bundles, task.model_unique_id, factory)


def _outlets(projection: DagProjection) -> list[Asset]:
    """The Assets of a workflow, under exactly the projected URIs: Airflow may not spell one otherwise."""
    from airflow.sdk import Asset  # noqa: PLC0415 - as above

    assets = []
    for uri in projection.task_projection.asset_uris:
        asset = Asset(name=uri, uri=uri)
        if asset.uri != uri:
            raise DponeError(
                "DPONE_DEPLOYMENT_INDEX_REFUSED",
                "an Asset URI is not in the form that Airflow keeps",
                {"asset_uri": uri, "kept": asset.uri},
            )
        assets.append(asset)
    return assets
