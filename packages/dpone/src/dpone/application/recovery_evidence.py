"""What the stores show of one operation, read without any effect, in the form that the recovery decision takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from dpone.application.build import settle
from dpone.application.commit import scratch_of
from dpone.application.operation import query_id_prefix, stored
from dpone_contracts.artifacts import SealedArtifactManifest
from dpone_contracts.bindings import AttemptContinuationReceipt
from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.canonical import sha256_text
from dpone_contracts.cleanup import CleanupAcknowledgement
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.journal import OperationState, Receipt, reduce_journal
from dpone_contracts.outcomes import (
    ArtifactOutcome,
    EmptyScopeOutcome,
    EmptyScopePreconditions,
    ExchangeEvidence,
    ExchangeOutcome,
    PublicationOutcome,
    SqlOutcome,
    classify_artifact,
    classify_empty_scope,
    classify_exchange,
    object_standing,
)
from dpone_contracts.recovery import Gate, Holder, RecoveryEvidence
from dpone_contracts.run_receipts import BuildGateReceipt, ContentRecord, PreparedReceipt

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.application.operation import Operation, Run
    from dpone.application.services import EvidenceServices
    from dpone_contracts.journal import JournalEntry, JournalHead

T = TypeVar("T")

_PAST_EXCHANGE = (
    OperationState.TARGET_COMMITTED,
    OperationState.COMMITTED_INCOMPLETE,
    OperationState.COMPLETE,
)


@dataclass(slots=True)
class Reading:
    """Everything that was read of one operation: proven facts, open questions, and what could not be read."""

    operation: Operation
    journal: tuple[JournalEntry, ...]
    evidence: RecoveryEvidence
    proven: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    @property
    def is_corrupt(self) -> bool:
        """Whether stored facts contradict each other."""
        seen = self.evidence
        return (
            seen.artifact is ArtifactOutcome.CONFLICT
            or seen.exchange is ExchangeOutcome.MIXED
            or seen.publication is PublicationOutcome.MIXED
        )


def read_operation(services: EvidenceServices, run: Run, operation: Operation) -> Reading:
    """Read the evidence of one operation; what can't be read counts as unknown and is said by code."""
    journal = services.state.journal(operation.plan.operation_id)
    head = reduce_journal(journal)
    assert head is not None
    return _Reader(services, run, operation, journal, head).read()


