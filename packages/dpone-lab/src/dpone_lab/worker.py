"""The lab's worker process: reads its settings from standard input, runs an activated plan, tells events as JSON lines."""

from __future__ import annotations

import json
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Any

from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_lab.composition import LabSettings, lab_services
from dpone_lab.faults import Injection, hold_at


def tell(event: str, **fields: Any) -> None:
    """Write one event line; the platform that started this process reads it."""
    sys.stdout.write(json.dumps({"event": event, "at": time.time(), **fields}) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class ToldProgress:
    """Progress as event lines."""

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """Tell a stage's state."""
        tell("stage", stage=str(name), model=model_unique_id, state=state)


def main() -> int:
    """Run the plan that the settings name; the exit status is the exit class of its end."""
    from dpone.application.run import run_workflow  # noqa: PLC0415 - after the first event, imports take a while

    settings = json.load(sys.stdin)
    tell("started")
    lab = LabSettings.from_json(settings["lab"])
    worker = WorkerIdentity(
        dag_run_id=settings["dag_run_id"],
        task_id=settings["task_id"],
        try_number=settings["try_number"],
        pod_uid=settings["pod_uid"],
        owner_id="dpone-lab/worker",
    )
    try:
        services = lab_services(lab, ToldProgress())
        if settings.get("hold_at"):
            services = hold_at(services, Injection.parse(settings["hold_at"]), lambda: tell("held"))
        summary = run_workflow(services, settings["deployment_id"], settings["plan_bundle_sha256"], worker)
    except DponeError as error:
        tell("error", **error.diagnostics())
        return int(error.exit_class)
    except Exception as fault:  # noqa: BLE001 - the process edge: whatever it was is told and the end is not success
        traceback.print_exc()
        told = DponeError("DPONE_INTERNAL", f"the worker ended with {type(fault).__name__}")
        tell("error", **told.diagnostics())
        return int(told.exit_class)
    tell("summary", digest=summary.digest)
    return int(ExitClass.DONE)


if __name__ == "__main__":
    sys.exit(main())
