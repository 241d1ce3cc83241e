"""What became of a boundary that was crossed: pure classification of evidence, one function a boundary.

Every function answers from evidence that was read, never from exit codes, process states or row counts
(specification, SQL Server outcome and replacement; seal, ClickHouse, and state publication; empty scope).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING

from dpone_contracts.ports.scope_mutation import BuildEvidence, Fate, ImageObservation, SessionEvidence

if TYPE_CHECKING:
    from dpone_contracts.ports.artifact_store import StoredObject
    from dpone_contracts.ports.publisher import UuidMap
    from dpone_contracts.ports.refresh_state import PublicationRows


class SqlOutcome(StrEnum):
    """The four outcomes of a model's mutation in SQL Server."""

    NOT_INVOKED = "NOT_INVOKED"
    ROLLED_BACK = "ROLLED_BACK"
    COMMITTED_WITH_IMAGES = "COMMITTED_WITH_IMAGES"
    COMMIT_UNKNOWN = "COMMIT_UNKNOWN"


@dataclass(frozen=True, slots=True)
class BuildIdentity:
    """Whose mutation it is: what the attempt expects, or what a receipt says."""

    operation_id: str
    attempt_binding_sha256: str
    fencing_epoch: int
    recovery_fork: str


@dataclass(frozen=True, slots=True)
class ReceiptClaims:
    """A readable model build receipt: whose it is, and the images that it names."""

    identity: BuildIdentity
    before_row_count: int
    before_content_sha256: str
    after_row_count: int
    after_content_sha256: str


@dataclass(frozen=True, slots=True)
class SqlClassification:
    """An outcome and the findings that forbid a more definite one (empty where it is definite)."""

    outcome: SqlOutcome
    findings: tuple[str, ...] = ()


def classify_sql(
    evidence: BuildEvidence, expected: BuildIdentity, receipt: ReceiptClaims | None
) -> SqlClassification:
    """The outcome of one attempt's mutation.

    `receipt` are the claims of `evidence.receipt`, None where those bytes are absent or no valid receipt. The
    image relations are created empty before the build, so an empty image is no trace of a commit.
    """
    unreadable = _unreadable(evidence, expected)
    if unreadable:
        return SqlClassification(SqlOutcome.COMMIT_UNKNOWN, unreadable)
    if evidence.receipt is not None:
        conflicts = _receipt_conflicts(evidence, expected, receipt)
        return (
            SqlClassification(SqlOutcome.COMMIT_UNKNOWN, conflicts)
            if conflicts
            else SqlClassification(SqlOutcome.COMMITTED_WITH_IMAGES)
        )
    doubts = _absence_doubts(evidence)
    if doubts:
        return SqlClassification(SqlOutcome.COMMIT_UNKNOWN, doubts)
    return SqlClassification(SqlOutcome.ROLLED_BACK if evidence.intent_recorded else SqlOutcome.NOT_INVOKED)


def _unreadable(evidence: BuildEvidence, expected: BuildIdentity) -> tuple[str, ...]:
    findings = {
        "SQL Server was not read": not evidence.reachable,
        "the evidence is another operation's": evidence.operation_id != expected.operation_id,
        "the evidence is another attempt's": evidence.attempt_binding_sha256
        != expected.attempt_binding_sha256,
        "the database was restored or forked": evidence.recovery_fork != expected.recovery_fork,
    }
    return _found(findings)


def _receipt_conflicts(
    evidence: BuildEvidence, expected: BuildIdentity, receipt: ReceiptClaims | None
) -> tuple[str, ...]:
    if receipt is None:
        return ("the receipt is not valid",)
    before, after = evidence.before_image, evidence.after_image
    findings = {
        "the receipt is of another operation, attempt, fence or fork": receipt.identity != expected,
        "a receipt without recorded intent": not evidence.intent_recorded,
        "the fate row does not say COMMITTED": evidence.fate is not Fate.COMMITTED,
        "the before image is not the receipt's": not _is_image(
            before, receipt.before_row_count, receipt.before_content_sha256
        ),
        "the after image is not the receipt's": not _is_image(
            after, receipt.after_row_count, receipt.after_content_sha256
        ),
    }
    return _found(findings)


