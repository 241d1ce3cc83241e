"""What every `ScopeMutation` and every `ImageReader` must do; an adapter's tests subclass these.

Fixture: `built`, a fresh target of the publishing suite's example with OLD rows, covered, activated and admitted, whose
model's SQL would give NEW rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.canonical import sha256_text
from dpone_contracts.ports.scope_mutation import Fate, SessionEvidence
from dpone_contracts.testing.control_suite import with_fence
from dpone_contracts.testing.memory_rows import TargetRows
from dpone_contracts.testing.publisher_suite import NEW, OLD
from dpone_contracts.testing.results import applied, not_applied

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.image_reader import ImageBatch, ImageReader
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.ports.scope_mutation import BuildEvidence, ScopeMutation
    from dpone_contracts.testing.memory_rows import Row

ANOTHER_DAY, UPDATED, MISSING = OLD
BEFORE = (UPDATED, MISSING)
AFTER = (NEW[0], MISSING, NEW[1])
"""The scope's rows when NEW has updated one, inserted one and left out one."""


@dataclass(frozen=True, slots=True)
class Built:
    """One operation on one target, and what stands around the port.

    `intend` records the attempt's intent; `run` does what dbt does with the rendered batch over NEW rows and tells
    whether it committed; `roll_back` does the same and rolls back. `rows` are the target's, `rows_of` those of a batch.
    """

    mutation: ScopeMutation
    reader: ImageReader
    plan: OperationPlan
    target: PlanTarget
    admitted: AdmittedOperation
    intend: Callable[[], None]
    run: Callable[[], bool]
    roll_back: Callable[[], None]
    rows: Callable[[], list[Row]]
    rows_of: Callable[[ImageBatch], list[Row]]

    def begin(self) -> None:
        """Create the images and record the intent."""
        applied(self.mutation.create_images(self.plan, self.target, self.admitted))
        self.intend()

    def evidence(self) -> BuildEvidence:
        """What the engine shows of the attempt."""
        return self.mutation.evidence(self.plan, self.target, self.admitted)

    def content(self, rows: tuple[Row, ...]) -> tuple[int, str]:
        """(rows, content digest) by the reference implementation."""
        return len(rows), TargetRows.of(self.target, self.plan).digest(rows)


