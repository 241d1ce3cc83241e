"""Faults on the wire, set from outside while the endpoint runs: the n-th message of a kind of session is cut or delayed.

The control file holds one JSON array of rules. It is read anew for each message, so that a test arms a fault by
replacing the file; a rule fires once. Without a control file nothing is looked at.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dpone_lab.sqlserver.session import Session


class FaultKind(StrEnum):
    """What happens to the message."""

    DROP_BEFORE = "drop_before"
    DROP_AFTER = "drop_after"
    DELAY_REPLY = "delay_reply"


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule: in sessions whose program name contains `program`, at a message whose text contains `text`.

    `message` counts the messages that match in one session, from 1; `seconds` is the length of a delay.
    """

    id: str
    kind: FaultKind
    message: int = 1
    program: str = ""
    text: str = ""
    seconds: float = 0.0


class FaultPlan:
    """The rules of one endpoint; which have fired is remembered for the endpoint's life and told in `fired`."""

    def __init__(self, control: Path | None) -> None:
        self._control = control
        self._mutex = threading.Lock()
        self._fired: list[str] = []

    @property
    def fired(self) -> tuple[str, ...]:
        """Return the ids of the rules that fired, in order."""
        with self._mutex:
            return tuple(self._fired)

    def watch(self, session: Session) -> SessionFaults:
        """Return what counts the messages of a session that has just logged in."""
        return SessionFaults(self, session.facts.program_name)

    def rules(self) -> list[Fault]:
        """Read the rules; ValueError when the control file is no array of rules."""
        if self._control is None or not self._control.exists():
            return []
        raw: list[dict[str, Any]] = json.loads(self._control.read_text())
        return [Fault(**{**rule, "kind": FaultKind(rule["kind"])}) for rule in raw]

    def claim(self, rule: Fault) -> bool:
        """Fire a rule once; note it beside the control file so that a test can see it."""
        with self._mutex:
            if rule.id in self._fired:
                return False
            self._fired.append(rule.id)
            if self._control is not None:
                with self._control.with_suffix(".fired").open("a") as notes:
                    notes.write(rule.id + "\n")
            return True


class SessionFaults:
    """Counts the messages of one session against the rules."""

    def __init__(self, plan: FaultPlan, program: str) -> None:
        self._plan = plan
        self._program = program
        self._counts: dict[str, int] = {}

    def of_message(self, text: Callable[[], str]) -> Fault | None:
        """Return the rule that this message fires, if any; `text` is asked for only when a rule needs it."""
        for rule in self._plan.rules():
            if rule.program not in self._program or (rule.text and rule.text not in text()):
                continue
            count = self._counts.get(rule.id, 0) + 1
            self._counts[rule.id] = count
            if count == rule.message and self._plan.claim(rule):
                return rule
        return None

    def handled(self, fault: Fault) -> None:
        """Take notice that a message took effect, just before the connection is dropped without a reply."""
