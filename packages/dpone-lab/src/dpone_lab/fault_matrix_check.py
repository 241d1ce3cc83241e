"""The independent judge of the fault matrix: rules over what was read from both engines, nothing of the product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PREDECESSOR: Final = "predecessor"
SUCCESSOR: Final = "successor"
COMPLETE: Final = "COMPLETE"

# The state graph as the specification draws it, written down a second time.
_MAY_FOLLOW: Final = {
    None: {"PREPARING"},
    "PREPARING": {"PREPARED", "FAILED_PRE_COMMIT", "COMMIT_UNKNOWN"},
    "PREPARED": {"COMMITTING", "COMPLETE", "FAILED_PRE_COMMIT"},
    "COMMITTING": {"TARGET_COMMITTED", "COMMIT_UNKNOWN"},
    "TARGET_COMMITTED": {"COMPLETE", "COMMITTED_INCOMPLETE"},
    "COMMIT_UNKNOWN": {"TARGET_COMMITTED", "PREPARED"},
    "COMMITTED_INCOMPLETE": {"COMPLETE"},
    "COMPLETE": set(),
    "FAILED_PRE_COMMIT": set(),
}
# Which generation a state speaks for; a typed unknown speaks for neither.
_GENERATIONS: Final = {
    "PREPARING": {PREDECESSOR},
    "PREPARED": {PREDECESSOR},
    "FAILED_PRE_COMMIT": {PREDECESSOR},
    "COMMITTING": {PREDECESSOR, SUCCESSOR},
    "COMMIT_UNKNOWN": {PREDECESSOR, SUCCESSOR},
    "TARGET_COMMITTED": {SUCCESSOR},
    "COMMITTED_INCOMPLETE": {SUCCESSOR},
    "COMPLETE": {SUCCESSOR},
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One journal row."""

    version: int
    state: str
    predecessor: str | None
    attempt: str
    receipt: str


@dataclass(frozen=True, slots=True)
class Heads:
    """What one state publication moves: the generation and its UUID, the scope's revision, the covered end."""

    generation: int
    target_uuid: str
    owner: str
    scope_revision: int
    covered_until: str


@dataclass(frozen=True, slots=True)
class Model:
    """One model in both engines.

    `sql` and `clickhouse` say whose rows the tables hold: `predecessor`, `successor`, `both` where the day changes
    nothing, or `neither`. `attempts` are in the order of their fences. `tables` are (name, UUID) of everything
    beside the target that stands for the model in ClickHouse.
    """

    name: str
    operation: str
    built: bool
    sql: str
    clickhouse: str
    target_uuid: str | None
    attempts: tuple[str, ...]
    journal: tuple[Entry, ...]
    heads: Heads
    tables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything that counts, read once: models, the summary, objects as (key, digest)."""

    models: tuple[Model, ...]
    summary: str | None
    objects: tuple[tuple[str, str], ...]

    @property
    def complete(self) -> bool:
        """Whether every journal ends COMPLETE."""
        return all(model.journal and model.journal[-1].state == COMPLETE for model in self.models)

    @property
    def built(self) -> bool:
        """Whether every model's mutation has committed."""
        return all(model.built for model in self.models)


def judge(first: Standing, before: Standing, now: Standing, *, success: bool) -> list[str]:
    """What is wrong with a standing: `first` is the run's beginning, `before` the standing before the last try.

    `success`: the last try announced success. Empty when nothing is wrong.
    """
    wrong = []
    for model in now.models:
        origin = next(each for each in first.models if each.name == model.name)
        earlier = next(each for each in before.models if each.name == model.name)
        found = [*_journal(earlier, model), *_generation(model), *_publication(origin, model)]
        wrong += [f"{model.name}: {text}" for text in found]
    if now.summary is not None and not now.complete:
        wrong.append("a summary stands over journals that are not complete")
    if before.summary not in (None, now.summary):
        wrong.append("the summary was replaced")
    if success and now.summary is None:
        wrong.append("success was announced without a summary")
    kept = dict(now.objects)
    wrong += [f"object {key} was replaced or lost" for key, sha in before.objects if kept.get(key) != sha]
    return wrong


def _journal(before: Model, now: Model) -> list[str]:
    wrong = []
    if now.journal[: len(before.journal)] != before.journal:
        wrong.append("journal entries were changed or lost")
    state, fence = None, 0
    for number, entry in enumerate(now.journal, 1):
        if entry.version != number or entry.predecessor != state:
            wrong.append(f"journal entry {number} does not follow its predecessor")
        if entry.state not in _MAY_FOLLOW[state]:
            wrong.append(f"journal: {state} -> {entry.state} is no edge")
        if entry.attempt not in now.attempts:
            wrong.append(f"journal entry {number} is of no attempt")
        elif now.attempts.index(entry.attempt) < fence:
            wrong.append(f"journal entry {number} is of an attempt that had lost its fence")
        else:
            fence = now.attempts.index(entry.attempt)
        state = entry.state
    return wrong


def _generation(now: Model) -> list[str]:
    wrong = []
    if now.clickhouse == "neither":
        wrong.append("the ClickHouse target holds neither the predecessor's nor the successor's rows")
    elif now.journal:
        state = now.journal[-1].state
        if now.clickhouse != "both" and now.clickhouse not in _GENERATIONS[state]:
            wrong.append(f"the journal is at {state} over the {now.clickhouse}'s rows")
    if now.sql not in ({SUCCESSOR, "both"} if now.built else {PREDECESSOR, "both"}):
        wrong.append(f"SQL Server's target holds the {now.sql}'s rows, built: {now.built}")
    return wrong


def _publication(origin: Model, now: Model) -> list[str]:
    if not now.journal or now.journal[-1].state != COMPLETE:
        return [] if now.heads == origin.heads else ["heads moved without a complete journal"]
    exchanged = any(entry.state == "TARGET_COMMITTED" for entry in now.journal)
    wrong = []
    if now.heads.target_uuid != now.target_uuid:
        wrong.append("the head names another UUID than the one under the target's name")
    if now.heads.generation != origin.heads.generation + exchanged:
        wrong.append(f"the head is at generation {now.heads.generation}")
    if now.heads.scope_revision != origin.heads.scope_revision + 1:
        wrong.append(f"the scope is at revision {now.heads.scope_revision}")
    if exchanged and now.heads.owner != now.operation:
        wrong.append("the head names another operation")
    if now.heads.covered_until <= origin.heads.covered_until:
        wrong.append("the checkpoint did not move")
    return wrong
