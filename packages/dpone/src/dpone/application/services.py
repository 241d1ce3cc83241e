"""The ports that the services of a run share, and how a three-valued result becomes a value or an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar, assert_never

from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason, Unknown
from dpone_contracts.errors import DponeError, ExitClass

if TYPE_CHECKING:
    from dpone_contracts.policies import DeadlinePolicy, WorkflowResourcePolicy
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.artifact_store import ArtifactStore, ChunkEncoder
    from dpone_contracts.ports.attempt_observer import AttemptObserver
    from dpone_contracts.ports.attestor import Attestor
    from dpone_contracts.ports.clock import Clock
    from dpone_contracts.ports.documents import DocumentStore
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.ports.image_reader import ImageReader
    from dpone_contracts.ports.model_build import ModelBuild
    from dpone_contracts.ports.progress import Progress
    from dpone_contracts.ports.publisher import PreparedPublisher
    from dpone_contracts.ports.refresh_state import RefreshState
    from dpone_contracts.ports.scope_mutation import ScopeMutation

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceServices:
    """The ports that evidence of a run is read through; composition builds it."""

    activations: ActivationStore
    state: RefreshState
    documents: DocumentStore
    mutation: ScopeMutation
    artifacts: ArtifactStore
    publisher: PreparedPublisher
    observer: AttemptObserver


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(EvidenceServices):
    """Every port that a run of a workflow needs, and the limits that the deployment sets it."""

    clock: Clock
    guard: ActivationGuard
    build: ModelBuild
    images: ImageReader
    encoder: ChunkEncoder
    attestor: Attestor
    progress: Progress
    deadlines: DeadlinePolicy
    resources: WorkflowResourcePolicy


def require(result: EffectResult[T]) -> T:
    """The applied value; a refusal or a doubt becomes the error that its reason names."""
    match result:
        case Applied(value):
            return value
        case NotApplied(reason) | Unknown(reason):
            raise DponeError.because(reason)
        case _:
            assert_never(result)


def refuse(reason: Reason) -> NoReturn:
    """Raise the error of a reason."""
    raise DponeError.because(reason)


def still_unknown(sent: Reason, unread: DponeError) -> NoReturn:
    """Raise the doubt of what was sent, with why it can't be settled by reading; corruption is raised as it is."""
    if unread.exit_class is ExitClass.CORRUPTION:
        raise unread
    raise DponeError(sent.code, sent.observed, {**sent.evidence, "not_read": unread.code}) from unread


def refuse_first(findings: tuple[tuple[str, str], ...]) -> None:
    """Raise the first of some (code, what was seen) findings, and name how many there are; return when there are none."""
    if findings:
        code, observed = findings[0]
        more = {
            f"finding_{number}": f"{other}: {seen}" for number, (other, seen) in enumerate(findings[1:], 2)
        }
        raise DponeError(code, observed, more)