class ScopeMutationSuite:
    """Every scope mutation passes all of these."""

    def test_a_fit_target_has_no_finding(self, built: Built) -> None:
        assert built.mutation.preflight(built.plan, built.target) == ()

    def test_a_batch_is_pure_text_bound_by_its_digest(self, built: Built) -> None:
        first, second = (built.mutation.render(built.plan, built.target, built.admitted) for _ in range(2))
        assert first == second
        assert first.sha256 == sha256_text(first.sql.encode("utf-8"))
        assert first.model_unique_id == built.plan.model_unique_id
        assert first.target != first.temp
        assert sorted(built.rows(), key=repr) == sorted(OLD, key=repr)

    def test_before_anything_ran_there_is_no_evidence(self, built: Built) -> None:
        seen = built.evidence()
        assert seen.reachable
        assert (seen.intent_recorded, seen.fate, seen.receipt, seen.temp_exists) == (False, None, None, False)
        assert (seen.before_image.exists, seen.after_image.exists) == (False, False)
        assert seen.sessions is SessionEvidence.GONE

    def test_images_are_created_empty_and_once(self, built: Built) -> None:
        for _ in range(2):
            applied(built.mutation.create_images(built.plan, built.target, built.admitted))
        seen = built.evidence()
        for image in (seen.before_image, seen.after_image):
            assert (image.exists, image.row_count, image.content_sha256) == (True, *built.content(()))
        assert seen.before_image.relation != seen.after_image.relation

    def test_an_attempt_without_the_fence_creates_nothing(self, built: Built) -> None:
        attempt = built.admitted.attempt
        late = replace(built.admitted, attempt=with_fence(attempt, attempt.fencing_epoch + 1))
        not_applied(built.mutation.create_images(built.plan, built.target, late), "DPONE_FENCE_LOST")

    def test_without_images_nothing_is_committed(self, built: Built) -> None:
        built.intend()
        assert not built.run()
        assert sorted(built.rows(), key=repr) == sorted(OLD, key=repr)

    def test_a_day_is_updated_and_inserted_and_nothing_else_is_touched(self, built: Built) -> None:
        built.begin()
        assert built.run()
        assert sorted(built.rows(), key=repr) == sorted((ANOTHER_DAY, *AFTER), key=repr)

    def test_a_committed_mutation_leaves_receipt_fate_and_both_images(self, built: Built) -> None:
        built.begin()
        assert built.run()
        seen = built.evidence()
        assert (seen.intent_recorded, seen.fate, seen.temp_exists) == (True, Fate.COMMITTED, False)
        assert seen.sessions is SessionEvidence.GONE
        assert seen.receipt is not None
        receipt = ModelBuildReceipt.from_bytes(seen.receipt)
        assert (receipt.source_row_count, receipt.updated_row_count, receipt.inserted_row_count) == (2, 1, 1)
        assert receipt.attempt_binding_sha256 == built.admitted.attempt.digest == seen.attempt_binding_sha256
        assert receipt.recovery_fork == seen.recovery_fork
        for image, rows, stated in (
            (seen.before_image, BEFORE, (receipt.before_image_row_count, receipt.before_image_sha256)),
            (seen.after_image, AFTER, (receipt.after_image_row_count, receipt.after_image_sha256)),
        ):
            assert (image.row_count, image.content_sha256) == built.content(rows) == stated

    def test_a_committed_mutation_is_found_and_not_repeated(self, built: Built) -> None:
        built.begin()
        assert built.run()
        first, rows = built.evidence(), built.rows()
        built.run()
        assert built.evidence() == first
        assert sorted(built.rows(), key=repr) == sorted(rows, key=repr)

    def test_a_rolled_back_mutation_leaves_the_predecessor_and_no_fate(self, built: Built) -> None:
        built.begin()
        built.roll_back()
        seen = built.evidence()
        assert (seen.receipt, seen.fate, seen.temp_exists) == (None, None, False)
        assert (seen.before_image.row_count, seen.after_image.row_count) == (0, 0)
        assert sorted(built.rows(), key=repr) == sorted(OLD, key=repr)

    def test_an_abandoned_attempt_can_never_commit_later(self, built: Built) -> None:
        built.begin()
        for _ in range(2):
            assert applied(built.mutation.abandon(built.admitted)) is Fate.ABANDONED
        assert not built.run()
        assert built.evidence().fate is Fate.ABANDONED
        assert sorted(built.rows(), key=repr) == sorted(OLD, key=repr)

    def test_a_committed_attempt_cannot_be_abandoned(self, built: Built) -> None:
        built.begin()
        assert built.run()
        assert applied(built.mutation.abandon(built.admitted)) is Fate.COMMITTED
        assert built.evidence().fate is Fate.COMMITTED

    def test_the_current_scope_has_the_content_digest_of_its_rows(self, built: Built) -> None:
        assert built.mutation.current_scope(built.plan, built.target) == built.content(BEFORE)
        built.begin()
        assert built.run()
        assert built.mutation.current_scope(built.plan, built.target) == built.content(AFTER)


class ImageReaderSuite:
    """Every image reader passes all of these."""

    def test_an_empty_image_has_no_batch(self, built: Built) -> None:
        built.begin()
        image = built.evidence().after_image.relation
        assert list(built.reader.batches(built.plan, built.target, image, 2)) == []

    def test_all_rows_come_in_the_order_of_the_key_in_batches_of_one_size(self, built: Built) -> None:
        built.begin()
        assert built.run()
        ordered = TargetRows.of(built.target, built.plan).ordered(AFTER)
        assert ordered != list(AFTER)
        image = built.evidence().after_image.relation
        for size, counts in ((1, [1, 1, 1]), (2, [2, 1]), (3, [3]), (100, [3])):
            batches = list(built.reader.batches(built.plan, built.target, image, size))
            assert [batch.row_count for batch in batches] == counts
            assert [batch.first_row for batch in batches] == [sum(counts[:at]) for at in range(len(counts))]
            assert [row for batch in batches for row in built.rows_of(batch)] == ordered