@dataclass(slots=True)
class _Reader:
    services: EvidenceServices
    run: Run
    operation: Operation
    journal: tuple[JournalEntry, ...]
    head: JournalHead
    proven: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def read(self) -> Reading:
        services, operation_id = self.services, self.operation.plan.operation_id
        prepared = stored(services, operation_id, PreparedReceipt)
        quiet = self._try("ClickHouse's running queries", self._no_query_runs)
        evidence = RecoveryEvidence(
            state=self.head.state,
            holder=self._holder(),
            attempt_ended=self._attempt_ended(quiet=quiet is True),
            sql=self._sql(),
            gate=self._gate(),
            artifact=self._artifact(prepared),
            exchange=self._exchange(prepared, quiet=quiet is True),
            publication=self._publication(),
            empty_scope=self._empty_scope(prepared),
            prepared=self.head.has(Receipt.PREPARED),
            intended=self.head.has(Receipt.COMMIT_INTENT),
            cleanup_acknowledged=stored(services, operation_id, CleanupAcknowledgement) is not None,
        )
        return Reading(self.operation, self.journal, evidence, self.proven, self.unknown, self.unreadable)

    def _try(self, what: str, read: Callable[[], T]) -> T | None:
        """What a read answers, or None where it got no answer; corruption is raised."""
        try:
            return read()
        except DponeError as error:
            if error.exit_class not in {ExitClass.UNVERIFIED, ExitClass.UNKNOWN, ExitClass.REFUSED}:
                raise
            self.unreadable.append(f"{what}: {error.code}")
            return None

    def _holder(self) -> Holder:
        """Who could go on next: the immediate successor try once, then the operator alone."""
        continued = stored(self.services, self.operation.plan.operation_id, AttemptContinuationReceipt)
        return Holder.SUCCESSOR_TRY if continued is None else Holder.OPERATOR

    def _no_query_runs(self) -> bool:
        return not self.services.publisher.active_queries(query_id_prefix(self.operation))

    def _attempt_ended(self, *, quiet: bool) -> bool:
        attempt = self.operation.admitted.attempt
        held = tuple(
            sorted(
                other.plan.operation_id
                for other in self.run.operations
                if other.admitted.attempt.pod_uid == attempt.pod_uid
            )
        )
        vouched = self._try("the attempt's end", lambda: self.services.observer.termination(attempt, held))
        seen = self._try(
            "SQL Server's sessions and guard",
            lambda: self.services.state.guard_quiescence(attempt.operation_id),
        )
        said = {
            "the platform vouches that the attempt's process ended": vouched is not None,
            "no session of the attempt is left in SQL Server, and its guard row is free": seen == (0, True),
            "no query of the attempt runs in ClickHouse": quiet,
        }
        if self.head.state not in {OperationState.COMPLETE, OperationState.FAILED_PRE_COMMIT}:
            self.proven += [text for text, holds in said.items() if holds]
            self.unknown += [f"not proven: {text}" for text, holds in said.items() if not holds]
        return all(said.values())

    def _sql(self) -> SqlOutcome:
        if stored(self.services, self.operation.plan.operation_id, ModelBuildReceipt) is not None:
            self.proven.append("SQL Server: COMMITTED_WITH_IMAGES, the build receipt is stored")
            return SqlOutcome.COMMITTED_WITH_IMAGES
        settled = self._try(
            "SQL Server's evidence", lambda: settle(self.services, self.operation, self.run.recovery_fork)
        )
        if settled is None:
            return SqlOutcome.COMMIT_UNKNOWN
        found = settled[0]
        if found.outcome is SqlOutcome.COMMIT_UNKNOWN:
            self.unknown += [f"SQL Server's outcome: {finding}" for finding in found.findings]
        else:
            self.proven.append(f"SQL Server: {found.outcome.value}")
        return found.outcome

    def _gate(self) -> Gate:
        if stored(self.services, self.operation.plan.operation_id, BuildGateReceipt) is None:
            return Gate.NOT_RUN
        self.proven.append("every model committed and the workflow's tests passed")
        return Gate.PASSED

    def _artifact(self, prepared: PreparedReceipt | None) -> ArtifactOutcome:
        operation_id = self.operation.plan.operation_id
        manifest = stored(self.services, operation_id, SealedArtifactManifest)
        record = stored(self.services, operation_id, ContentRecord)
        if manifest is None or record is None:
            return ArtifactOutcome.NOT_SEALED
        if prepared is not None:
            # Its chunks were read back by exact version and are in the proven generation.
            self.proven.append(
                f"the artifact is sealed: {manifest.total_rows} rows, manifest {manifest.digest}"
            )
            return ArtifactOutcome.SEALED
        stat = self.services.artifacts.stat
        standings = self._try(
            "the sealed objects",
            lambda: (
                object_standing(
                    stat(record.manifest_object_key),
                    sha256_text(manifest.to_bytes()),
                    record.manifest_object_version,
                ),
                tuple(
                    object_standing(stat(chunk.object_key), chunk.chunk_sha256, chunk.provider_version)
                    for chunk in manifest.chunks
                ),
            ),
        )
        outcome = ArtifactOutcome.ARTIFACT_UNKNOWN if standings is None else classify_artifact(*standings)
        sealed = outcome is ArtifactOutcome.SEALED
        (self.proven if sealed else self.unknown).append(f"the artifact: {outcome.value}")
        return outcome

    def _exchange(self, prepared: PreparedReceipt | None, *, quiet: bool) -> ExchangeOutcome:
        if self.head.state in _PAST_EXCHANGE:
            return ExchangeOutcome.SUCCESSOR
        if prepared is None or prepared.generation is None:
            return ExchangeOutcome.EXCHANGE_UNKNOWN
        scratch = scratch_of(self.services, self.operation, prepared.generation)
        there = self._try(
            "ClickHouse's UUID map", lambda: self.services.publisher.uuid_map(self.operation.target, scratch)
        )
        last = self.journal[-1].receipt_schema
        sealed_off = not self.head.has(Receipt.COMMIT_INTENT) or last == Receipt.PREDECESSOR.value
        outcome = classify_exchange(
            # A try that was killed behind its burn has not journalled the new name: a free one proves nothing.
            ExchangeEvidence(there, quiet, sealed_off, maybe_burned=not sealed_off),
            prepared.target_uuid,
            prepared.generation.shadow_uuid,
        )
        if outcome is ExchangeOutcome.EXCHANGE_UNKNOWN:
            self.unknown.append(
                "whether the EXCHANGE landed, or can still land"
                if self.head.has(Receipt.COMMIT_INTENT)
                else "which table stands under the target's name"
            )
        elif there is not None:
            self.proven.append(f"the target's name holds {there.target_uuid}: {outcome.value}")
        return outcome

    def _publication(self) -> PublicationOutcome:
        if self.head.state is OperationState.COMPLETE:
            self.proven.append("heads, checkpoint and journal are published")
            return PublicationOutcome.ALL_SUCCESSOR
        if self.head.state not in _PAST_EXCHANGE:
            return PublicationOutcome.ALL_PREDECESSOR
        plan = self.operation.plan
        rows = self._try(
            "heads and checkpoint", lambda: self.services.state.publication_rows(plan.operation_id)
        )
        if rows is None:
            return PublicationOutcome.PUBLICATION_UNKNOWN
        revision = 0 if rows.scope_head is None else rows.scope_head.scope_revision
        before = (
            rows.target_head is not None
            and rows.target_head.generation_id == plan.target_predecessor_generation_id
            and revision == plan.scope_revision - 1
        )
        if before:
            self.proven.append(
                "the exchange is journalled; heads and checkpoint still stand on the predecessor"
            )
            return PublicationOutcome.ALL_PREDECESSOR
        return PublicationOutcome.MIXED

    def _empty_scope(self, prepared: PreparedReceipt | None) -> EmptyScopeOutcome:
        if prepared is None:
            return EmptyScopeOutcome.REFUSED
        if prepared.generation is not None:
            return EmptyScopeOutcome.NOT_EMPTY
        plan, target = self.operation.plan, self.operation.target
        authority = self._try("the target", lambda: self.services.publisher.authority(target))
        rows = self._try("the target's rows", lambda: self.services.publisher.scope_rows(plan, target))
        heads = self.services.state.publication_rows(plan.operation_id)
        revision = 0 if heads.scope_head is None else heads.scope_head.scope_revision
        head = heads.target_head
        same = authority is not None and not authority.refusals
        return classify_empty_scope(
            (0, 0),
            rows,
            EmptyScopePreconditions(
                target_uuid=same and authority is not None and authority.uuid == prepared.target_uuid,
                target_design=same
                and authority is not None
                and authority.digest == prepared.physical_authority_sha256,
                guard=self._guard_is_held(),
                owner=head is not None and head.generation_id == plan.target_predecessor_generation_id,
                schema_and_key=same,
                scope_predecessor=revision == plan.scope_revision - 1,
                outcomes_resolved=True,
            ),
        ).outcome

    def _guard_is_held(self) -> bool:
        attempt = self.operation.admitted.attempt
        return any(
            (row.status, row.attempt_binding_sha256, row.fencing_epoch)
            == ("ACTIVE", attempt.digest, attempt.fencing_epoch)
            for row in self.services.state.guards((self.operation.admitted.guard_resource_id,))
        )
