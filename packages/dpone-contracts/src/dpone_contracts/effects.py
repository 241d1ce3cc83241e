"""What a call to the outside can do, and the three answers that it can have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


class EffectKind(StrEnum):
    """The strongest effect that a port method can have (architecture, boundaries and effects)."""

    READ = "READ"
    WRITE = "WRITE"
    COMMIT = "COMMIT"
    PUBLISH = "PUBLISH"
    DELETE = "DELETE"


def effect(kind: EffectKind) -> Callable[[F], F]:
    """Mark a port method with its effect; `effect_of` reads the mark back."""

    def mark(method: F) -> F:
        method.__dpone_effect__ = kind  # type: ignore[attr-defined]
        return method

    return mark


def effect_of(method: object) -> EffectKind | None:
    """The effect that a port method is marked with, or None where it has no mark."""
    kind = getattr(method, "__dpone_effect__", None)
    return kind if isinstance(kind, EffectKind) else None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an effect was not applied, or is in doubt: a catalogue code and what was seen.

    `observed` and the values of `evidence` hold names, digests, counts and states, never row values.
    """

    code: str
    observed: str
    evidence: Mapping[str, str] = field(default_factory=dict)


OUTCOME_UNKNOWN: Final = "DPONE_OUTCOME_UNKNOWN"


def tells_doubt(code: str) -> bool:
    """Whether a code says that nothing is known: exactly the codes of the catalogue's exit class UNKNOWN end so."""
    return code.endswith("_UNKNOWN")


@dataclass(frozen=True, slots=True)
class Applied(Generic[T]):
    """The effect is there, and `value` was read back from where it is."""

    value: T


@dataclass(frozen=True, slots=True)
class NotApplied:
    """Positive evidence that the effect is not there and cannot arrive later."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Unknown:
    """The effect was sent, and nothing proves whether it is there.

    Its reason has a code of doubt, whatever it was made with: with a refusal's code, whoever tells it would round it
    to no. Such a reason becomes DPONE_OUTCOME_UNKNOWN, and its own code stands in the evidence.
    """

    reason: Reason

    def __post_init__(self) -> None:
        """Keep a code of doubt, and put any other into the evidence of the general one."""
        if not tells_doubt(self.reason.code):
            evidence = {**self.reason.evidence, "code": self.reason.code}
            object.__setattr__(self, "reason", Reason(OUTCOME_UNKNOWN, self.reason.observed, evidence))


EffectResult: TypeAlias = Applied[T] | NotApplied | Unknown
