"""What every `PreparedPublisher` must do with a generation; an adapter's tests subclass this.

Fixtures: `publisher`; `generation`, a fresh target of an example with OLD rows published, an admitted operation on
it, and `to_chunk`, which writes rows as the chunk that the publisher loads.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpone_contracts.effects import NotApplied
from dpone_contracts.names import query_id_prefix
from dpone_contracts.ports.publisher import UuidMap
from dpone_contracts.testing.memory_rows import TargetRows
from dpone_contracts.testing.plan_example import ExampleModel
from dpone_contracts.testing.results import applied

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.publisher import PreparedPublisher, Scratch, ShadowProof
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.memory_rows import Row

MODEL = ExampleModel(
    "arrivals",
    (("id", "int", False), ("at", "datetime2(6)", False), ("note", "nvarchar(20)", True)),
    ("at", "id"),
)
"""Its key's order is not that of its columns, and rows that differ in both show it."""

_DAY = dt.datetime(2026, 8, 8)  # noqa: DTZ001 - datetime2 has no zone
_LATER = _DAY + dt.timedelta(hours=1)
OLD: tuple[Row, ...] = (
    (1, _DAY - dt.timedelta(days=1), "another day"),
    (1, _LATER, "to be updated"),
    (2, _DAY, "missing in the input"),
)
NEW: tuple[Row, ...] = ((1, _LATER, "updated"), (3, _DAY, None))


@dataclass(frozen=True, slots=True)
class Generation:
    """One operation on one published target."""

    plan: OperationPlan
    target: PlanTarget
    admitted: AdmittedOperation
    to_chunk: Callable[[list[Row]], bytes]


def prepared(publisher: PreparedPublisher, this: Generation) -> tuple[Scratch, ShadowProof]:
    """Scratch with NEW loaded, its shadow built and proven."""
    scratch = applied(publisher.create_scratch(this.plan, this.target, this.admitted))
    data = this.to_chunk(list(NEW))
    assert applied(publisher.load_chunk(this.target, this.admitted, scratch, 1, data)) == len(NEW)
    build = applied(publisher.build_shadow(this.plan, this.target, this.admitted, scratch))
    return scratch, publisher.prove_shadow(this.plan, this.target, this.admitted, scratch, build)


