"""Look again at what may settle by itself: reads only, as often as the policy allows (specification, cancellation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpone_contracts.polling import delays

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.application.services import Services

T = TypeVar("T")


def observed(services: Services, of: str, look: Callable[[], T], is_settled: Callable[[T], bool]) -> T:
    """What a look shows once it is settled, or at the last attempt; `look` may read and nothing else."""
    seen = look()
    for milliseconds in delays(services.deadlines.polling, of):
        if is_settled(seen):
            break
        services.clock.wait(milliseconds)
        seen = look()
    return seen