def _absence_doubts(evidence: BuildEvidence) -> tuple[str, ...]:
    findings = {
        "no receipt, and no fate row proves that none can come": evidence.fate is None,
        "the fate row says COMMITTED, and the receipt is absent": evidence.fate is Fate.COMMITTED,
        "the before image has rows without a receipt": not _is_traceless(evidence.before_image),
        "the after image has rows without a receipt": not _is_traceless(evidence.after_image),
        "dbt's temp relation is there": evidence.temp_exists,
        "a session of the attempt is live": evidence.sessions is SessionEvidence.LIVE,
        "sessions cannot be seen": evidence.sessions is SessionEvidence.NOT_VISIBLE,
    }
    return _found(findings)


def _is_image(image: ImageObservation, row_count: int, content_sha256: str) -> bool:
    return image.exists and (image.row_count, image.content_sha256) == (row_count, content_sha256)


def _is_traceless(image: ImageObservation) -> bool:
    return not image.exists or image.row_count == 0


def _found(findings: dict[str, bool]) -> tuple[str, ...]:
    return tuple(text for text, found in findings.items() if found)


class ArtifactOutcome(StrEnum):
    """What the object store holds of an operation's sealed artifact."""

    NOT_SEALED = "NOT_SEALED"
    """No manifest; whatever chunks are there are exact, and creating goes on."""
    SEALED = "SEALED"
    CONFLICT = "CONFLICT"
    """Other bytes or another version under a key, or a manifest whose chunk is missing."""
    ARTIFACT_UNKNOWN = "ARTIFACT_UNKNOWN"


class ObjectStanding(StrEnum):
    """What one key holds, against what the operation would put there."""

    ABSENT = "ABSENT"
    EXACT = "EXACT"
    OTHER = "OTHER"
    UNREADABLE = "UNREADABLE"


def object_standing(
    observed: StoredObject | None, sha256: str, version: str | None, *, readable: bool = True
) -> ObjectStanding:
    """The standing of one key: `version` None where the operation has no version for it yet."""
    if not readable:
        return ObjectStanding.UNREADABLE
    if observed is None:
        return ObjectStanding.ABSENT
    exact = observed.sha256 == sha256 and version in (None, observed.version)
    return ObjectStanding.EXACT if exact else ObjectStanding.OTHER


def classify_artifact(manifest: ObjectStanding, chunks: tuple[ObjectStanding, ...]) -> ArtifactOutcome:
    """The outcome of sealing from the standing of the manifest and of every chunk; an empty image has no chunk."""
    everything = (manifest, *chunks)
    if ObjectStanding.OTHER in everything:
        return ArtifactOutcome.CONFLICT
    if ObjectStanding.UNREADABLE in everything:
        return ArtifactOutcome.ARTIFACT_UNKNOWN
    if manifest is ObjectStanding.ABSENT:
        return ArtifactOutcome.NOT_SEALED
    return ArtifactOutcome.CONFLICT if ObjectStanding.ABSENT in chunks else ArtifactOutcome.SEALED


class ExchangeOutcome(StrEnum):
    """Which generation stands under the target's name."""

    PREDECESSOR = "PREDECESSOR"
    SUCCESSOR = "SUCCESSOR"
    MIXED = "MIXED"
    EXCHANGE_UNKNOWN = "EXCHANGE_UNKNOWN"


@dataclass(frozen=True, slots=True)
class ExchangeEvidence:
    """What ClickHouse shows of one exchange.

    `uuids` None: not readable. `quiescent`: no statement of the attempt runs, and that could be seen.
    `sealed_off`: what stands beside the target has a name that no sent EXCHANGE knows (it was burned), or none was
    ever sent. `maybe_burned`: a burn was sent, or may have been, and nobody knows what came of it; then a shadow's
    name that is free may be a burned one.
    """

    uuids: UuidMap | None
    quiescent: bool
    sealed_off: bool
    maybe_burned: bool


