"""TDS bytes: packets, LOGIN7, PRELOGIN, typed values and RPC parameters against literals and round trips."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.types import SqlType, parse_type
from dpone_lab.sqlserver.wire import tokens
from dpone_lab.sqlserver.wire.login import parse_login
from dpone_lab.sqlserver.wire.packets import (
    EndOfStreamError,
    MalformedMessageError,
    PacketStatus,
    PacketWriter,
    admitted_packet_size,
    read_message,
)
from dpone_lab.sqlserver.wire.prelogin import (
    Encryption,
    answer_encryption,
    parse_encryption,
    prelogin_response,
)
from dpone_lab.sqlserver.wire.response import Response
from dpone_lab.sqlserver.wire.rpc import parse_calls, skip_headers
from dpone_lab.sqlserver.wire.values import WireColumn, column_metadata, encode_value, rows_encoder, type_info


class Pipe:
    """A stream that returns what was sent."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.writes: list[int] = []

    def recv(self, size: int, /) -> bytes:
        part, self.data = self.data[:size], self.data[size:]
        return part

    def sendall(self, data: bytes, /) -> None:
        self.data += data
        self.writes.append(len(data))


@given(st.lists(st.binary(max_size=3000), min_size=1), st.sampled_from([512, 4096, 8000]))
def test_a_message_survives_packets_of_any_size(parts: list[bytes], size: int) -> None:
    pipe = Pipe()
    writer = PacketWriter(pipe, 51)
    writer.packet_size = size
    for part in [*parts, b"end"]:
        writer.write(part)
    writer.end_message()
    message = read_message(pipe)
    assert message.payload == b"".join(parts) + b"end"
    assert message.status == PacketStatus.END_OF_MESSAGE
    assert pipe.data == b""


def test_a_long_message_is_written_in_large_pieces() -> None:
    pipe = Pipe()
    writer = PacketWriter(pipe, 51)
    for _ in range(1000):
        writer.write(b"x" * 1000)
    writer.end_message()
    assert len(pipe.writes) == pytest.approx(1_000_000 / 65_536, abs=2)


def test_a_closed_connection_and_a_bad_length_are_told_apart() -> None:
    with pytest.raises(EndOfStreamError):
        read_message(Pipe(b"\x01\x01\x00"))
    with pytest.raises(MalformedMessageError):
        read_message(Pipe(b"\x01\x01\x00\x04\x00\x00\x00\x00"))


def test_packet_sizes_are_bounded() -> None:
    assert [admitted_packet_size(size) for size in (0, 100, 8000, 100_000)] == [4096, 512, 8000, 32_767]


def test_prelogin_grants_tls_for_all_or_nothing() -> None:
    assert answer_encryption(Encryption.REQUIRED) is Encryption.ON
    assert answer_encryption(Encryption.ON) is Encryption.ON
    assert answer_encryption(Encryption.OFF) is Encryption.NOT_SUPPORTED
    assert parse_encryption(prelogin_response(Encryption.ON)) is Encryption.ON


def test_login7_yields_the_names_and_the_password() -> None:
    texts = {36: "host", 40: "sa", 44: "päss", 48: "app", 60: "odbc", 68: "lab"}
    head = bytearray(94)
    struct.pack_into("<I", head, 8, 8000)
    struct.pack_into("<I", head, 16, 4711)
    body = b""
    for at, text in texts.items():
        raw = text.encode("utf-16-le")
        if at == 44:
            raw = bytes((((byte << 4) & 0xF0) | (byte >> 4)) ^ 0xA5 for byte in raw)
        struct.pack_into("<HH", head, at, len(head) + len(body), len(text))
        body += raw
    login = parse_login(bytes(head) + body)
    assert (login.host_name, login.user, login.password, login.program_name) == ("host", "sa", "päss", "app")
    assert (login.database, login.host_process_id, login.packet_size) == ("lab", 4711, 8000)
    assert "päss" not in repr(login)


