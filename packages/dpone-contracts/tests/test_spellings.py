from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpone_contracts import standalone_verify
from dpone_contracts.canonical import digest_of, sha256_text
from dpone_contracts.document import Inadmissible, Refused, Valid, document_class, load_document
from dpone_contracts.scalars import text_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

VALID = Path(__file__).parent / "vectors" / "published-0.74" / "valid"
NAMES = sorted({path.name.split(".")[0]: path.name for path in sorted(VALID.glob("*.json"))}.values())
DOCUMENTS: dict[str, dict[str, Any]] = {name: json.loads((VALID / name).read_bytes()) for name in NAMES}

HIDDEN = [
    "\x00", "\t", "\n", "\r", "\x1b", "\x7f", "\x85", "\u00a0", "\u00ad", "\u034f", "\u061c", "\u115f", "\u180e", "\u2003",
    "\u200b", "\u200d", "\u200e", "\u2028", "\u2029", "\u202a", "\u202e", "\u2060", "\u2066", "\u2800", "\u3000", "\u3164",
    "\ufdd0", "\ufe0f", "\ufeff", "\uffa0", "\ufffe", "\U000e0001", "\U000e0101", "\U0001ffff", "\ud800", "\udfff",
]  # fmt: skip


@pytest.mark.parametrize("char", HIDDEN, ids=lambda char: f"U+{ord(char):04X}")
def test_a_hidden_character_anywhere_in_a_text_is_refused(char: str) -> None:
    assert text_fault(f"a{char}b") is not None
    document = again(
        {**DOCUMENTS["attempt-binding.replay-day2-competitor-stock-event.json"], "owner_id": f"a{char}b"}
    )
    loaded = load_document(json.dumps(document).encode())
    assert isinstance(loaded, Inadmissible)
    assert (loaded.faults[0].path, loaded.faults[0].rule) == (("owner_id",), "visible-text")


@pytest.mark.parametrize("text", ["A\u030angstro\u0308m", "\u212b", "\u1100\u1161", "e\u0301"])
def test_text_that_is_not_composed_is_refused(text: str) -> None:
    assert text_fault(text) is not None


@pytest.mark.parametrize("text", ["Köln", "Ångström", "второй", "価格", "🙂", "a b", "ﬁ", "x" * 512])
def test_visible_text_of_any_script_is_accepted(text: str) -> None:
    assert text_fault(text) is None


@pytest.mark.parametrize("text", [" a", "a ", "\ta", "a\n", "\u3000a", "a\u2003", "", " ", "\u00a0"])
def test_blank_or_padded_text_is_refused_outright(text: str) -> None:
    document = again(
        {**DOCUMENTS["attempt-binding.replay-day2-competitor-stock-event.json"], "owner_id": text}
    )
    assert isinstance(load_document(json.dumps(document).encode()), Refused)


@pytest.mark.parametrize(
    "selector",
    [
        "*", "fqn:*", "fqn:pricing.*", "fqn:pricing.marts.*_event", "tag:nightly", "path:models/marts", "config.materialized:table",
        "+fqn:pricing.marts.competitor_price_event", "fqn:pricing.marts.competitor_price_event+", "@fqn:pricing.marts.competitor_price_event",
        "1+fqn:pricing.marts.competitor_price_event", "fqn:pricing.marts", "competitor_price_event", "source:raw+", "state:modified",
        "fqn:pricing.marts.competitor_price_event,tag:x", "fqn:pricing.marts.competitor_price_?vent", "fqn:pricing.[a]",
    ],
)  # fmt: skip
def test_a_selector_that_is_not_exact_is_refused(selector: str) -> None:
    document = copy.deepcopy(DOCUMENTS["mutation-closure.unverified.json"])
    document["selectors"] = [selector]
    loaded = load_document(json.dumps(again(document)).encode())
    assert isinstance(loaded, Inadmissible)
    assert loaded.faults[0].rule == "exact-selector"
    assert loaded.faults[0].path == ("selectors", 0)


def again(document: dict[str, Any]) -> dict[str, Any]:
    """Digest a changed document again, as somebody who forges one would."""
    kind = document_class(document["schema"])
    assert kind is not None
    rest = {key: item for key, item in document.items() if key != kind.DIGEST_FIELD}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return {**rest, kind.DIGEST_FIELD: sha256_text(text.encode())}


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


def forged(document: dict[str, Any], path: tuple[str | int, ...], value: Any) -> bytes:
    """The document with another value, digested again unless the value is its own digest."""
    kind = document_class(document["schema"])
    assert kind is not None
    changed = put(document, path, value)
    return json.dumps(changed if path == (kind.DIGEST_FIELD,) else again(changed)).encode()


