"""The incident card over evidence in memory: one safe command for each crash, and nothing but reads."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpone.application.services import EvidenceServices
from dpone.application.status import PlanCard, status_of_operation, status_of_scope, status_of_workflow
from dpone.cli.status_report import as_json, as_text
from dpone_contracts.effects import EffectKind, effect_of
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.recovery import Action
from dpone_contracts.testing.memory_clickhouse import MemoryPublisher
from dpone_lab.faults import port_protocols

sys.path.insert(0, str(Path(__file__).parent))
from test_run_in_memory import FIRST, SECOND, DyingPublisher, KilledError, World, world

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_contracts.effects import EffectResult
    from dpone_contracts.ports.publisher import UuidMap

THIRD = replace(SECOND, try_number=3, pod_uid="6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a03")


@dataclass
class ReadsOnly:
    """A port that refuses every call whose mark is not READ, and keeps the names of those it let pass."""

    port: Any
    protocol: type
    called: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        assert effect_of(getattr(self.protocol, name)) is EffectKind.READ, f"{name} is no read"
        self.called.append(name)
        method: Callable[..., Any] = getattr(self.port, name)
        return method


class DeadBeforeExchange(MemoryPublisher):
    """The worker is killed between its intent and the EXCHANGE."""

    def exchange(self, *_: object) -> EffectResult[UuidMap]:
        raise KilledError


def evidence(day: World) -> EvidenceServices:
    protocols = port_protocols()
    return EvidenceServices(
        **{
            each.name: ReadsOnly(getattr(day.ports, each.name), protocols[each.name])
            for each in fields(EvidenceServices)
        }
    )


def deployment_of(day: World) -> str:
    return day.example.bundle.release_deployment_authority.deployment_id


def card_of(day: World) -> PlanCard:
    """The card of the day, read without any effect."""
    before = day.ports.state.control.rows.draft()
    tables = {uuid: list(rows) for uuid, rows in day.ports.publisher.tables.items()}
    (card,) = status_of_scope(evidence(day), deployment_of(day), "2026-08-08T00:00:00Z")
    assert day.ports.state.control.rows == before
    assert day.ports.publisher.tables == tables
    return card


def killed(publisher: MemoryPublisher) -> World:
    day = world(publisher)
    with pytest.raises(KilledError):
        day.run(FIRST)
    return day


def actions(card: PlanCard) -> list[Action]:
    return [each.decision.action for each in card.operations]


def test_a_planned_day_is_run_next_and_holds_nothing() -> None:
    card = card_of(world())
    assert (card.operations, card.guards, card.exit_class) == ((), (), ExitClass.DONE)
    assert card.next.command.startswith("dpone refresh run --plan sha256:")
    assert card.next.command.endswith("--try-number 1")
    assert not any(done for _, done in card.stages)


def test_a_live_attempt_is_waited_for_whatever_its_evidence_says() -> None:
    card = card_of(killed(DyingPublisher()))
    assert set(actions(card)) == {Action.WAIT_FOR_ATTEMPT_END}
    assert card.next.command == "dpone refresh status"
    assert "No time that passes grants a takeover" in card.next.if_waiting
    assert {row.status for row in card.guards} == {"ACTIVE"}
    held = {row.resource_id: row.fencing_epoch for row in card.guards}
    for each in card.operations:
        admitted = each.reading.operation.admitted
        assert held[admitted.guard_resource_id] == admitted.attempt.fencing_epoch


def test_after_a_kill_behind_the_exchange_a_doubled_one_could_still_swap_back_and_the_next_try_settles_it() -> (
    None
):
    day = killed(DyingPublisher())
    day.ports.observer.pods.add(FIRST.pod_uid)
    card = card_of(day)
    assert Action.RECONCILE_EXCHANGE in actions(card)
    assert card.exit_class is ExitClass.UNKNOWN
    assert card.next.command.endswith(f"--dag-run-id {FIRST.dag_run_id} --try-number 2")
    day.run(SECOND)
    after = card_of(day)
    assert set(actions(after)) == {Action.NOTHING}
    assert after.next.command == "dpone refresh advance"
    assert all(done for _, done in after.stages)
    assert {row.status for row in after.guards} == {"RELEASED"}


def test_an_exchange_that_can_still_land_is_unknown_and_left_to_the_next_try() -> None:
    day = killed(DeadBeforeExchange())
    day.ports.observer.pods.add(FIRST.pod_uid)
    card = card_of(day)
    assert Action.RECONCILE_EXCHANGE in actions(card)
    assert card.exit_class is ExitClass.UNKNOWN
    assert card.next.command.endswith("--try-number 2")
    assert any("EXCHANGE" in text for each in card.operations for text in each.reading.unknown)


def test_a_second_crash_of_a_continued_operation_is_the_operators() -> None:
    day = killed(DyingPublisher())
    day.ports.observer.pods |= {FIRST.pod_uid, SECOND.pod_uid}
    publisher = day.ports.publisher
    publisher.__class__ = DeadBeforeExchange
    with pytest.raises(KilledError):
        day.run(SECOND)
    card = card_of(day)
    with pytest.raises(DponeError):
        day.run(THIRD)
    assert card_of(day) == card
    open_ones = [each for each in card.operations if each.decision.action is not Action.NOTHING]
    assert {each.reading.operation.admitted.attempt.try_number for each in open_ones} == {2}
    assert card.next.command == "stop and call the platform's owner"


def test_a_mutation_that_did_not_commit_is_no_case_for_the_next_try() -> None:
    day = world()
    day.ports.server.failing.add(day.example.bundle.targets[0].model_unique_id)
    with pytest.raises(DponeError, match="DPONE_BUILD_"):
        day.run(FIRST)
    day.ports.observer.pods.add(FIRST.pod_uid)
    card = card_of(day)
    assert Action.FAIL_PRE_COMMIT in actions(card)
    assert card.next.command == "stop and call the platform's owner"


def test_a_uuid_map_that_is_neither_is_corruption() -> None:
    day = killed(DyingPublisher())
    day.ports.observer.pods.add(FIRST.pod_uid)
    target = day.example.bundle.targets[0]
    stranger = "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2fff"
    relation = next(
        name for name in day.ports.publisher.names if name.name == target.publication_target_table
    )
    day.ports.publisher.names[relation] = stranger
    card = card_of(day)
    assert card.exit_class is ExitClass.CORRUPTION
    assert "platform's owner" in card.next.command


def test_an_engine_that_does_not_answer_is_said_by_code_and_forbids_a_takeover() -> None:
    day = killed(DyingPublisher())
    day.ports.observer.pods.add(FIRST.pod_uid)

    class Down(MemoryPublisher):
        def active_queries(self, *_: object) -> tuple[str, ...]:
            raise DponeError("DPONE_CLICKHOUSE_UNAVAILABLE", "no answer")

    day.ports.publisher.__class__ = Down
    card = card_of(day)
    assert card.exit_class is ExitClass.UNVERIFIED
    assert card.next.command == "dpone refresh status"
    assert Action.WAIT_FOR_ATTEMPT_END in actions(card)
    unread = [text for each in card.operations for text in each.reading.unreadable]
    assert any("DPONE_CLICKHOUSE_UNAVAILABLE" in text for text in unread)


def test_an_operation_finds_its_plan_before_and_after_admission() -> None:
    day = world()
    operation = day.example.bundle.operation_plans[1].operation_id
    planned = status_of_operation(evidence(day), deployment_of(day), operation)
    day.run(FIRST)
    published = status_of_operation(evidence(day), deployment_of(day), operation)
    assert planned.planned.plan_bundle_sha256 == published.planned.plan_bundle_sha256
    (workflow,) = status_of_workflow(evidence(day), deployment_of(day), "example")
    assert workflow == published


def test_what_the_store_does_not_know_is_refused_by_name() -> None:
    services, deployment = evidence(world()), deployment_of(world())
    for ask in (
        lambda: status_of_operation(services, deployment, "sha256:" + "0" * 64),
        lambda: status_of_scope(services, deployment, "2026-08-07T00:00:00Z"),
        lambda: status_of_workflow(services, deployment, "another"),
    ):
        with pytest.raises(DponeError, match="DPONE_OPERATION_NOT_FOUND"):
            ask()


def test_text_and_json_tell_the_same_and_every_other_action_says_what_it_lacks() -> None:
    day = killed(DyingPublisher())
    day.ports.observer.pods.add(FIRST.pod_uid)
    card = card_of(day)
    told, text = json.loads(as_json([card])), as_text([card])
    assert told["schema"] == "dpone.refresh-status.v1"
    (plan,) = told["plans"]
    assert plan["next_command"] in text
    assert plan["if_one_waits"] in text
    assert told["no_switch"] in text
    for operation in plan["operations"]:
        assert operation["operation_id"] in text
        assert operation["attempt"]["pod_uid"] in text
        for said in (*operation["proven"], *operation["unknown"]):
            assert said in text
        named = {one["action"] for one in operation["forbidden"]} | {operation["permitted"]}
        assert named == {action.value for action in Action}
        assert all(one["lacks"] for one in operation["forbidden"])
