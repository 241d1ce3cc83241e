"""Measuring SQL Server's part of the assurances from its own catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, effect

if TYPE_CHECKING:
    from dpone_contracts.measurements import DdlFreezeMeasurement, UtcMeasurement, WriterMeasurement
    from dpone_contracts.relations import SqlRelation


class EngineMeasurer(Protocol):
    """Reads what the engine shows; what it hides is said in `unseen`, and never counts as absent.

    `at` is when the measurement is taken. Each raises DponeError where the target is absent.
    """

    @effect(EffectKind.READ)
    def writers(self, target: SqlRelation, at: str) -> WriterMeasurement:
        """Who can write the target, and how."""
        ...

    @effect(EffectKind.READ)
    def ddl_freeze(self, target: SqlRelation, at: str) -> DdlFreezeMeasurement:
        """The target's DDL epoch, what it covers, the trigger that moves it, and who can stop that trigger."""
        ...

    @effect(EffectKind.READ)
    def utc_semantics(self, target: SqlRelation, column: str, at: str) -> UtcMeasurement:
        """The event-time column's type and sources, and the server's and session's time settings."""
        ...
