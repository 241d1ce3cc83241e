"""The clock, so that no decision reads the machine's time by itself."""

from __future__ import annotations

from typing import Protocol

from dpone_contracts.effects import EffectKind, effect


class Clock(Protocol):
    """Tells UTC time, and waits."""

    @effect(EffectKind.READ)
    def now(self) -> str:
        """Now as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
        ...

    @effect(EffectKind.READ)
    def wait(self, milliseconds: int) -> None:
        """Return no earlier than that much later."""
        ...
