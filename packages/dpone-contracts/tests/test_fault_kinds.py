"""Every kind of fault that the published vectors show, at every place of every kind of document.

A document is changed at one place and digested again throughout, as somebody who forges one would: what refuses it is
the rule, not a stale digest. The standalone verifier must answer alike.
"""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from dpone_contracts import standalone_verify
from dpone_contracts.canonical import encode_checked
from dpone_contracts.document import Document, Refused, Valid, at_path, document_class, load_document
from dpone_contracts.json_schemas import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Place = tuple[str | int, ...]
VALID = Path(__file__).parent / "vectors" / "published-0.74" / "valid"


def stories() -> dict[str, dict[str, Any]]:
    """One document of every schema, mode and status."""
    found: dict[tuple[Any, ...], tuple[str, dict[str, Any]]] = {}
    for path in sorted(VALID.glob("*.json")):
        document = json.loads(path.read_bytes())
        modes = ("workflow_mode", "operation_kind", "status", "event_time_source_type", "terminal_phase")
        told = (document["schema"], *(document.get(mode) for mode in modes), "revoked_at" in document)
        found.setdefault(told, (path.stem, document))
    return dict(found.values())


DOCUMENTS = stories()
TRIED, TRIED_OF_A_LARGE_ONE, LARGE = 150, 40, 3_000
"""Changes of one document that are tried, drawn with a seed of its own."""

DIGEST, UUID = re.compile(r"sha256:[0-9a-f]{64}"), re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
WORD = re.compile(r"[A-Z][A-Z_]+")


