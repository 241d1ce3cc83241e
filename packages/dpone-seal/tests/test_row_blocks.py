"""The Arrow implementation of `dpone_row_v1` gives the reference's bytes, vectors first, then everything."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpone_contracts.errors import DponeError
from dpone_contracts.payload_types import WritableColumn, payload_type
from dpone_contracts.row_encoding import RowValue, encode_row, field_type
from dpone_contracts.row_encoding import block_digests as reference_digests
from dpone_contracts.testing.row_vectors import FIELD_VECTORS, ROW, ROW_BYTES, ROW_TYPES
from dpone_seal.physical_types import physical_columns, wire_batch
from dpone_seal.row_blocks import block_digests, row_bytes

if TYPE_CHECKING:
    from dpone_seal.physical_types import PhysicalColumn


def columns(*source_types: str, nullable: bool = True) -> tuple[PhysicalColumn, ...]:
    """Physical columns c0, c1, … of these types."""
    writable = [
        WritableColumn.model_construct(name=f"c{index}", source_type=name, nullable=nullable)
        for index, name in enumerate(source_types)
    ]
    return physical_columns(writable)


def delivered(source_type: str, values: list[RowValue]) -> pa.Array:
    """Values as a SQL Server reader delivers them: uuids as upper-case text, instants without a zone."""
    field = field_type(source_type)
    if source_type == "uniqueidentifier":
        return pa.array([None if value is None else str(value).upper() for value in values], pa.string())
    kinds: dict[str, pa.DataType] = {
        "bit": pa.bool_(),
        "date": pa.date32(),
        "datetime2": pa.timestamp("us"),
        "text": pa.string(),
        "varbinary": pa.binary(),
        "integer": pa.int64(),
        "decimal": pa.decimal128(38, field.scale),
    }
    return pa.array(values, kinds[field.kind])


def batch(source_types: tuple[str, ...], rows: list[tuple[RowValue, ...]]) -> pa.RecordBatch:
    """A reader's batch of rows, its columns not in the order of the plan."""
    arrays = [delivered(name, [row[at] for row in rows]) for at, name in enumerate(source_types)]
    named = {f"c{index}": array for index, array in enumerate(arrays)}
    return pa.RecordBatch.from_pydict(dict(reversed(named.items())))


@pytest.mark.parametrize(("source_type", "value", "text"), FIELD_VECTORS)
def test_a_field_has_its_golden_text(source_type: str, value: RowValue, text: bytes) -> None:
    kind = columns(source_type)
    wire = wire_batch(kind, batch((source_type,), [(value,), (None,)]), first_row=0)
    assert bytes(row_bytes(kind, wire)) == text + b"|\nN|\n"


def test_a_row_has_its_golden_bytes() -> None:
    kinds = columns(*ROW_TYPES)
    assert bytes(row_bytes(kinds, wire_batch(kinds, batch(ROW_TYPES, [ROW]), first_row=0))) == ROW_BYTES


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bit": st.booleans(),
    "tinyint": st.integers(0, 255),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "decimal(38,0)": st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    "decimal(9,6)": st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(f"{n}E-6")),
    "decimal(38,7)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-7")),
    "decimal(38,38)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-38")),
    "date": st.dates(dt.date(1970, 1, 1), dt.date(2149, 6, 6)),
    "datetime2(0)": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2299, 12, 31)).map(
        lambda at: at.replace(microsecond=0)
    ),
    "datetime2(2)": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2299, 12, 31)).map(
        lambda at: at.replace(microsecond=at.microsecond // 10_000 * 10_000)
    ),
    "datetime2(6)": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2299, 12, 31)),
    "uniqueidentifier": st.uuids(),
    "nvarchar(max)": st.text(
        alphabet=st.one_of(st.sampled_from("N|:\n\x00 0aA\u2028"), st.characters(codec="utf-8")), max_size=30
    ),
    "varbinary(max)": st.binary(max_size=30),
}


@st.composite
def images(draw: st.DrawFn) -> tuple[tuple[str, ...], list[tuple[RowValue, ...]]]:
    types = tuple(draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=5)))
    row = st.tuples(*(st.none() | VALUES[name] for name in types))
    return types, draw(st.lists(row, min_size=1, max_size=8))


@settings(deadline=None)
@given(images(), st.integers(0, 3))
def test_arrow_gives_the_bytes_of_the_reference(
    image: tuple[tuple[str, ...], list[tuple[RowValue, ...]]], skipped: int
) -> None:
    types, rows = image
    kinds, fields = columns(*types), [field_type(name) for name in types]
    wire = wire_batch(kinds, batch(types, rows), first_row=0).slice(skipped)
    assert bytes(row_bytes(kinds, wire)) == b"".join(encode_row(fields, row) for row in rows[skipped:])


