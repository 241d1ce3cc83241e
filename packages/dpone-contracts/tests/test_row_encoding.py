"""Golden vectors and properties of `dpone_row_v1`; the vectors bind every other implementation too."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_contracts.row_encoding import (
    RowEncodingError,
    RowValue,
    block_digests,
    content_digest,
    encode_field,
    encode_row,
    field_type,
    image_digest,
)
from dpone_contracts.testing.row_vectors import FIELD_VECTORS, ROW, ROW_BYTES, ROW_TYPES

if TYPE_CHECKING:
    from uuid import UUID


@pytest.mark.parametrize(("source_type", "value", "text"), FIELD_VECTORS)
def test_a_field_has_its_golden_text(source_type: str, value: RowValue, text: bytes) -> None:
    assert encode_field(field_type(source_type), value) == text


def test_a_row_has_its_golden_bytes() -> None:
    assert encode_row([field_type(name) for name in ROW_TYPES], ROW) == ROW_BYTES


def test_images_have_their_golden_digests() -> None:
    fields, key = [field_type("int"), field_type("nvarchar(9)")], [0]
    empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    one = "sha256:" + sha256(sha256(b"1|1:a|\n").digest()).hexdigest()
    assert image_digest(fields, key, []) == empty
    assert image_digest(fields, key, [(1, "a")]) == one
    assert one == "sha256:cc251281e3f623b7c8f881af9c43ec5126ece05b957d6fef7003b4419d1a6616"
    two_blocks = [(number, f"r{number}") for number in range(8_193)]
    assert (
        image_digest(fields, key, two_blocks)
        == "sha256:b19760c44a85ae8231a0c83ffb541838f356e96ef4822bc894d03526f1828331"
    )


def test_a_block_ends_after_8192_rows() -> None:
    rows = [b"%d|\n" % number for number in range(8_193)]
    expected = [sha256(b"".join(rows[:8_192])).digest(), sha256(rows[8_192]).digest()]
    assert list(block_digests(rows)) == expected
    assert content_digest(expected) == "sha256:" + sha256(b"".join(expected)).hexdigest()


@pytest.mark.parametrize(
    "source_type",
    [
        "float",
        "real",
        "varbinary",
        "binary(8)",
        "datetime2(7)",
        "datetime",
        "decimal(39,0)",
        "decimal(5,6)",
        "decimal(5, 2)",
        "INT",
        "money",
        "char(3)",
        "nvarchar(0)",
        "",
    ],
)
def test_other_types_and_spellings_have_no_text(source_type: str) -> None:
    with pytest.raises(RowEncodingError):
        field_type(source_type)


@pytest.mark.parametrize(
    ("source_type", "value"),
    [
        ("bit", 1),
        ("int", True),
        ("int", 2147483648),
        ("tinyint", -1),
        ("int", 1.0),
        ("decimal(5,2)", Decimal("0.125")),
        ("decimal(5,2)", Decimal(1000)),
        ("decimal(5,2)", Decimal("NaN")),
        ("decimal(5,2)", 1),
        ("date", dt.datetime(2013, 1, 1)),
        ("datetime2(3)", dt.datetime(2013, 1, 1, microsecond=1)),
        ("datetime2(6)", dt.datetime(2013, 1, 1, tzinfo=dt.UTC)),
        ("uniqueidentifier", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("nvarchar(9)", b"bytes"),
    ],
)
def test_a_value_outside_its_type_is_refused(source_type: str, value: RowValue) -> None:
    with pytest.raises(RowEncodingError):
        encode_field(field_type(source_type), value)


def test_a_refusal_does_not_show_the_value() -> None:
    with pytest.raises(RowEncodingError) as caught:
        encode_field(field_type("nvarchar(20)"), "canary\ud800")
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def decode_row(source_types: tuple[str, ...], data: bytes) -> list[bytes | None]:
    """An independent reader: splits row bytes by the grammar of the specification alone."""
    fields: list[bytes | None] = []
    for source_type in source_types:
        if data.startswith(b"N|"):
            fields.append(None)
            data = data[2:]
        elif "varchar" in source_type:
            length, _, rest = data.partition(b":")
            fields.append(rest[: int(length)])
            assert rest[int(length) : int(length) + 1] == b"|"
            data = rest[int(length) + 1 :]
        else:
            text, _, data = data.partition(b"|")
            fields.append(text)
    assert data == b"\n"
    return fields


def values(source_type: str) -> st.SearchStrategy[RowValue]:
    """Every value of a type, adversarial texts included."""
    exact: dict[str, st.SearchStrategy[RowValue]] = {
        "bit": st.booleans(),
        "bigint": st.integers(-(2**63), 2**63 - 1),
        "decimal(38,9)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-9")),
        "date": st.dates(),
        "datetime2(6)": st.datetimes(),
        "uniqueidentifier": st.uuids(),
        "varbinary(max)": st.binary(max_size=9),
        "nvarchar(max)": st.text(
            alphabet=st.one_of(st.sampled_from("N|:\n0123456789-"), st.characters(codec="utf-8"))
        ),
    }
    return st.one_of(st.none(), exact[source_type])


TYPES = (
    "bit",
    "bigint",
    "decimal(38,9)",
    "date",
    "datetime2(6)",
    "uniqueidentifier",
    "nvarchar(max)",
    "varbinary(max)",
)


@st.composite
def typed_rows(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[RowValue, ...], tuple[RowValue, ...]]:
    types = tuple(draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=6)))
    first, second = (tuple(draw(values(name)) for name in types) for _ in range(2))
    return types, first, second


@given(typed_rows())
def test_rows_are_equal_exactly_when_their_bytes_are(
    drawn: tuple[tuple[str, ...], tuple[RowValue, ...], tuple[RowValue, ...]],
) -> None:
    types, first, second = drawn
    fields = [field_type(name) for name in types]
    assert (encode_row(fields, first) == encode_row(fields, second)) == (first == second)


@given(typed_rows())
def test_row_bytes_read_back_field_by_field(
    drawn: tuple[tuple[str, ...], tuple[RowValue, ...], tuple[RowValue, ...]],
) -> None:
    types, row, _ = drawn
    fields = [field_type(name) for name in types]
    texts = decode_row(types, encode_row(fields, row))
    for name, value, text in zip(types, row, texts, strict=True):
        assert (text is None) == (value is None)
        if isinstance(value, str):
            assert text == value.encode()
        elif name == "bigint" and text is not None:
            assert int(text) == value


@given(st.lists(st.tuples(st.uuids(), st.integers(0, 9)), unique_by=lambda row: row[0]))
def test_the_digest_does_not_depend_on_the_order_of_the_engine(rows: list[tuple[UUID, int]]) -> None:
    fields = [field_type("uniqueidentifier"), field_type("int")]
    shuffled = sorted(rows, key=lambda row: row[0].bytes_le)
    assert image_digest(fields, [0], rows) == image_digest(fields, [0], shuffled)