def test_a_cut_login7_is_refused() -> None:
    with pytest.raises(MalformedMessageError):
        parse_login(b"\0" * 50)


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("int", "2604"),
        ("bigint", "2608"),
        ("smallint", "2602"),
        ("tinyint", "2601"),
        ("bit", "6801"),
        ("float", "6d08"),
        ("real", "6d04"),
        ("decimal(38,10)", "6a11260a"),
        ("decimal(9,2)", "6a050902"),
        ("numeric(19,0)", "6c091300"),
        ("datetime2(6)", "2a06"),
        ("time(3)", "2903"),
        ("datetime", "6f08"),
        ("date", "28"),
        ("uniqueidentifier", "2410"),
        ("nvarchar(50)", "e764000904002600"),
        ("nvarchar(max)", "e7ffff0904002600"),
        ("varchar(50)", "a732000904002600"),
        ("char(2)", "af02000904002600"),
        ("varbinary(32)", "a52000"),
        ("varbinary(max)", "a5ffff"),
        ("binary(32)", "ad2000"),
    ],
)
def test_type_info_is_the_documented_one(spelling: str, expected: str) -> None:
    assert type_info(parse_type(spelling)).hex() == expected


@pytest.mark.parametrize(
    ("spelling", "value", "expected"),
    [
        ("int", -2, "04feffffff"),
        ("int", None, "00"),
        ("bit", True, "0101"),
        ("tinyint", 255, "01ff"),
        ("decimal(38,10)", Decimal("-1.5"), "1100" + (15_000_000_000).to_bytes(16, "little").hex()),
        ("decimal(5,2)", Decimal(1), "050164000000"),
        ("date", dt.date(1, 1, 2), "03010000"),
        ("datetime2(6)", dt.datetime.fromisoformat("0001-01-02T00:00:00.000001"), "080100000000010000"),
        ("datetime2(0)", dt.datetime.fromisoformat("0001-01-02T00:00:01.999999"), "06010000010000"),
        ("datetime2(7)", dt.datetime.fromisoformat("0001-01-02T00:00:00.000001"), "080a00000000010000"),
        ("datetime", dt.datetime.fromisoformat("1900-01-02T00:00:00.003333"), "080100000001000000"),
        ("time(0)", dt.time(0, 1), "033c0000"),
        (
            "uniqueidentifier",
            uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
            "10332211005544776688 99aabbccddeeff".replace(" ", ""),
        ),
        ("nvarchar(5)", "é", "0200e900"),
        ("nvarchar(5)", None, "ffff"),
        ("varchar(5)", "é", "0200c3a9"),
        ("nchar(2)", "a", "040061002000"),
        ("binary(2)", b"\x01", "02000100"),
        ("nvarchar(max)", "a", "020000000000000002000000610000000000"),
        ("nvarchar(max)", "", "000000000000000000000000"),
        ("varbinary(max)", None, "ffffffffffffffff"),
        ("varbinary(3)", b"\0\1\2", "0300000102"),
    ],
)
def test_values_are_encoded_as_documented(spelling: str, value: Any, expected: str) -> None:
    assert encode_value(parse_type(spelling), value).hex() == expected


def _parameter(name: str, spelling: str, value: Any, *, output: bool = False) -> bytes:
    sql_type = parse_type(spelling)
    return tokens.b_varchar(name) + bytes([int(output)]) + type_info(sql_type) + encode_value(sql_type, value)


