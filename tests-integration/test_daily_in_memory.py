"""Adoption, activation and advance over the in-memory ports: guard first, the same bytes again, day by day."""

from __future__ import annotations

import datetime as dt
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpone.application.baseline import adopt_baselines
from dpone.application.daily import activate_day, advance
from dpone.application.deployment import read_deployment
from dpone.application.next_day import Verdict
from dpone.composition.deployment_files import FolderFrozenBytes, FolderIndex
from dpone.composition.guard import ProductionGuard
from dpone.composition.operator import Promotion
from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.policies import SealPolicy
from dpone_contracts.testing.memory_control import MemoryActivationStore

sys.path.insert(0, str(Path(__file__).parent))
from deployment_in_memory import World, deployment_documents, files_of, story, world

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone.application.trust import Certified
    from dpone_contracts.document import Document
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.ports.activation_store import ActivationRecord, TargetHead
    from dpone_contracts.receipts import BaselineAdoptionReceipt

DAY = story.SCOPE
PRODUCTION = "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"


def adopted() -> World:
    one = world()
    one.adopt()
    return one


def rows(one: World) -> object:
    return one.ports.activations.control.rows


class LosingStore(MemoryActivationStore):
    """The commit lands, or not, and its acknowledgement is lost."""

    lands = True

    def activate(self, record: ActivationRecord) -> EffectResult[str]:
        if type(self).lands:
            MemoryActivationStore.activate(self, record)
        return Unknown(DponeError("DPONE_ACTIVATION_COMMIT_UNKNOWN", "no answer").reason)

    def adopt_baseline(
        self, receipt: BaselineAdoptionReceipt, scope_family_id: str
    ) -> EffectResult[TargetHead]:
        if type(self).lands:
            MemoryActivationStore.adopt_baseline(self, receipt, scope_family_id)
        return Unknown(DponeError("DPONE_ACTIVATION_COMMIT_UNKNOWN", "no answer").reason)


class LosingBoth(LosingStore):
    """Neither lands."""

    lands = False


@pytest.mark.parametrize(
    ("limit", "needed"),
    [
        ("max_clickhouse_staging_bytes", 6_442_450_944),
        ("max_concurrent_prepares", 2),
        ("max_prepared_models", 2),
        ("max_sealed_extract_bytes", 10_737_418_240),
    ],
)
def test_a_plan_over_the_workflows_budget_is_refused_before_any_write(limit: str, needed: int) -> None:
    one = adopted()
    before, frozen = rows(one), dict(one.frozen.held)
    tight = replace(one.inputs, resources=story.with_fields(story.resources(), **{limit: needed - 1}))
    with pytest.raises(DponeError) as refused:
        activate_day(one.activation, tight, DAY, promoting=False)
    assert refused.value.code == "DPONE_BUDGET_EXCEEDED"
    assert refused.value.evidence == {
        "kind": limit.removeprefix("max_"),
        "needed": str(needed),
        "allowed": str(needed - 1),
    }
    assert (rows(one), one.frozen.held, one.index.published) == (before, frozen, {})
    activate_day(one.activation, one.inputs, DAY, promoting=False)


def test_the_production_guard_refuses_every_command_before_any_write() -> None:
    one = world()
    guarded = replace(one.baseline, guard=ProductionGuard())
    with pytest.raises(DponeError, match=PRODUCTION):
        adopt_baselines(guarded, one.inputs)
    one.adopt()
    before, frozen = rows(one), dict(one.frozen.held)
    services = replace(one.activation, guard=ProductionGuard())
    for command in (
        lambda: activate_day(services, one.inputs, DAY, promoting=True),
        lambda: advance(services, one.inputs, promoting=True),
    ):
        with pytest.raises(DponeError, match=PRODUCTION):
            command()
    assert (rows(one), one.frozen.held, one.index.published) == (before, frozen, {})


@pytest.mark.parametrize("store", [LosingStore, LosingBoth])
def test_a_baseline_whose_acknowledgement_was_lost_is_sent_again_as_the_same_bytes(
    store: type[LosingStore],
) -> None:
    one = world()
    losing = replace(one.baseline, activations=store(one.ports.activations.control))
    with pytest.raises(DponeError, match="DPONE_ACTIVATION_COMMIT_UNKNOWN"):
        adopt_baselines(losing, one.inputs)
    frozen = dict(one.frozen.held)
    assert len(frozen) == 1
    one.ports.clock.at += dt.timedelta(hours=1)
    receipts = adopt_baselines(one.baseline, one.inputs)
    assert next(iter(frozen.values())) in {receipt.to_bytes() for receipt in receipts.values()}