class PublisherSuite:
    """Every publisher passes all of these."""

    def test_staging_has_the_content_digest_of_its_rows(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        scratch, _ = prepared(publisher, generation)
        plan, target = generation.plan, generation.target
        expected = (len(NEW), TargetRows.of(target, plan).digest(NEW))
        assert publisher.staging_content(plan, target, generation.admitted, scratch) == expected

    def test_scratch_is_made_once_and_found_again(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        plan, target, admitted = generation.plan, generation.target, generation.admitted
        assert publisher.find_scratch(plan, target, admitted) is None
        scratch = applied(publisher.create_scratch(plan, target, admitted))
        assert publisher.find_scratch(plan, target, admitted) == scratch
        assert isinstance(publisher.create_scratch(plan, target, admitted), NotApplied)

    def test_the_shadow_is_old_rows_without_staged_keys_plus_staging(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        _, proof = prepared(publisher, generation)
        assert (proof.differences, proof.staged_rows, proof.rebuilt_rows + proof.attached_rows) == (0, 2, 4)

    def test_a_staged_row_that_the_shadow_lacks_is_a_difference(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        target, admitted = generation.target, generation.admitted
        scratch = applied(publisher.create_scratch(generation.plan, target, admitted))
        first, second = ([row] for row in NEW)
        applied(publisher.load_chunk(target, admitted, scratch, 1, generation.to_chunk(first)))
        build = applied(publisher.build_shadow(generation.plan, target, admitted, scratch))
        applied(publisher.load_chunk(target, admitted, scratch, 2, generation.to_chunk(second)))
        proof = publisher.prove_shadow(generation.plan, target, admitted, scratch, build)
        assert proof.differences > 0

    def test_an_exchange_swaps_the_uuids_and_the_predecessor_stays(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        target, admitted = generation.target, generation.admitted
        scratch, proof = prepared(publisher, generation)
        before = publisher.authority(target)
        assert publisher.exchange_refusals(target, admitted, scratch, proof, before.digest) == ()
        there = applied(publisher.exchange(target, admitted, scratch, before.uuid))
        assert there == UuidMap(scratch.shadow_uuid, before.uuid) == publisher.uuid_map(target, scratch)
        assert publisher.authority(target).digest == before.digest
        assert publisher.scope_rows(generation.plan, target) == 3
        assert publisher.parts_digest(target, before.uuid) == proof.target_parts_digest

    def test_an_exchange_from_another_predecessor_is_not_applied(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        scratch, _ = prepared(publisher, generation)
        before = publisher.uuid_map(generation.target, scratch)
        other = "11111111-2222-4333-8444-555555555555"
        assert isinstance(
            publisher.exchange(generation.target, generation.admitted, scratch, other), NotApplied
        )
        assert publisher.uuid_map(generation.target, scratch) == before

    def test_a_burned_name_makes_a_delayed_exchange_fail(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        target, admitted = generation.target, generation.admitted
        scratch, _ = prepared(publisher, generation)
        uuid = publisher.authority(target).uuid
        burned = applied(publisher.burn_shadow_name(target, admitted, scratch, uuid))
        assert burned.shadow != scratch.shadow
        assert applied(publisher.burn_shadow_name(target, admitted, scratch, uuid)) == burned
        assert burned.shadow_uuid == scratch.shadow_uuid
        assert isinstance(publisher.exchange(target, admitted, scratch, uuid), NotApplied)
        assert publisher.uuid_map(target, burned) == UuidMap(uuid, scratch.shadow_uuid)
        applied(publisher.exchange(target, admitted, burned, uuid))

    def test_a_burned_name_makes_a_doubled_exchange_fail_and_keeps_the_predecessor(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        target, admitted = generation.target, generation.admitted
        scratch, proof = prepared(publisher, generation)
        uuid = publisher.authority(target).uuid
        applied(publisher.exchange(target, admitted, scratch, uuid))
        burned = applied(publisher.burn_shadow_name(target, admitted, scratch, uuid))
        assert burned.shadow != scratch.shadow
        assert publisher.uuid_map(target, scratch) == UuidMap(scratch.shadow_uuid, None)
        assert publisher.uuid_map(target, burned) == UuidMap(scratch.shadow_uuid, uuid)
        assert publisher.parts_digest(target, uuid) == proof.target_parts_digest
        assert applied(publisher.burn_shadow_name(target, admitted, scratch, uuid)) == burned

    def test_a_name_is_not_burned_under_a_target_that_is_neither_generation(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        target, admitted = generation.target, generation.admitted
        scratch, _ = prepared(publisher, generation)
        other = "11111111-2222-4333-8444-555555555555"
        before = publisher.uuid_map(target, scratch)
        assert isinstance(publisher.burn_shadow_name(target, admitted, scratch, other), NotApplied)
        assert publisher.uuid_map(target, scratch) == before

    def test_a_target_that_changed_after_the_proof_is_refused(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        target, admitted = generation.target, generation.admitted
        scratch, proof = prepared(publisher, generation)
        digest = publisher.authority(target).digest
        stale = replace(proof, target_parts_digest=scratch.shadow_uuid)
        assert publisher.exchange_refusals(target, admitted, scratch, stale, digest)
        assert publisher.exchange_refusals(target, admitted, scratch, proof, f"sha256:{'0' * 64}")

    def test_only_an_exact_uuid_is_dropped(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        target, admitted = generation.target, generation.admitted
        scratch, _ = prepared(publisher, generation)
        wrong = publisher.drop_scratch(target, admitted, scratch.shadow, scratch.staging_uuid)
        assert isinstance(wrong, NotApplied)
        authority = publisher.authority(target)
        assert isinstance(
            publisher.drop_scratch(target, admitted, authority.relation, authority.uuid), NotApplied
        )
        for relation, uuid in (
            (scratch.shadow, scratch.shadow_uuid),
            (scratch.staging, scratch.staging_uuid),
        ):
            applied(publisher.drop_scratch(target, admitted, relation, uuid))
            applied(publisher.drop_scratch(target, admitted, relation, uuid))
        assert publisher.find_scratch(generation.plan, target, admitted) is None
        assert publisher.authority(target) == authority

    def test_no_statement_of_an_attempt_is_left_running(
        self, publisher: PreparedPublisher, generation: Generation
    ) -> None:
        prepared(publisher, generation)
        attempt = generation.admitted.attempt
        prefix = query_id_prefix(attempt.workflow_execution_binding_sha256, attempt.operation_id)
        assert publisher.active_queries(prefix) == ()
