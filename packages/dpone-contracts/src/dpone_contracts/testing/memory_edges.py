"""In-memory clock, guard, attestor, attempt observer, revocation log and progress."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpone_contracts.canonical import sha256_text
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.attestor import Attestation
from dpone_contracts.receipts import TrustedAttemptTerminationReceipt

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.ports.guard import StoreIdentity


@dataclass(slots=True)
class SteppingClock:
    """Tells a later instant at every call: one millisecond on."""

    at: dt.datetime = dt.datetime(2026, 8, 9, 1, tzinfo=dt.UTC)

    def now(self) -> str:
        """The next instant."""
        self.at += dt.timedelta(milliseconds=1)
        return self.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def wait(self, milliseconds: int) -> None:
        """Be that much later at once."""
        self.at += dt.timedelta(milliseconds=milliseconds)


@dataclass(frozen=True, slots=True)
class DisposableStoresOnly:
    """Allows stores that carry a disposable marker and no other."""

    def require_allowed(self, store: StoreIdentity) -> None:
        """Return for a disposable store."""
        if store.disposable_marker is None:
            code = "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"
            raise DponeError(code, "the store has no disposable marker", {"store_id": store.store_id})


@dataclass(frozen=True, slots=True)
class DigestAttestor:
    """Attests with digests of the subject and of its name: for tests, without a key."""

    authority: str = "attestor/memory"

    def attest(self, subject: bytes) -> Attestation:
        """The subject's digest, and a digest that stands for a signature."""
        signature = sha256_text(self.authority.encode() + subject)
        return Attestation(self.authority, sha256_text(subject), signature)


@dataclass(slots=True)
class EndedAttempts:
    """Knows the pods that ended because it was told so."""

    clock: SteppingClock
    pods: set[str] = field(default_factory=set)

    def termination(
        self, attempt: AttemptBinding, operation_ids: tuple[str, ...]
    ) -> TrustedAttemptTerminationReceipt | None:
        """The receipt of an attempt whose pod has ended."""
        if attempt.pod_uid not in self.pods:
            return None
        return TrustedAttemptTerminationReceipt.build(
            attempt_binding_sha256=attempt.digest,
            cluster_id="memory",
            container_terminations=[
                {
                    "container_id": f"memory://{attempt.pod_uid}",
                    "exit_code": 137,
                    "finished_at": "2026-08-09T01:00:00.000001Z",
                    "name": "worker",
                    "reason": "Error",
                }
            ],
            dag_id="memory",
            map_index=-1,
            namespace="memory",
            observed_at=self.clock.now(),
            observer_attestation_sha256=sha256_text(b"observer"),
            observer_authority="observer/memory",
            observer_policy_sha256=sha256_text(b"observer policy"),
            observer_signature_sha256=sha256_text(b"observer signature"),
            operation_ids=list(operation_ids),
            pod_name="worker",
            pod_resource_version="1",
            pod_uid=attempt.pod_uid,
            run_id=attempt.dag_run_id,
            task_id=attempt.task_id,
            terminal_phase="Failed",
            try_number=attempt.try_number,
            verification_status="VERIFIED",
            workflow_execution_binding_sha256=attempt.workflow_execution_binding_sha256,
            workflow_execution_id=attempt.workflow_execution_id,
        )


@dataclass(slots=True)
class MemoryRevocationLog:
    """Remembers revocation indexes as long as it lives."""

    seen: dict[str, tuple[int, str]] = field(default_factory=dict)

    def remember(self, trust_domain: str, epoch: int, revocation_index_sha256: str) -> EffectResult[int]:
        """Keep a newer index, take the newest again, refuse every other."""
        newest, digest = self.seen.get(trust_domain, (0, ""))
        if epoch < newest:
            return NotApplied(Reason("DPONE_REVOCATION_INDEX_ROLLED_BACK", "a later index was seen before"))
        if epoch == newest and digest != revocation_index_sha256:
            return NotApplied(
                Reason("DPONE_REVOCATION_INDEX_CONFLICT", "another index of this epoch was seen")
            )
        self.seen[trust_domain] = (epoch, revocation_index_sha256)
        return Applied(epoch)


@dataclass(slots=True)
class RecordedProgress:
    """Keeps what it was told."""

    told: list[tuple[str, str | None, str]] = field(default_factory=list)

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """Keep one line."""
        self.told.append((name, model_unique_id, state))