def places(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value of a document with its path, containers too."""
    if path:
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield from places(item, (*path, step))


def digests_again(document: dict[str, Any]) -> None:
    """Make every derived digest and the document's own right again, as far as the change leaves their subjects."""
    kind = document_class(document.get("schema"))
    if kind is None:
        return
    for _ in range(6):  # A derived digest may be the subject of the next.
        rest = {name: item for name, item in document.items() if name != kind.DIGEST_FIELD}
        stale: list[tuple[Place, str]] = []
        with suppress(KeyError, TypeError, IndexError, AttributeError, ValueError, AssertionError):
            stale = [
                (path, to) for path, to in derived(kind, document, rest) if at_path(document, path) != to
            ]
        for path, to in stale:
            at_path(document, path[:-1])[path[-1]] = to
        rest = {name: item for name, item in document.items() if name != kind.DIGEST_FIELD}
        # Without the checks of the canonical form: a forger makes none.
        document[kind.DIGEST_FIELD] = standalone_verify.digest(rest)
        if not stale:
            return


def derived(kind: type[Document], document: Any, rest: Any) -> list[tuple[Place, str]]:
    return list(kind.derived(document, encode_checked(rest)))


def copied(document: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(document))
    return copy


def changed(document: dict[str, Any], place: Place, value: Any) -> bytes:
    """The document with another value at one place."""
    copy = copied(document)
    at_path(copy, place[:-1])[place[-1]] = value
    digests_again(copy)
    return json.dumps(copy).encode()


def computed(document: dict[str, Any]) -> set[Place]:
    """Where digests stand that are made right again."""
    kind = document_class(document["schema"])
    assert kind is not None
    rest = {name: item for name, item in document.items() if name != kind.DIGEST_FIELD}
    return {(kind.DIGEST_FIELD,), ("schema",), *(place for place, _ in derived(kind, document, rest))}


def refused(data: bytes) -> bool:
    """Whether neither the models nor the standalone verifier admit the bytes; both must answer alike."""
    loaded = load_document(data)
    assert standalone_verify.judge("file", data).answer == type(loaded).__name__.lower()
    return not isinstance(loaded, Valid)


def spellings_of_a_digest(value: str) -> list[str]:
    hexadecimal = value[7:]
    return [
        hexadecimal,
        f"sha256:{hexadecimal[:-1]}F",
        f"SHA256:{hexadecimal}",
        f"md5:{hexadecimal[:32]}",
        value[:-1],
        f"{value}0",
        f"{value}\n",
    ]


def spellings_of_an_instant(value: str) -> list[str]:
    day, time = value[:-1].split("T")
    return [
        f"{day} {time}Z", f"{day}t{time}Z", f"{day}T{time}z", f"{day}T{time}+00:00", f"{day}\n{time}Z",
        f"{day.replace('-', '')}T{time.replace(':', '')}Z", f"{day}T{time[:5]}Z", f"{day}T{time.split('.')[0]}.0Z", f"{value}\n",
        f"{day}T{time.split('.')[0]},000000Z", f"{day}T{time.split('.')[0]}.1234567Z", f"{day}T24:00:00Z", f"{day[:8]}32T{time}Z",
    ]  # fmt: skip


def hidden(value: str) -> list[str]:
    middle = len(value) // 2
    marks = ["\n", "\x00", "\x7f", "\u200b", "\u202e", "\u2028", "e\u0301", "\ufeff", "\ud83d"]
    return [
        f" {value}",
        f"{value} ",
        f"{value}\t",
        *(f"{value[:middle]}{mark}{value[middle:]}" for mark in marks),
    ]


def faults_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (kind of fault, value with it) for one value, by its looks alone."""
    if value is not None:
        yield "null for a value", None
    match value:
        case bool():
            yield "the other truth", not value
            yield from (("no truth", wrong) for wrong in (int(value), str(value).lower()))
        case int():
            yield from (("no integer", wrong) for wrong in (str(value), bool(value), 7.5, [value]))
            yield "a float", float(value)
            yield from (("out of bounds", wrong) for wrong in (-(2**63) - 1, 2**63, 10**40, -2))
        case str():
            yield from (("a text with a twin", wrong) for wrong in hidden(value))
            yield from (("no text", wrong) for wrong in ("", " ", 7, True, [value], {"value": value}))
            yield from spellings(value)
        case list():
            yield from (("no array", wrong) for wrong in ({}, "x", 0, {"0": 1}))
            if value:
                yield from (("an item twice", wrong) for wrong in ([*value, value[-1]], [value[0], *value]))
                yield "an item of another type", [*value, 7.5]
            if len(value) > 1 and value[::-1] != value:
                yield "another order", value[::-1]
        case dict():
            yield from (("no object", wrong) for wrong in ([], "x", 0, [value]))
            if not MAPS & {*value}:
                yield "an unknown field", {**value, "fencing_epoch_": 7}
        case _:
            assert value is None


def spellings(value: str) -> Iterator[tuple[str, Any]]:
    """Yield other spellings of what has one."""
    wrong: list[str] = []
    if DIGEST.fullmatch(value):
        wrong = spellings_of_a_digest(value)
    if UUID.fullmatch(value):
        wrong = [f"{{{value}}}", value.replace("-", ""), f"urn:uuid:{value}", value[:-1], f"{value[:-1]}F"]
    if INSTANT.fullmatch(value):
        wrong = spellings_of_an_instant(value)
    if WORD.fullmatch(value):
        wrong = ["INVENTED", value.lower(), f"{value}_"]
    yield from (("another spelling", each) for each in wrong)


MAPS = {"model.pricing.competitor_price_event", "model.pricing.competitor_stock_event", "DPONE_TARGET"}
"""Keys of objects that are maps and no records: other keys are other facts."""
ADMITTED = {
    ("expected_uuid", "null for a value"),
    ("effective_key_columns", "another order"),
    ("schedule", "null for a value"),
}
"""Where the published contract has both: scratch that never was, another key, a workflow without a schedule."""


def drawn(name: str, *, kinds: frozenset[str] | None = None) -> list[tuple[Place, str, Any]]:
    """Draw some of the faults that a document can have, of some kinds or all."""
    document = DOCUMENTS[name]
    skipped = computed(document)
    faults = [
        (place, kind, wrong)
        for place, value in places(document)
        if place not in skipped and "project_config_overlay" not in place
        for kind, wrong in faults_of(value)
        if (place[-1], kind) not in ADMITTED and (kinds is None or kind in kinds)
    ]
    most = TRIED_OF_A_LARGE_ONE if len(faults) > LARGE else TRIED
    return random.Random(name).sample(faults, min(most, len(faults)))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_fault_at_any_place_is_refused_although_everything_is_digested_again(name: str) -> None:
    for place, kind, wrong in drawn(name):
        assert refused(changed(DOCUMENTS[name], place, wrong)), (place, kind)


EXPRESSIBLE = frozenset({
    "null for a value", "the other truth", "no truth", "no integer", "out of bounds", "no text", "another spelling", "no array",
    "an item of another type", "no object", "an unknown field",
})  # fmt: skip
"""What a schema can say of one value; `1.0` is an integer to it, and it knows neither order nor composed text."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_alone_refuses_every_fault_that_a_schema_can_express(name: str) -> None:
    document = DOCUMENTS[name]
    kind = document_class(document["schema"])
    assert kind is not None
    validator = Draft202012Validator(schema_of(kind))
    assert validator.is_valid(document)
    for place, fault, wrong in drawn(name, kinds=EXPRESSIBLE):
        assert not validator.is_valid(json.loads(changed(document, place, wrong))), (place, fault, wrong)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_key_twice_in_any_object_is_refused_with_its_place(name: str) -> None:
    document = DOCUMENTS[name]
    records = [((), document), *((p, v) for p, v in places(document) if isinstance(v, dict) and v)]
    for place, record in random.Random(name).sample(records, min(12, len(records))):
        key = random.Random(name).choice(sorted(record))
        copy = copied({"root": document})
        at_path(copy, ("root", *place))["TWICE"] = record[key]
        text = json.dumps(copy["root"]).replace('"TWICE"', json.dumps(key)).encode()
        loaded = load_document(text)
        assert isinstance(loaded, Refused)
        assert (loaded.faults[0].rule, loaded.faults[0].path) == ("unique-keys", (*place, key))
        assert refused(text)


PAIRS = [
    pytest.param(one, other, id=f"{one}+{other}")
    for one, document in DOCUMENTS.items()
    for other, another in DOCUMENTS.items()
    if one != other and document["schema"] == another["schema"] and "dag-projection" not in one
]
MODES = ("workflow_mode", "operation_kind", "event_time_source_type")


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_document_of_one_mode_has_no_field_of_another(one: str, other: str) -> None:
    document, another = DOCUMENTS[one], DOCUMENTS[other]
    for name in another.keys() - document.keys():
        assert refused(changed(document, (name,), another[name])), name
    for name in document.keys() - another.keys():
        rest = copied(document)
        del rest[name]
        digests_again(rest)
        assert refused(json.dumps(rest).encode()), name
    for name in MODES:
        if document.get(name) != another.get(name) and document.keys() != another.keys():
            assert refused(changed(document, (name,), another[name])), name


CLOSURES = (
    "selected_mutating_node_ids",
    "model_operation_plan_ids",
    "expected_model_outcome_ids",
    "replacement_action_ids",
)


@pytest.mark.parametrize("name", [name for name, document in DOCUMENTS.items() if CLOSURES[1] in document])
@pytest.mark.parametrize("field", CLOSURES)
def test_closures_that_differ_in_any_model_are_refused(name: str, field: str) -> None:
    document = DOCUMENTS[name]
    models = document[field]
    others = [models[:-1], models[1:], [*models, "model.pricing.zzz"], ["model.pricing.aaa", *models[1:]]]
    for wrong in others:
        if wrong != models:
            assert refused(changed(document, (field,), wrong)), wrong


SUMS = ("chunk_count", "total_rows", "total_bytes", "ordinal", "row_count", "byte_count")


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.startswith("sealed-artifact-manifest")])
@pytest.mark.parametrize("step", [-1, 1, 2**40])
def test_a_manifest_whose_numbers_do_not_add_up_is_refused(name: str, step: int) -> None:
    document = DOCUMENTS[name]
    for place, value in places(document):
        if place[-1] in SUMS:
            assert refused(changed(document, place, value + step)), place


