"""How long to wait between looks at an outcome: bounded, exponential, with jitter, and a pure function of the policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from dpone_contracts.policies import PollingPolicy


def delays(policy: PollingPolicy, of: str) -> Iterator[int]:
    """Milliseconds to wait before each further look; with the first one there are `max_attempts` looks.

    `of` names what is looked at: jitter shortens a delay by a share that depends on it, so that looks at different
    things don't come together.
    """
    delay = policy.initial_delay_milliseconds
    for look in range(1, policy.max_attempts):
        share = int.from_bytes(hashlib.sha256(f"{of}/{look}".encode()).digest()[:4], "big") / 2**32
        yield max(1, round(delay * (1 - share * policy.jitter_percent / 100)))
        delay = min(policy.max_delay_milliseconds, delay * policy.multiplier_percent // 100)