def put(document: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    holder: Any = changed
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return changed


def other_type(value: Any) -> st.SearchStrategy[Any]:
    """Values of another JSON type, among them those that look alike: 1 and true, 1 and 1.0, 1 and "1", absent and null."""
    choices: list[Any] = [[], {}, [value], {"a": value}, 1.5]
    if not isinstance(value, str):
        choices += ["", str(value)]
    if value is not None:
        choices.append(None)
    if not isinstance(value, bool):
        choices += [True, False]
    if not isinstance(value, int) or isinstance(value, bool):
        choices += [0, 1]
    if isinstance(value, int) and not isinstance(value, bool):
        choices.append(float(value))
    return st.sampled_from(choices)


# Where the published contract has two types: a null and a value.
NULLABLE = {"expected_uuid", "schedule", "target_head_terminal_receipt_sha256"}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_field_of_another_type_is_refused_with_a_path_although_it_is_digested_again(
    name: str, data: st.DataObject
) -> None:
    document = DOCUMENTS[name]
    path = data.draw(st.sampled_from(list(leaves(document))))
    value: Any = document
    for step in path:
        value = value[step]
    if path[-1] in NULLABLE or "project_config_overlay" in path or path == ("schema",):
        return
    text = forged(document, path, data.draw(other_type(value)))
    loaded = load_document(text)
    assert not isinstance(loaded, Valid)
    assert loaded.faults[0].path
    assert standalone_verify.judge(name, text).answer == type(loaded).__name__.lower()


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_or_an_added_field_is_refused_at_every_level(name: str) -> None:
    document = DOCUMENTS[name]
    for path in {
        leaf[:end] for leaf in leaves(document) for end in range(len(leaf)) if isinstance(leaf[end], str)
    }:
        holder: Any = document
        for step in path:
            holder = holder[step]
        if not isinstance(holder, dict) or {"models", "dependencies", "static_environment"} & {*path}:
            continue
        changed = put({"root": document}, ("root", *path), {**holder, "added_field": "x"})["root"]
        loaded = load_document(json.dumps(again(changed)).encode())
        assert not isinstance(loaded, Valid), path
    assert isinstance(load_document(json.dumps(document).encode()), Valid)


@pytest.mark.parametrize("name", [name for name in NAMES if "dag-projection" not in name])
def test_a_field_that_is_left_out_is_refused(name: str) -> None:
    document = DOCUMENTS[name]
    kind = document_class(document["schema"])
    assert kind is not None
    required = [field.alias or key for key, field in kind.model_fields.items() if field.is_required()]
    for field in required:
        if field in ("schema", kind.DIGEST_FIELD):
            continue
        rest = {key: item for key, item in document.items() if key != field}
        loaded = load_document(json.dumps(again(rest)).encode())
        assert isinstance(loaded, Refused)
        assert loaded.faults[0].path == (field,)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything(data: bytes) -> None:
    assert isinstance(load_document(data), Refused)
    assert standalone_verify.judge("x", data).answer == "refused"


def test_the_digest_helper_of_this_test_is_the_canonical_one() -> None:
    document = DOCUMENTS[NAMES[0]]
    kind = document_class(document["schema"])
    assert kind is not None
    rest = {key: item for key, item in document.items() if key != kind.DIGEST_FIELD}
    assert again(document)[kind.DIGEST_FIELD] == digest_of(rest) == document[kind.DIGEST_FIELD]


@pytest.mark.parametrize("name", NAMES)
def test_a_text_without_a_utf_8_form_raises_nothing_wherever_it_stands(name: str) -> None:
    document = DOCUMENTS[name]
    for path in leaves(document):
        holder: Any = document
        for step in path:
            holder = holder[step]
        if isinstance(holder, str) and path != ("schema",):
            text = forged(document, path, f"{holder}\ud83d")
            loaded = load_document(text)
            assert not isinstance(loaded, Valid), path
            assert standalone_verify.judge(name, text).answer == type(loaded).__name__.lower(), path


def test_nodes_of_any_name_are_readable() -> None:
    document = copy.deepcopy(DOCUMENTS["mutation-closure.unverified.json"])
    for field in ("selected_node_ids", "selected_mutating_node_ids", "unclassified_mutating_node_ids"):
        document[field] = ["x"]
    assert isinstance(load_document(json.dumps(again(document)).encode()), Inadmissible)