def test_a_relation_that_changed_after_its_receipt_was_frozen_is_not_adopted() -> None:
    one = world()
    losing = replace(one.baseline, activations=LosingBoth(one.ports.activations.control))
    with pytest.raises(DponeError, match="DPONE_ACTIVATION_COMMIT_UNKNOWN"):
        adopt_baselines(losing, one.inputs)
    for relation in one.engines[1].uuids:
        one.engines[1].uuids[relation] = "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2bff"
    with pytest.raises(DponeError, match="DPONE_BASELINE_CHANGED"):
        adopt_baselines(one.baseline, one.inputs)


def test_an_adopted_baseline_is_left_as_it_stands_whatever_the_relation_holds_now() -> None:
    one = world()
    first = adopt_baselines(one.baseline, one.inputs)
    before = rows(one)
    for relation in one.engines[1].uuids:
        one.engines[1].uuids[relation] = "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2bff"
    assert adopt_baselines(one.baseline, one.inputs) == first
    assert rows(one) == before


class Judging:
    """Notes what it is asked about, and believes nothing where `code` is given."""

    def __init__(self, one: World, code: str | None = None) -> None:
        self.one, self.code = one, code
        self.asked: list[str] = []

    def require(self, certified: Iterable[Certified], now: str) -> None:  # noqa: ARG002 - the judge's signature
        assert not self.one.frozen.held
        assert not self.one.ports.activations.control.rows.owners
        self.asked += [certificate.digest for each in certified for certificate in each.certificates]
        if self.code is not None:
            raise DponeError(self.code, "not believed")

    def documents(self) -> tuple[Document, ...]:
        return ()


def test_every_certificate_that_baselines_name_is_judged_before_the_first_is_written() -> None:
    one = world()
    judge = Judging(one)
    receipts = adopt_baselines(replace(one.baseline, trust=judge), one.inputs)
    named = {
        digest
        for receipt in receipts.values()
        for digest in (
            receipt.clickhouse_assurance_sha256,
            receipt.writer_assurance_sha256,
            receipt.ddl_assurance_sha256,
            receipt.utc_assurance_sha256,
        )
    }
    assert len(receipts) == 2
    assert set(judge.asked) == named


@pytest.mark.parametrize("code", ["DPONE_SIGNATURE_FORGED", "DPONE_REVOCATION_INDEX_STALE", None])
def test_a_baseline_whose_certificates_are_not_believed_is_not_adopted(code: str | None) -> None:
    one = world()
    before = rows(one)
    judge = None if code is None else Judging(one, code)
    with pytest.raises(DponeError, match=code or "DPONE_TRUST_POLICY_MISSING"):
        adopt_baselines(replace(one.baseline, trust=judge), one.inputs)
    assert (rows(one), one.frozen.held) == (before, {})


def test_an_adopted_baseline_outlives_its_certificates() -> None:
    one = world()
    first = adopt_baselines(one.baseline, one.inputs)
    assert adopt_baselines(replace(one.baseline, trust=None), one.inputs) == first


def test_no_day_is_activated_without_an_adopted_baseline() -> None:
    one = world()
    with pytest.raises(DponeError, match="DPONE_BASELINE_NOT_ADOPTED"):
        activate_day(one.activation, one.inputs, DAY, promoting=False)
    assert one.index.published == {}


@pytest.mark.parametrize("store", [LosingStore, LosingBoth])
def test_an_activation_whose_acknowledgement_was_lost_is_sent_again_with_its_first_instant(
    store: type[LosingStore],
) -> None:
    one = adopted()
    losing = replace(one.activation, activations=store(one.ports.activations.control))
    with pytest.raises(DponeError, match="DPONE_ACTIVATION_COMMIT_UNKNOWN"):
        activate_day(losing, one.inputs, DAY, promoting=False)
    frozen = next(data for name, data in one.frozen.held.items() if name.startswith("activation-receipt."))
    one.ports.clock.at += dt.timedelta(hours=1)
    activated = activate_day(one.activation, one.inputs, DAY, promoting=False)
    record = one.ports.activations.read_activation(
        one.inputs.descriptor.deployment_id, activated.bundle.digest
    )
    assert record is not None
    assert record.receipt == frozen
    assert activated.index in one.index.published


