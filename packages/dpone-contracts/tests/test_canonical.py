from __future__ import annotations

import json
from enum import Enum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_contracts.canonical import (
    CanonicalError,
    canonical_bytes,
    decode,
    digest_of,
    encode_checked,
    sha256_text,
    text_without,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=6)


class Colour(StrEnum):
    RED = "red"


class Number(Enum):
    ONE = 1


class Whole(int):
    pass


def test_the_canonical_form_is_compact_sorted_and_escaped() -> None:
    value: dict[str, Any] = {"b": [1, True, None, "é\u2028\U0001f600"], "a": {"z": 0, "é": -1}}
    assert (
        canonical_bytes(value)
        == b'{"a":{"z":0,"\\u00e9":-1},"b":[1,true,null,"\\u00e9\\u2028\\ud83d\\ude00"]}'
    )
    assert digest_of({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert sha256_text(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(OBJECTS)
def test_decoding_gives_back_what_was_encoded(value: dict[str, Any]) -> None:
    decoded = decode(canonical_bytes(value))
    assert decoded.value == value
    assert decoded.text.encode() == canonical_bytes(value)
    assert decoded.oversize == ()


@given(OBJECTS, st.integers(0, 4))
def test_the_printed_text_has_the_same_canonical_form(value: dict[str, Any], indent: int) -> None:
    printed = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    assert decode(printed).text.encode() == canonical_bytes(value)


NAMES = st.sampled_from(["a", "b", "ab", "b_a"])
NESTED = st.dictionaries(
    NAMES,
    st.recursive(
        st.sampled_from([1, None, '"a":', 'x","a":1,"b":', "a\\", [], {}]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    ),
    min_size=1,
)


@given(NESTED)
def test_a_field_that_is_cut_out_of_the_text_is_left_out_of_the_value(value: dict[str, Any]) -> None:
    for field, cut in value.items():
        rest = {key: item for key, item in value.items() if key != field}
        assert text_without(encode_checked(value), field, cut) == encode_checked(rest)


@pytest.mark.parametrize(
    ("value", "path", "rule"),
    [
        ({"a": 1.0}, ("a",), "no-floats"),
        ({"a": [0, float("nan")]}, ("a", 1), "no-floats"),
        ({"a": 2**63}, ("a",), "int64"),
        ({"a": {"b": -(2**63) - 1}}, ("a", "b"), "int64"),
        ({1: "a"}, (), "text-keys"),
        ({True: "a"}, (), "text-keys"),
        ({"a": {None: 1}}, ("a",), "text-keys"),
        ({"a": "\ud83d"}, ("a",), "no-surrogates"),
        ({"\ude00": 1}, (), "no-surrogates"),
        ({"a": Colour.RED}, ("a",), "plain-json"),
        ({"a": Number.ONE}, ("a",), "plain-json"),
        ({"a": Whole(1)}, ("a",), "plain-json"),
        ({"a": b"x"}, ("a",), "plain-json"),
        ({"a": {1, 2}}, ("a",), "plain-json"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(
    value: Any, path: tuple[str | int, ...], rule: str
) -> None:
    with pytest.raises(CanonicalError) as caught:
        canonical_bytes(value)
    assert (caught.value.path, caught.value.rule) == (path, rule)


@pytest.mark.parametrize(
    ("data", "path", "rule"),
    [
        (b"\xef\xbb\xbf{}", (), "utf-8-json"),
        (b"\xff\xfe{\x00}\x00", (), "utf-8-json"),
        (b"", (), "utf-8-json"),
        (b"{} {}", (), "utf-8-json"),
        (b"{'a':1}", (), "utf-8-json"),
        (b"[]", (), "object-root"),
        (b"null", (), "object-root"),
        (b'"text"', (), "object-root"),
        (b'{"a":1,"a":1}', ("a",), "unique-keys"),
        (b'{"a":1,"a" :2}', ("a",), "unique-keys"),
        (b'{"a" :1,"a":2}', ("a",), "unique-keys"),
        (b'{"\\u0061":1,"a":1}', ("a",), "unique-keys"),
        (b'{"b":[{"a\\":":1,"a\\":":1}]}', ("b", 0, 'a":'), "unique-keys"),
        (b'{"a":1.0}', ("a",), "no-floats"),
        (b'{"a":[1e2]}', ("a", 0), "no-floats"),
        (b'{"a":NaN}', ("a",), "no-floats"),
        (b'{"a":-Infinity}', ("a",), "no-floats"),
        (b'{"a":1e9999}', ("a",), "no-floats"),
        (b'{"a":-0}', ("a",), "one-spelling"),
        (b'{"a":' + b"9" * 5000 + b"}", ("a",), "int64"),
        (b"[" * 200_000, (), "bounded-depth"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, (), "bounded-depth"),
    ],
)
def test_a_text_with_another_reading_is_refused_with_its_path(
    data: bytes, path: tuple[str | int, ...], rule: str
) -> None:
    with pytest.raises(CanonicalError) as caught:
        decode(data)
    assert (caught.value.path, caught.value.rule) == (path, rule)


def test_integers_beyond_64_bits_are_kept_with_their_paths() -> None:
    decoded = decode(b'{"a":[9223372036854775807,9223372036854775808],"b":-9223372036854775809}')
    assert decoded.value == {"a": [2**63 - 1, 2**63], "b": -(2**63) - 1}
    assert decoded.oversize == (("a", 1), ("b",))
