"""The tokens of a TDS response other than rows (MS-TDS 2.2.7), each a function that returns its bytes."""

from __future__ import annotations

import struct
from enum import IntEnum, IntFlag

# Latin1_General_100_BIN2_UTF8: LCID 1033, binary code point order, UTF-8, version 100, no sort id.
COLLATION = b"\x09\x04\x00\x26\x00"
TDS_VERSION = b"\x74\x00\x00\x04"
_PRODUCT_VERSION = b"\x10\x00\x10\x00"
_LONGEST_TEXT = 16_000
_DONE = struct.Struct("<BHHQ")


class DoneKind(IntEnum):
    """Which of the three DONE tokens."""

    DONE = 0xFD
    DONEPROC = 0xFE
    DONEINPROC = 0xFF


class DoneStatus(IntFlag):
    """Status bits of a DONE token."""

    FINAL = 0x00
    MORE = 0x01
    ERROR = 0x02
    IN_TRANSACTION = 0x04
    COUNT = 0x10
    ATTENTION = 0x20
    SERVER_ERROR = 0x100


class EnvChange(IntEnum):
    """Kinds of ENVCHANGE in use."""

    DATABASE = 1
    LANGUAGE = 2
    PACKET_SIZE = 4
    COLLATION = 7
    BEGIN_TRANSACTION = 8
    COMMIT_TRANSACTION = 9
    ROLLBACK_TRANSACTION = 10
    RESET_CONNECTION = 18


def b_varchar(text: str) -> bytes:
    """UTF-16LE text behind a one-byte count of code units."""
    raw = text.encode("utf-16-le", "surrogatepass")[:510]
    return bytes([len(raw) // 2]) + raw


def us_varchar(text: str) -> bytes:
    """UTF-16LE text behind a two-byte count of code units, cut to what fits into a token."""
    raw = text.encode("utf-16-le", "surrogatepass")[:_LONGEST_TEXT]
    return struct.pack("<H", len(raw) // 2) + raw


def _sized(token: int, body: bytes) -> bytes:
    return struct.pack("<BH", token, len(body)) + body


def environment(kind: EnvChange, new: str, old: str) -> bytes:
    """ENVCHANGE of a text value."""
    return _sized(0xE3, bytes([kind]) + b_varchar(new) + b_varchar(old))


def environment_bytes(kind: EnvChange, new: bytes, old: bytes) -> bytes:
    """ENVCHANGE of a binary value (collation, transaction descriptor)."""
    return _sized(0xE3, bytes([kind, len(new)]) + new + bytes([len(old)]) + old)


def message(
    *, number: int, state: int, severity: int, text: str, server: str, procedure: str, line: int
) -> bytes:
    """ERROR for severities above 10, else INFO."""
    body = (
        struct.pack("<iBB", number, state & 0xFF, severity)
        + us_varchar(text)
        + b_varchar(server)
        + b_varchar(procedure)
        + struct.pack("<I", line)
    )
    return _sized(0xAA if severity > 10 else 0xAB, body)


def login_acknowledgement() -> bytes:
    """LOGINACK of a TDS 7.4 server that calls itself Microsoft SQL Server 16."""
    return _sized(0xAD, b"\x01" + TDS_VERSION + b_varchar("Microsoft SQL Server") + _PRODUCT_VERSION)


def feature_extension_acknowledgement() -> bytes:
    """FEATUREEXTACK that grants no feature."""
    return b"\xae\xff"


def done(kind: DoneKind, status: DoneStatus, command: int = 0, count: int = 0) -> bytes:
    """DONE, DONEPROC or DONEINPROC; `command` is the token of the statement's kind."""
    return _DONE.pack(kind, status, command, count)


def return_status(value: int) -> bytes:
    """RETURNSTATUS of a procedure."""
    return struct.pack("<Bi", 0x79, value)


def return_value(ordinal: int, name: str, type_info: bytes, encoded: bytes) -> bytes:
    """RETURNVALUE: an OUTPUT parameter behind its type."""
    return (
        struct.pack("<BH", 0xAC, ordinal)
        + b_varchar(name)
        + b"\x01"
        + struct.pack("<IH", 0, 0)
        + type_info
        + encoded
    )
