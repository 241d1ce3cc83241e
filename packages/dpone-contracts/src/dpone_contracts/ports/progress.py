"""Where an application service tells what it is doing."""

from __future__ import annotations

from typing import Protocol

from dpone_contracts.effects import EffectKind, effect


class Progress(Protocol):
    """A listener; it has no effect on the run."""

    @effect(EffectKind.READ)
    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:
        """A stage of a model (None: of the workflow) is now `started`, `done`, `reused`, `refused` or `unknown`."""
        ...