def test_another_receipt_frozen_for_the_plan_is_refused() -> None:
    one = adopted()
    losing = replace(one.activation, activations=LosingBoth(one.ports.activations.control))
    with pytest.raises(DponeError, match="DPONE_ACTIVATION_COMMIT_UNKNOWN"):
        activate_day(losing, one.inputs, DAY, promoting=False)
    name = next(name for name in one.frozen.held if name.startswith("activation-receipt."))
    receipt = ActivationReceipt.from_bytes(one.frozen.held[name])
    one.frozen.held[name] = story.with_fields(receipt, dag_projection_sha256=story.sha("9")).to_bytes()
    with pytest.raises(DponeError, match="DPONE_ACTIVATION_CONFLICT"):
        activate_day(one.activation, one.inputs, DAY, promoting=False)


def test_a_day_within_the_policys_lag_is_not_activated() -> None:
    one = adopted()
    one.ports.clock.at = dt.datetime(2026, 8, 9, 23, tzinfo=dt.UTC)
    before = rows(one)
    with pytest.raises(DponeError, match="DPONE_DAY_NOT_CLOSED"):
        activate_day(one.activation, one.inputs, DAY, promoting=False)
    assert advance(one.activation, one.inputs, promoting=False).decision.verdict is Verdict.NOT_CLOSED
    assert rows(one) == before


def test_advance_goes_day_by_day_and_changes_nothing_while_a_day_is_planned() -> None:
    one = adopted()
    for offset in range(3):
        advanced = advance(one.activation, one.inputs, promoting=True)
        assert advanced.decision.verdict is Verdict.PLAN
        assert (advanced.decision.day.start - DAY.start).days == offset
        assert advanced.activated is not None
        assert one.index.promoted == advanced.activated.index
        before, published = rows(one), dict(one.index.published)
        again = advance(one.activation, one.inputs, promoting=True)
        assert again.decision.verdict is Verdict.ALREADY_PLANNED
        assert again.activated == advanced.activated
        assert (rows(one), one.index.published) == (before, published)
        one.run(advanced.activated)


def test_an_index_that_a_crash_kept_from_being_written_is_written_by_the_next_advance() -> None:
    one = adopted()
    first = advance(one.activation, one.inputs, promoting=False)
    assert first.activated is not None
    one.index.published.clear()
    assert advance(one.activation, one.inputs, promoting=False).activated == first.activated
    assert list(one.index.published) == [first.activated.index]


def test_an_index_is_not_promoted_over_an_open_plan_and_keeps_its_projection_listed() -> None:
    one = adopted()
    first = advance(one.activation, one.inputs, promoting=True).activated
    assert first is not None
    before = rows(one)
    with pytest.raises(DponeError, match="DPONE_INDEX_NOT_PROMOTABLE"):
        activate_day(one.activation, one.inputs, DAY.next(), promoting=True)
    assert rows(one) == before
    second = activate_day(one.activation, one.inputs, DAY.next(), promoting=False)
    assert second.unfinished == (first.bundle.digest,)
    assert one.index.published[second.index] == (second.projection.digest, first.projection.digest)
    assert one.index.promoted == first.index


def test_a_published_day_is_not_activated_again() -> None:
    one = adopted()
    activated = activate_day(one.activation, one.inputs, DAY, promoting=False)
    one.run(activated)
    with pytest.raises(DponeError, match="DPONE_SCOPE_HEAD_MOVED"):
        activate_day(one.activation, one.inputs, DAY, promoting=False)


def test_the_deployments_documents_read_back_whatever_their_files_are_called() -> None:
    documents = deployment_documents()
    inputs = read_deployment(files_of(documents))
    assert read_deployment(files_of(documents[::-1])) == inputs
    assert set(inputs.models) == {story.PRICE, story.STOCK}


def test_every_absent_document_is_refused_by_name() -> None:
    documents = deployment_documents()
    for gone in documents:
        # The same resource policy and route may stand for both models.
        rest = [document for document in documents if document.to_bytes() != gone.to_bytes()]
        with pytest.raises(DponeError) as caught:
            read_deployment(files_of(rest))
        assert caught.value.code == "DPONE_DEPLOYMENT_DOCUMENTS"


