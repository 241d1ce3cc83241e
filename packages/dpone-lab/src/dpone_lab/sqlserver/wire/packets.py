"""TDS packets: eight-byte headers, messages made of packets, and a writer that sends in large pieces."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Protocol

_HEADER = struct.Struct(">BBHHBB")
_WRITE_SIZE = 65_536
DEFAULT_PACKET_SIZE = 4096
_MIN_PACKET_SIZE = 512
_MAX_PACKET_SIZE = 32_767
_MAX_MESSAGE = 256 * 1024 * 1024


class PacketType(IntEnum):
    """The first byte of a packet header (MS-TDS 2.2.3.1.1)."""

    SQL_BATCH = 0x01
    RPC = 0x03
    RESPONSE = 0x04
    ATTENTION = 0x06
    BULK_LOAD = 0x07
    TRANSACTION_MANAGER = 0x0E
    LOGIN7 = 0x10
    PRELOGIN = 0x12


class PacketStatus(IntFlag):
    """The second byte of a packet header (MS-TDS 2.2.3.1.2)."""

    END_OF_MESSAGE = 0x01
    IGNORE = 0x02
    RESET_CONNECTION = 0x08
    RESET_CONNECTION_KEEP_TRANSACTION = 0x10


class Stream(Protocol):
    """A byte channel: a socket, or TLS over one."""

    def recv(self, size: int, /) -> bytes:
        """Return up to `size` bytes; empty at the end of the stream."""
        ...

    def sendall(self, data: bytes, /) -> None:
        """Send every byte or raise OSError."""
        ...


class EndOfStreamError(ConnectionError):
    """The peer closed the connection."""


class MalformedMessageError(ValueError):
    """The peer sent bytes that are no TDS message; the connection cannot go on."""


@dataclass(frozen=True, slots=True)
class Message:
    """One whole client message; `status` is that of all its packets together."""

    type: int
    status: PacketStatus
    payload: bytes


def read_exactly(stream: Stream, size: int) -> bytes:
    """Read `size` bytes; EndOfStreamError when the peer closes first."""
    parts: list[bytes] = []
    while size:
        part = stream.recv(size)
        if not part:
            raise EndOfStreamError("the client closed the connection")
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_message(stream: Stream) -> Message:
    """Read packets up to the end of one message; EndOfStreamError, MalformedMessageError or OSError."""
    parts: list[bytes] = []
    status = PacketStatus(0)
    total = 0
    while True:
        kind, bits, size, _spid, _number, _window = _HEADER.unpack(read_exactly(stream, _HEADER.size))
        if size < _HEADER.size:
            raise MalformedMessageError(f"a packet announces {size} bytes")
        total += size
        if total > _MAX_MESSAGE:
            raise MalformedMessageError("a message is larger than this endpoint accepts")
        parts.append(read_exactly(stream, size - _HEADER.size))
        status |= PacketStatus(bits & 0x1B)
        if status & PacketStatus.END_OF_MESSAGE:
            return Message(kind, status, b"".join(parts))


def admitted_packet_size(asked: int) -> int:
    """Return the packet size that this server grants for the size that LOGIN7 asks for."""
    return min(max(asked or DEFAULT_PACKET_SIZE, _MIN_PACKET_SIZE), _MAX_PACKET_SIZE)


class PacketWriter:
    """Cuts a response into packets; holds up to 64 kB before it writes to the stream."""

    def __init__(self, stream: Stream, spid: int) -> None:
        self.stream = stream
        self.packet_size = DEFAULT_PACKET_SIZE
        self._spid = spid & 0xFFFF
        self._buffer = bytearray()
        self._number = 0

    def write(self, data: bytes) -> None:
        """Append whole tokens to the current message."""
        self._buffer += data
        if len(self._buffer) >= _WRITE_SIZE:
            self._send(last=False)

    def end_message(self) -> None:
        """Send what is left with the end-of-message bit."""
        self._send(last=True)
        self._number = 0

    def _send(self, *, last: bool) -> None:
        room = self.packet_size - _HEADER.size
        buffer = self._buffer
        size = len(buffer)
        # The last packet of a message carries the bit, so at least one byte stays until the end is known.
        stop = size if last else (size - 1) // room * room
        pieces: list[bytes] = []
        for start in range(0, stop, room):
            piece = bytes(buffer[start : min(start + room, stop)])
            final = last and start + room >= size
            self._number = (self._number + 1) & 0xFF
            pieces.append(
                _HEADER.pack(
                    PacketType.RESPONSE, int(final), len(piece) + _HEADER.size, self._spid, self._number, 0
                )
            )
            pieces.append(piece)
        del buffer[:stop]
        if pieces:
            self.stream.sendall(b"".join(pieces))
