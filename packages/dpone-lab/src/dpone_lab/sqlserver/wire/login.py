"""LOGIN7: what the client says about itself (MS-TDS 2.2.6.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from dpone_lab.sqlserver.wire.packets import MalformedMessageError

_PACKET_SIZE_AT = 8
_CLIENT_PID_AT = 16
_OPTION_FLAGS_3_AT = 27
_EXTENSION_FLAG = 0x10
# Offsets of the (offset, length) pairs of the variable part.
_HOST_AT, _USER_AT, _PASSWORD_AT, _PROGRAM_AT, _LIBRARY_AT, _DATABASE_AT = 36, 40, 44, 48, 60, 68


@dataclass(frozen=True, slots=True)
class Login:
    """The facts of one LOGIN7 message; names may be empty."""

    host_name: str
    user: str
    password: str = field(repr=False)
    program_name: str
    library: str
    database: str
    host_process_id: int
    packet_size: int
    wants_feature_acknowledgement: bool


def _unscramble(raw: bytes) -> str:
    swapped = bytes(((byte ^ 0xA5) >> 4) | (((byte ^ 0xA5) & 0x0F) << 4) for byte in raw)
    return swapped.decode("utf-16-le", "replace")


def parse_login(payload: bytes) -> Login:
    """Decode a LOGIN7 payload; MalformedMessageError when it is too short or points outside itself."""

    def raw(at: int) -> bytes:
        offset, length = struct.unpack_from("<HH", payload, at)
        value = payload[offset : offset + 2 * length]
        if len(value) != 2 * length:
            raise MalformedMessageError("LOGIN7 points outside itself")
        return bytes(value)

    def text(at: int) -> str:
        return raw(at).decode("utf-16-le", "replace")

    try:
        return Login(
            host_name=text(_HOST_AT),
            user=text(_USER_AT),
            password=_unscramble(raw(_PASSWORD_AT)),
            program_name=text(_PROGRAM_AT),
            library=text(_LIBRARY_AT),
            database=text(_DATABASE_AT),
            host_process_id=struct.unpack_from("<I", payload, _CLIENT_PID_AT)[0],
            packet_size=struct.unpack_from("<I", payload, _PACKET_SIZE_AT)[0],
            wants_feature_acknowledgement=bool(payload[_OPTION_FLAGS_3_AT] & _EXTENSION_FLAG),
        )
    except (struct.error, IndexError) as error:
        raise MalformedMessageError("LOGIN7 is too short") from error
