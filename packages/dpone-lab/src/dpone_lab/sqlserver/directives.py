"""Statements about the session rather than about data: SET options, USE, THROW, WAITFOR."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.consequences import ThrownError
from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported

if TYPE_CHECKING:
    from dpone_lab.sqlserver.frames import Caught
    from dpone_lab.sqlserver.session import Session
    from dpone_lab.sqlserver.wire.response import Response

_DELAY = re.compile(r"^\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?\s*$")
_CONTEXT_SIZE = 128
# Values that leave the lab as it is; any other is refused.
_FIXED = {
    "ANSI_DEFAULTS": {"ON"},
    "ANSI_NULLS": {"ON"},
    "ANSI_NULL_DFLT_ON": {"ON"},
    "ANSI_PADDING": {"ON"},
    "ANSI_WARNINGS": {"ON"},
    "ARITHABORT": {"ON"},
    "CONCAT_NULL_YIELDS_NULL": {"ON"},
    "QUOTED_IDENTIFIER": {"ON"},
    "ROWCOUNT": {"0"},
    "TEXTSIZE": {"-1", "2147483647", "0"},
    "LANGUAGE": {"US_ENGLISH", "ENGLISH"},
    "DATEFORMAT": {"MDY"},
    "DATEFIRST": {"7"},
    "DEADLOCK_PRIORITY": {"NORMAL", "0"},
    "ANSI_NULL_DFLT_OFF": {"OFF"},
    "CURSOR_CLOSE_ON_COMMIT": {"OFF"},
    "NUMERIC_ROUNDABORT": {"OFF"},
    "FMTONLY": {"OFF"},
    "NO_BROWSETABLE": {"ON", "OFF"},
    "NOEXEC": {"OFF"},
    "PARSEONLY": {"OFF"},
}


def set_option(session: Session, option: str, value: str) -> None:
    """SET: change an option that the lab varies, accept the only value of the others."""
    settings = session.transaction.settings
    match option:
        case "XACT_ABORT":
            settings.xact_abort = value == "ON"
        case "NOCOUNT":
            settings.nocount = value == "ON"
        case "IMPLICIT_TRANSACTIONS":
            settings.implicit_transactions = value == "ON"
        case "LOCK_TIMEOUT":
            settings.lock_timeout_ms = None if int(value) < 0 else int(value)
        case "TRANSACTION ISOLATION LEVEL":
            session.transaction.set_isolation(value)
        case "CONTEXT_INFO":
            raw = bytes.fromhex(value.removeprefix("0x"))
            session.facts.context_info = raw[:_CONTEXT_SIZE].ljust(_CONTEXT_SIZE, b"\0")
        case _:
            if value.strip("'").upper() not in _FIXED.get(option, ()):
                raise unsupported(f"SET {option} {value}")


def use(session: Session, response: Response, database: str) -> None:
    """USE: there is one database; 911 for any other name."""
    if database.lower() != session.shared.database.lower():
        raise SqlServerError(
            Number.DATABASE_MISSING,
            f"Database '{database}' does not exist. Make sure that the name is entered correctly.",
        )
    response.database(session.shared.database)


def thrown(number: int | None, message: str | None, state: int | None) -> ThrownError:
    """Return the error of THROW with arguments; raises 35100 for a number below 50000."""
    if number is None or number < Number.USER_DEFINED_MINIMUM:
        raise SqlServerError(
            35100,
            f"Error number {number} in the THROW statement is outside the valid range. "
            "Specify an error number in the valid range of 50000 to 2147483647.",
        )
    return ThrownError(number, message or "", severity=16, state=(state or 0) & 0xFF)


def rethrown(caught: Caught | None) -> ThrownError:
    """Return the error of a bare THROW; raises 10704 outside CATCH."""
    if caught is None:
        raise SqlServerError(
            Number.THROW_OUTSIDE_CATCH,
            "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW "
            "statement inside a CATCH block, or add error parameters to the THROW statement.",
        )
    again = caught.error
    return ThrownError(again.number, again.message, severity=again.severity, state=again.state)


def delay_seconds(text: str | None) -> float:
    """Return the seconds of WAITFOR DELAY's `hh:mm[:ss[.fff]]`; 148 when it is none."""
    match = _DELAY.match(text or "")
    if match is None:
        raise SqlServerError(148, f"Incorrect time syntax in time string '{text}' used with WAITFOR.")
    hours, minutes, seconds, fraction = match.groups()
    return (
        int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0) + int((fraction or "").ljust(3, "0")) / 1000
    )
