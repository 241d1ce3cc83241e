"""Operation, workflow and replacement plans: what is to be done, with no fact of any run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dpone_contracts.canonical import Path, digest_checked, digest_text, text_without
from dpone_contracts.closure import (
    NO_ACTIONS,
    REPLACEMENT,
    SOME_ACTIONS,
    Several,
    WorkflowClosure,
    WorkflowMode,
    by_mode,
    sorted_set,
)
from dpone_contracts.document import Document, Fault, Part, broken, lax, without
from dpone_contracts.effective_key import EffectiveKeyColumn, key_digests, key_rules, known_key_digests
from dpone_contracts.scalars import (
    Epoch,
    Identifier,
    ModelId,
    Positive,
    Sha256Text,
    Text,
    UtcDay,
    WhenPresent,
)
from dpone_contracts.scope import scope_rules

_REPLACEMENT_FIELDS = ("replaces_failed_operation_id", "replacement_reason", "replacement_ordinal")
_NO_LINEAGE = {"scope_predecessor_operation_id": False, **dict.fromkeys(_REPLACEMENT_FIELDS, False)}


class OperationPlan(Document):
    """The semantic operation on one model and one day; `operation_id` is the digest of its meaning."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-operation-plan.v1"
    DIGEST_FIELD: ClassVar[str] = "operation_plan_sha256"

    schema_id: Literal["dpone.semantic-refresh-operation-plan.v1"] = Field(alias="schema")
    operation_plan_sha256: Sha256Text
    operation_id: Sha256Text
    operation_kind: WorkflowMode
    archetype: Literal["scope_stable_event_fact"]
    environment: Identifier
    release_id: Sha256Text
    deployment_id: Sha256Text
    workflow_id: Identifier
    model_unique_id: ModelId
    owner_generation: Epoch
    scope_start: UtcDay
    scope_end: UtcDay
    scope_family_id: Sha256Text
    scope_revision: Positive
    scope_predecessor_operation_id: Annotated[Sha256Text | None, WhenPresent] = None
    target_predecessor_generation_id: Sha256Text
    event_time_column: Identifier
    effective_key_columns: Several[EffectiveKeyColumn] = Field(
        json_schema_extra={"contains": {"properties": {"source_type": {"enum": ["date", "datetime2(6)"]}}}}
    )
    effective_key_template_sha256: Sha256Text
    effective_key_mapping_sha256: Sha256Text
    mutation_order: Annotated[tuple[Literal["UPDATE"], Literal["INSERT"]], Field(strict=False)]
    missing_key_policy: Literal["ignore_missing"]
    model_definition_proof_sha256: Sha256Text
    mutation_closure_sha256: Sha256Text
    read_dependency_proof_sha256: Sha256Text
    sqlserver_lifecycle_policy_sha256: Sha256Text
    platform_policy_digest: Sha256Text
    resource_policy_digest: Sha256Text
    writer_assurance_digest: Sha256Text
    replaces_failed_operation_id: Annotated[Sha256Text | None, WhenPresent] = None
    replacement_reason: Annotated[Text | None, WhenPresent] = None
    replacement_ordinal: Annotated[Positive | None, WhenPresent] = None

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = by_mode(
        "operation_kind",
        {
            "normal": {"properties": {"scope_revision": {"const": 1}, **_NO_LINEAGE}},
            "complete_scope_replay": {
                "properties": {"scope_revision": {"minimum": 2}, **dict.fromkeys(_REPLACEMENT_FIELDS, False)},
                "required": ["scope_predecessor_operation_id"],
            },
            REPLACEMENT: {
                "properties": {"scope_predecessor_operation_id": False},
                "required": list(_REPLACEMENT_FIELDS),
            },
        },
    )

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digests of the key and the operation's identity."""
        mapping, template = known_key_digests(plain["effective_key_columns"])
        yield ("effective_key_template_sha256",), template
        yield ("effective_key_mapping_sha256",), mapping
        yield ("operation_id",), digest_text(text_without(text, "operation_id", plain["operation_id"]))

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Compute key digests and operation id where they are absent."""
        mapping, template = key_digests(plain["effective_key_columns"])
        plain.setdefault("effective_key_template_sha256", template)
        plain.setdefault("effective_key_mapping_sha256", mapping)
        plain.setdefault("operation_id", operation_id(plain))

    def _rules(self) -> Iterator[Fault]:
        yield from scope_rules(self.scope_start, self.scope_end)
        yield from key_rules(self.effective_key_columns, self.event_time_column)
        replacing = [name for name in _REPLACEMENT_FIELDS if getattr(self, name) is not None]
        replay = self.operation_kind == "complete_scope_replay"
        if self.operation_kind == REPLACEMENT:
            if missing := [name for name in _REPLACEMENT_FIELDS if name not in replacing]:
                yield broken(
                    "replacement-lineage",
                    "a replacement names failed operation, reason and ordinal",
                    missing[0],
                )
        elif replacing:
            yield broken("replacement-lineage", "only a replacement names what it replaces", replacing[0])
        if replay != (self.scope_predecessor_operation_id is not None):
            reason = "a replay names its predecessor; nothing else does"
            yield broken("scope-predecessor", reason, "scope_predecessor_operation_id")
        if self.operation_kind == "normal" and self.scope_revision != 1:
            yield broken("scope-revision", "a normal operation has revision 1", "scope_revision")
        if replay and self.scope_revision == 1:
            yield broken("scope-revision", "a replay has revision 2 or more", "scope_revision")


def operation_id(plan: Mapping[str, Any]) -> str:
    """Digest a plan's meaning: the plan without its id and its own digest."""
    return digest_checked(without(plan, "operation_id", "operation_plan_sha256"))


