"""What the workflow documents share: sorted sets of ids, and the equal closures of each workflow mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import Field

from dpone_contracts.document import Document, Fault, broken
from dpone_contracts.scalars import ModelId, Sha256Text

T = TypeVar("T")

UNIQUE: Final[dict[str, Any]] = {"uniqueItems": True}
Many: TypeAlias = Annotated[tuple[T, ...], Field(strict=False)]
"""An array that may be empty."""
Several: TypeAlias = Annotated[tuple[T, ...], Field(strict=False, min_length=1)]
"""An array of at least one item."""

WorkflowMode: TypeAlias = Literal["normal", "failed_precommit_replacement", "complete_scope_replay"]
REPLACEMENT: Final = "failed_precommit_replacement"


class WorkflowClosure(Document):
    """The four sets of models that a workflow document repeats; equal per mode (*Workflow modes and closure*)."""

    workflow_mode: WorkflowMode
    selected_mutating_node_ids: Several[ModelId] = Field(json_schema_extra=UNIQUE)
    model_operation_plan_ids: Several[ModelId] = Field(json_schema_extra=UNIQUE)
    expected_model_outcome_ids: Several[ModelId] = Field(json_schema_extra=UNIQUE)
    replacement_action_ids: Many[ModelId] = Field(json_schema_extra=UNIQUE)
    workflow_plan_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        selected = self.selected_mutating_node_ids
        yield from sorted_set(selected, "selected_mutating_node_ids")
        for name in ("model_operation_plan_ids", "expected_model_outcome_ids"):
            if getattr(self, name) != selected:
                yield broken("equal-closures", "differs from selected_mutating_node_ids", name)
        replacing = self.workflow_mode == REPLACEMENT
        if self.replacement_action_ids != (selected if replacing else ()):
            reason = (
                "a replacement acts on every selected model"
                if replacing
                else "only a replacement has actions"
            )
            yield broken("equal-closures", reason, "replacement_action_ids")


def sorted_set(items: Sequence[Any], *path: str | int) -> Iterator[Fault]:
    """Yield a fault unless the items are sorted and unique."""
    if any(left >= right for left, right in pairwise(items)):
        yield broken("sorted-set", "a set is a sorted array without repetition", *path)


def by_mode(field: str, cases: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Say in a schema what each value of a mode field requires."""
    return {
        "oneOf": [
            {**case, "properties": {field: {"const": mode}, **case.get("properties", {})}}
            for mode, case in cases.items()
        ]
    }


NO_ACTIONS: Final[Mapping[str, Any]] = {"replacement_action_ids": {"maxItems": 0}}
SOME_ACTIONS: Final[Mapping[str, Any]] = {"replacement_action_ids": {"minItems": 1}}
