"""PRELOGIN, and TLS whose handshake travels inside PRELOGIN packets (MS-TDS 2.2.6.5, 3.2.5.2)."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
import struct
import tempfile
import threading
from enum import IntEnum
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dpone_lab.sqlserver.wire.packets import MalformedMessageError, PacketType, Stream, read_message

_OPTION = struct.Struct(">BHH")
_VERSION_OPTION, _ENCRYPTION_OPTION, _INSTANCE_OPTION, _THREAD_OPTION, _MARS_OPTION = range(5)
_TERMINATOR = 0xFF
_CHUNK = 65_536


class Encryption(IntEnum):
    """The encryption byte of PRELOGIN."""

    OFF = 0
    ON = 1
    NOT_SUPPORTED = 2
    REQUIRED = 3


def parse_encryption(payload: bytes) -> Encryption:
    """Return what the client asks for; MalformedMessageError when the options don't parse."""
    position = 0
    try:
        while payload[position] != _TERMINATOR:
            option, offset, length = _OPTION.unpack_from(payload, position)
            if option == _ENCRYPTION_OPTION and length:
                return Encryption(payload[offset])
            position += _OPTION.size
    except (IndexError, struct.error, ValueError) as error:
        raise MalformedMessageError("PRELOGIN options don't parse") from error
    return Encryption.NOT_SUPPORTED


def answer_encryption(asked: Encryption) -> Encryption:
    """TLS for the whole connection when the client wants any, none otherwise: never for the login alone."""
    return Encryption.ON if asked in (Encryption.ON, Encryption.REQUIRED) else Encryption.NOT_SUPPORTED


def prelogin_response(encryption: Encryption) -> bytes:
    """Return the server's PRELOGIN payload: version 16, no instance check, no MARS."""
    options = [
        (_VERSION_OPTION, b"\x10\x00\x10\x00\x00\x00"),
        (_ENCRYPTION_OPTION, bytes([encryption])),
        (_INSTANCE_OPTION, b"\x00"),
        (_THREAD_OPTION, b""),
        (_MARS_OPTION, b"\x00"),
    ]
    head = b""
    body = b""
    offset = _OPTION.size * len(options) + 1
    for option, value in options:
        head += _OPTION.pack(option, offset + len(body), len(value))
        body += value
    return head + bytes([_TERMINATOR]) + body


def server_tls_context() -> ssl.SSLContext:
    """Make a context with a fresh self-signed certificate; TLS 1.2 only, as 1.3 sends tickets outside PRELOGIN."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=30))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory(prefix="dpone-lab-tls-") as folder:
        chain = Path(folder) / "chain.pem"
        chain.touch(mode=0o600)
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context.load_cert_chain(chain)
    return context


class TlsStream:
    """TLS over a stream: the handshake in PRELOGIN packets, everything after it bare."""

    def __init__(self, raw: Stream, context: ssl.SSLContext) -> None:
        self._raw = raw
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        # The reader thread and the worker thread share one TLS object; sends also keep their order.
        self._state = threading.Lock()
        self._send_order = threading.Lock()

    def handshake(self) -> None:
        """Run the handshake; MalformedMessageError when the client sends anything else, ssl.SSLError when it fails."""
        finished = False
        while not finished:
            try:
                self._tls.do_handshake()
                finished = True
            except ssl.SSLWantReadError:
                pass
            reply = self._outgoing.read()
            if reply:
                header = struct.pack(">BBHHBB", PacketType.PRELOGIN, 1, len(reply) + 8, 0, 0, 0)
                self._raw.sendall(header + reply)
            if not finished:
                message = read_message(self._raw)
                if message.type != PacketType.PRELOGIN:
                    raise MalformedMessageError("a TLS handshake must travel in PRELOGIN packets")
                self._incoming.write(message.payload)

    def recv(self, size: int, /) -> bytes:
        """Return decrypted bytes; empty at the end of the stream."""
        while True:
            with self._state:
                try:
                    return self._tls.read(size)
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return b""
            data = self._raw.recv(_CHUNK)
            if not data:
                return b""
            with self._state:
                self._incoming.write(data)

    def sendall(self, data: bytes, /) -> None:
        """Encrypt and send every byte."""
        with self._send_order:
            with self._state:
                self._tls.write(data)
                encrypted = self._outgoing.read()
            self._raw.sendall(encrypted)