def test_blocks_are_those_of_the_reference() -> None:
    rows: list[tuple[RowValue, ...]] = [(number, f"r{number}") for number in range(8_193)]
    types = ("int", "nvarchar(9)")
    kinds, fields = columns(*types), [field_type(name) for name in types]
    wire = wire_batch(kinds, batch(types, rows), first_row=0)
    assert list(block_digests(kinds, wire)) == list(
        reference_digests(encode_row(fields, row) for row in rows)
    )


@pytest.mark.parametrize(
    ("source_type", "array"),
    [
        ("tinyint", pa.array([300])),
        ("tinyint", pa.array([-1])),
        ("int", pa.array([2**31])),
        ("decimal(5,2)", pa.array([Decimal("1.234")])),
        ("decimal(5,2)", pa.array([Decimal("1000.00")])),
        ("date", pa.array([dt.date(1969, 12, 31)])),
        ("date", pa.array([dt.date(2149, 6, 7)])),
        ("datetime2(6)", pa.array([dt.datetime(1899, 12, 31, 23, 59, 59, 999999)], pa.timestamp("us"))),
        ("datetime2(6)", pa.array([1], pa.timestamp("ns"))),
        ("datetime2(3)", pa.array([1], pa.timestamp("us"))),
        ("datetime2(1)", pa.array([10], pa.timestamp("ms"))),
        ("uniqueidentifier", pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1"])),
        ("uniqueidentifier", pa.array(["a0eebc999-c0b-4ef8-bb6d-6bb9bd380a11"])),
        ("uniqueidentifier", pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a  "])),
        ("uniqueidentifier", pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380-11"])),
        ("nvarchar(9)", pa.array([b"\xff"]).view(pa.string())),
    ],
)
def test_a_value_that_is_not_exact_is_refused_and_not_shown(source_type: str, array: pa.Array) -> None:
    with pytest.raises(DponeError) as caught:
        wire_batch(columns(source_type), pa.RecordBatch.from_pydict({"c0": array}), first_row=8_192)
    assert caught.value.code == "DPONE_ROW_VALUE_REFUSED"
    assert caught.value.evidence == {"column": "c0", "first_row": "8192"}
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    shown = "xff" if source_type == "nvarchar(9)" else array.cast(pa.string())[0].as_py()
    assert shown not in str(caught.value)


def test_a_null_in_a_column_without_nulls_is_refused() -> None:
    with pytest.raises(DponeError, match="a NULL in a column that has none"):
        wire_batch(columns("int", nullable=False), batch(("int",), [(None,)]), first_row=0)


@pytest.mark.parametrize(
    ("source_type", "array"),
    [
        ("int", pa.array([1.0])),
        ("int", pa.array(["1"])),
        ("bit", pa.array([1])),
        ("decimal(5,2)", pa.array([1.5])),
        ("date", pa.array([dt.datetime(2013, 1, 1)], pa.timestamp("us"))),
        ("datetime2(6)", pa.array([dt.datetime(2013, 1, 1)], pa.timestamp("us", "Europe/Berlin"))),
        ("uniqueidentifier", pa.array([b"0123456789abcdef"], pa.binary(16))),
        ("nvarchar(9)", pa.array([b"bytes"])),
    ],
)
def test_another_arrow_type_is_refused(source_type: str, array: pa.Array) -> None:
    with pytest.raises(DponeError) as caught:
        wire_batch(columns(source_type), pa.RecordBatch.from_pydict({"c0": array}), first_row=0)
    assert caught.value.code == "DPONE_ROW_BATCH_UNEXPECTED"


@pytest.mark.parametrize("names", [["c0"], ["c0", "c1", "c2"], ["c0", "c0"], ["c0", "C1"]])
def test_missing_extra_and_doubled_columns_are_refused(names: list[str]) -> None:
    data = pa.RecordBatch.from_arrays([pa.array([1])] * len(names), names=names)
    with pytest.raises(DponeError, match="not those of the plan"):
        wire_batch(columns("int", "int"), data, first_row=0)


def test_transport_names_never_become_columns() -> None:
    column = WritableColumn.model_construct(name="__dpone_seal_row", source_type="int", nullable=False)
    with pytest.raises(DponeError, match="never leaves transport"):
        physical_columns([column])


def test_any_object_with_the_arrow_c_interface_is_a_batch() -> None:
    class Foreign:
        def __init__(self, batch: pa.RecordBatch) -> None:
            self._batch = batch

        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return self._batch.__arrow_c_array__(requested_schema)

    kinds = columns("int")
    wire = wire_batch(kinds, Foreign(batch(("int",), [(7,)])), first_row=0)
    assert bytes(row_bytes(kinds, wire)) == b"7|\n"


@pytest.mark.parametrize("source_type", sorted(VALUES))
def test_every_encodable_type_is_an_admitted_payload_type(source_type: str) -> None:
    assert payload_type(source_type) is not None
