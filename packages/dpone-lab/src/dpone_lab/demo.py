"""The demo: one real day from SQL Server to ClickHouse, the next day's worker killed mid-commit, both checked from outside."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from dpone_contracts.errors import DponeError
from dpone_lab import independent_check
from dpone_lab.deployment import Deployment, deploy
from dpone_lab.expected import MARTS
from dpone_lab.faults import FaultKind, Injection
from dpone_lab.fixture import day_start
from dpone_lab.flights import first_and_last_day
from dpone_lab.platform import KILLED, PodRegistry, WorkerEnd, run_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dpone_lab.profile import LabProfile

REPORT_SCHEMA: Final = "dpone.lab-demo-report.v1"
BUILD_TASK: Final = "semantic_refresh__dbt_build_test"
WORKER_SECONDS: Final = 300
FIRST_EXCHANGE: Final = Injection(f"COMMIT/{MARTS[0].name}/publisher.exchange/1", FaultKind.AFTER)


@dataclass
class Timeline:
    """What happened when: seconds of every step, told to a listener as they begin and end."""

    tell: Callable[[str], None]
    steps: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step of the demo."""
        self.tell(f"{name} …")
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        self.steps.append({"step": name, "seconds": round(seconds, 3)})
        self.tell(f"{name}: {seconds:.1f} s")


def parse_day(text: str) -> date:
    """A UTC day that the real data has events of; raises `DponeError` for anything else."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise DponeError("DPONE_LAB_DAY_NOT_A_DAY", "the day is not of the form YYYY-MM-DD") from None
    first, last = first_and_last_day()
    if not first <= day <= last:
        raise DponeError(
            "DPONE_LAB_DAY_WITHOUT_EVENTS",
            f"{day} has no events",
            {"first_day": str(first), "last_day": str(last)},
        )
    return day


def run_demo(lab: LabProfile, day: date, evidence: Path | None, timeline: Timeline) -> dict[str, Any]:
    """Run both days and return the report; its `verdict` is the independent check's, over both."""
    deployment = deploy(lab, day, timeline.step)
    engines = deployment.engines()
    pods = PodRegistry(deployment.settings.pods)
    runs, comparisons = [], []
    for number, scope_day in enumerate((day, day + timedelta(days=1))):
        with timeline.step(f"snapshot before {scope_day}"):
            before = independent_check.take_snapshot(engines)
        with timeline.step(f"activate {scope_day}"):
            deployment_id, plan_bundle = deployment.activate(scope_day)
        run = _Run(
            deployment, pods, timeline, deployment_id, plan_bundle, f"manual__{scope_day}T00:00:00+00:00"
        )
        with timeline.step(f"refresh {scope_day}"):
            runs.append(run.through(kill=number == 1) | {"day": str(scope_day)})
        with timeline.step(f"independent check of {scope_day}"):
            comparisons.append(independent_check.compare(engines, before, day_start(scope_day)))
    documents = []
    with timeline.step("collect evidence"):
        for run_report in runs:
            documents += deployment.documents(run_report["plan_bundle_sha256"], evidence)
    return {
        "schema": REPORT_SCHEMA,
        "profile": "disposable lab; evidence is UNVERIFIED for production",
        "days": [str(day), str(day + timedelta(days=1))],
        "steps": timeline.steps,
        "runs": runs,
        "documents": documents,
        "uuids": [_uuids(document) for document in documents if "exchange-receipt" in document["schema"]],
        "comparison": comparisons,
        "verdict": all(comparison["verdict"] for comparison in comparisons),
    }


@dataclass(frozen=True)
class _Run:
    """One DagRun of an activated plan on the lab's platform."""

    deployment: Deployment
    pods: PodRegistry
    timeline: Timeline
    deployment_id: str
    plan_bundle_sha256: str
    dag_run_id: str

    def through(self, *, kill: bool) -> dict[str, Any]:
        """Run to the end; with `kill` the first try is killed after its first EXCHANGE was applied."""
        ends = [self._try(1, kill=kill)]
        if kill and ends[0].exit_code == KILLED:
            ends.append(self._try(2, kill=False))
        if ends[-1].exit_code != 0:
            raise _failure(ends[-1])
        return {
            "dag_run_id": self.dag_run_id,
            "deployment_id": self.deployment_id,
            "plan_bundle_sha256": self.plan_bundle_sha256,
            "tries": [
                {
                    "try_number": number,
                    "pid": end.pid,
                    "pod_uid": end.pod_uid,
                    "exit_code": end.exit_code,
                    "killed": end.exit_code == KILLED,
                    "stages": _stages(end),
                }
                for number, end in enumerate(ends, 1)
            ],
        }

    def _try(self, number: int, *, kill: bool) -> WorkerEnd:
        def listen(event: dict[str, Any]) -> bool:
            if event["event"] == "stage" and event["state"] == "started":
                self.timeline.tell(f"  try {number}  {event['stage']:<10} {event['model'] or 'workflow'}")
            if event["event"] == "error":
                self.timeline.tell(f"  try {number}  {event['code']}: {event['observed']}")
            if event["event"] == "held":
                self.timeline.tell(
                    f"  try {number}  the first EXCHANGE was applied, nothing published: SIGKILL to pid {event['pid']}"
                )
            return bool(event["event"] == "held")

        settings = {
            "lab": self.deployment.settings.to_json(),
            "deployment_id": self.deployment_id,
            "plan_bundle_sha256": self.plan_bundle_sha256,
            "dag_run_id": self.dag_run_id,
            "task_id": BUILD_TASK,
            "hold_at": FIRST_EXCHANGE.name if kill else None,
        }
        return run_worker(self.pods, settings, BUILD_TASK, number, listen, timeout=WORKER_SECONDS)


def _failure(end: WorkerEnd) -> DponeError:
    """The error that a worker told before it ended, as this command's own."""
    for event in end.events:
        if event["event"] == "error":
            return DponeError(event["code"], event["observed"], event["evidence"])
    return DponeError("DPONE_INTERNAL", f"the worker ended with status {end.exit_code} and told nothing")


def _stages(end: WorkerEnd) -> list[dict[str, Any]]:
    """Every stage that a try began, with its seconds (None where the try ended inside it)."""
    stages: list[dict[str, Any]] = []
    for event in end.events:
        if event["event"] != "stage":
            continue
        if event["state"] == "started":
            stages.append(
                {"stage": event["stage"], "model": event["model"], "began": event["at"], "seconds": None}
            )
        else:
            stages[-1]["seconds"] = round(event["at"] - stages[-1]["began"], 3)
    return [{name: value for name, value in stage.items() if name != "began"} for stage in stages]


def _uuids(document: dict[str, Any]) -> dict[str, Any]:
    content = document["content"]
    return {
        "target": content["target_relation"],
        "predecessor": content["predecessor_uuid"],
        "successor": content["successor_uuid"],
    }
