"""A client without a driver: attentions, several calls in one message, connection resets, broken messages."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest

from dpone_lab.sqlserver.language.types import parse_type
from dpone_lab.sqlserver.wire import tokens
from dpone_lab.sqlserver.wire.packets import PacketStatus, PacketType, read_message
from dpone_lab.sqlserver.wire.prelogin import Encryption, prelogin_response
from dpone_lab.sqlserver.wire.values import encode_value, type_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    import pyodbc

    from dpone_lab.sqlserver.server import Endpoint

    Sql = Callable[..., list[list[tuple[Any, ...]]]]
    Connect = Callable[..., pyodbc.Connection]

pytestmark = pytest.mark.engine

HEADERS = struct.pack("<IIHQI", 22, 18, 2, 0, 1)
ATTENTION_DONE = b"\xfd\x20\x00" + b"\0" * 10
LEFT_OPEN = b"\xfd\x01\x00"


class Client:
    """Sends messages and reads whole replies."""

    def __init__(self, port: int, password: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.send(PacketType.PRELOGIN, prelogin_response(Encryption.NOT_SUPPORTED))
        read_message(self.socket)
        self.send(PacketType.LOGIN7, self._login("sa", password))
        assert b"\xad" in read_message(self.socket).payload

    @staticmethod
    def _login(user: str, password: str) -> bytes:
        texts = {36: "raw", 40: user, 44: password, 48: "raw client", 60: "raw", 68: "lab"}
        head = bytearray(94)
        body = b""
        for at, text in texts.items():
            raw = text.encode("utf-16-le")
            if at == 44:
                raw = bytes((((byte << 4) & 0xF0) | (byte >> 4)) ^ 0xA5 for byte in raw)
            struct.pack_into("<HH", head, at, len(head) + len(body), len(text))
            body += raw
        return bytes(head) + body

    def send(self, kind: int, payload: bytes, status: int = 0) -> None:
        header = struct.pack(">BBHHBB", kind, PacketStatus.END_OF_MESSAGE | status, len(payload) + 8, 0, 0, 0)
        self.socket.sendall(header + payload)

    def batch(self, text: str, status: int = 0) -> bytes:
        self.send(PacketType.SQL_BATCH, HEADERS + text.encode("utf-16-le"), status)
        return self.reply()

    def reply(self) -> bytes:
        return read_message(self.socket).payload


@pytest.fixture
def client(endpoint: Endpoint, password: str) -> Iterator[Client]:
    opened = Client(endpoint.port, password)
    yield opened
    opened.socket.close()


def test_an_attention_with_nothing_running_is_acknowledged_each_time(client: Client) -> None:
    for _ in range(3):
        client.send(PacketType.ATTENTION, b"")
        assert client.reply() == ATTENTION_DONE
    assert b"\xd1" in client.batch("SELECT 1 AS a")


def test_an_attention_ends_a_running_statement_and_is_its_last_token(client: Client) -> None:
    client.send(PacketType.SQL_BATCH, HEADERS + "WAITFOR DELAY '00:10:00'".encode("utf-16-le"))
    client.send(PacketType.ATTENTION, b"")
    assert client.reply().endswith(ATTENTION_DONE)
    assert b"\xd1" in client.batch("SELECT 1 AS a")


def test_an_attention_that_crosses_the_reply_is_acknowledged_after_it(client: Client) -> None:
    for _ in range(100):
        client.send(PacketType.SQL_BATCH, HEADERS + "SELECT 1 AS a".encode("utf-16-le"))
        client.send(PacketType.ATTENTION, b"")
        reply = client.reply()
        if not reply.endswith(ATTENTION_DONE):
            reply = client.reply()
        assert reply.endswith(ATTENTION_DONE)


def _call(number: int, *parameters: tuple[str, str, object, bool]) -> bytes:
    body = struct.pack("<HHH", 0xFFFF, number, 0)
    for name, spelling, value, output in parameters:
        sql_type = parse_type(spelling)
        body += (
            tokens.b_varchar(name)
            + bytes([int(output)])
            + type_info(sql_type)
            + encode_value(sql_type, value)
        )
    return body


def test_every_call_of_a_message_is_answered(client: Client, connect: Connect, sql: Sql) -> None:
    db = connect()
    sql(db, "DROP TABLE IF EXISTS dbo.rpc; CREATE TABLE dbo.rpc (i int NOT NULL PRIMARY KEY)")
    insert = _call(
        10,
        ("", "nvarchar(4000)", "INSERT dbo.rpc VALUES (@i)", False),
        ("", "nvarchar(4000)", "@i int", False),
    )
    first, second = (insert + _call(10, ("@i", "int", value, False))[6:] for value in (1, 2))
    client.send(PacketType.RPC, HEADERS + first + b"\xff" + second)
    reply = client.reply()
    assert reply.count(b"\x79\x00\x00\x00\x00\xfe") == 2
    assert sql(db, "SELECT i FROM dbo.rpc ORDER BY i")[-1] == [(1,), (2,)]


def test_prepare_execute_and_unprepare_keep_their_handle(client: Client) -> None:
    prepare = _call(
        11,
        ("", "int", None, True),
        ("", "nvarchar(4000)", "@a int", False),
        ("", "nvarchar(4000)", "SELECT @a AS a", False),
    )
    client.send(PacketType.RPC, HEADERS + prepare)
    assert b"\xac\x00\x00" in client.reply()
    execute = _call(12, ("", "int", 1, False), ("@a", "int", 77, False))
    client.send(PacketType.RPC, HEADERS + execute)
    assert b"\xd1\x04" + struct.pack("<i", 77) in client.reply()
    client.send(PacketType.RPC, HEADERS + _call(15, ("", "int", 1, False)))
    client.reply()
    client.send(PacketType.RPC, HEADERS + execute)
    assert struct.pack("<i", 8179) in client.reply()


def test_a_reset_rolls_back_and_restores_the_session(client: Client, connect: Connect, sql: Sql) -> None:
    db = connect()
    sql(db, "DROP TABLE IF EXISTS dbo.rs; CREATE TABLE dbo.rs (i int)")
    client.batch(
        "SET LOCK_TIMEOUT 5; SET XACT_ABORT ON; CREATE TABLE #t (i int); BEGIN TRAN; INSERT dbo.rs VALUES (1)"
    )
    reply = client.batch(
        "SELECT @@TRANCOUNT AS n, @@LOCK_TIMEOUT AS l, @@OPTIONS & 16384 AS x", PacketStatus.RESET_CONNECTION
    )
    assert b"\xd1" + b"".join(b"\x04" + struct.pack("<i", value) for value in (0, -1, 0)) in reply
    assert struct.pack("<i", 208) in client.batch("SELECT i FROM #t")
    assert sql(db, "SELECT i FROM dbo.rs")[-1] == []


def test_a_reset_may_keep_the_transaction(client: Client) -> None:
    client.batch("BEGIN TRAN")
    reply = client.batch("SELECT @@TRANCOUNT AS n", PacketStatus.RESET_CONNECTION_KEEP_TRANSACTION)
    assert b"\xd1\x04\x01\x00\x00\x00" in reply


def test_an_ignored_message_has_no_effect(client: Client) -> None:
    client.batch("BEGIN TRAN", PacketStatus.IGNORE)
    assert b"\xd1\x04\x00\x00\x00\x00" in client.batch("SELECT @@TRANCOUNT AS n")


def test_transaction_requests_count_and_name_their_descriptor(client: Client) -> None:
    client.send(PacketType.TRANSACTION_MANAGER, HEADERS + struct.pack("<HBB", 5, 0, 0))
    begun = client.reply()
    assert begun[:1] + begun[3:5] == b"\xe3\x08\x08"
    assert b"\xd1\x04\x01\x00\x00\x00" in client.batch("SELECT @@TRANCOUNT AS n")
    client.send(PacketType.TRANSACTION_MANAGER, HEADERS + struct.pack("<HBB", 7, 0, 0))
    assert client.reply()[3:4] == b"\x09"
    client.send(PacketType.TRANSACTION_MANAGER, HEADERS + struct.pack("<HBB", 8, 0, 0))
    assert struct.pack("<i", 3903) in client.reply()


@pytest.mark.parametrize("payload", [b"", b"\xff\xff\xff\x7f", HEADERS + b"\xff\xff\x0a\x00\x00\x00\x05"])
def test_a_message_that_does_not_parse_closes_the_connection(client: Client, payload: bytes) -> None:
    client.send(PacketType.RPC, payload)
    assert client.socket.recv(1) == b""


def test_bulk_load_is_refused_and_the_session_goes_on(client: Client) -> None:
    client.send(PacketType.BULK_LOAD, b"\x81")
    assert struct.pack("<i", 40517) in client.reply()
    assert b"\xd1" in client.batch("SELECT 1 AS a")