class OperationPlanRef(Part):
    """Names the operation plan of one model."""

    model_unique_id: ModelId
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text


class WorkflowPlan(WorkflowClosure):
    """The operations of one workflow on one day."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-workflow-plan.v1"
    DIGEST_FIELD: ClassVar[str] = "workflow_plan_sha256"

    schema_id: Literal["dpone.semantic-refresh-workflow-plan.v1"] = Field(alias="schema")
    workflow_name: Identifier
    scope_start: UtcDay
    scope_end: UtcDay
    scope_revision: Positive
    mutation_closure_sha256: Sha256Text
    operation_plan_refs: Several[OperationPlanRef]

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = by_mode(
        "workflow_mode",
        {
            "normal": {"properties": {"scope_revision": {"const": 1}, **NO_ACTIONS}},
            "complete_scope_replay": {"properties": {"scope_revision": {"minimum": 2}, **NO_ACTIONS}},
            REPLACEMENT: {"properties": SOME_ACTIONS},
        },
    )

    def _rules(self) -> Iterator[Fault]:
        yield from super()._rules()
        yield from scope_rules(self.scope_start, self.scope_end)
        if tuple(ref.model_unique_id for ref in self.operation_plan_refs) != self.selected_mutating_node_ids:
            reason = "one reference a selected model, sorted by model"
            yield broken("references-cover-models", reason, "operation_plan_refs")
        for name in ("operation_id", "operation_plan_sha256"):
            if len({getattr(ref, name) for ref in self.operation_plan_refs}) != len(self.operation_plan_refs):
                yield lax("one-operation-a-model", f"two models share one {name}", "operation_plan_refs")
        if self.workflow_mode == "normal" and self.scope_revision != 1:
            yield broken("scope-revision", "a normal workflow has revision 1", "scope_revision")
        if self.workflow_mode == "complete_scope_replay" and self.scope_revision == 1:
            yield broken("scope-revision", "a replay has revision 2 or more", "scope_revision")


class ReplacementAction(Part):
    """What a replacement does with one model of the failed workflow."""

    action_id: ModelId
    outcome: Literal["NOT_INVOKED", "ROLLED_BACK", "COMMITTED_WITH_IMAGES", "COMMIT_UNKNOWN"]
    action: Literal["RESTORE_THEN_REBUILD", "BUILD_FRESH", "BLOCK"]

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            {"properties": {"action": {"const": action}, "outcome": {"enum": outcomes}}}
            for action, outcomes in (
                ("RESTORE_THEN_REBUILD", ["COMMITTED_WITH_IMAGES"]),
                ("BUILD_FRESH", ["NOT_INVOKED", "ROLLED_BACK"]),
                ("BLOCK", ["COMMIT_UNKNOWN"]),
            )
        ]
    }

    def _rules(self) -> Iterator[Fault]:
        if self.action != replacement_action(self.outcome):
            yield broken("action-follows-outcome", "not the action that this outcome permits", "action")


def replacement_action(outcome: str) -> Literal["RESTORE_THEN_REBUILD", "BUILD_FRESH", "BLOCK"]:
    """Return the one action that an outcome permits (*SQL Server outcome and replacement*)."""
    if outcome == "COMMITTED_WITH_IMAGES":
        return "RESTORE_THEN_REBUILD"
    return "BUILD_FRESH" if outcome in ("NOT_INVOKED", "ROLLED_BACK") else "BLOCK"


class WorkflowReplacementPlan(WorkflowClosure):
    """How a failed workflow is replaced; it refers to the workflow plan, never the reverse."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-workflow-replacement-plan.v1"
    DIGEST_FIELD: ClassVar[str] = "workflow_replacement_plan_sha256"

    schema_id: Literal["dpone.semantic-refresh-workflow-replacement-plan.v1"] = Field(alias="schema")
    workflow_mode: Literal["failed_precommit_replacement"]
    workflow_replacement_plan_sha256: Sha256Text
    predecessor_workflow_execution_id: Identifier
    predecessor_workflow_execution_binding_sha256: Sha256Text
    predecessor_workflow_summary_sha256: Sha256Text
    recovery_plan_digest: Sha256Text
    replacement_actions: Several[ReplacementAction]

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {"allOf": [{"properties": SOME_ACTIONS}]}

    def _rules(self) -> Iterator[Fault]:
        yield from super()._rules()
        actions = tuple(action.action_id for action in self.replacement_actions)
        yield from sorted_set(actions, "replacement_actions")
        if actions != self.replacement_action_ids:
            yield broken(
                "actions-cover-models", "one action a replacement_action_id, sorted", "replacement_actions"
            )
