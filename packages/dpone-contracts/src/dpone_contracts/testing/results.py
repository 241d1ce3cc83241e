"""Reading results in suites: an effect that must be applied, and one that must be refused with a code."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpone_contracts.effects import Applied, NotApplied, tells_doubt

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult

T = TypeVar("T")


def applied(result: EffectResult[T]) -> T:
    """The value of an effect that must be applied."""
    assert isinstance(result, Applied), result
    return result.value


def not_applied(result: EffectResult[T], code: str) -> None:
    """Pass for an effect that is positively not there, for this reason, which is none of doubt."""
    assert not tells_doubt(code), code
    assert isinstance(result, NotApplied), result
    assert result.reason.code == code, result