def classify_exchange(
    evidence: ExchangeEvidence, predecessor_uuid: str, successor_uuid: str | None
) -> ExchangeOutcome:
    """The outcome of EXCHANGE TABLES; `successor_uuid` None where no shadow was made.

    EXCHANGE is its own inverse: neither generation is believed before a delayed or doubled one can no longer land.
    """
    if evidence.uuids is None or not evidence.quiescent:
        return ExchangeOutcome.EXCHANGE_UNKNOWN
    seen = (evidence.uuids.target_uuid, evidence.uuids.shadow_uuid)
    if seen == (predecessor_uuid, successor_uuid):
        outcome = ExchangeOutcome.PREDECESSOR
    elif successor_uuid is not None and seen == (successor_uuid, predecessor_uuid):
        outcome = ExchangeOutcome.SUCCESSOR
    elif (
        successor_uuid is not None
        and evidence.maybe_burned
        and seen in {(predecessor_uuid, None), (successor_uuid, None)}
    ):
        return ExchangeOutcome.EXCHANGE_UNKNOWN
    else:
        return ExchangeOutcome.MIXED
    return outcome if evidence.sealed_off else ExchangeOutcome.EXCHANGE_UNKNOWN


class PublicationOutcome(StrEnum):
    """Where heads, checkpoint and journal of one model stand after a state publication."""

    ALL_PREDECESSOR = "ALL_PREDECESSOR"
    ALL_SUCCESSOR = "ALL_SUCCESSOR"
    MIXED = "MIXED"
    """Corruption: never repaired automatically."""
    PUBLICATION_UNKNOWN = "PUBLICATION_UNKNOWN"


def classify_publication(
    observed: PublicationRows | None, before: PublicationRows, after: PublicationRows
) -> PublicationOutcome:
    """The outcome of one state publication; `observed` None where the rows could not be read in one snapshot."""
    if observed is None:
        return PublicationOutcome.PUBLICATION_UNKNOWN
    if observed == before:
        return PublicationOutcome.ALL_PREDECESSOR
    return PublicationOutcome.ALL_SUCCESSOR if observed == after else PublicationOutcome.MIXED


class EmptyScopeOutcome(StrEnum):
    """Whether an operation may end without an exchange (specification, empty scope)."""

    NOT_REQUIRED_EMPTY_SCOPE = "NOT_REQUIRED_EMPTY_SCOPE"
    TARGET_DIVERGED = "TARGET_DIVERGED"
    NOT_EMPTY = "NOT_EMPTY"
    """The manifest has rows: the exchange is the way."""
    REFUSED = "REFUSED"
    """A precondition is not proven."""


@dataclass(frozen=True, slots=True)
class EmptyScopePreconditions:
    """What must still match when an empty scope ends without an exchange; False where it is not proven."""

    target_uuid: bool
    target_design: bool
    guard: bool
    owner: bool
    schema_and_key: bool
    scope_predecessor: bool
    outcomes_resolved: bool


@dataclass(frozen=True, slots=True)
class EmptyScopeClassification:
    """The outcome, and the preconditions that are not proven."""

    outcome: EmptyScopeOutcome
    unproven: tuple[str, ...] = ()


def classify_empty_scope(
    manifest: tuple[int, int] | None, target_scope_rows: int | None, preconditions: EmptyScopePreconditions
) -> EmptyScopeClassification:
    """The outcome from the immutable manifest's (chunk count, rows), the target's rows in scope, and the rest.

    None stands for a manifest that is not there and for a target that could not be read.
    """
    if manifest is not None and manifest != (0, 0):
        return EmptyScopeClassification(EmptyScopeOutcome.NOT_EMPTY)
    names = tuple(each.name for each in fields(preconditions) if not getattr(preconditions, each.name))
    unproven = (
        *(("manifest",) if manifest is None else ()),
        *(("target_scope_rows",) if target_scope_rows is None else ()),
        *names,
    )
    if unproven:
        return EmptyScopeClassification(EmptyScopeOutcome.REFUSED, unproven)
    diverged = target_scope_rows != 0
    return EmptyScopeClassification(
        EmptyScopeOutcome.TARGET_DIVERGED if diverged else EmptyScopeOutcome.NOT_REQUIRED_EMPTY_SCOPE
    )
