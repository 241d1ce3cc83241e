"""The lab's stand-in for what runs pods: starts worker processes, reaps them, and vouches for their end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dpone_contracts.canonical import canonical_bytes
from dpone_contracts.receipts import TrustedAttemptTerminationReceipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.ports.attestor import Attestor

CLUSTER_ID = "dpone-lab"
NAMESPACE = "lab"
KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True)
class PodRecord:
    """What the platform knows of one worker process; `exit_code` is None until it was reaped."""

    pod_uid: str
    pid: int
    task_id: str
    try_number: int
    started_at: str
    exit_code: int | None = None
    finished_at: str | None = None


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class PodRegistry:
    """Pod records as files of one directory; only the platform process writes them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, record: PodRecord) -> None:
        """Replace the record of a pod atomically."""
        self._directory.mkdir(parents=True, exist_ok=True)
        fresh = self._directory / f".{record.pod_uid}.new"
        fresh.write_text(json.dumps(asdict(record)))
        fresh.replace(self._directory / f"{record.pod_uid}.json")

    def read(self, pod_uid: str) -> PodRecord | None:
        """The record of a pod, or None for one that this platform never ran."""
        path = self._directory / f"{pod_uid}.json"
        return PodRecord(**json.loads(path.read_text())) if path.exists() else None


@dataclass(frozen=True)
class LabObserver:
    """Vouches for the end of a worker only over its reaped exit status."""

    registry: PodRegistry
    attestor: Attestor

    def termination(
        self, attempt: AttemptBinding, operation_ids: tuple[str, ...]
    ) -> TrustedAttemptTerminationReceipt | None:
        """The receipt of an ended worker process; None for a live or unknown one."""
        record = self.registry.read(attempt.pod_uid)
        if record is None or record.exit_code is None or record.finished_at is None:
            return None
        fields: dict[str, Any] = {
            "attempt_binding_sha256": attempt.digest,
            "cluster_id": CLUSTER_ID,
            "container_terminations": [
                {
                    "container_id": f"process://{record.pid}",
                    "exit_code": record.exit_code,
                    "finished_at": record.finished_at,
                    "name": "base",
                    "reason": "Completed" if record.exit_code == 0 else "Error",
                }
            ],
            "dag_id": "DAG__lab__flight_events__refresh",
            "map_index": -1,
            "namespace": NAMESPACE,
            "observed_at": _now(),
            "observer_authority": "dpone-lab/platform",
            "operation_ids": sorted(operation_ids),
            "pod_name": f"worker-try-{record.try_number}",
            "pod_resource_version": "1",
            "pod_uid": attempt.pod_uid,
            "run_id": attempt.dag_run_id,
            "task_id": attempt.task_id,
            "terminal_phase": "Succeeded" if record.exit_code == 0 else "Failed",
            "try_number": attempt.try_number,
            "verification_status": "VERIFIED",
            "workflow_execution_binding_sha256": attempt.workflow_execution_binding_sha256,
            "workflow_execution_id": attempt.workflow_execution_id,
        }
        word = self.attestor.attest(canonical_bytes(fields))
        return TrustedAttemptTerminationReceipt.build(
            **fields,
            observer_attestation_sha256=word.attestation_sha256,
            observer_policy_sha256=word.attestation_sha256,
            observer_signature_sha256=word.signature_sha256,
        )


@dataclass(frozen=True)
class WorkerEnd:
    """How a worker ended: its pod, its pid, its exit status (137 when killed), and everything that it told."""

    pod_uid: str
    pid: int
    exit_code: int
    events: tuple[dict[str, Any], ...]


def run_pod(registry: PodRegistry, command: list[str], task_id: str, try_number: int) -> int:
    """Run one command as a pod, its streams those of this process, and record its end; its exit status."""
    pod_uid = str(uuid.uuid4())
    process = subprocess.Popen([*command, "--pod-uid", pod_uid])
    registry.write(PodRecord(pod_uid, process.pid, task_id, try_number, _now()))
    code = _reaped(process)
    registry.write(PodRecord(pod_uid, process.pid, task_id, try_number, _now(), code, _now()))
    return code


def _reaped(process: subprocess.Popen[Any]) -> int:
    """Wait for a process; its exit status as a shell says it, 137 when killed."""
    status = process.wait()
    return 128 - status if status < 0 else status


def run_worker(
    registry: PodRegistry,
    settings: dict[str, Any],
    task_id: str,
    try_number: int,
    listen: Callable[[dict[str, Any]], bool],
    *,
    timeout: float,
) -> WorkerEnd:
    """Run one worker process to its end and record it.

    `listen` sees every event; when it answers True the process is killed with SIGKILL from out here.
    """
    pod_uid = str(uuid.uuid4())
    process = subprocess.Popen(
        [sys.executable, "-m", "dpone_lab.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    events: list[dict[str, Any]] = []
    try:
        registry.write(PodRecord(pod_uid, process.pid, task_id, try_number, _now()))
        process.stdin.write(json.dumps({**settings, "pod_uid": pod_uid, "try_number": try_number}))
        process.stdin.close()
        deadline = time.monotonic() + timeout
        for event in _events(process):
            events.append(event)
            if listen({**event, "pid": process.pid}) or time.monotonic() > deadline:
                process.kill()
    except BaseException:
        process.kill()
        process.wait()
        raise
    code = _reaped(process)
    registry.write(PodRecord(pod_uid, process.pid, task_id, try_number, _now(), code, _now()))
    return WorkerEnd(pod_uid, process.pid, code, tuple(events))


def _events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)
