"""Trusted evidence that an attempt's process has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, effect

if TYPE_CHECKING:
    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.receipts import TrustedAttemptTerminationReceipt


class AttemptObserver(Protocol):
    """Speaks for the platform that ran the attempt's pod or process."""

    @effect(EffectKind.READ)
    def termination(
        self, attempt: AttemptBinding, operation_ids: tuple[str, ...]
    ) -> TrustedAttemptTerminationReceipt | None:
        """The receipt for an attempt of a pod that ended, or None while nothing proves it.

        `operation_ids` are all operations that the pod still held, sorted.
        """
        ...
