"""Outcome classification against tables written by hand from the specification, over the whole evidence space."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpone_contracts.journal import OperationState
from dpone_contracts.outcomes import (
    ArtifactOutcome,
    BuildIdentity,
    EmptyScopeOutcome,
    EmptyScopePreconditions,
    ExchangeEvidence,
    ExchangeOutcome,
    ObjectStanding,
    PublicationOutcome,
    ReceiptClaims,
    SqlOutcome,
    classify_artifact,
    classify_empty_scope,
    classify_exchange,
    classify_publication,
    classify_sql,
    object_standing,
)
from dpone_contracts.ports.activation_store import Checkpoint, ScopeHead, TargetHead
from dpone_contracts.ports.artifact_store import StoredObject
from dpone_contracts.ports.publisher import UuidMap
from dpone_contracts.ports.refresh_state import PublicationRows
from dpone_contracts.ports.scope_mutation import BuildEvidence, Fate, ImageObservation, SessionEvidence
from dpone_contracts.relations import SqlRelation
from dpone_contracts.testing.evidence_tables import Point, Table, points

IDENTITY = BuildIdentity("operation", "attempt", 7, "fork")
RECEIPT = ReceiptClaims(IDENTITY, 3, "sha256:before", 5, "sha256:after")
BEFORE = ImageObservation(
    SqlRelation("db", "img", "before"), exists=True, row_count=3, content_sha256="sha256:before"
)
AFTER = ImageObservation(
    SqlRelation("db", "img", "after"), exists=True, row_count=5, content_sha256="sha256:after"
)

SQL_SPACE = {
    "read": ("yes", "no"),
    "identity": ("same", "operation", "attempt", "fork"),
    "intent": ("yes", "no"),
    "fate": ("committed", "abandoned", "none"),
    "receipt": ("exact", "other", "invalid", "none"),
    "images": ("exact", "empty", "absent", "orphan", "before-only"),
    "temp": ("yes", "no"),
    "sessions": ("gone", "live", "hidden"),
}

SQL_TABLE = Table("""
read identity intent fate       receipt       images       temp sessions  => outcome
yes  same     yes    committed  exact         exact        *    *         => COMMITTED_WITH_IMAGES
yes  same     yes    abandoned  none          empty/absent no   gone      => ROLLED_BACK
yes  same     no     abandoned  none          empty/absent no   gone      => NOT_INVOKED
no   *        *      *          *             *            *    *         => COMMIT_UNKNOWN
*    !same    *      *          *             *            *    *         => COMMIT_UNKNOWN
*    *        *      *          other/invalid *            *    *         => COMMIT_UNKNOWN
*    *        no     *          exact         *            *    *         => COMMIT_UNKNOWN
*    *        *      !committed exact         *            *    *         => COMMIT_UNKNOWN
*    *        *      *          exact         !exact       *    *         => COMMIT_UNKNOWN
*    *        *      !abandoned none          *            *    *         => COMMIT_UNKNOWN
*    *        *      *          none          !empty/absent *   *         => COMMIT_UNKNOWN
*    *        *      *          none          *            yes  *         => COMMIT_UNKNOWN
*    *        *      *          none          *            *    live/hidden => COMMIT_UNKNOWN
""")


def sql_evidence(point: Point) -> tuple[BuildEvidence, ReceiptClaims | None]:
    """The evidence that a point of the space stands for."""
    empty = tuple(replace(each, row_count=0, content_sha256="sha256:nothing") for each in (BEFORE, AFTER))
    images = {
        "exact": (BEFORE, AFTER),
        "empty": empty,
        "absent": tuple(
            replace(each, exists=False, row_count=None, content_sha256=None) for each in (BEFORE, AFTER)
        ),
        "orphan": (BEFORE, replace(AFTER, content_sha256="sha256:other")),
        "before-only": (BEFORE, empty[1]),
    }[point["images"]]
    claims = {
        "exact": RECEIPT,
        "other": replace(RECEIPT, identity=replace(IDENTITY, fencing_epoch=6)),
        "invalid": None,
        "none": None,
    }[point["receipt"]]
    evidence = BuildEvidence(
        operation_id="other" if point["identity"] == "operation" else "operation",
        attempt_binding_sha256="other" if point["identity"] == "attempt" else "attempt",
        reachable=point["read"] == "yes",
        intent_recorded=point["intent"] == "yes",
        fate={"committed": Fate.COMMITTED, "abandoned": Fate.ABANDONED, "none": None}[point["fate"]],
        receipt=None if point["receipt"] == "none" else b"{}",
        before_image=images[0],
        after_image=images[1],
        temp_exists=point["temp"] == "yes",
        sessions={
            "gone": SessionEvidence.GONE,
            "live": SessionEvidence.LIVE,
            "hidden": SessionEvidence.NOT_VISIBLE,
        }[point["sessions"]],
        recovery_fork="other" if point["identity"] == "fork" else "fork",
    )
    return evidence, claims


def test_sql_outcomes_are_those_of_the_table_everywhere() -> None:
    for point in points(SQL_SPACE):
        evidence, claims = sql_evidence(point)
        classified = classify_sql(evidence, IDENTITY, claims)
        assert classified.outcome == SQL_TABLE.expected(point), point
        assert bool(classified.findings) == (classified.outcome is SqlOutcome.COMMIT_UNKNOWN)


def test_an_empty_committed_scope_is_committed_not_rolled_back() -> None:
    point = {**next(points(SQL_SPACE)), "images": "empty"}
    evidence, _ = sql_evidence(point)
    claims = ReceiptClaims(IDENTITY, 0, "sha256:nothing", 0, "sha256:nothing")
    assert classify_sql(evidence, IDENTITY, claims).outcome is SqlOutcome.COMMITTED_WITH_IMAGES


STANDING_TABLE = Table("""
manifest   chunk                 => outcome
OTHER      *                     => CONFLICT
*          OTHER                 => CONFLICT
EXACT      ABSENT                => CONFLICT
UNREADABLE !OTHER                => ARTIFACT_UNKNOWN
!OTHER     UNREADABLE            => ARTIFACT_UNKNOWN
ABSENT     ABSENT/EXACT/no-chunk => NOT_SEALED
EXACT      EXACT/no-chunk        => SEALED
""")


def test_artifact_outcomes_are_those_of_the_table_everywhere() -> None:
    standings = tuple(ObjectStanding)
    for point in points({"manifest": standings, "chunk": (*standings, "no-chunk")}):
        chunks = () if point["chunk"] == "no-chunk" else (ObjectStanding(point["chunk"]),)
        exact = (ObjectStanding.EXACT,) if chunks else ()
        for surrounded in (chunks, chunks + exact, exact + chunks):
            outcome = classify_artifact(ObjectStanding(point["manifest"]), surrounded)
            assert outcome == STANDING_TABLE.expected(point), point
    assert set(ArtifactOutcome) == {"NOT_SEALED", "SEALED", "CONFLICT", "ARTIFACT_UNKNOWN"}


def test_an_object_is_exact_by_digest_and_by_version_where_one_is_known() -> None:
    stored = StoredObject("key", "v1", 3, "sha256:x")
    assert object_standing(None, "sha256:x", None) is ObjectStanding.ABSENT
    assert object_standing(None, "sha256:x", None, readable=False) is ObjectStanding.UNREADABLE
    assert object_standing(stored, "sha256:x", None) is ObjectStanding.EXACT
    assert object_standing(stored, "sha256:x", "v1") is ObjectStanding.EXACT
    assert object_standing(stored, "sha256:x", "v2") is ObjectStanding.OTHER
    assert object_standing(stored, "sha256:y", "v1") is ObjectStanding.OTHER


EXCHANGE_TABLE = Table("""
read quiescent sealed burned target  shadow  made => outcome
no   *         *      *      *       *       *    => EXCHANGE_UNKNOWN
*    no        *      *      *       *       *    => EXCHANGE_UNKNOWN
yes  yes       yes    *      old     new     yes  => PREDECESSOR
yes  yes       no     *      old     new     yes  => EXCHANGE_UNKNOWN
yes  yes       yes    *      new     old     yes  => SUCCESSOR
yes  yes       no     *      new     old     yes  => EXCHANGE_UNKNOWN
yes  yes       *      maybe  old     none    yes  => EXCHANGE_UNKNOWN
yes  yes       *      maybe  new     none    yes  => EXCHANGE_UNKNOWN
yes  yes       *      known  old     none    yes  => MIXED
yes  yes       *      known  new     none    yes  => MIXED
yes  yes       *      *      old     old/foreign yes => MIXED
yes  yes       *      *      new     new/foreign yes => MIXED
yes  yes       *      *      foreign/none *  *    => MIXED
yes  yes       yes    *      old     none    no   => PREDECESSOR
yes  yes       no     *      old     none    no   => EXCHANGE_UNKNOWN
yes  yes       *      *      old     !none   no   => MIXED
yes  yes       *      *      new     *       no   => MIXED
""")


def test_exchange_outcomes_are_those_of_the_table_everywhere() -> None:
    uuids = ("old", "new", "foreign", "none")
    space = {
        "read": ("yes", "no"),
        "quiescent": ("yes", "no"),
        "sealed": ("yes", "no"),
        "burned": ("maybe", "known"),
        "target": uuids,
        "shadow": uuids,
        "made": ("yes", "no"),
    }
    for point in points(space):
        target, shadow = (None if point[name] == "none" else point[name] for name in ("target", "shadow"))
        evidence = ExchangeEvidence(
            uuids=UuidMap(target, shadow) if point["read"] == "yes" else None,
            quiescent=point["quiescent"] == "yes",
            sealed_off=point["sealed"] == "yes",
            maybe_burned=point["burned"] == "maybe",
        )
        outcome = classify_exchange(evidence, "old", "new" if point["made"] == "yes" else None)
        assert outcome == EXCHANGE_TABLE.expected(point), point
    assert len(ExchangeOutcome) == 4


PUBLICATION_TABLE = Table("""
head   scope  checkpoint journal => outcome
before before before     before  => ALL_PREDECESSOR
after  after  after      after   => ALL_SUCCESSOR
other  *      *          *       => MIXED
*      other  *          *       => MIXED
*      *      other      *       => MIXED
*      *      *          other   => MIXED
before after  *          *       => MIXED
before *      after      *       => MIXED
before *      *          after   => MIXED
after  before *          *       => MIXED
after  *      before     *       => MIXED
after  *      *          before  => MIXED
""")


def rows(head: str, scope: str, checkpoint: str, journal: str) -> PublicationRows:
    """Publication rows where each part is the predecessor's, the successor's or another one's."""
    number = {"before": 1, "after": 2, "other": 3}
    state = {
        "before": OperationState.TARGET_COMMITTED,
        "after": OperationState.COMPLETE,
        "other": OperationState.COMMIT_UNKNOWN,
    }
    return PublicationRows(
        target_head=TargetHead("target", number[head], head, head, head, None),
        scope_head=ScopeHead("family", "2013-01-02T00:00:00Z", number[scope], scope),
        checkpoint=Checkpoint("family", checkpoint),
        journal_state=state[journal],
        journal_version=number[journal],
    )


