"""Transaction manager requests: what drivers send instead of BEGIN, COMMIT and ROLLBACK (MS-TDS 2.2.6.9)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import SqlServerError, unsupported
from dpone_lab.sqlserver.wire.packets import MalformedMessageError

if TYPE_CHECKING:
    from dpone_lab.sqlserver.session import Session
    from dpone_lab.sqlserver.wire.response import Response

_COMMIT = 7
_BEGIN_AGAIN = 0x01
_ISOLATIONS = {2: "READ COMMITTED", 3: "REPEATABLE READ", 4: "SERIALIZABLE"}


def run_request(session: Session, response: Response, body: bytes) -> None:
    """Carry out one request and report its error, if any; MalformedMessageError when it doesn't parse."""
    try:
        kind = struct.unpack_from("<H", body)[0]
        _carry_out(session, kind, body[2:])
    except (struct.error, IndexError) as error:
        raise MalformedMessageError("a transaction manager request doesn't parse") from error
    except SqlServerError as error:
        response.error(error)
        response.statement_done(0, None, failed=True)
    else:
        response.statement_done(0, None)


def _carry_out(session: Session, kind: int, body: bytes) -> None:
    transaction = session.transaction
    match kind:
        case 5:
            _isolate(session, body[0])
            transaction.begin(_name(body[1:]))
        case 7 | 8:
            name = _name(body)
            if kind == _COMMIT:
                transaction.commit()
            else:
                transaction.rollback(name)
            rest = body[1 + body[0] :]
            if rest and rest[0] & _BEGIN_AGAIN:
                _isolate(session, rest[1])
                transaction.begin(_name(rest[2:]))
        case 9:
            transaction.save(_name(body) or "")
        case _:
            raise unsupported(f"transaction manager request {kind}")


def _isolate(session: Session, code: int) -> None:
    if code:
        session.transaction.set_isolation(_ISOLATIONS.get(code, f"code {code}"))


def _name(body: bytes) -> str | None:
    """Return the name behind its length in bytes; none when it is empty."""
    return body[1 : 1 + body[0]].decode("utf-16-le") or None
