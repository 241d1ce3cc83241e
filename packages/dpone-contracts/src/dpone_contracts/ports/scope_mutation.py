"""The rendered scope mutation, its images, and the evidence that it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.model_build import RenderedBatch
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.relations import SqlRelation


class SessionEvidence(StrEnum):
    """What the engine says of the attempt's sessions, with the permission to see them asserted."""

    GONE = "GONE"
    LIVE = "LIVE"
    NOT_VISIBLE = "NOT_VISIBLE"


class Fate(StrEnum):
    """The fate row of an attempt; one of the two is true for ever once it is there."""

    COMMITTED = "COMMITTED"
    ABANDONED = "ABANDONED"


@dataclass(frozen=True, slots=True)
class ImageObservation:
    """One image relation as it stands, or absent."""

    relation: SqlRelation
    exists: bool
    row_count: int | None
    content_sha256: str | None


@dataclass(frozen=True, slots=True)
class BuildEvidence:
    """Everything that SQL Server shows of one attempt's mutation, read in one pass from another session.

    `receipt` holds the canonical bytes of the model build receipt; `fate` None means no row, `reachable`
    False that a read failed or timed out (nothing else then counts as absence); `recovery_fork` is the
    database's now.
    """

    operation_id: str
    attempt_binding_sha256: str
    reachable: bool
    intent_recorded: bool
    fate: Fate | None
    receipt: bytes | None
    before_image: ImageObservation
    after_image: ImageObservation
    temp_exists: bool
    sessions: SessionEvidence
    recovery_fork: str


class ScopeMutation(Protocol):
    """Renders and prepares the fenced mutation and reads its evidence."""

    @effect(EffectKind.READ)
    def preflight(self, plan: OperationPlan, target: PlanTarget) -> tuple[tuple[str, str], ...]:
        """(code, what was seen) of everything that forbids the mutation; empty when it may start.

        Existing physical table, exact columns, types, collations, nullability, nothing on the target that the
        strategy refuses, scratch names absent, DDL epoch as certified. What can't be read is a finding.
        """
        ...

    @effect(EffectKind.WRITE)
    def create_images(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation
    ) -> EffectResult[None]:
        """Create both empty image relations of an attempt with explicit types and the clustered key."""
        ...

    @effect(EffectKind.READ)
    def render(self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> RenderedBatch:
        """The batch that dbt's strategy runs inside its own transaction; pure text, nothing is sent."""
        ...

    @effect(EffectKind.READ)
    def evidence(self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> BuildEvidence:
        """Receipt, fate, images, temp relation and sessions of an attempt."""
        ...

    @effect(EffectKind.READ)
    def current_scope(self, plan: OperationPlan, target: PlanTarget) -> tuple[int, str]:
        """(rows, content digest) of the target's scope as it stands.

        Raises `DponeError` DPONE_CONTINUATION_TOO_LARGE beyond the row, image and 64 MiB gates of a continuation.
        """
        ...

    @effect(EffectKind.COMMIT)
    def abandon(self, admitted: AdmittedOperation) -> EffectResult[Fate]:
        """Try to make ABANDONED the attempt's fate; the value is the fate that is there now."""
        ...