def test_publication_outcomes_are_those_of_the_table_everywhere() -> None:
    before, after = rows(*["before"] * 4), rows(*["after"] * 4)
    values = ("before", "after", "other")
    for point in points(dict.fromkeys(("head", "scope", "checkpoint", "journal"), values)):
        outcome = classify_publication(rows(**point), before, after)
        assert outcome == PUBLICATION_TABLE.expected(point), point
    assert classify_publication(None, before, after) is PublicationOutcome.PUBLICATION_UNKNOWN


ALL_PROVEN = EmptyScopePreconditions(
    target_uuid=True,
    target_design=True,
    guard=True,
    owner=True,
    schema_and_key=True,
    scope_predecessor=True,
    outcomes_resolved=True,
)


def test_an_empty_scope_ends_without_exchange_only_when_everything_is_proven() -> None:
    classified = classify_empty_scope((0, 0), 0, ALL_PROVEN)
    assert classified.outcome is EmptyScopeOutcome.NOT_REQUIRED_EMPTY_SCOPE


def test_rows_in_the_target_scope_are_a_divergence() -> None:
    assert classify_empty_scope((0, 0), 1, ALL_PROVEN).outcome is EmptyScopeOutcome.TARGET_DIVERGED


@pytest.mark.parametrize("manifest", [(1, 5), (1, 0), (0, 5)])
def test_a_manifest_with_chunks_or_rows_goes_the_way_of_the_exchange(manifest: tuple[int, int]) -> None:
    assert classify_empty_scope(manifest, 0, ALL_PROVEN).outcome is EmptyScopeOutcome.NOT_EMPTY


@pytest.mark.parametrize(
    "name",
    [
        "target_uuid",
        "target_design",
        "guard",
        "owner",
        "schema_and_key",
        "scope_predecessor",
        "outcomes_resolved",
    ],
)
@pytest.mark.parametrize("target_rows", [0, 1])
def test_a_precondition_that_is_not_proven_refuses(name: str, target_rows: int) -> None:
    classified = classify_empty_scope((0, 0), target_rows, replace(ALL_PROVEN, **{name: False}))
    assert classified.outcome is EmptyScopeOutcome.REFUSED
    assert classified.unproven == (name,)


def test_absent_manifest_and_unread_target_refuse() -> None:
    classified = classify_empty_scope(None, None, ALL_PROVEN)
    assert classified.outcome is EmptyScopeOutcome.REFUSED
    assert classified.unproven == ("manifest", "target_scope_rows")