def test_a_document_with_a_wrong_digest_is_refused_with_its_file() -> None:
    documents = deployment_documents()
    files = files_of(documents)
    seal = next(each for each in documents if isinstance(each, SealPolicy))
    name = next(name for name, data in files.items() if data == seal.to_bytes())
    files[name] = files[name].replace(b'"compression_level":3', b'"compression_level":4')
    with pytest.raises(DponeError) as caught:
        read_deployment(files)
    assert caught.value.evidence["file"] == name


def test_a_file_that_is_no_document_is_refused() -> None:
    with pytest.raises(DponeError, match="DPONE_DEPLOYMENT_DOCUMENTS"):
        read_deployment(files_of(deployment_documents()) | {"notes.json": b"{}"})


def test_the_first_bytes_under_a_frozen_name_stand_in_a_folder_too(tmp_path: Path) -> None:
    frozen = FolderFrozenBytes(tmp_path / "frozen")
    assert frozen.frozen("receipt") is None
    assert frozen.freeze("receipt", b"first") == Applied(b"first")
    assert frozen.freeze("receipt", b"second") == Applied(b"first")
    assert FolderFrozenBytes(tmp_path / "frozen").frozen("receipt") == b"first"


def test_the_index_is_the_same_file_again_and_other_bytes_are_refused(tmp_path: Path) -> None:
    one = adopted()
    services = replace(one.activation, index=FolderIndex(Promotion(tmp_path / "index")))
    first = activate_day(services, one.inputs, DAY, promoting=False)
    index = Path(first.index)
    data = index.read_bytes()
    assert activate_day(services, one.inputs, DAY, promoting=False) == first
    assert index.read_bytes() == data
    projection = next((tmp_path / "index" / "projections").iterdir())
    projection.write_bytes(projection.read_bytes() + b"\n")
    before = rows(one)
    with pytest.raises(DponeError, match="DPONE_DEPLOYMENT_INDEX_CONFLICT"):
        activate_day(services, one.inputs, DAY, promoting=False)
    assert rows(one) == before


def test_a_promoted_index_is_named_by_a_dag_file_that_is_replaced_whole(tmp_path: Path) -> None:
    one = adopted()
    promotion = Promotion(tmp_path / "index", tmp_path / "dags" / "pricing.py", "platform_services:services")
    services = replace(one.activation, index=FolderIndex(promotion))
    first = advance(services, one.inputs, promoting=True).activated
    assert first is not None
    text = (tmp_path / "dags" / "pricing.py").read_text()
    assert Path(first.index).name in text
    one.run(first)
    second = advance(services, one.inputs, promoting=True).activated
    assert second is not None
    assert Path(second.index).name in (tmp_path / "dags" / "pricing.py").read_text()
    assert Path(first.index).exists()
    assert list((tmp_path / "dags").iterdir()) == [tmp_path / "dags" / "pricing.py"]


@pytest.mark.parametrize("place", ["index", "dags"])
def test_a_folder_that_cannot_be_written_is_one_error_and_the_same_command_goes_on_from_there(
    tmp_path: Path, place: str
) -> None:
    taken = tmp_path / place
    taken.write_text("a file where a folder should be")
    promotion = Promotion(tmp_path / "index", tmp_path / "dags" / "pricing.py", "platform_services:services")
    one = adopted()
    services = replace(one.activation, index=FolderIndex(promotion))
    with pytest.raises(DponeError, match=f"DPONE_DEPLOYMENT_FOLDER_UNWRITABLE: {taken}"):
        advance(services, one.inputs, promoting=True)
    assert taken.read_text() == "a file where a folder should be"
    taken.unlink()
    assert advance(services, one.inputs, promoting=True).decision.verdict is Verdict.ALREADY_PLANNED
    assert (tmp_path / "dags" / "pricing.py").exists()


def test_what_cannot_be_frozen_is_not_applied(tmp_path: Path) -> None:
    (tmp_path / "frozen").write_text("a file where a folder should be")
    result = FolderFrozenBytes(tmp_path / "frozen").freeze("receipt", b"first")
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_DEPLOYMENT_FOLDER_UNWRITABLE"