_NAIVE = st.datetimes(
    dt.datetime.fromisoformat("0001-01-01T00:00:00"), dt.datetime.fromisoformat("9999-12-31T00:00:00")
)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_VALUES = st.one_of(
    st.tuples(st.just("bigint"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("tinyint"), st.integers(0, 255)),
    st.tuples(st.just("bit"), st.booleans()),
    st.tuples(st.just("float"), st.floats(allow_nan=False)),
    st.tuples(st.just("decimal(38,10)"), st.decimals(-(10**20), 10**20, places=10)),
    st.tuples(st.just("datetime2(6)"), _NAIVE),
    st.tuples(st.just("time(6)"), st.times()),
    st.tuples(st.just("date"), st.dates()),
    st.tuples(st.just("uniqueidentifier"), st.uuids()),
    st.tuples(st.just("nvarchar(4000)"), _TEXT),
    st.tuples(st.just("varchar(max)"), _TEXT),
    st.tuples(st.just("varbinary(100)"), st.binary(max_size=100)),
    st.tuples(
        st.sampled_from(["int", "bit", "date", "nvarchar(max)", "varbinary(5)", "decimal(9,2)"]), st.none()
    ),
)


@given(st.lists(_VALUES, max_size=6))
def test_parameters_decode_to_what_was_encoded(values: list[tuple[str, Any]]) -> None:
    body = struct.pack("<HHH", 0xFFFF, 10, 0) + b"".join(
        _parameter(f"@p{index}", spelling, value) for index, (spelling, value) in enumerate(values)
    )
    (call,) = parse_calls(body)
    assert call.procedure == "sp_executesql"
    assert [(str(each.type), each.value) for each in call.parameters] == [
        (str(parse_type(spelling)), value) for spelling, value in values
    ]


def test_several_calls_of_one_message_are_all_read() -> None:
    name = "[sys].sp_datatype_info_100"
    first = struct.pack("<H", len(name)) + name.encode("utf-16-le") + struct.pack("<H", 0)
    first += _parameter("@data_type", "int", 93)
    second = struct.pack("<HHH", 0xFFFF, 15, 0) + _parameter("", "int", 1, output=True)
    calls = parse_calls(first + b"\xff" + second)
    assert [call.procedure for call in calls] == ["sp_datatype_info_100", "sp_unprepare"]
    assert calls[1].parameters[0].output


def test_the_text_of_prepexec_may_be_ntext() -> None:
    raw = "select 1".encode("utf-16-le")
    body = (
        struct.pack("<HHH", 0xFFFF, 13, 0) + b"\x00\x00\x63" + struct.pack("<I", len(raw)) + tokens.COLLATION
    )
    (call,) = parse_calls(body + struct.pack("<I", len(raw)) + raw)
    assert call.parameters[0].value == "select 1"


def test_a_seventh_fractional_digit_is_refused_not_dropped() -> None:
    ticks = (1).to_bytes(5, "little") + (0).to_bytes(3, "little")
    body = struct.pack("<HHH", 0xFFFF, 10, 0) + b"\x00\x00\x2a\x07\x08" + ticks
    with pytest.raises(SqlServerError):
        parse_calls(body)


def test_unknown_types_and_cut_parameters_are_refused() -> None:
    head = struct.pack("<HHH", 0xFFFF, 10, 0)
    with pytest.raises(SqlServerError):
        parse_calls(head + b"\x00\x00\x62\x00")
    with pytest.raises(MalformedMessageError):
        parse_calls(head + b"\x00\x00\x26\x04\x04\x01")
    with pytest.raises(MalformedMessageError):
        skip_headers(b"\xff\xff\xff\x7f")


def test_rows_of_many_columns_are_the_cells_one_after_the_other() -> None:
    types = [parse_type(each) for each in ("int", "nvarchar(5)", "decimal(5,2)", "nvarchar(max)")]
    row = (1, "a", Decimal("2.5"), None)
    cells = b"".join(encode_value(sql_type, value) for sql_type, value in zip(types, row, strict=True))
    assert rows_encoder(types)([row, row]) == 2 * (b"\xd1" + cells)


def test_column_metadata_tells_nullability_and_names() -> None:
    data = column_metadata([WireColumn("id", SqlType("int", nullable=False))])
    assert data.hex() == "81010000000000080026040269006400"


def test_only_the_last_done_of_a_response_is_final() -> None:
    pipe = Pipe()
    response = Response(PacketWriter(pipe, 51), "LAB")
    response.statement_done(0xC3, 5)
    response.statement_done(0xC1, None)
    response.finish()
    message = read_message(pipe)
    assert message.payload.hex() == "fd1100c3000500000000000000fd0000c1000000000000000000"


def test_an_attention_is_acknowledged_after_what_was_begun() -> None:
    pipe = Pipe()
    response = Response(PacketWriter(pipe, 51), "LAB")
    response.statement_done(0xC1, 5)
    response.finish(attention=True)
    assert read_message(pipe).payload.hex() == "fd1100c1000500000000000000fd20000000" + "00" * 8


def test_long_messages_and_names_are_cut_to_what_the_protocol_holds() -> None:
    token = tokens.message(
        number=50000, state=1, severity=16, text="x" * 70_000, server="s" * 300, procedure="", line=1
    )
    assert token[0] == 0xAA
    assert struct.unpack_from("<H", token, 1)[0] == len(token) - 3


def test_a_day_outside_the_calendar_is_8023() -> None:
    body = struct.pack("<HHH", 0xFFFF, 10, 0) + b"\x00\x00\x28\x03\xff\xff\xff"
    with pytest.raises(SqlServerError) as caught:
        parse_calls(body)
    assert caught.value.number == 8023