REPEATED = {
    "durable-workflow-summary": (
        "workflow_execution_binding_sha256",
        "operation_id",
        "expected_operation_ids",
    ),
    "failed-workflow-summary": ("operation_id", "expected_operation_ids"),
    "mssql-failed-precommit-cleanup-ack": (
        "operation_id",
        "workflow_execution_binding_sha256",
        "reservation_id",
        "allocation_id",
    ),
    "attempt-binding": ("dag_run_id", "workflow_execution_id"),
    "trusted-attempt-termination-receipt": ("run_id", "workflow_execution_id"),
    "v2-dag-projection": (
        "release_id",
        "deployment_id",
        "pre_release_bundle_sha256",
        "package_artifacts_sha256",
    ),
}
"""Facts that one document states at several places."""


@pytest.mark.parametrize(
    ("name", "fact"),
    [(name, fact) for name in DOCUMENTS for fact in REPEATED.get(name.split(".")[0], ())],
)
def test_a_fact_that_is_stated_twice_is_stated_alike(name: str, fact: str) -> None:
    document = DOCUMENTS[name]
    stated = [(place, value) for place, value in places(document) if fact in place and isinstance(value, str)]
    assert stated
    for place, value in random.Random(name).sample(stated, min(6, len(stated))):
        wrong = f"sha256:{'0' * 64}" if DIGEST.fullmatch(value) else "another"
        assert refused(changed(document, place, wrong)), place


WINDOWS = (("effective_from", "expires_at"), ("coverage_start", "coverage_end"), ("scope_start", "scope_end"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_interval_that_does_not_go_forward_is_refused(name: str) -> None:
    document = DOCUMENTS[name]
    for start, end in WINDOWS:
        if start in document:
            assert refused(changed(document, (end,), document[start]))
            assert refused(changed(changed_back(document, start, document[end]), (end,), document[start]))


def changed_back(document: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {**copied(document), name: value}


DAYS = ["2026-08-07", "2026-08-08", "2026-08-09", "2026-08-11", "2027-08-09", "2024-02-29", "9999-12-31"]


@pytest.mark.parametrize("name", [name for name, document in DOCUMENTS.items() if "scope_end" in document])
def test_a_scope_of_any_other_length_than_one_day_is_refused(name: str) -> None:
    document = DOCUMENTS[name]
    for day in DAYS:
        wrong = f"{day}T00:00:00Z"
        if wrong != document["scope_end"]:
            assert refused(changed(document, ("scope_end",), wrong)), wrong
